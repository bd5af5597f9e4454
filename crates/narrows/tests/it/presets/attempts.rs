//! Tests that hidden items are refused on every transport and endpoint that lists tools.

use narrows_testkit::raw::{Any, MCP_HEADERS, Sse, Stdio, Streamable, WebSocket};
use narrows_wire::token::wrap_uri;
use serde_json::json;
use tokio::process::Command;

use super::{
    AskedRequest, PresetServers, README, SECRET, VAULT, about_prompt, about_resource, about_tool,
    allowed, check_allowed, check_lists, check_refused, guest, hidden, open,
};
use crate::gateway::{Gateway, REVISION, column, config, error, with};
use crate::program::Folder;

/// Checks the lists, all hidden items and all allowed items.
async fn check_joined(client: Any, preset_servers: &PresetServers, gateway: &Gateway) {
    let (mut client, hello) = open(client).await;
    assert!(!hello.to_string().contains("secret"), "{hello}");
    check_lists(&mut client, "a__").await;
    let log = |_: &Any| gateway.program.stderr();
    check_refused(&mut client, preset_servers, log, &hidden()).await;
    check_allowed(&mut client, &allowed()).await;
}

#[tokio::test]
async fn hidden_items_are_refused_over_streamable_http() {
    let preset_servers = PresetServers::build();
    let gateway = Gateway::serve(&preset_servers.config()).await;
    let client = Streamable::at(gateway.address(), "/mcp").boxed();
    check_joined(client, &preset_servers, &gateway).await;
}

#[tokio::test]
async fn hidden_items_are_refused_over_http_and_sse() {
    let preset_servers = PresetServers::build();
    let gateway = Gateway::serve(&preset_servers.config()).await;
    let client = Sse::connect(gateway.address(), "/sse").await.boxed();
    check_joined(client, &preset_servers, &gateway).await;
}

#[tokio::test]
async fn hidden_items_are_refused_over_websocket() {
    let preset_servers = PresetServers::build();
    let gateway = Gateway::serve(&preset_servers.config()).await;
    let client = WebSocket::connect(gateway.address(), "/ws").await.boxed();
    check_joined(client, &preset_servers, &gateway).await;
}

/// The command line sets a preset on endpoints that have none.
#[tokio::test]
async fn hidden_items_are_refused_over_stdio() {
    let preset_servers = PresetServers::build();
    let servers = config([
        ("a", preset_servers.a.config()),
        ("b", preset_servers.b.config()),
    ]);
    let config = with(servers, json!({ "presets": { "guest": guest() } }));
    let folder = Folder::with(&config.to_string());
    let command = folder.command(&["stdio", "--preset", "guest", "--log-format", "json"]);
    let mut client = Stdio::start(&mut Command::from(command));
    let hello = client.initialize(REVISION, json!({})).await;
    assert!(!hello.to_string().contains("secret"), "{hello}");
    check_lists(&mut client, "a__").await;
    check_refused(&mut client, &preset_servers, Stdio::stderr, &hidden()).await;
    check_allowed(&mut client, &allowed()).await;
}

/// Checks the endpoint of a single server, with its own names.
async fn check_direct(client: Any, preset_servers: &PresetServers, gateway: &Gateway) {
    let (mut client, _) = open(client).await;
    check_lists(&mut client, "").await;
    let mut attempts: Vec<AskedRequest> = about_tool("drop_secret");
    attempts.extend(about_tool("a__drop_secret"));
    attempts.extend(about_prompt("secret_prompt"));
    for uri in [SECRET, VAULT, "file:///vault_secret/key", "x://unlisted"] {
        attempts.extend(about_resource(uri));
        attempts.extend(about_resource(&wrap_uri("a", uri)));
    }
    // The gateway does not know the effect of unknown methods, so a preset cannot allow them.
    attempts.push(("secret/method", json!({ "name": "look" })));
    attempts.push(("tools/call_all", json!({})));
    let log = |_: &Any| gateway.program.stderr();
    check_refused(&mut client, preset_servers, log, &attempts).await;
    let mut fine = about_tool("look");
    fine.extend(about_prompt("greet"));
    fine.extend(about_resource(README));
    fine.extend(about_resource("file:///open/plain.txt"));
    check_allowed(&mut client, &fine).await;
}

#[tokio::test]
async fn hidden_items_are_refused_on_single_server_endpoints() {
    let preset_servers = PresetServers::build();
    let gateway = Gateway::serve(&preset_servers.config()).await;
    // The response arrives after all servers are up.
    gateway.session("/mcp").await;
    let address = gateway.address();
    let http = Streamable::at(address, "/servers/a/mcp").boxed();
    check_direct(http, &preset_servers, &gateway).await;
    let sse = Sse::connect(address, "/servers/a/sse").await.boxed();
    check_direct(sse, &preset_servers, &gateway).await;
    let socket = WebSocket::connect(address, "/servers/a/ws").await.boxed();
    check_direct(socket, &preset_servers, &gateway).await;
}

/// The endpoint of a server without allowed items has no items.
#[tokio::test]
async fn hidden_server_endpoint_has_no_items() {
    let preset_servers = PresetServers::build();
    let gateway = Gateway::serve(&preset_servers.config()).await;
    gateway.session("/mcp").await;
    let hello = json!({ "protocolVersion": REVISION, "capabilities": {},
        "clientInfo": { "name": "guest", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello });
    let mut http = gateway.connect().await;
    let answer = http
        .post("/servers/b/mcp", MCP_HEADERS, &hello.to_string())
        .await;
    let answer = answer.message();
    assert_eq!(
        error(&answer),
        "-32602 not_allowed Server 'b' is not allowed by current preset"
    );
    assert!(!answer.to_string().contains("secret"), "{answer}");
}

/// Some servers ignore the case of members and would read another name.
#[tokio::test]
async fn member_names_in_another_case_are_rejected() {
    let preset_servers = PresetServers::build();
    let gateway = Gateway::serve(&preset_servers.config()).await;
    for (path, method, params) in [
        (
            "/mcp",
            "tools/call",
            json!({ "name": "a__look", "Name": "drop_secret" }),
        ),
        (
            "/mcp",
            "resources/read",
            json!({ "uri": README, "URI": SECRET }),
        ),
        (
            "/servers/a/mcp",
            "tools/call",
            json!({ "name": "look", "NAME": "drop_secret" }),
        ),
        (
            "/mcp/lazy",
            "tools/call",
            json!({ "name": "exec", "Name": "drop_secret",
                "arguments": { "server_name": "a", "tool_name": "look" } }),
        ),
    ] {
        let mut client = gateway.session(path).await;
        let answer = client.call(method, params.clone()).await;
        assert!(
            error(&answer).starts_with("-32602 invalid_params"),
            "{params} {answer}"
        );
    }
}

/// A server may have another preset on its own endpoint.
#[tokio::test]
async fn server_endpoint_may_be_exempt_from_the_preset() {
    let preset_servers = PresetServers::build();
    let mut config = preset_servers.config();
    config["mcpServers"]["a"]["preset"] = json!(false);
    let gateway = Gateway::serve(&config).await;
    let mut own = gateway.session("/servers/a/mcp").await;
    assert_eq!(own.tool_names().await, ["look", "drop_secret"]);
    let mut joined = gateway.session("/mcp").await;
    assert_eq!(joined.tool_names().await, ["a__look"]);
}

/// Endpoints without a preset allow everything, even if others have one.
#[tokio::test]
async fn endpoints_without_a_preset_allow_everything() {
    let preset_servers = PresetServers::build();
    let gateway = Gateway::serve(&preset_servers.config()).await;
    let mut free = gateway.session("/mcp/wrapped").await;
    let names = free.tool_names().await;
    assert_eq!(names, ["a__look", "a__drop_secret", "b__tell_secret"]);
    let list = free.call("prompts/list", json!({})).await;
    let prompts = column(&list, "prompts", "name");
    assert_eq!(prompts, ["a__greet", "a__secret_prompt", "b__b_secret"]);
}
