//! Tests of sessions over WebSocket.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

use super::{FIN, PING_REQUEST, Peer, TEXT, frame};
use crate::client::{call, initialize};
use crate::{Gate, within};

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

#[tokio::test]
async fn a_library_gets_along_with_us() {
    let gate = Gate::start().await;
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
async fn events_questions_and_answers_go_both_ways() {
    let mut gate = Gate::start().await;
    let mut peer = Peer::open_with(&gate, "2025-06-18", r#"{"elicitation":{}}"#).await;
    peer.say(INITIALIZED).await;
    peer.say(&call("2", "hold")).await;
    let mut held = gate.upstream.held().await;
    peer.say(&call("3", "echo")).await;
    assert_eq!(peer.hear().await["id"], 3);
    held.progress(1).await;
    assert_eq!(peer.hear().await["params"]["progressToken"], 2);
    held.ask("theirs").await;
    let question = peer.hear().await;
    assert_eq!(question["method"], "elicitation/create");
    let reply =
        json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } });
    peer.say(&reply.to_string()).await;
    let heard = gate.upstream.heard("id", &json!("theirs")).await;
    assert_eq!(heard["result"]["action"], "decline");
    held.progress(2).await;
    held.answer("done").await;
    assert_eq!(peer.hear().await["params"]["progress"], 2);
    assert_eq!(peer.hear().await["id"], 2);
}

#[tokio::test]
async fn what_belongs_to_no_call_comes_by_itself() {
    let mut gate = Gate::start().await;
    let mut peer = Peer::open(&gate).await;
    peer.say(&call("2", "hold")).await;
    let mut held = gate.upstream.held().await;
    gate.upstream.add_tool(&mut held).await;
    assert_eq!(
        peer.hear().await["method"],
        "notifications/tools/list_changed"
    );
}

#[tokio::test]
async fn a_request_taken_back_is_not_answered() {
    let mut gate = Gate::start().await;
    let mut peer = Peer::open(&gate).await;
    peer.say(&call("2", "hold")).await;
    let held = gate.upstream.held().await;
    peer.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#)
        .await;
    let notice = gate
        .upstream
        .heard("method", &json!("notifications/cancelled"))
        .await;
    assert_eq!(notice["params"]["requestId"], held.id);
    peer.say(PING_REQUEST).await;
    assert_eq!(peer.hear().await["id"], "p");
}

#[tokio::test]
async fn clients_do_not_hear_each_other() {
    let mut gate = Gate::start().await;
    let mut one = Peer::open(&gate).await;
    let mut two = Peer::open(&gate).await;
    one.say(&call("7", "hold")).await;
    let mut for_one = gate.upstream.held().await;
    two.say(&call("7", "hold")).await;
    let mut for_two = gate.upstream.held().await;
    for_two.progress(2).await;
    for_one.progress(1).await;
    for_two.answer("two").await;
    for_one.answer("one").await;
    for (peer, number, text) in [(&mut one, 1, "one"), (&mut two, 2, "two")] {
        assert_eq!(peer.hear().await["params"]["progress"], number);
        assert_eq!(peer.hear().await["result"]["content"][0]["text"], text);
    }
}

#[tokio::test]
async fn a_client_need_not_wait_for_the_answer_to_initialize() {
    let gate = Gate::start().await;
    let mut peer = Peer::connect(&gate).await;
    let hello = initialize(1, "2025-06-18", "{}");
    let together = [&*hello, LIST, PING_REQUEST];
    let frames = together.map(|message| frame(FIN | TEXT, message.as_bytes()));
    peer.write(&frames.concat()).await;
    for id in [json!(1), json!(2), json!("p")] {
        assert_eq!(peer.hear().await["id"], id);
    }
}

#[tokio::test]
async fn before_initialize_there_is_only_ping() {
    let gate = Gate::start().await;
    let mut peer = Peer::connect(&gate).await;
    peer.say(PING_REQUEST).await;
    assert_eq!(peer.hear().await["result"], json!({}));
    peer.say(LIST).await;
    assert_eq!(
        peer.hear().await["error"]["data"]["code"],
        "not_initialized"
    );
    peer.say(&initialize(4, "2025-06-18", "{}")).await;
    assert_eq!(peer.hear().await["id"], 4);
}

#[tokio::test]
async fn batches_are_answered_as_one_array_where_there_are_any() {
    let gate = Gate::start().await;
    let batch = format!("[{},{PING_REQUEST},7]", call("1", "echo"));
    let mut peer = Peer::open_with(&gate, "2025-03-26", "{}").await;
    peer.say(&batch).await;
    let answers = peer.hear().await;
    assert_eq!(answers.as_array().unwrap().len(), 3, "{answers}");

    let mut peer = Peer::open(&gate).await;
    peer.say(&batch).await;
    assert_eq!(
        peer.hear().await["error"]["data"]["code"],
        "batch_not_supported"
    );
}

#[tokio::test]
async fn large_messages_pass_both_ways() {
    let gate = Gate::start().await;
    let mut peer = Peer::open(&gate).await;
    let text = "0123456789".repeat(500_000);
    let arguments = format!(r#"{{"text":"{text}"}}"#);
    peer.say(&call("2", "echo").replace(r#"{"id":2}"#, &arguments))
        .await;
    let answer = peer.hear().await;
    let echoed = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(echoed == arguments, "{} bytes", echoed.len());
}
