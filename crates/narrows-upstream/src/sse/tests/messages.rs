//! Tests reading from the stream.

use std::time::Duration;

use futures_util::StreamExt;
use narrows_wire::{Id, Raw};
use serde_json::json;
use tokio::time::Instant;

use super::server::{SseStream, SseTestServer};
use super::{MAX, call, client, describe, open, outcome, read_out, soon};
use crate::channel::ChannelEvent;
use crate::exchange::AskResponder;

/// Returns the arrivals on a stream that sends these bytes in pieces of this size and then ends.
async fn read(bytes: &[u8], pieces: usize) -> Vec<String> {
    let sending = async |mut stream: SseStream| {
        for piece in bytes.chunks(pieces) {
            stream.send(piece).await;
        }
        stream.end().await;
    };
    arrivals(sending).await
}

async fn arrivals(sending: impl AsyncFnOnce(SseStream)) -> Vec<String> {
    let mut server = SseTestServer::start().await;
    let settings = server.settings();
    let serving = async {
        let mut stream = server.saw("GET").await.stream().await;
        stream.endpoint("/messages").await;
        sending(stream).await;
    };
    let reading = async {
        let opened = super::super::open(&client(), &settings, "srv".into(), MAX).await;
        read_out(opened.expect("it opens"), describe).await
    };
    let (arrived, ()) = soon(async { tokio::join!(reading, serving) }).await;
    arrived.iter().map(|line| server.hide(line)).collect()
}

/// Checks that these messages arrive, followed by the end, for several piece sizes.
async fn check(text: &str, messages: &[&str]) {
    let ended = "Connect: http://HOST/sse: its event stream ended";
    let expected: Vec<&str> = messages.iter().copied().chain([ended]).collect();
    for pieces in [1, 2, 3, 7, usize::MAX] {
        let arrived = read(text.as_bytes(), pieces).await;
        assert_eq!(arrived, expected, "{text:?} in pieces of {pieces}");
    }
}

#[tokio::test]
async fn messages_are_read_in_every_event_format() {
    for line_end in ["\n", "\r", "\r\n"] {
        let lines = |text: &str| text.replace('|', line_end);
        check(&lines("data: {}||"), &["{}"]).await;
        check(&lines("event: message|data: 1||data:2||"), &["1", "2"]).await;
        check(&lines(": hi||:|data: 1|: hi|data: 2||"), &["1\n2"]).await;
        check(
            &lines("data: {|data: \"a\":1|data|data: }||"),
            &["{\n\"a\":1\n\n}"],
        )
        .await;
        check(&lines("id: 7|retry: 10|data: 1|x: y||"), &["1"]).await;
    }
    check("data: {\"é\":\"𝄞\"}\n\n", &["{\"é\":\"𝄞\"}"]).await;
}

#[tokio::test]
async fn non_message_events_are_ignored() {
    check("event: ping\ndata: {}\n\ndata: 1\n\n", &["1"]).await;
    check("event: endpoint\ndata: /else\n\ndata: 1\n\n", &["1"]).await;
    check(
        "event: Message\ndata: {}\n\nevent: message\ndata: 1\n\n",
        &["1"],
    )
    .await;
    check("data:\n\nid: 1\n\nretry: 1\n\n\n\ndata: 1\n\n", &["1"]).await;
    // The last event may be incomplete.
    check("data: 1\n\ndata: 2\n", &["1"]).await;
}

#[tokio::test]
async fn broken_stream_ends_like_a_closed_one() {
    let broken = arrivals(async |mut stream: SseStream| {
        stream.send(b"data: 1\n\n").await;
    });
    let expected = ["1", "Connect: http://HOST/sse: its event stream broke"];
    assert_eq!(broken.await, expected);
}

#[tokio::test]
async fn unchunked_stream_ends_with_its_connection() {
    let mut server = SseTestServer::start().await;
    let settings = server.settings();
    let serving = async {
        let head = "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        let events = "event: endpoint\r\ndata: /m\r\n\r\ndata: 1\r\n\r\n";
        let answer = format!("{head}{events}");
        server.saw("GET").await.respond_and_close(&answer).await;
    };
    let client = client();
    let reading = super::super::open(&client, &settings, "srv".into(), MAX);
    let (opened, ()) = soon(async { tokio::join!(reading, serving) }).await;
    let mut incoming = opened.expect("it opens").incoming;
    let first = soon(incoming.next()).await;
    assert!(matches!(first, Some(ChannelEvent::Message(message)) if message == "1"));
    let last = soon(incoming.next()).await;
    assert!(
        matches!(last, Some(ChannelEvent::Ended(failure)) if failure.detail.ends_with("stream ended"))
    );
}

#[tokio::test]
async fn oversized_event_alone_is_skipped() {
    let large = "x".repeat(MAX + 1);
    let text = format!("data: 1\n\ndata: {large}\n\ndata: 2\n\n");
    let expected = [
        "1",
        "too large: 65536",
        "2",
        "Connect: http://HOST/sse: its event stream ended",
    ];
    for pieces in [1_000, usize::MAX] {
        assert_eq!(read(text.as_bytes(), pieces).await, expected);
    }
    // Each line is small, but all lines together exceed the limit.
    let line = format!("data: {}\n", "x".repeat(MAX / 2));
    let text = format!("data: 1\n\n{line}{line}\ndata: 2\n\n");
    assert_eq!(read(text.as_bytes(), 1_000).await, expected);
    let exact = "x".repeat(MAX);
    let arrived = read(format!("data: {exact}\n\n").as_bytes(), 1_000).await;
    assert_eq!(arrived[0], exact);
}

#[tokio::test]
async fn only_pending_call_fails_on_an_oversized_response() {
    let mut open = open().await;
    let large = format!("data: {}\n\n", "x".repeat(MAX + 1));
    let one = call(&open.link);
    open.server.saw("tools/call").await.accept().await;
    open.stream.send(large.as_bytes()).await;
    assert_eq!(outcome(one, &open.server).await, "too large: 65536");

    // With two pending calls, the message could belong to either of them, so neither fails.
    let (one, two) = (call(&open.link), call(&open.link));
    let first = open.server.saw("tools/call").await;
    let second = open.server.saw("tools/call").await;
    open.stream.send(large.as_bytes()).await;
    open.stream.answer(&first, json!("a")).await;
    open.stream.answer(&second, json!("a")).await;
    for call in [one, two] {
        assert_eq!(outcome(call, &open.server).await, "result \"a\"");
    }
}

#[tokio::test]
async fn end_of_stream_ends_calls_and_link() {
    for breaks in [false, true] {
        let mut open = open().await;
        let one = call(&open.link);
        open.server.saw("tools/call").await.accept().await;
        let expected = match breaks {
            true => "Connect: http://HOST/sse: its event stream broke",
            false => "Connect: http://HOST/sse: its event stream ended",
        };
        match breaks {
            true => drop(open.stream),
            false => open.stream.end().await,
        }
        assert_eq!(outcome(one, &open.server).await, expected);
        let ended = soon(open.link.ended()).await;
        assert_eq!(open.server.hide(&describe(&ended)), expected);
        let late = call(&open.link);
        assert_eq!(outcome(late, &open.server).await, expected);
    }
}

#[tokio::test]
async fn close_releases_the_stream() {
    let mut open = open().await;
    soon(open.link.close()).await;
    open.stream.closed().await;
    let late = call(&open.link);
    assert_eq!(
        outcome(late, &open.server).await,
        "Closed: closed by the gateway"
    );
}

#[tokio::test]
async fn queued_messages_are_posted_before_close() {
    let mut open = open().await;
    let closing = async {
        for _ in 0..10 {
            open.link.notify("notifications/x", None);
        }
        open.link.answer(&Id::number(1), Ok(Raw::empty_object()));
        open.link.close().await;
    };
    let serving = async {
        for _ in 0..10 {
            open.server.saw("notifications/x").await.accept().await;
        }
        open.server.saw("answer").await.accept().await;
        // The stream owns the session of these messages, so it ends after them.
        open.stream.closed().await;
    };
    soon(async { tokio::join!(closing, serving) }).await;
}

#[tokio::test]
async fn held_posts_do_not_delay_close() {
    let mut open = open().await;
    tokio::time::pause();
    let waiting = call(&open.link);
    let mut held = open.server.saw("tools/call").await;
    let began = Instant::now();
    soon(open.link.close()).await;
    let took = began.elapsed();
    assert!(took < Duration::from_millis(1_100), "{took:?}");
    open.stream.closed().await;
    held.wait_closed().await;
    let reported = outcome(waiting, &open.server).await;
    assert_eq!(reported, "Closed: closed by the gateway");
}

#[tokio::test]
async fn notifications_and_requests_are_received() {
    let mut open = open().await;
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    open.stream.message(&notice).await;
    let received = soon(open.received.notices.recv()).await.expect("a notice");
    assert_eq!(&*received.method, "notifications/tools/list_changed");
    let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
    open.stream.message(&ping).await;
    let answer = open.server.saw("answer").await;
    assert_eq!(answer.line, "POST /messages?s=session-1");
    assert_eq!(
        answer.body,
        json!({"jsonrpc": "2.0", "id": "p", "result": {}})
    );
}
