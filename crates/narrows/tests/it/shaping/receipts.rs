//! Tests of who can recover a text, and for how long.

use std::time::Duration;

use narrows_testkit::LIMIT;
use serde_json::json;

use super::{Asks, numbered, receipt, saying, within};
use crate::gateway::{Gateway, Session, text, with};

async fn get(session: &mut Session) -> String {
    let answer = session.call_tool("one__get", json!({})).await;
    receipt(&answer["result"])
}

/// Returns the error for a text that the session may not read.
async fn refusal(session: &mut Session, id: &str) -> String {
    let answer = session.recover(json!({ "prune_id": id })).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    text(&answer).replace(id, "ID")
}

#[tokio::test]
async fn receipts_are_not_shared_between_sessions() {
    let server = saying(&numbered(500));
    let more = json!({ "endpoints": { "other": {} }, "recovery": { "ttl_s": 2 } });
    let gateway = Gateway::serve(&with(within(&server, 5_000), more)).await;
    let mut mine = gateway.session("/mcp").await;
    let mut other = gateway.session("/mcp/other").await;
    let guessed = refusal(&mut mine, "prn_01ARY000000000000000000042").await;
    assert!(guessed.contains("prune_id_not_found"));
    let id = get(&mut mine).await;
    // Another endpoint has no access; the same client in a new session has.
    assert_eq!(refusal(&mut other, &id).await, guessed);
    let mut again = gateway.session("/mcp").await;
    assert!(again.read_back(&id, json!({})).await == numbered(500));
    let uri = format!("narrows://receipt/{id}");
    let read = other.call("resources/read", json!({ "uri": uri })).await;
    let unknown = json!({ "uri": "narrows://receipt/prn_01ARY000000000000000000042" });
    let unknown = other.call("resources/read", unknown).await;
    assert_eq!(read["error"]["code"], unknown["error"]["code"]);
    assert_eq!(read["error"]["data"]["code"], "unknown_resource");
    // The pruner's own tools do not know the receipt either.
    let params = json!({ "prune_id": id, "ranges": [], "include_line_numbers": false });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "recover_text", "arguments": params } });
    let mut http = gateway.connect().await;
    let answer = http
        .post(
            "/rpc",
            &[("content-type", "application/json")],
            &call.to_string(),
        )
        .await;
    assert_eq!(answer.message()["error"]["code"], -32004);
    // The text expires for all clients.
    let expired = async {
        // Reading the text as a resource does not renew its lifetime.
        while mine.call("resources/read", json!({ "uri": uri })).await["error"].is_null() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let expired = tokio::time::timeout(LIMIT, expired).await;
    expired.expect("it expires");
    assert_eq!(refusal(&mut mine, &id).await, guessed);
}

async fn check_restart(kill: bool) {
    let long = numbered(90_000);
    let server = saying(&long);
    let folder = crate::program::Folder::new();
    let path = folder.path().join("kept");
    let config = with(
        within(&server, 20_000),
        json!({ "recovery": { "path": path } }),
    );
    let gateway = Gateway::serve(&config).await;
    let id = get(&mut gateway.session("/mcp").await).await;
    end(gateway, kill).await;
    let gateway = Gateway::serve(&config).await;
    let mut session = gateway.session("/mcp").await;
    assert!(
        session.read_back(&id, json!({})).await == long,
        "not what it was"
    );
    let found = session
        .recover(json!({ "prune_id": id, "query": "0077777" }))
        .await;
    assert!(text(&found).contains("\n77777│ "), "{}", text(&found));
}

async fn end(mut gateway: Gateway, kill: bool) {
    let signal = if kill { "KILL" } else { "TERM" };
    let pid = gateway.program.pid().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-s", signal, &pid])
        .status();
    assert!(sent.expect("kill runs").success());
    gateway.program.wait().await;
}

#[tokio::test]
async fn stored_texts_survive_a_restart() {
    check_restart(false).await;
}

#[tokio::test]
async fn stored_texts_survive_a_kill() {
    check_restart(true).await;
}
