//! Tests of the end of a stream.

use std::time::Duration;

use narrows_gateway::settings::Limits;
use narrows_serve::HttpSettings;
use serde_json::json;

use super::{PING, SseClient};
use crate::client::{Connection, call, initialize};
use crate::{TestGateway, within};

/// Uses a grace period so long that a test that waits for it fails.
fn patient() -> HttpSettings {
    HttpSettings {
        grace: Duration::from_secs(3600),
        ..HttpSettings::default()
    }
}

#[tokio::test]
async fn closing_the_stream_cancels_calls_at_once() {
    let limits = Limits {
        max_sessions: 1,
        ..Limits::default()
    };
    let mut gate = TestGateway::with(patient(), limits).await;
    let listener = SseClient::open(&gate).await;
    listener.send_message(&call("2", "hold")).await;
    let held = gate.upstream.held().await;
    let next = gate.new_client();
    let hello = initialize(1, "2025-06-18", "{}");
    assert_eq!(next.post(&hello).await.status, 503);

    let SseClient { stream, place } = listener;
    drop(stream);
    let notice = gate
        .upstream
        .received("method", &json!("notifications/cancelled"))
        .await;
    assert_eq!(notice["params"]["requestId"], held.id);
    let freed = async { while next.post(&hello).await.status != 200 {} };
    within("the session to be freed", freed).await;
    assert_eq!(
        place.post(PING).await.refusal(),
        r#"404 -32600 "unknown_session" null"#
    );
}

#[tokio::test]
async fn client_without_initialize_is_disconnected() {
    let http = HttpSettings {
        hello_timeout: Duration::from_millis(200),
        ..HttpSettings::default()
    };
    let gate = TestGateway::with(http, Limits::default()).await;
    let mut known = SseClient::open(&gate).await;
    let mut mute = SseClient::connect(&gate).await;
    let mut evasive = SseClient::connect(&gate).await;
    evasive.send_message(PING).await;
    assert_eq!(evasive.receive().await["id"], "p");
    assert!(mute.ended().await);
    assert!(evasive.ended().await);
    known.send_message(PING).await;
    assert_eq!(known.receive().await["id"], "p");
}

#[tokio::test]
async fn shutdown_is_answered_and_closes_the_stream() {
    let mut gate = TestGateway::start().await;
    let mut other = SseClient::open(&gate).await;
    let mut listener = SseClient::open(&gate).await;
    listener.send_message(&call("2", "hold")).await;
    let _held = gate.upstream.held().await;
    listener
        .send_message(r#"{"jsonrpc":"2.0","id":9,"method":"shutdown"}"#)
        .await;
    assert_eq!(
        listener.receive().await,
        json!({ "jsonrpc": "2.0", "id": 9, "result": {} })
    );
    // The pending call gets an answer.
    let answer = listener.receive().await;
    assert_eq!(answer["id"], 2);
    assert_eq!(answer["error"]["data"]["code"], "session_closed");
    assert!(listener.ended().await);
    other.send_message(PING).await;
    assert_eq!(other.receive().await["id"], "p");
}

#[tokio::test]
async fn server_stops_after_the_last_response() {
    let mut gate = TestGateway::with(patient(), Limits::default()).await;
    let mut idle = SseClient::open(&gate).await;
    let mut listener = SseClient::open(&gate).await;
    listener.send_message(&call("2", "hold")).await;
    let held = gate.upstream.held().await;
    gate.stop.cancel();
    assert_eq!(idle.stream.event().await, None);
    held.answer("done").await;
    assert_eq!(
        listener.receive().await["result"]["content"][0]["text"],
        "done"
    );
    assert_eq!(listener.stream.event().await, None);
    within("the edge to end", gate.served).await.unwrap();
}

#[tokio::test]
async fn late_posts_are_rejected() {
    let mut gate = TestGateway::with(patient(), Limits::default()).await;
    let mut idle = SseClient::open(&gate).await;
    let mut listener = SseClient::open(&gate).await;
    listener.send_message(&call("2", "hold")).await;
    let held = gate.upstream.held().await;
    // A post that has started when the edge is stopped.
    let path = &listener.place.path;
    let length = PING.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\nexpect: 100-continue\r\n\r\n"
    );
    let mut late = Connection::open(gate.address).await;
    late.write(head.as_bytes()).await;
    // The gateway asks for the body.
    assert_eq!(late.reply().await.status, 100);
    gate.stop.cancel();
    assert_eq!(idle.stream.event().await, None);
    // The gateway does not wait for the rest of the body.
    assert_eq!(
        late.reply().await.refusal(),
        r#"503 -32600 "shutting_down" null"#
    );
    held.answer("done").await;
    assert_eq!(listener.receive().await["id"], 2);
}

#[tokio::test]
async fn client_that_leaves_does_not_delay_shutdown() {
    let mut gate = TestGateway::with(patient(), Limits::default()).await;
    let mut idle = SseClient::open(&gate).await;
    let listener = SseClient::open(&gate).await;
    listener.send_message(&call("2", "hold")).await;
    let held = gate.upstream.held().await;
    gate.stop.cancel();
    assert_eq!(idle.stream.event().await, None);
    drop(listener);
    let notice = gate
        .upstream
        .received("method", &json!("notifications/cancelled"))
        .await;
    assert_eq!(notice["params"]["requestId"], held.id);
    within("the edge to end", gate.served).await.unwrap();
}
