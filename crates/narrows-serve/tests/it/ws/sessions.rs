//! Tests of sessions over WebSocket.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

use super::{FIN, PING_REQUEST, TEXT, WsClient, frame};
use crate::client::{call, initialize};
use crate::{TestGateway, within};

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

#[tokio::test]
async fn tungstenite_client_works() {
    let gate = TestGateway::start().await;
    let socket = TcpStream::connect(gate.address).await.unwrap();
    let url = format!("ws://{}/ws", gate.address);
    let connected = tokio_tungstenite::client_async(url, socket);
    let (mut socket, _) = within("the handshake", connected).await.unwrap();
    let hello = initialize(1, "2025-06-18", "{}");
    let echo = call("3", "echo");
    for (message, answered) in [
        (&*hello, Some(1)),
        (INITIALIZED, None),
        (LIST, Some(2)),
        (&echo, Some(3)),
    ] {
        socket.send(Message::text(message)).await.unwrap();
        if let Some(id) = answered {
            let answer = within("an answer", socket.next()).await.unwrap().unwrap();
            let answer: Value = serde_json::from_str(answer.to_text().unwrap()).unwrap();
            assert_eq!(answer["id"], id);
            assert!(answer["result"].is_object(), "{answer}");
        }
    }
    socket.close(None).await.unwrap();
    let answer = within("the farewell", socket.next()).await;
    assert!(matches!(answer, Some(Ok(Message::Close(_)))), "{answer:?}");
    assert!(within("the end", socket.next()).await.is_none());
}

#[tokio::test]
async fn events_requests_and_responses_flow_both_ways() {
    let mut gate = TestGateway::start().await;
    let mut peer = WsClient::open_with(&gate, "2025-06-18", r#"{"elicitation":{}}"#).await;
    peer.send_message(INITIALIZED).await;
    peer.send_message(&call("2", "hold")).await;
    let mut held = gate.upstream.held().await;
    peer.send_message(&call("3", "echo")).await;
    assert_eq!(peer.receive().await["id"], 3);
    held.progress(1).await;
    assert_eq!(peer.receive().await["params"]["progressToken"], 2);
    held.ask("theirs").await;
    let question = peer.receive().await;
    assert_eq!(question["method"], "elicitation/create");
    let reply =
        json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } });
    peer.send_message(&reply.to_string()).await;
    let received = gate.upstream.received("id", &json!("theirs")).await;
    assert_eq!(received["result"]["action"], "decline");
    held.progress(2).await;
    held.answer("done").await;
    assert_eq!(peer.receive().await["params"]["progress"], 2);
    assert_eq!(peer.receive().await["id"], 2);
}

#[tokio::test]
async fn notifications_outside_calls_are_delivered() {
    let mut gate = TestGateway::start().await;
    let mut peer = WsClient::open(&gate).await;
    peer.send_message(&call("2", "hold")).await;
    let mut held = gate.upstream.held().await;
    gate.upstream.add_tool(&mut held).await;
    assert_eq!(
        peer.receive().await["method"],
        "notifications/tools/list_changed"
    );
}

#[tokio::test]
async fn cancelled_request_gets_no_response() {
    let mut gate = TestGateway::start().await;
    let mut peer = WsClient::open(&gate).await;
    peer.send_message(&call("2", "hold")).await;
    let held = gate.upstream.held().await;
    peer.send_message(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#,
    )
    .await;
    let notice = gate
        .upstream
        .received("method", &json!("notifications/cancelled"))
        .await;
    assert_eq!(notice["params"]["requestId"], held.id);
    peer.send_message(PING_REQUEST).await;
    assert_eq!(peer.receive().await["id"], "p");
}

#[tokio::test]
async fn clients_receive_only_their_own_messages() {
    let mut gate = TestGateway::start().await;
    let mut one = WsClient::open(&gate).await;
    let mut two = WsClient::open(&gate).await;
    one.send_message(&call("7", "hold")).await;
    let mut for_one = gate.upstream.held().await;
    two.send_message(&call("7", "hold")).await;
    let mut for_two = gate.upstream.held().await;
    for_two.progress(2).await;
    for_one.progress(1).await;
    for_two.answer("two").await;
    for_one.answer("one").await;
    for (peer, number, text) in [(&mut one, 1, "one"), (&mut two, 2, "two")] {
        assert_eq!(peer.receive().await["params"]["progress"], number);
        assert_eq!(peer.receive().await["result"]["content"][0]["text"], text);
    }
}

#[tokio::test]
async fn requests_may_follow_initialize_immediately() {
    let gate = TestGateway::start().await;
    let mut peer = WsClient::connect(&gate).await;
    let hello = initialize(1, "2025-06-18", "{}");
    let together = [&*hello, LIST, PING_REQUEST];
    let frames = together.map(|message| frame(FIN | TEXT, message.as_bytes()));
    peer.write(&frames.concat()).await;
    for id in [json!(1), json!(2), json!("p")] {
        assert_eq!(peer.receive().await["id"], id);
    }
}

#[tokio::test]
async fn only_ping_is_allowed_before_initialize() {
    let gate = TestGateway::start().await;
    let mut peer = WsClient::connect(&gate).await;
    peer.send_message(PING_REQUEST).await;
    assert_eq!(peer.receive().await["result"], json!({}));
    peer.send_message(LIST).await;
    assert_eq!(
        peer.receive().await["error"]["data"]["code"],
        "not_initialized"
    );
    peer.send_message(&initialize(4, "2025-06-18", "{}")).await;
    assert_eq!(peer.receive().await["id"], 4);
}

#[tokio::test]
async fn batch_responses_form_one_array() {
    let gate = TestGateway::start().await;
    let batch = format!("[{},{PING_REQUEST},7]", call("1", "echo"));
    let mut peer = WsClient::open_with(&gate, "2025-03-26", "{}").await;
    peer.send_message(&batch).await;
    let answers = peer.receive().await;
    assert_eq!(answers.as_array().unwrap().len(), 3, "{answers}");

    let mut peer = WsClient::open(&gate).await;
    peer.send_message(&batch).await;
    assert_eq!(
        peer.receive().await["error"]["data"]["code"],
        "batch_not_supported"
    );
}

#[tokio::test]
async fn large_messages_pass_both_ways() {
    let gate = TestGateway::start().await;
    let mut peer = WsClient::open(&gate).await;
    let text = "0123456789".repeat(500_000);
    let arguments = format!(r#"{{"text":"{text}"}}"#);
    peer.send_message(&call("2", "echo").replace(r#"{"id":2}"#, &arguments))
        .await;
    let answer = peer.receive().await;
    let echoed = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(echoed == arguments, "{} bytes", echoed.len());
}
