//! Tests of sessions over HTTP+SSE.

use std::time::Duration;

use narrows_gateway::settings::Limits;
use narrows_serve::HttpSettings;
use serde_json::{Value, json};

use super::{INITIALIZED, PING, SseClient};
use crate::TestGateway;
use crate::client::{call, initialize};

const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

#[tokio::test]
async fn session_works_from_open_to_close() {
    let gate = TestGateway::start().await;
    let mut stream = gate.new_client().at("/sse").get(None).await;
    let head = stream.head().await;
    assert_eq!(head.status, 200);
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    assert_eq!(head.header("cache-control"), Some("no-cache, no-transform"));
    let first = stream.event().await.unwrap();
    assert_eq!(first.kind, "endpoint");
    let id = first.data.strip_prefix("/messages?session_id=").unwrap();
    assert_eq!(id.len(), 32);
    let place = gate.new_client().at(&first.data);
    let mut listener = SseClient { stream, place };

    listener
        .send_message(&initialize(1, "2024-11-05", "{}"))
        .await;
    let hello = listener.receive().await;
    assert_eq!(hello["result"]["protocolVersion"], "2024-11-05");
    listener.send_message(INITIALIZED).await;
    listener.send_message(LIST).await;
    assert_eq!(
        listener.receive().await["result"]["tools"][0]["name"],
        "up__echo"
    );
    listener.send_message(&call("3", "echo")).await;
    assert_eq!(
        listener.receive().await["result"]["content"][0]["text"],
        r#"{"id":3}"#
    );
}

#[tokio::test]
async fn every_entrypoint_has_a_stream() {
    let gate = TestGateway::start().await;
    for (path, tool) in [
        ("/sse/default", "up__echo"),
        ("/sse/", "up__echo"),
        ("/servers/up/sse", "echo"),
    ] {
        let mut listener = SseClient::connect_at(&gate, path).await;
        listener
            .send_message(&initialize(1, "2025-06-18", "{}"))
            .await;
        listener.receive().await;
        listener.send_message(LIST).await;
        assert_eq!(listener.receive().await["result"]["tools"][0]["name"], tool);
    }
}

#[tokio::test]
async fn events_requests_and_responses_flow_both_ways() {
    let mut gate = TestGateway::start().await;
    let mut listener = SseClient::open_with(&gate, "2025-06-18", r#"{"elicitation":{}}"#).await;
    listener.send_message(&call("2", "hold")).await;
    let mut held = gate.upstream.held().await;
    listener.send_message(&call("3", "echo")).await;
    assert_eq!(listener.receive().await["id"], 3);
    held.progress(1).await;
    assert_eq!(listener.receive().await["params"]["progressToken"], 2);
    held.ask("theirs").await;
    let question = listener.receive().await;
    assert_eq!(question["method"], "elicitation/create");
    let reply =
        json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } });
    listener.send_message(&reply.to_string()).await;
    let received = gate.upstream.received("id", &json!("theirs")).await;
    assert_eq!(received["result"]["action"], "decline");
    held.progress(2).await;
    held.answer("done").await;
    assert_eq!(listener.receive().await["params"]["progress"], 2);
    assert_eq!(listener.receive().await["id"], 2);
}

#[tokio::test]
async fn notifications_outside_calls_are_delivered() {
    let mut gate = TestGateway::start().await;
    let mut listener = SseClient::open(&gate).await;
    listener.send_message(&call("2", "hold")).await;
    let mut held = gate.upstream.held().await;
    gate.upstream.add_tool(&mut held).await;
    assert_eq!(
        listener.receive().await["method"],
        "notifications/tools/list_changed"
    );
}

#[tokio::test]
async fn cancelled_request_gets_no_response() {
    let mut gate = TestGateway::start().await;
    let mut listener = SseClient::open(&gate).await;
    listener.send_message(&call("2", "hold")).await;
    let held = gate.upstream.held().await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
    listener.send_message(cancel).await;
    let notice = gate
        .upstream
        .received("method", &json!("notifications/cancelled"))
        .await;
    assert_eq!(notice["params"]["requestId"], held.id);
    listener.send_message(PING).await;
    assert_eq!(listener.receive().await["id"], "p");
}

#[tokio::test]
async fn clients_receive_only_their_own_messages() {
    let mut gate = TestGateway::start().await;
    let mut one = SseClient::open(&gate).await;
    let mut two = SseClient::open(&gate).await;
    assert_ne!(one.place.path, two.place.path);
    one.send_message(&call("7", "hold")).await;
    let mut for_one = gate.upstream.held().await;
    two.send_message(&call("7", "hold")).await;
    let mut for_two = gate.upstream.held().await;
    for_two.progress(2).await;
    for_one.progress(1).await;
    for_two.answer("two").await;
    for_one.answer("one").await;
    for (listener, number, text) in [(&mut one, 1, "one"), (&mut two, 2, "two")] {
        assert_eq!(listener.receive().await["params"]["progress"], number);
        assert_eq!(
            listener.receive().await["result"]["content"][0]["text"],
            text
        );
    }
}

#[tokio::test]
async fn only_ping_is_allowed_before_initialize() {
    let gate = TestGateway::start().await;
    let mut listener = SseClient::connect(&gate).await;
    listener.send_message(PING).await;
    assert_eq!(listener.receive().await["result"], json!({}));
    listener.send_message(LIST).await;
    assert_eq!(
        listener.receive().await["error"]["data"]["code"],
        "not_initialized"
    );
    listener
        .send_message(&initialize(4, "2025-06-18", "{}"))
        .await;
    assert_eq!(listener.receive().await["id"], 4);
    listener
        .send_message(&initialize(5, "2025-06-18", "{}"))
        .await;
    assert_eq!(
        listener.receive().await["error"]["data"]["code"],
        "already_initialized"
    );
}

#[tokio::test]
async fn batch_responses_form_one_array() {
    let gate = TestGateway::start().await;
    let batch = format!("[{},{PING},7]", call("1", "echo"));
    let mut listener = SseClient::open_with(&gate, "2025-03-26", "{}").await;
    listener.send_message(&batch).await;
    let answers = listener.receive().await;
    assert_eq!(answers.as_array().unwrap().len(), 3, "{answers}");

    let mut listener = SseClient::open(&gate).await;
    listener.send_message(&batch).await;
    assert_eq!(
        listener.receive().await["error"]["data"]["code"],
        "batch_not_supported"
    );
}

#[tokio::test]
async fn multi_line_message_is_one_event() {
    let mut gate = TestGateway::start().await;
    let mut listener = SseClient::open(&gate).await;
    listener.send_message(&call("2", "hold")).await;
    let held = gate.upstream.held().await;
    let result =
        "{\n  \"content\": [\n    { \"type\": \"text\",\n\n      \"text\": \"a\\nb\" }\n  ]\n}";
    held.answer_in_lines(result).await;
    let event = listener.stream.event().await.unwrap();
    assert!(event.data.lines().count() > 1, "{}", event.data);
    let message: Value = serde_json::from_str(&event.data).unwrap();
    assert_eq!(message["id"], 2);
    assert_eq!(message["result"]["content"][0]["text"], "a\nb");
    listener.send_message(PING).await;
    assert_eq!(listener.receive().await["id"], "p");
}

#[tokio::test]
async fn large_messages_pass_both_ways() {
    let gate = TestGateway::start().await;
    let mut listener = SseClient::open(&gate).await;
    let text = "0123456789".repeat(500_000);
    let arguments = format!(r#"{{"text":"{text}"}}"#);
    listener
        .send_message(&call("2", "echo").replace(r#"{"id":2}"#, &arguments))
        .await;
    let answer = listener.receive().await;
    let echoed = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(echoed == arguments, "{} bytes", echoed.len());
}

#[tokio::test]
async fn stream_sends_keep_alives() {
    let http = HttpSettings {
        keep_alive: Duration::from_millis(20),
        ..HttpSettings::default()
    };
    let gate = TestGateway::with(http, Limits::default()).await;
    let mut listener = SseClient::open(&gate).await;
    for _ in 0..3 {
        assert!(listener.stream.any_event().await.unwrap().comment);
    }
    listener.send_message(PING).await;
    assert_eq!(listener.receive().await["id"], "p");
}
