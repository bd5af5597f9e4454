//! Tests reading and writing frames.

use futures_util::StreamExt;
use serde_json::json;

use super::server::{BINARY, CLOSE, CONTINUED, FIN, PING, PONG, Peer, TEXT, WsTestServer, frame};
use super::{MAX, call, client, describe, open, outcome, read_out, soon};
use crate::channel::{Channel, ChannelEvent};

async fn channel() -> (Channel, Peer) {
    let server = WsTestServer::start().await;
    let (client, settings) = (client(), server.settings());
    let opening = super::super::open(&client, &settings, MAX);
    let serving = async { server.accept().await.accept_upgrade("mcp").await };
    let (opened, peer) = soon(async { tokio::join!(opening, serving) }).await;
    (opened.expect("it opens"), peer)
}

/// Returns everything that arrives if the server sends these bytes.
async fn read(bytes: &[u8]) -> Vec<String> {
    let (channel, mut peer) = channel().await;
    let sending = async {
        peer.send(bytes).await;
        // Keeps the connection open until the client has read everything.
        peer
    };
    let reading = read_out(channel, describe);
    let (_peer, arrived) = soon(async { tokio::join!(sending, reading) }).await;
    arrived
}

/// Returns frames followed by a close frame without a reason.
fn and_close(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = frames.concat();
    bytes.extend(frame(FIN | CLOSE, b""));
    bytes
}

const CLOSED: &str = "Connect: ws://HOST/ws: it closed the connection";

#[tokio::test]
async fn messages_pass_both_ways() {
    let mut open = open().await;
    let one = call(&open.link);
    let asked = open.peer.saw("tools/call").await;
    assert_eq!(asked["params"], json!({"name": "t"}));
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/x"});
    open.peer.message(&notice).await;
    open.peer.answer(&asked, json!({"text": "é"})).await;
    assert_eq!(outcome(one).await, r#"result {"text":"é"}"#);
    let received = soon(open.received.notices.recv()).await.expect("a notice");
    assert_eq!(&*received.method, "notifications/x");
}

#[tokio::test]
async fn messages_of_every_length_are_complete() {
    // The length of a frame is encoded in one, two or eight bytes.
    let texts = [0, 1, 125, 126, 65_535, MAX].map(|length| "x".repeat(length));
    let frames = texts
        .each_ref()
        .map(|text| frame(FIN | TEXT, text.as_bytes()));
    let arrived = read(&and_close(&frames)).await;
    assert_eq!(arrived[..texts.len()], texts);

    let (channel, mut peer) = channel().await;
    for text in &texts {
        let text = text.clone();
        soon(channel.outgoing.send(text.into())).await.unwrap();
    }
    for text in texts {
        let (first, payload) = soon(peer.frame()).await.expect("a frame");
        assert_eq!((first, payload.len()), (FIN | TEXT, text.len()));
        assert_eq!(payload, text.into_bytes());
    }
}

#[tokio::test]
async fn fragments_are_reassembled_at_any_split() {
    let text = r#"{"é":"𝄞"}"#;
    for cut in 0..=text.len() {
        let (start, rest) = text.as_bytes().split_at(cut);
        let (middle, rest) = rest.split_at(rest.len() / 2);
        let bytes = and_close(&[
            frame(TEXT, start),
            // Control frames may arrive between fragments.
            frame(FIN | PING, b"between"),
            frame(CONTINUED, middle),
            frame(CONTINUED, b""),
            frame(FIN | CONTINUED, rest),
            frame(FIN | TEXT, b"next"),
        ]);
        assert_eq!(read(&bytes).await, [text, "next", CLOSED], "cut at {cut}");
    }
}

#[tokio::test]
async fn frames_may_arrive_byte_by_byte() {
    let (mut channel, mut peer) = channel().await;
    let long = "é".repeat(100);
    let mut bytes = frame(FIN | TEXT, long.as_bytes());
    bytes.extend(frame(FIN | TEXT, b"2"));
    let sending = async {
        for byte in bytes {
            peer.send(&[byte]).await;
            // Lets the reader run.
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        }
    };
    let reading = async {
        for expected in [&*long, "2"] {
            let arrived = channel.incoming.next().await;
            assert!(matches!(arrived, Some(ChannelEvent::Message(text)) if text == expected));
        }
    };
    soon(async { tokio::join!(sending, reading) }).await;
}

#[tokio::test]
async fn many_frames_may_arrive_at_once() {
    let texts: Vec<String> = (0..2_000).map(|n| format!("message {n}")).collect();
    let frames: Vec<Vec<u8>> = texts
        .iter()
        .map(|text| frame(FIN | TEXT, text.as_bytes()))
        .collect();
    let arrived = read(&and_close(&frames)).await;
    assert_eq!(arrived[..texts.len()], texts);
    assert_eq!(arrived[texts.len()..], [CLOSED]);
}

#[tokio::test]
async fn binary_frame_ends_the_connection() {
    let mut open = open().await;
    let one = call(&open.link);
    open.peer.saw("tools/call").await;
    open.peer.send(&frame(FIN | BINARY, b"{}")).await;
    let reported = "Protocol: ws://HOST/ws: it sent a binary frame";
    assert_eq!(outcome(one).await, reported);
    // Status 1003: unsupported data (RFC 6455, 7.4.1).
    let (first, payload) = soon(open.peer.frame()).await.expect("a farewell");
    assert_eq!((first, &payload[..2]), (FIN | CLOSE, &[0x03, 0xeb][..]));
}

/// A server that sends pings without reading the pongs must not use unlimited memory.
#[tokio::test]
async fn pongs_to_a_non_reading_server_are_not_queued() {
    let mut open = open().await;
    let pings = frame(FIN | PING, &[7; 125]).repeat(1_000);
    let flooding = async { while open.peer.try_send(&pings).await {} };
    let ended = soon(async {
        tokio::select! {
            ended = open.link.ended() => ended,
            () = flooding => open.link.ended().await,
        }
    });
    let reported = "Protocol: ws://HOST/ws: it sends pings without reading the pongs";
    let ended = ended.await;
    assert_eq!(describe(&ended), reported);
}

#[tokio::test]
async fn pong_repeats_the_ping_payload() {
    let mut open = open().await;
    for payload in [&b""[..], b"are you there?", &[0xff; 125]] {
        open.peer.send(&frame(FIN | PING, payload)).await;
        let answer = soon(open.peer.frame()).await;
        assert_eq!(answer, Some((FIN | PONG, payload.to_vec())));
    }
}

#[tokio::test]
async fn invalid_frame_ends_the_connection() {
    let masked = [FIN | TEXT, 0x81, 1, 2, 3, 4, b'x'];
    // Announces more data than could ever be sent.
    let mut endless = vec![FIN | TEXT, 127];
    endless.extend(u64::MAX.to_be_bytes());
    for (bytes, expected) in [
        (frame(FIN | TEXT, b"\xff"), "UTF-8"),
        (
            [frame(TEXT, b"\xc3"), frame(FIN | CONTINUED, b"(")].concat(),
            "UTF-8",
        ),
        (frame(FIN | 0x40 | TEXT, b"x"), "eserved bits"),
        (frame(FIN | 0x20 | TEXT, b"x"), "eserved bits"),
        (frame(FIN | 0x10 | TEXT, b"x"), "eserved bits"),
        (frame(FIN | 3, b"x"), "invalid opcode"),
        (frame(FIN | 11, b"x"), "invalid opcode"),
        (frame(FIN | CONTINUED, b"x"), "ontinue frame"),
        (
            [frame(TEXT, b"x"), frame(FIN | TEXT, b"y")].concat(),
            "fragment",
        ),
        (frame(FIN | PING, &[0; 126]), "ontrol frame"),
        (frame(PING, b"x"), "ontrol frame"),
        (frame(FIN | CLOSE, b"x"), "close"),
        (masked.to_vec(), "asked frame"),
    ] {
        let arrived = read(&[frame(FIN | TEXT, b"before"), bytes.clone()].concat()).await;
        let [before, reported] = &arrived[..] else {
            panic!("{arrived:?}")
        };
        assert_eq!(before, "before");
        assert!(
            reported.starts_with("Protocol: ws://HOST/ws: ") && reported.contains(expected),
            "{bytes:?}: {reported}"
        );
    }
    assert_eq!(
        read(&endless).await,
        [
            "too large: 65536",
            "Protocol: ws://HOST/ws: it sent a message of more than 65536 bytes"
        ]
    );
}

#[tokio::test]
async fn oversized_message_ends_its_call_and_the_link() {
    let half = vec![b'x'; MAX / 2 + 1];
    let whole = vec![b'x'; MAX + 1];
    for bytes in [
        frame(FIN | TEXT, &whole),
        // The frame header alone shows that the message is too large.
        frame(FIN | TEXT, &whole)[..10].to_vec(),
        [frame(TEXT, &half), frame(FIN | CONTINUED, &half)].concat(),
    ] {
        let mut open = open().await;
        let one = call(&open.link);
        open.peer.saw("tools/call").await;
        open.peer.send(&bytes).await;
        assert_eq!(outcome(one).await, "too large: 65536");
        let ended = soon(open.link.ended()).await;
        assert_eq!(
            describe(&ended),
            "Protocol: ws://HOST/ws: it sent a message of more than 65536 bytes"
        );
    }
}
