//! Tests of the pruner over plain JSON-RPC.

use narrows_gateway::settings::Limits;
use narrows_serve::{Front, HttpSettings};
use serde_json::{Value, json};

use crate::TestGateway;
use crate::client::Reply;

async fn send(gate: &TestGateway, method: &str, body: &str) -> Reply {
    let client = gate.new_client().at("/rpc");
    client.send(method, &[], body).await.reply().await
}

async fn post(gate: &TestGateway, body: &Value) -> Value {
    send(gate, "POST", &body.to_string()).await.json()
}

/// Returns the result or the error of a method.
async fn ask(gate: &TestGateway, method: &str, params: Value) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": "x", "method": method, "params": params });
    let mut answer = post(gate, &request).await;
    assert_eq!(answer["jsonrpc"], "2.0");
    assert_eq!(answer["id"], "x");
    match answer["error"].take() {
        Value::Null => answer["result"].take(),
        error => error,
    }
}

async fn call(gate: &TestGateway, tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    let mut result = ask(gate, "tools/call", params).await;
    if result["content"].is_null() {
        return result;
    }
    let text = result["content"][0]["text"].as_str().expect("a text");
    let answer: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(answer, result["structuredContent"].take());
    answer
}

#[tokio::test]
async fn every_method_is_supported() {
    let gate = TestGateway::start().await;
    let hello = ask(
        &gate,
        "initialize",
        json!({ "protocolVersion": "2024-11-05" }),
    )
    .await;
    assert_eq!(hello["protocolVersion"], "2024-11-05");
    assert_eq!(hello["serverInfo"]["name"], "mcp-pruner");
    assert!(hello["capabilities"]["tools"].is_object());
    assert_eq!(ask(&gate, "ping", json!({})).await, json!({}));
    let health = ask(&gate, "health", json!({})).await;
    assert_eq!(health["status"], "healthy");
    assert_eq!(call(&gate, "health", json!({})).await["status"], "healthy");
    for (method, list) in [
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        assert_eq!(ask(&gate, method, json!({})).await, json!({ list: [] }));
    }
    let list = ask(&gate, "tools/list", json!({})).await;
    let names = list["tools"].as_array().unwrap().iter();
    let names: Vec<&Value> = names.map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["prune_text", "recover_text", "health"]);
    let unknown = ask(&gate, "no/such", json!({})).await;
    assert_eq!(unknown["code"], -32601);
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let reply = send(&gate, "POST", notice).await;
    assert_eq!((reply.status, reply.text()), (202, ""));
}

#[tokio::test]
async fn pruned_text_is_recovered() {
    let gate = TestGateway::start().await;
    let text: String = (1..=200)
        .map(|n| format!("line {n} of a rather long text\n"))
        .collect();
    let options = json!({ "max_prune_ratio": 0.9, "min_keep_lines": 0, "timeout_ms": 60_000,
        "annotate_lines": false, "include_markers": true });
    let arguments =
        json!({ "text": text, "goal_hint": "line 77", "source_type": "logs", "options": options });
    let pruned = call(&gate, "prune_text", arguments).await;
    assert_eq!(pruned["stats"]["used_fallback"], false);
    assert!(
        pruned["pruned_text"]
            .as_str()
            .unwrap()
            .contains("line 77 of")
    );
    let all = json!([{ "start_line": 1, "end_line": 200 }]);
    let id = &pruned["prune_id"];
    let arguments = json!({ "prune_id": id, "ranges": all, "include_line_numbers": false });
    let recovered = call(&gate, "recover_text", arguments.clone()).await;
    assert_eq!(
        format!("{}\n", recovered["raw_text"].as_str().unwrap()),
        text
    );
    assert_eq!(recovered, call(&gate, "recover_range", arguments).await);
}

#[tokio::test]
async fn errors_have_the_documented_codes() {
    let gate = TestGateway::start().await;
    let unknown = json!({ "prune_id": "prn_nope", "ranges": [], "include_line_numbers": true });
    assert_eq!(
        call(&gate, "recover_text", unknown).await,
        json!({ "code": -32004, "message": "prune_id_not_found",
            "data": { "code": "prune_id_not_found", "prune_id": "prn_nope" } })
    );
    let options = json!({ "max_prune_ratio": 0, "min_keep_lines": 0, "timeout_ms": 1000,
        "annotate_lines": false, "include_markers": true });
    let arguments =
        json!({ "text": "a\nb", "goal_hint": "", "source_type": "docs", "options": options });
    let id = call(&gate, "prune_text", arguments).await["prune_id"].take();
    let past = json!([{ "start_line": 3, "end_line": 3 }]);
    let arguments = json!({ "prune_id": id, "ranges": past, "include_line_numbers": true });
    assert_eq!(
        call(&gate, "recover_text", arguments).await,
        json!({ "code": -32005, "message": "invalid_range",
            "data": { "code": "invalid_range", "max_line": 2 } })
    );
    let invalid = call(&gate, "prune_text", json!({ "text": "x" })).await;
    assert_eq!(invalid["code"], -32602);
    assert_eq!(invalid["data"]["code"], "invalid_params");
    assert_eq!(
        call(&gate, "zzz", json!({})).await["data"]["code"],
        "unknown_tool"
    );
    let nameless = ask(&gate, "tools/call", json!({})).await;
    assert_eq!(nameless["message"], "'name' must be a string");
}

#[tokio::test]
async fn invalid_requests_are_rejected() {
    let limits = HttpSettings {
        max_message_bytes: 2_000,
        ..HttpSettings::default()
    };
    let gate = TestGateway::with(limits, Limits::default()).await;
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#,
        "x".repeat(2_000)
    );
    for (body, status, code) in [
        ("", 400, -32700),
        ("{", 400, -32700),
        ("5", 400, -32600),
        ("[]", 400, -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, 400, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, 400, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, 400, -32600),
        (&long, 413, -32600),
    ] {
        let reply = send(&gate, "POST", body).await;
        let answer = reply.json();
        assert_eq!(
            (reply.status, &answer["error"]["code"]),
            (status, &json!(code)),
            "{body}: {answer}"
        );
    }
    for method in ["GET", "DELETE", "PUT"] {
        let reply = send(&gate, method, "").await;
        assert_eq!(
            (reply.status, reply.header("allow")),
            (405, Some("POST, OPTIONS"))
        );
    }
    let foreign = gate.new_client().at("/rpc");
    let evil = [("origin", "http://evil.test")];
    let reply = foreign.send("POST", &evil, "{}").await.reply().await;
    assert_eq!(reply.status, 403);
}

#[tokio::test]
async fn pruner_only_server_exposes_no_gateway_details() {
    let settings = HttpSettings {
        front: Front::Pruner,
        ..HttpSettings::default()
    };
    let gate = TestGateway::with(settings, Limits::default()).await;
    let mut page = gate.new_client().at("/health").send("GET", &[], "").await;
    let health = page.reply().await.json();
    let keys: Vec<&String> = health.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        ["status", "server", "version", "capabilities", "timestamp"]
    );
}
