//! Tests that tool lists in a server's entry apply on every transport and endpoint.

use narrows_testkit::raw::{Any, Sse, Stdio, Streamable, WebSocket};
use narrows_testkit::scripted::{Installed, Script, Transport};
use narrows_testkit::until;
use serde_json::{Value, json};
use tokio::process::Command;

use super::denied;
use crate::gateway::{Gateway, REVISION, column, config, error, with};
use crate::program::Folder;

/// The end of the error for a tool in `disabledTools` of the server `a`.
const REFUSED: &str = "' is not allowed: `mcpServers.a.disabledTools` excludes it";

fn server() -> Installed {
    Script::new("a")
        .plain_tool("look")
        .plain_tool("drop")
        .prompt(r#"{"name":"greet"}"#)
        .install()
}

/// Returns all forms of lists that exclude `drop`.
fn lists() -> Vec<Value> {
    vec![
        json!({ "disabledTools": ["drop"] }),
        json!({ "excludeTools": ["drop"] }),
        json!({ "includeTools": ["look(path)"] }),
        json!({ "allowedTools": ["look"] }),
        json!({ "tools": ["look"] }),
        json!({ "tools": ["*"], "disabledTools": ["drop"] }),
        json!({ "includeTools": ["look", "drop"], "excludeTools": ["drop"] }),
    ]
}

/// Checks that only `look` is listed, and that the other tool cannot be called.
async fn check(mut client: Any, prefix: &str) {
    client.initialize(REVISION, json!({})).await;
    let list = client.call("tools/list", json!({})).await;
    assert_eq!(column(&list, "tools", "name"), [format!("{prefix}look")]);
    let answer = client.call_tool(&format!("{prefix}look"), json!({})).await;
    assert!(answer["result"].is_object(), "{answer}");
    let answer = client.call_tool(&format!("{prefix}drop"), json!({})).await;
    let refusal = error(&answer);
    assert!(refusal.starts_with("-32602 not_allowed Tool '"), "{answer}");
    assert!(refusal.ends_with(REFUSED), "{answer}");
    // The lists apply only to tools.
    let prompts = client.call("prompts/list", json!({})).await;
    assert_eq!(
        column(&prompts, "prompts", "name"),
        [format!("{prefix}greet")]
    );
    // A server that ignores the case of members would read another name.
    let params = json!({ "name": format!("{prefix}look"), "Name": "drop" });
    let answer = client.call("tools/call", params).await;
    assert!(answer["error"].is_object(), "{answer}");
}

#[tokio::test]
async fn disabled_tool_is_refused_on_every_entrypoint() {
    let server = server();
    let entry = with(server.config(), json!({ "disabledTools": ["drop"] }));
    let gateway = Gateway::serve(&config([("a", entry)])).await;
    let address = gateway.address();
    check(Streamable::at(address, "/mcp").boxed(), "a__").await;
    check(Sse::connect(address, "/sse").await.boxed(), "a__").await;
    check(WebSocket::connect(address, "/ws").await.boxed(), "a__").await;
    check(Streamable::at(address, "/servers/a/mcp").boxed(), "").await;
    check(Sse::connect(address, "/servers/a/sse").await.boxed(), "").await;
    let socket = WebSocket::connect(address, "/servers/a/ws").await;
    check(socket.boxed(), "").await;
    let events = || denied(&gateway.program.stderr());
    until("every refusal is logged", || events().len() == 6).await;
    let events = events();
    let reason = "`mcpServers.a.disabledTools` excludes it";
    assert_eq!(events[0]["reason"], reason, "{}", events[0]);
    let list = "mcpServers.a.disabledTools";
    assert_eq!(events[0]["tool_list"], list, "{}", events[0]);
    assert!(events[0]["preset"].is_null(), "{}", events[0]);
    assert_eq!(server.count_received(r#""drop""#), 0);
}

#[tokio::test]
async fn disabled_tool_is_refused_over_stdio() {
    let server = server();
    let entry = with(server.config(), json!({ "disabledTools": ["drop"] }));
    let folder = Folder::with(&config([("a", entry)]).to_string());
    let client = Stdio::start(&mut Command::from(folder.command(&["stdio"])));
    check(client.boxed(), "a__").await;
    assert_eq!(server.count_received(r#""drop""#), 0);
}

#[tokio::test]
async fn disabled_tool_is_neither_executed_nor_found() {
    let server = server();
    let entry = with(server.config(), json!({ "disabledTools": ["drop"] }));
    let more = json!({ "endpoints": { "find": { "expose": "search", "pin": ["*/*"] } } });
    let gateway = Gateway::serve(&with(config([("a", entry)]), more)).await;
    for path in ["/mcp/lazy", "/mcp/find"] {
        let mut session = gateway.session(path).await;
        let list = session.call("tools/list", json!({})).await.to_string();
        assert!(list.contains("look") && !list.contains("drop"), "{list}");
        for name in ["inspect", "exec"] {
            let asked = json!({ "server_name": "a", "tool_name": "drop" });
            let answer = session.call_tool(name, asked).await;
            assert!(error(&answer).ends_with(REFUSED), "{answer}");
        }
        let asked = json!({ "server_name": "a" });
        let all = session.call_tool("inspect", asked).await.to_string();
        assert!(all.contains("look") && !all.contains("drop"), "{all}");
    }
    let mut session = gateway.session("/mcp/find").await;
    let found = session
        .call_tool("search_tools", json!({ "query": "drop" }))
        .await;
    assert!(!found.to_string().contains("a__drop"), "{found}");
    assert_eq!(server.count_received(r#""drop""#), 0);
}

#[tokio::test]
async fn disabled_tool_is_refused_over_plain_json_rpc() {
    let (linked, posted) = (server(), server());
    let served = posted.serve_http().await;
    for list in lists() {
        let servers = config([
            ("a", with(linked.config(), list.clone())),
            ("c", with(served.config_of(Transport::Rpc), list.clone())),
        ]);
        let gateway = Gateway::serve(&servers).await;
        let mut session = gateway.session("/mcp").await;
        assert_eq!(session.tool_names().await, ["a__look", "c__look"], "{list}");
        for server in ["a", "c"] {
            let path = format!("/api/mcp-gateway/{server}/rpc");
            let headers = [("content-type", "application/json")];
            let mut http = gateway.connect().await;
            let request = |method: &str, params: Value| {
                json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }).to_string()
            };
            let body = request("tools/call", json!({ "name": "drop", "arguments": {} }));
            let refused = http.post(&path, &headers, &body).await;
            assert_eq!(refused.status, 403, "{list} {refused:?}");
            let refusal = error(&refused.json());
            let expected =
                format!("-32602 not_allowed Tool 'drop' is not allowed: `mcpServers.{server}.");
            assert!(refusal.starts_with(&expected), "{list} {refusal}");
            let body = request("tools/list", json!({}));
            let answer = http.post(&path, &headers, &body).await.json();
            assert_eq!(column(&answer, "tools", "name"), ["look"], "{list}");
            // Methods not about tools pass.
            for method in ["ping", "prompts/list"] {
                let body = request(method, json!({}));
                let answer = http.post(&path, &headers, &body).await;
                assert!(answer.json()["result"].is_object(), "{method} {answer:?}");
            }
            let body = request("tools/call", json!({ "name": "look", "arguments": {} }));
            let answer = http.post(&path, &headers, &body).await;
            assert!(answer.json()["result"].is_object(), "{list} {answer:?}");
        }
    }
    for server in [&linked, &posted] {
        assert_eq!(server.count_received(r#""drop""#), 0);
    }
}

/// The preset of an endpoint or a session does not replace a server's own tool list.
#[tokio::test]
async fn preset_cannot_enable_a_disabled_tool() {
    let server = server();
    let entry = with(
        server.config(),
        json!({ "disabledTools": ["drop"], "preset": false }),
    );
    let more = json!({
        "presets": { "all": { "tools": ["*/*"] } },
        "endpoints": { "default": { "preset": "all" } },
    });
    let gateway = Gateway::serve(&with(config([("a", entry)]), more)).await;
    check(Streamable::at(gateway.address(), "/mcp").boxed(), "a__").await;
    let direct = Streamable::at(gateway.address(), "/servers/a/mcp").boxed();
    check(direct, "").await;
}
