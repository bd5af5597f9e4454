//! Tests of clients that read slowly or not at all.

use std::io::ErrorKind;
use std::time::Duration;

use narrows_gateway::settings::Limits;
use narrows_serve::HttpSettings;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::{
    BINARY, CLOSE, FIN, PING, PING_REQUEST, PONG, TEXT, WsClient, closing, frame, frame_head,
};
use crate::client::call;
use crate::{TestGateway, within};

/// Sends calls whose answers exceed the buffers on the path.
async fn ask_for_much(peer: &mut WsClient) {
    let asked = (100..200).map(|id| call(&id.to_string(), "blob"));
    let frames = asked.map(|message| frame(FIN | TEXT, message.as_bytes()));
    peer.write(&frames.collect::<Vec<_>>().concat()).await;
}

#[tokio::test]
async fn stalled_reader_is_disconnected_without_affecting_others() {
    let http = HttpSettings {
        write_timeout: Duration::from_millis(500),
        ..HttpSettings::default()
    };
    let mut gate = TestGateway::with(http, Limits::default()).await;
    let mut other = WsClient::open(&gate).await;
    let mut stuck = WsClient::open(&gate).await;
    stuck.send_message(&call("2", "hold")).await;
    let held = gate.upstream.held().await;
    ask_for_much(&mut stuck).await;
    other.send_message(&call("3", "echo")).await;
    assert_eq!(other.receive().await["id"], 3);
    let notice = gate
        .upstream
        .received("method", &json!("notifications/cancelled"))
        .await;
    assert_eq!(notice["params"]["requestId"], held.id);
    other.send_message(PING_REQUEST).await;
    assert_eq!(other.receive().await["id"], "p");
}

#[tokio::test]
async fn late_reader_loses_no_messages() {
    let http = HttpSettings {
        queue: 1,
        ..HttpSettings::default()
    };
    let gate = TestGateway::with(http, Limits::default()).await;
    let mut peer = WsClient::open(&gate).await;
    ask_for_much(&mut peer).await;
    let mut answered = Vec::new();
    for _ in 100..200 {
        let answer = peer.receive().await;
        assert!(answer["result"].is_object(), "{answer}");
        answered.push(answer["id"].as_u64().unwrap());
    }
    answered.sort();
    assert_eq!(answered, (100..200).collect::<Vec<_>>());
}

#[tokio::test]
async fn close_is_answered_after_pending_writes() {
    let http = HttpSettings {
        queue: 4,
        ..HttpSettings::default()
    };
    let mut gate = TestGateway::with(http, Limits::default()).await;
    let mut peer = WsClient::open(&gate).await;
    peer.send_message(&call("2", "hold")).await;
    let held = gate.upstream.held().await;
    ask_for_much(&mut peer).await;
    peer.write(&frame(FIN | CLOSE, &closing(1000, ""))).await;
    // The session ends before the client reads anything.
    let notice = gate
        .upstream
        .received("method", &json!("notifications/cancelled"))
        .await;
    assert_eq!(notice["params"]["requestId"], held.id);
    assert_eq!(peer.close_code().await, Some(1000));
    assert!(peer.ended().await);
}

#[tokio::test]
async fn slow_reader_does_not_count_as_silent() {
    let keep_alive = Duration::from_millis(200);
    let http = HttpSettings {
        keep_alive,
        ..HttpSettings::default()
    };
    let mut gate = TestGateway::with(http, Limits::default()).await;
    let mut peer = WsClient::open(&gate).await;
    peer.send_message(&call("2", "hold")).await;
    let held = gate.upstream.held().await;
    // A single message that exceeds the buffers on the path, so that no ping can follow before it
    // is read.
    held.answer(&"x".repeat(15_000_000)).await;
    loop {
        let begun = within("a frame", peer.socket.fill_buf()).await.unwrap();
        if begun.first() != Some(&(FIN | PING)) {
            break;
        }
        peer.frame().await;
        peer.write(&frame(FIN | PONG, b"")).await;
    }
    // Longer than a client may leave pings unanswered.
    tokio::time::sleep(keep_alive * 6).await;
    assert_eq!(peer.receive().await["id"], 2);
    peer.send_message(PING_REQUEST).await;
    assert_eq!(peer.receive().await["id"], "p");
}

#[tokio::test]
async fn slow_writer_does_not_count_as_silent() {
    let keep_alive = Duration::from_millis(150);
    let http = HttpSettings {
        keep_alive,
        ..HttpSettings::default()
    };
    let gate = TestGateway::with(http, Limits::default()).await;
    let mut peer = WsClient::open(&gate).await;
    // A single frame, within which the client cannot send a pong.
    for piece in frame(FIN | TEXT, PING_REQUEST.as_bytes()).chunks(3) {
        peer.write(piece).await;
        tokio::time::sleep(keep_alive / 3).await;
    }
    assert_eq!(peer.receive().await["id"], "p");
}

#[tokio::test]
async fn close_reason_reaches_a_slow_oversized_sender() {
    let http = HttpSettings {
        max_message_bytes: 1000,
        ..HttpSettings::default()
    };
    let gate = TestGateway::with(http, Limits::default()).await;
    let mut peer = WsClient::open(&gate).await;
    let piece = [b' '; 1000];
    peer.write(&frame_head(FIN | TEXT, 30_000)).await;
    for _ in 0..30 {
        peer.write(&piece).await;
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    assert_eq!(peer.close_code().await, Some(1009));
    assert!(peer.ended().await);
}

#[tokio::test]
async fn gateway_closes_first_while_the_client_keeps_sending() {
    let gate = TestGateway::start().await;
    let mut peer = WsClient::open(&gate).await;
    peer.write(&frame(FIN | BINARY, b"")).await;
    assert_eq!(peer.close_code().await, Some(1003));
    let sending = async {
        loop {
            peer.write(b"and another thing").await;
            let more = timeout(Duration::from_millis(100), peer.socket.read_u8());
            if let Ok(more) = more.await {
                return more.map_err(|error| error.kind());
            }
        }
    };
    assert_eq!(
        within("the end", sending).await,
        Err(ErrorKind::UnexpectedEof)
    );
}

#[tokio::test]
async fn pongs_to_a_stalled_reader_are_not_queued() {
    let gate = TestGateway::start().await;
    let mut other = WsClient::open(&gate).await;
    let mut peer = WsClient::open(&gate).await;
    let pings = frame(FIN | PING, &[b'x'; 125]).repeat(10_000);
    // The gateway may stop reading or disconnect, but must not keep accepting pings that it cannot
    // answer.
    let mut taken = 0;
    while taken < 100 {
        let written = peer.socket.get_mut().write_all(&pings);
        match timeout(Duration::from_secs(1), written).await {
            Ok(Ok(())) => taken += 1,
            Ok(Err(_)) | Err(_) => break,
        }
    }
    assert!(taken < 100, "{taken} times {} bytes", pings.len());
    other.send_message(PING_REQUEST).await;
    assert_eq!(other.receive().await["id"], "p");
}

#[tokio::test]
async fn message_beyond_the_memory_limit_is_not_read() {
    let limits = Limits {
        max_request_bytes_total: 400_000,
        ..Limits::default()
    };
    let gate = TestGateway::with(HttpSettings::default(), limits).await;
    let mut peer = WsClient::open(&gate).await;
    // A single client may use a quarter of the memory.
    peer.write(&frame_head(FIN | TEXT, 200_000)).await;
    peer.write(&[b' '; 150_000]).await;
    assert_eq!(peer.close_code().await, Some(1013));
    let mut other = WsClient::open(&gate).await;
    let long = format!("{PING_REQUEST}{}", " ".repeat(90_000));
    other.send_message(&long).await;
    assert_eq!(other.receive().await["id"], "p");
}

#[tokio::test]
async fn message_that_arrives_too_slowly_times_out() {
    let http = HttpSettings {
        body_timeout: Duration::from_millis(100),
        ..HttpSettings::default()
    };
    let gate = TestGateway::with(http, Limits::default()).await;
    let mut peer = WsClient::open(&gate).await;
    peer.write(&frame_head(FIN | TEXT, 200_000)).await;
    peer.write(&[b' '; 150_000]).await;
    assert_eq!(peer.close_code().await, Some(1008));
}
