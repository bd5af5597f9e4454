//! Tests of messages split into frames, and of frames split into writes.

use serde_json::json;

use super::{CLOSE, FIN, Frame, MORE, PING, PING_REQUEST, PONG, TEXT, WsClient, frame};
use crate::TestGateway;
use crate::client::call;

/// Returns a call whose arguments contain characters of two, three and four bytes.
fn call_in_many_bytes() -> String {
    call("2", "echo").replace(r#"{"id":2}"#, r#"{"text":"éü€日本🙂🙃"}"#)
}

#[tokio::test]
async fn fragmented_message_is_reassembled() {
    let gate = TestGateway::start().await;
    let mut peer = WsClient::open(&gate).await;
    let message = call_in_many_bytes();
    // A frame per byte splits every character, with a ping between any two frames.
    let bytes = message.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let kind = if at == 0 { TEXT } else { MORE };
        let last = at + 1 == bytes.len();
        let head = if last { FIN | kind } else { kind };
        peer.write(&frame(head, &[*byte])).await;
        if last {
            break;
        }
        peer.write(&frame(FIN | PING, &[at as u8])).await;
        let pong = Frame {
            head: FIN | PONG,
            payload: vec![at as u8],
        };
        assert_eq!(peer.frame().await, Some(pong));
    }
    let answer = peer.receive().await;
    assert_eq!(
        answer["result"]["content"][0]["text"],
        r#"{"text":"éü€日本🙂🙃"}"#
    );
}

#[tokio::test]
async fn empty_fragments_add_nothing() {
    let gate = TestGateway::start().await;
    let mut peer = WsClient::open(&gate).await;
    let pieces = [
        frame(TEXT, b""),
        frame(MORE, PING_REQUEST.as_bytes()),
        frame(MORE, b""),
        frame(FIN | MORE, b""),
    ];
    peer.write(&pieces.concat()).await;
    assert_eq!(peer.receive().await["id"], "p");
}

#[tokio::test]
async fn frames_may_arrive_byte_by_byte() {
    let gate = TestGateway::start().await;
    let mut peer = WsClient::open(&gate).await;
    for byte in frame(FIN | TEXT, call_in_many_bytes().as_bytes()) {
        peer.write(&[byte]).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(peer.receive().await["id"], 2);
}

#[tokio::test]
async fn many_frames_may_arrive_at_once() {
    let gate = TestGateway::start().await;
    let mut peer = WsClient::open(&gate).await;
    let mut frames = Vec::new();
    for id in 0..500 {
        let ping = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
        frames.extend(frame(FIN | TEXT, ping.to_string().as_bytes()));
    }
    peer.write(&frames).await;
    let mut answered = Vec::new();
    for _ in 0..500 {
        let answer = peer.receive().await;
        assert_eq!(answer["result"], json!({}), "{answer}");
        answered.push(answer["id"].as_u64().unwrap());
    }
    answered.sort();
    assert_eq!(answered, (0..500).collect::<Vec<_>>());
}

#[tokio::test]
async fn pong_repeats_the_ping_payload() {
    let gate = TestGateway::start().await;
    // Also valid before `initialize`.
    let mut peer = WsClient::connect(&gate).await;
    for payload in [&b""[..], b"are you there?", &[0xff; 125]] {
        peer.write(&frame(FIN | PING, payload)).await;
        let pong = Frame {
            head: FIN | PONG,
            payload: payload.to_vec(),
        };
        assert_eq!(peer.frame().await, Some(pong));
    }
    // An unsolicited pong is ignored.
    peer.write(&frame(FIN | PONG, b"by the way")).await;
    peer.send_message(PING_REQUEST).await;
    assert_eq!(peer.receive().await["id"], "p");
}

#[tokio::test]
async fn many_pings_are_answered() {
    let gate = TestGateway::start().await;
    let mut peer = WsClient::connect(&gate).await;
    for round in 0..20 {
        let pings = frame(FIN | PING, &[round; 125]).repeat(100);
        peer.write(&pings).await;
        for _ in 0..100 {
            let pong = Frame {
                head: FIN | PONG,
                payload: vec![round; 125],
            };
            assert_eq!(peer.frame().await, Some(pong));
        }
    }
}

#[tokio::test]
async fn invalid_messages_are_answered_and_reading_continues() {
    let gate = TestGateway::start().await;
    let mut peer = WsClient::open(&gate).await;
    for (text, expected) in [
        ("", r#"-32700 "parse_error" null"#),
        ("{nonsense", r#"-32700 "parse_error" null"#),
        ("{}", r#"-32600 "invalid_request" null"#),
        (
            r#"{"jsonrpc":"2.0","id":8,"method":[]}"#,
            r#"-32600 "invalid_request" 8"#,
        ),
    ] {
        peer.send_message(text).await;
        let answer = peer.receive().await;
        let error = &answer["error"];
        let shown = format!(
            "{} {} {}",
            error["code"], error["data"]["code"], answer["id"]
        );
        assert_eq!(shown, expected, "{text}");
    }
    peer.send_message(PING_REQUEST).await;
    assert_eq!(peer.receive().await["id"], "p");
}

#[tokio::test]
async fn close_is_answered_with_the_same_code() {
    let gate = TestGateway::start().await;
    for (payload, reply) in [
        (&b""[..], &b""[..]),
        (b"\x03\xe8", b"\x03\xe8"),
        (b"\x0f\xa0bye", b"\x0f\xa0bye"),
    ] {
        let mut peer = WsClient::open(&gate).await;
        peer.write(&frame(FIN | CLOSE, payload)).await;
        let close = Frame {
            head: FIN | CLOSE,
            payload: reply.to_vec(),
        };
        assert_eq!(peer.frame().await, Some(close));
        assert!(peer.ended().await);
    }
}
