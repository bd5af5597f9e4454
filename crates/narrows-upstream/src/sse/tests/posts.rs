//! Tests the outcome of posted messages.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::{OpenSseLink, call, describe, open, outcome, soon};

fn answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}")
}

/// Checks that a call is posted and answered normally.
async fn check_works(open: &mut OpenSseLink) {
    let good = call(&open.link);
    let asked = open.server.saw("tools/call").await;
    open.stream.answer(&asked, json!("good")).await;
    asked.accept().await;
    assert_eq!(outcome(good, &open.server).await, "result \"good\"");
}

#[tokio::test]
async fn every_success_status_accepts_a_post() {
    let chunks = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nOK\r\n0\r\n\r\n";
    for accepted in [
        answer("202 Accepted", "Accepted"),
        answer("200 OK", ""),
        answer("200 OK", r#"{"jsonrpc":"2.0","id":2,"result":"not here"}"#),
        "HTTP/1.1 204 No Content\r\n\r\n".to_owned(),
        chunks.to_owned(),
    ] {
        let mut open = open().await;
        let one = call(&open.link);
        let asked = open.server.saw("tools/call").await;
        assert_eq!(asked.line, "POST /messages?s=session-1");
        let id = asked.body["id"].clone();
        asked.respond(&accepted).await;
        let result = json!({"jsonrpc": "2.0", "id": id, "result": 1});
        open.stream.message(&result).await;
        assert_eq!(outcome(one, &open.server).await, "result 1");
        check_works(&mut open).await;
    }
}

#[tokio::test]
async fn refused_post_fails_only_its_call() {
    let mut open = open().await;
    let error = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-5,"message":"no"}}"#;
    for (refusal, expected) in [
        (
            answer("500 Internal Server Error", "oh"),
            "Refused: http://HOST/messages answered HTTP 500 Internal Server Error: oh",
        ),
        (
            answer("429 Too Many Requests", ""),
            "Refused: http://HOST/messages answered HTTP 429 Too Many Requests",
        ),
        (
            answer("401 Unauthorized", "who is session-1?"),
            "SignIn: http://HOST/messages answered HTTP 401 Unauthorized: who is ***?",
        ),
        (
            answer("400 Bad Request", "what?"),
            "invalid: it answered HTTP 400 Bad Request: what?",
        ),
        (
            answer("400 Bad Request", error),
            r#"answered {"code":-5,"message":"no"}"#,
        ),
        // The error names the request, so the server has processed it and the session exists.
        (
            answer("404 Not Found", error),
            r#"answered {"code":-5,"message":"no"}"#,
        ),
    ] {
        let waiting = call(&open.link);
        let held = open.server.saw("tools/call").await;
        let refused = call(&open.link);
        open.server.saw("tools/call").await.respond(&refusal).await;
        assert_eq!(outcome(refused, &open.server).await, expected);
        open.stream.answer(&held, json!(1)).await;
        held.accept().await;
        assert_eq!(outcome(waiting, &open.server).await, "result 1");
    }
}

#[tokio::test]
async fn lost_session_ends_the_link() {
    let unnamed =
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-5,"message":"Session not found"}}"#;
    for (status, body, reported) in [
        (
            "404 Not Found",
            "Could not find session",
            "Could not find session",
        ),
        ("410 Gone", "bye", "bye"),
        ("404 Not Found", unnamed, "Session not found"),
        ("400 Bad Request", unnamed, "Session not found"),
    ] {
        let mut open = open().await;
        let waiting = call(&open.link);
        open.server.saw("tools/call").await.accept().await;
        let refused = call(&open.link);
        let asked = open.server.saw("tools/call").await;
        asked.respond(&answer(status, body)).await;
        let expected = format!("Connect: http://HOST/messages answered HTTP {status}: {reported}");
        let ended = soon(open.link.ended()).await;
        assert_eq!(open.server.hide(&describe(&ended)), expected);
        for call in [waiting, refused] {
            assert_eq!(outcome(call, &open.server).await, expected);
        }
        open.stream.closed().await;
    }
}

#[tokio::test]
async fn unsent_post_fails_only_its_call() {
    let mut open = open().await;
    open.server.stop().await;
    let reported = outcome(call(&open.link), &open.server).await;
    assert!(
        reported.starts_with("Connect: no connection to http://HOST/messages: ")
            && reported.contains("refused"),
        "{reported}"
    );
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/x"});
    open.stream.message(&notice).await;
    let received = soon(open.received.notices.recv()).await.expect("a notice");
    assert_eq!(&*received.method, "notifications/x");
}

#[tokio::test]
async fn truncated_post_fails_only_its_call() {
    let mut open = open().await;
    let cut = call(&open.link);
    open.server
        .saw("tools/call")
        .await
        .respond_and_close("")
        .await;
    assert_eq!(
        outcome(cut, &open.server).await,
        "Connect: http://HOST/messages: the connection was closed before the answer"
    );
    // The server may have received the call, so the client cancels it.
    let taken_back = open.server.saw("notifications/cancelled").await;
    assert_eq!(taken_back.body["params"]["reason"], "connection lost");
    taken_back.accept().await;
    check_works(&mut open).await;
}

#[tokio::test]
async fn refused_notification_keeps_the_link() {
    let mut open = open().await;
    open.link.notify("notifications/x", None);
    let reported = open.server.saw("notifications/x").await;
    reported
        .respond(&answer("500 Internal Server Error", ""))
        .await;
    check_works(&mut open).await;
}

#[tokio::test]
async fn post_may_stay_open_until_its_response() {
    let mut open = open().await;
    let mut held = Vec::new();
    for n in 0..3 {
        let one = call(&open.link);
        let asked = open.server.saw("tools/call").await;
        open.stream.answer(&asked, json!(n)).await;
        assert_eq!(outcome(one, &open.server).await, format!("result {n}"));
        held.push(asked);
    }
}

#[tokio::test]
async fn long_open_post_is_dropped_without_failing_its_call() {
    let mut open = open().await;
    tokio::time::pause();
    let began = Instant::now();
    let waiting = {
        let link = open.link.clone();
        tokio::spawn(async move {
            let hour = Duration::from_secs(3_600);
            let call = super::Outgoing::own("tools/call", None, hour);
            link.request(call).await
        })
    };
    let mut asked = open.server.saw("tools/call").await;
    asked.wait_closed().await;
    let took = began.elapsed();
    assert!(
        took >= Duration::from_secs(60) && took < Duration::from_secs(61),
        "{took:?}"
    );
    tokio::time::resume();
    open.stream.answer(&asked, json!(1)).await;
    assert_eq!(outcome(waiting, &open.server).await, "result 1");
}

#[tokio::test]
async fn immediately_refused_post_fails_the_connection() {
    for (refusal, expected) in [
        (
            answer("404 Not Found", "no"),
            "Connect: http://HOST/messages answered HTTP 404 Not Found: no",
        ),
        (
            answer("405 Method Not Allowed", ""),
            "Protocol: invalid answer to initialize: it answered HTTP 405 Method Not Allowed",
        ),
        (
            answer("403 Forbidden", "you"),
            "SignIn: http://HOST/messages answered HTTP 403 Forbidden: you",
        ),
    ] {
        let mut server = super::SseTestServer::start().await;
        let settings = server.settings();
        let serving = async {
            let mut stream = server.saw("GET").await.stream().await;
            stream.endpoint("/messages").await;
            server.saw("initialize").await.respond(&refusal).await;
            stream.closed().await;
        };
        let connecting = super::connect(settings);
        let (opened, ()) = soon(async { tokio::join!(connecting, serving) }).await;
        let failure = opened.err().expect("it must not open");
        assert_eq!(server.hide(&describe(&failure)), expected);
    }
}
