//! Tests of the plain JSON-RPC route, which uses the preset of the default endpoint.

use narrows_testkit::raw::Response;
use narrows_testkit::scripted::Transport;
use narrows_testkit::until;
use serde_json::{Value, json};

use super::{
    AskedRequest, PresetServers, README, SECRET, VAULT, about_prompt, about_resource, about_tool,
    denied, guest,
};
use crate::gateway::{Gateway, column, config, with};

/// Checks the same server twice: over stdio as `a`, and over plain JSON-RPC as `c`, which receives
/// the client's bytes unchanged.
async fn check(check: impl AsyncFn(&PresetServers, &Gateway, &str)) {
    let preset_servers = PresetServers::build();
    let twin = PresetServers::build();
    let posted = twin.a.serve_http().await;
    let mut allows = guest();
    let own = |entry: &Value| {
        let text = entry.to_string();
        let text = text.replace(r#""a""#, r#""c""#).replace("a/*", "c/*");
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
    for list in ["tools", "prompts", "resources"] {
        let entries = allows[list].as_array().expect("a list").clone();
        let both = entries.iter().cloned().chain(entries.iter().map(own));
        allows[list] = both.collect();
    }
    let servers = config([
        ("a", preset_servers.a.config()),
        ("b", preset_servers.b.config()),
        ("c", posted.config_of(Transport::Rpc)),
    ]);
    let more = json!({
        "presets": { "guest": allows },
        "endpoints": { "default": { "preset": "guest" } },
    });
    let gateway = Gateway::serve(&with(servers, more)).await;
    // The first list request waits until all servers are up.
    gateway.session("/mcp").await.tool_names().await;
    check(&preset_servers, &gateway, "a").await;
    check(&twin, &gateway, "c").await;
}

async fn post(gateway: &Gateway, server: &str, body: &str) -> Response {
    let path = format!("/api/mcp-gateway/{server}/rpc");
    let headers = [("content-type", "application/json")];
    gateway.connect().await.post(&path, &headers, body).await
}

fn request((method, params): &AskedRequest) -> String {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }).to_string()
}

#[tokio::test]
async fn hidden_items_are_not_listed() {
    check(async |_, gateway, server| {
        for (method, list, key, expected) in [
            ("tools/list", "tools", "name", "look"),
            ("prompts/list", "prompts", "name", "greet"),
            ("resources/list", "resources", "uri", README),
            (
                "resources/templates/list",
                "resourceTemplates",
                "uriTemplate",
                super::OPEN,
            ),
        ] {
            let answer = post(gateway, server, &request(&(method, json!({})))).await;
            assert_eq!(answer.status, 200, "{answer:?}");
            assert_eq!(column(&answer.json(), list, key), [expected], "{server}");
        }
    })
    .await;
}

#[tokio::test]
async fn hidden_items_are_refused() {
    check(async |preset_servers, gateway, server| {
        let mut attempts = about_tool("drop_secret");
        attempts.extend(about_prompt("secret_prompt"));
        for uri in [
            SECRET,
            VAULT,
            "file:///vault_secret/key",
            "file:///open/%73ecret.txt",
            "file:///open/..%2Fvault_secret%2Fkey",
        ] {
            attempts.extend(about_resource(uri));
        }
        let mut bodies: Vec<String> = attempts.iter().map(request).collect();
        bodies.extend(
            [
                // Params that cannot be interpreted, and unknown methods.
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":["drop_secret"]}"#,
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"tool":"drop_secret"}}"#,
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#,
                r#"{"jsonrpc":"2.0","id":7,"method":"secret/method","params":{}}"#,
                r#"{"jsonrpc":"2.0","id":7,"method":"Tools/Call","params":{"name":"drop_secret"}}"#,
                r#"{"jsonrpc":"2.0","id":7,"params":{"name":"drop_secret"}}"#,
                r#"{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":{"type":"ref/other","name":"secret"}}}"#,
                // Escapes do not hide names.
                r#"{"jsonrpc":"2.0","id":7,"\u006dethod":"tools\/call","params":{"n\u0061me":"drop_\u0073ecret"}}"#,
                // A notification, so no response is expected.
                r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"drop_secret"}}"#,
                r#"{"jsonrpc":"2.0","method":"notifications/secret"}"#,
            ]
            .map(str::to_owned),
        );
        let before = preset_servers.received();
        for body in &bodies {
            let reported = denied(&gateway.program.stderr()).len();
            let answer = post(gateway, server, body).await;
            assert_eq!(answer.status, 403, "{server} {body}: {answer:?}");
            let answer = answer.json();
            assert_eq!(answer["error"]["code"], -32602, "{body}: {answer}");
            assert_eq!(answer["error"]["data"]["code"], "not_allowed");
            until(format!("it is logged: {body}"), || {
                denied(&gateway.program.stderr()).len() > reported
            })
            .await;
            assert_eq!(preset_servers.received(), before, "{server}: {body}");
        }
        // Ambiguous requests are refused.
        for body in [
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"look","name":"drop_secret"}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","method":"tools/call","params":{"name":"drop_secret"}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"look"},"params":{"name":"drop_secret"}}"#,
            r#"[{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"drop_secret"}}]"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":["drop_secret"]}}"#,
        ] {
            let answer = post(gateway, server, body).await;
            assert_eq!(answer.status, 400, "{body}: {answer:?}");
            assert_eq!(preset_servers.received(), before, "{server}: {body}");
        }
    })
    .await;
}

#[tokio::test]
async fn allowed_items_pass() {
    check(async |_, gateway, server| {
        let mut fine = about_tool("look");
        fine.extend(about_prompt("greet"));
        fine.extend(about_resource(README));
        fine.extend(about_resource("file:///open/plain.txt"));
        fine.push(("ping", json!({})));
        for asked in &fine {
            let answer = post(gateway, server, &request(asked)).await;
            assert_eq!(answer.status, 200, "{server} {asked:?}: {answer:?}");
            assert!(answer.json()["result"].is_object(), "{asked:?}: {answer:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn server_without_allowed_items_is_refused() {
    check(async |preset_servers, gateway, server| {
        if server != "a" {
            return;
        }
        let before = preset_servers.b.received();
        let mut attempts = about_tool("tell_secret");
        attempts.extend(about_prompt("b_secret"));
        attempts.extend(about_resource("b://secret"));
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "c", "version": "1" } });
        attempts.push(("initialize", hello));
        attempts.push(("ping", json!({})));
        attempts.push(("logging/setLevel", json!({ "level": "debug" })));
        for asked in &attempts {
            let answer = post(gateway, "b", &request(asked)).await;
            assert_eq!(answer.status, 403, "{asked:?}: {answer:?}");
            let answer = answer.json();
            assert_eq!(answer["error"]["data"]["code"], "not_allowed", "{answer}");
        }
        let list = post(gateway, "b", &request(&("tools/list", json!({})))).await;
        assert_eq!(list.json()["result"]["tools"], json!([]), "{list:?}");
        assert_eq!(preset_servers.b.received(), before);
    })
    .await;
}
