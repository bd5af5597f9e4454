//! Tests pings and all forms in which a connection ends.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, timeout};

use super::server::{CLOSE, FIN, PING, PONG, TEXT, close_payload, frame};
use super::{MAX, OpenWsLink, Outgoing, call, describe, open, outcome, raw, soon};

const SECOND: Duration = Duration::from_secs(1);

/// Checks that this many seconds have passed, with a tolerance for timer resolution.
#[track_caller]
fn check_passed(since: Instant, seconds: u32) {
    let passed = since.elapsed();
    let (least, most) = (SECOND * seconds, SECOND * seconds + SECOND / 10);
    assert!(passed >= least && passed < most, "{passed:?}");
}

#[tokio::test(start_paused = true)]
async fn silent_server_is_disconnected() {
    let mut open = open().await;
    let began = Instant::now();
    for seconds in [30, 60, 90] {
        assert_eq!(open.peer.frame().await, Some((FIN | PING, Vec::new())));
        check_passed(began, seconds);
    }
    let ended = open.link.ended().await;
    check_passed(began, 120);
    assert_eq!(
        describe(&ended),
        "Connect: ws://HOST/ws: it did not respond to pings"
    );
}

#[tokio::test(start_paused = true)]
async fn server_that_answers_pings_is_kept() {
    let mut open = open().await;
    let began = Instant::now();
    for minute in 1..=10 {
        for _ in 0..2 {
            let (first, payload) = open.peer.frame().await.expect("a ping");
            assert_eq!(first, FIN | PING);
            open.peer.send(&frame(FIN | PONG, &payload)).await;
        }
        check_passed(began, 60 * minute);
    }
    tokio::time::resume();
    check_works(&mut open).await;
}

#[tokio::test(start_paused = true)]
async fn message_counts_as_a_sign_of_life() {
    let mut open = open().await;
    let began = Instant::now();
    tokio::time::sleep(80 * SECOND).await;
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/x"});
    open.peer.message(&notice).await;
    open.link.ended().await;
    check_passed(began, 180);
}

async fn check_works(open: &mut OpenWsLink) {
    let one = call(&open.link);
    let asked = open.peer.saw("tools/call").await;
    open.peer.answer(&asked, json!(1)).await;
    assert_eq!(outcome(one).await, "result 1");
}

/// Closes the connection with this payload. Returns the error of the calls and the link, and the
/// close frame that the server receives in return.
async fn closed_with(payload: &[u8]) -> (String, Option<(u8, Vec<u8>)>) {
    let mut open = open().await;
    let one = call(&open.link);
    open.peer.saw("tools/call").await;
    open.peer.send(&frame(FIN | CLOSE, payload)).await;
    let reported = outcome(one).await;
    assert_eq!(describe(&*soon(open.link.ended()).await), reported);
    let echo = soon(open.peer.frame()).await;
    assert_eq!(soon(open.peer.frame()).await, None, "the connection ends");
    (reported, echo)
}

#[tokio::test]
async fn close_frame_reason_is_reported() {
    let long = "x".repeat(123);
    for (code, reason, reported) in [
        (1000, "", "(1000)".to_owned()),
        (1001, "going away", "(1001: going away)".to_owned()),
        (1011, "a\nb\u{7}  c", "(1011: a b c)".to_owned()),
        (4001, &long, format!("(4001: {long})")),
    ] {
        let payload = close_payload(code, reason);
        let (got, echo) = closed_with(&payload).await;
        let expected = format!("Connect: ws://HOST/ws: it closed the connection {reported}");
        assert_eq!(got, expected);
        // The server may wait for this frame (RFC 6455, 5.5.1).
        assert_eq!(echo, Some((FIN | CLOSE, payload)));
    }
    let (reported, echo) = closed_with(b"").await;
    assert_eq!(reported, "Connect: ws://HOST/ws: it closed the connection");
    assert_eq!(echo, Some((FIN | CLOSE, Vec::new())));
}

#[tokio::test]
async fn secrets_in_close_reasons_are_redacted() {
    let server = super::WsTestServer::start().await;
    let mut settings = server.settings();
    let url = format!("ws://{}/ws?token=s3cr3t-1", server.address);
    settings.url = url.parse().unwrap();
    settings.headers = vec![("x-key".parse().unwrap(), "s3cr3t-2".parse().unwrap())];
    let serving = async {
        let mut peer = server.accept().await.accept_upgrade("mcp").await;
        let payload = close_payload(1008, "who are s3cr3t-1 and s3cr3t-2?");
        peer.send(&frame(FIN | CLOSE, &payload)).await;
        peer
    };
    let connecting = super::connect(super::client(), settings);
    let (opened, _peer) = soon(async { tokio::join!(connecting, serving) }).await;
    assert_eq!(
        describe(&opened.err().expect("it must not open")),
        "Connect: ws://HOST/ws: it closed the connection (1008: who are *** and ***?)"
    );
}

#[tokio::test]
async fn dropped_connection_ends_calls_and_link() {
    for (linger, expected) in [
        (None, "Connect: ws://HOST/ws: the connection was closed"),
        (
            Some(Duration::ZERO),
            "Connect: ws://HOST/ws: the connection broke: Connection reset by peer (os error 104)",
        ),
    ] {
        let mut open = open().await;
        let one = call(&open.link);
        open.peer.saw("tools/call").await;
        // The connection ends in the middle of a message.
        open.peer.send(&frame(FIN | TEXT, b"{}")[..3]).await;
        if linger.is_some() {
            open.peer.0.get_ref().set_zero_linger().unwrap();
        }
        drop(open.peer);
        assert_eq!(outcome(one).await, expected);
        assert_eq!(describe(&*soon(open.link.ended()).await), expected);
        assert_eq!(outcome(call(&open.link)).await, expected);
    }
}

#[tokio::test]
async fn close_sends_a_close_frame() {
    let mut open = open().await;
    let closing = async {
        open.link.notify("notifications/last", None);
        open.link.close().await;
    };
    soon(closing).await;
    // Messages sent before are not lost, because one may be a cancellation.
    open.peer.saw("notifications/last").await;
    let normal = close_payload(1000, "");
    assert_eq!(open.peer.frame().await, Some((FIN | CLOSE, normal)));
    assert_eq!(soon(open.peer.frame()).await, None, "the connection ends");
    assert_eq!(
        outcome(call(&open.link)).await,
        "Closed: closed by the gateway"
    );
}

#[tokio::test]
async fn non_reading_server_does_not_delay_close() {
    let mut open = open().await;
    let large = "x".repeat(1 << 20);
    let calls: Vec<_> = (0..32)
        .map(|_| {
            let (link, params) = (open.link.clone(), raw(&json!({"text": large})));
            tokio::spawn(async move {
                let call = Outgoing::own("tools/call", Some(params), 600 * SECOND);
                link.request(call).await
            })
        })
        .collect();
    tokio::time::pause();
    // Nothing moves any more, because the buffers of the connection are full.
    tokio::time::sleep(SECOND).await;
    let began = Instant::now();
    soon(open.link.close()).await;
    check_passed(began, 1);
    for call in calls {
        assert_eq!(outcome(call).await, "Closed: closed by the gateway");
    }
    tokio::time::resume();
    // The bytes already written still arrive, followed by the end.
    let mut read = Vec::new();
    let rest = timeout(20 * SECOND, open.peer.0.read_to_end(&mut read)).await;
    rest.expect("it ends").ok();
    assert!(read.len() > MAX, "it was full");
}
