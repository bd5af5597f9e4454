//! Tests of `check` with servers of MCP 2026-07-28: the era, how it was detected, and what a server
//! that refuses the gateway's revisions supports.

use expect_test::expect;
use narrows_testkit::http_server::{Reply, Seen, Server, json_reply, reply};
use serde_json::{Value, json};

use super::transports::{check, config};

async fn serve(respond: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Server {
    Server::bare(move |seen| {
        let reply = respond(&seen);
        async move { reply }
    })
    .await
}

fn refusal(seen: &Seen, supported: &str) -> Reply {
    let error = json!({"code": -32022, "message": "Unsupported protocol version",
        "data": {"supported": [supported]}});
    let body = json!({"jsonrpc": "2.0", "id": seen.body["id"], "error": error});
    reply(400, "application/json", &body.to_string())
}

/// Answers as a server without `initialize` that has one valid tool.
fn modern(seen: &Seen) -> Reply {
    let tool = |name: &str, header: &str| {
        let region = json!({"type": "string", "x-mcp-header": header});
        json!({"name": name, "inputSchema": {"type": "object", "properties": {"region": region}}})
    };
    match seen.what() {
        "server/discover" => json_reply(&seen.result(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
        }))),
        "tools/list" => json_reply(&seen.result(json!({
            "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
            "tools": [tool("good", "Region"), tool("bad", "no header name")],
        }))),
        _ => refusal(seen, "2026-07-28"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_era_of_a_server_is_shown_with_its_reason() {
    let modern = serve(modern).await;
    let newer = serve(|seen| refusal(seen, "2030-01-01")).await;
    let entry = |server: &Server, era: &str| -> Value {
        let url = format!("http://{}/mcp", server.address);
        json!({"type": "http", "url": url, "era": era})
    };
    let folder = config([
        ("found", entry(&modern, "auto")),
        ("set", entry(&modern, "modern")),
        ("wrong", entry(&modern, "legacy")),
        ("newer", entry(&newer, "auto")),
    ]);
    check(
        &folder.run(&["check"]),
        expect![[r#"
        exit 1
        configuration  narrows.json
        up        found  http     2026-07-28 (modern), N s, 1 tool, N tokens
                  era: modern, because it refuses initialize
        down      newer  http     N s, it rejects the protocol version: it speaks MCP 2030-01-01 only; the gateway speaks 2024-11-05 to 2026-07-28
                  hint: use a release of the server that also supports one of these revisions
        up        set    http     2026-07-28 (modern), N s, 1 tool, N tokens
        down      wrong  http     N s, it rejects the protocol version: it speaks MCP 2026-07-28 only; the gateway speaks 2024-11-05 to 2026-07-28, but "era" is "legacy"
                  hint: remove "era": "legacy"
        2 of 4 servers up, N tools, N tokens, and recover_text of the gateway, N tokens
    "#]],
    );
    let ran = folder.run(&["check", "--json"]);
    let shown: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let servers = shown["servers"].as_array().expect("servers");
    let found = servers.iter().find(|server| server["id"] == "found");
    let found = found.expect("it is listed");
    assert_eq!(found["era"], "modern");
    assert_eq!(found["revision"], "2026-07-28");
    assert_eq!(found["era_found"], "it refuses initialize");
}
