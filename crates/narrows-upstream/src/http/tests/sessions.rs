//! Tests sessions: expiry, renewal and end.

use crate::testing::Addressed;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;

use super::server::{Reply, Seen, Server, hello, json_reply, reply, status};
use super::{call, client, open, soon, try_open};
use crate::failure::{Failure, FailureKind, LinkError};

/// Starts a server that accepts only its newest session. `forget` makes the current one expire.
async fn forgetful(forgotten: Reply) -> (Server, Arc<AtomicU64>) {
    let valid = Arc::new(AtomicU64::new(1));
    let current = valid.clone();
    let (parts, body) = forgotten.into_parts();
    let body = soon(http_body_util::BodyExt::collect(body))
        .await
        .unwrap()
        .to_bytes();
    let server = Server::start(move |seen: Seen| {
        let expected = format!("s{}", current.load(Ordering::SeqCst));
        let known = seen.header("mcp-session-id") == expected;
        let kind = parts
            .headers
            .get("content-type")
            .map_or("", |kind| kind.to_str().unwrap());
        let gone = reply(
            parts.status.as_u16(),
            kind,
            std::str::from_utf8(&body).unwrap(),
        );
        async move {
            if known {
                json_reply(&seen.result(json!("ok")))
            } else {
                gone
            }
        }
    });
    (server.await, valid)
}

#[tokio::test]
async fn lost_session_is_reopened_once_for_all_calls() {
    let sdk = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}"#;
    for forgotten in [
        status(404),
        reply(
            404,
            "application/json",
            r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}"#,
        ),
        reply(400, "application/json", sdk),
    ] {
        let (mut server, valid) = forgetful(forgotten).await;
        let (link, mut received) = open(&server).await;
        call(&link).await.unwrap();
        valid.store(2, Ordering::SeqCst);
        let calls = (0..20).map(|_| call(&link));
        for result in futures_util::future::join_all(calls).await {
            assert_eq!(result.unwrap().as_str(), "\"ok\"");
        }
        let seen = server.rest();
        assert_eq!(seen.iter().filter(|what| *what == "initialize").count(), 2);
        assert_eq!(
            seen.iter()
                .filter(|what| *what == "notifications/initialized")
                .count(),
            2
        );
        assert!(!seen.contains(&"notifications/cancelled".to_owned()));
        assert_eq!(
            &*soon(received.notices.recv()).await.unwrap().method,
            "narrows/reopened"
        );
        assert!(received.notices.try_recv().is_err());
    }
}

#[tokio::test]
async fn session_lost_again_at_once_is_an_error() {
    let (mut server, valid) = forgetful(status(404)).await;
    let (link, _heard) = open(&server).await;
    valid.store(99, Ordering::SeqCst);
    let Err(LinkError::Invalid(reason)) = call(&link).await else {
        panic!("an error")
    };
    assert_eq!(reason, "it answered HTTP 404 Not Found");
    assert_eq!(
        server
            .rest()
            .iter()
            .filter(|what| *what == "initialize")
            .count(),
        2
    );
}

#[tokio::test]
async fn concurrent_calls_share_a_failed_reopen() {
    let greetings = Arc::new(AtomicU64::new(0));
    let count = greetings.clone();
    let server = Server::bare(move |seen: Seen| {
        let nth = if seen.what() == "initialize" {
            count.fetch_add(1, Ordering::SeqCst)
        } else {
            0
        };
        async move {
            match (seen.what(), nth) {
                ("initialize", 0) => {
                    let mut reply = json_reply(&seen.result(hello("2025-06-18")));
                    reply
                        .headers_mut()
                        .insert("mcp-session-id", "only".parse().unwrap());
                    reply
                }
                ("initialize", _) => status(503),
                ("notifications/initialized", _) => status(202),
                _ => status(404),
            }
        }
    });
    let mut server = server.await;
    let (link, _heard) = open(&server).await;
    let results = futures_util::future::join_all((0..20).map(|_| call(&link))).await;
    for result in results {
        assert!(
            matches!(result, Err(LinkError::Closed { failure, .. }) if failure.kind == FailureKind::Refused)
        );
    }
    soon(link.close()).await;
    // The server has not processed the calls, so they need no cancellation.
    assert!(
        !server
            .rest()
            .contains(&"notifications/cancelled".to_owned())
    );
    // Only the first call, and calls that arrived after it had failed, try to open a session.
    let tried = greetings.load(Ordering::SeqCst) - 1;
    assert!(tried < 20, "{tried} attempts");
}

#[tokio::test]
async fn not_found_without_a_session_is_an_ordinary_error() {
    let server = Server::bare(|seen: Seen| async move {
        match seen.what() {
            "initialize" => json_reply(&seen.result(hello("2025-06-18"))),
            "notifications/initialized" => status(202),
            _ => status(404),
        }
    });
    let mut server = server.await;
    let (link, _heard) = open(&server).await;
    assert!(matches!(call(&link).await, Err(LinkError::Invalid(_))));
    assert_eq!(
        server
            .rest()
            .iter()
            .filter(|what| *what == "initialize")
            .count(),
        1
    );
    // There is no session to delete either.
    soon(link.close()).await;
    assert!(!server.rest().contains(&"DELETE".to_owned()));
}

#[tokio::test]
async fn close_ends_the_session_on_both_sides() {
    let mut server = Server::start(|_| async { status(500) }).await;
    let (link, _heard) = open(&server).await;
    link.notify("notifications/last", None);
    soon(link.close()).await;
    server.saw("notifications/last").await;
    assert_eq!(server.saw("DELETE").await.header("mcp-session-id"), "s1");
    assert_eq!(soon(link.ended()).await.kind, FailureKind::Closed);
    let Err(LinkError::Closed { failure, .. }) = call(&link).await else {
        panic!("closed")
    };
    assert_eq!(failure.kind, FailureKind::Closed);
}

#[tokio::test]
async fn close_does_not_wait_for_a_stuck_server() {
    let server = Server::bare(|seen: Seen| async move {
        match seen.what() {
            "initialize" => {
                let mut reply = json_reply(&seen.result(hello("2025-06-18")));
                reply
                    .headers_mut()
                    .insert("mcp-session-id", "s".parse().unwrap());
                reply
            }
            "notifications/initialized" => status(202),
            _ => std::future::pending().await,
        }
    });
    let server = server.await;
    let (link, _heard) = open(&server).await;
    link.notify("notifications/last", None);
    tokio::time::pause();
    let start = tokio::time::Instant::now();
    link.close().await;
    let took = start.elapsed();
    assert!(took < Duration::from_millis(2_100), "{took:?}");
}

#[tokio::test]
async fn unreachable_server_ends_the_link_on_third_attempt() {
    let mut server =
        Server::start(|seen: Seen| async move { json_reply(&seen.result(json!(1))) }).await;
    let (link, _, _heard) = soon(try_open(client(), &server.settings())).await.unwrap();
    call(&link).await.unwrap();
    server.stop().await;
    let mut reasons = Vec::new();
    for _ in 0..4 {
        let Err(LinkError::Closed { failure, .. }) = call(&link).await else {
            panic!("the server is gone")
        };
        assert_eq!(failure.kind, FailureKind::Connect);
        reasons.push(failure.detail.clone());
    }
    let end = soon(link.ended()).await;
    assert_eq!(end.kind, FailureKind::Connect);
    assert!(
        end.detail.starts_with("no connection to http://127.0.0.1:"),
        "{}",
        end.detail
    );
    assert!(end.detail.contains("Connection refused"), "{}", end.detail);
    assert_eq!(reasons.last(), Some(&end.detail));
}

#[tokio::test]
async fn occasionally_reachable_server_keeps_the_link() {
    let server =
        Server::start(|seen: Seen| async move { json_reply(&seen.result(json!(1))) }).await;
    let (link, _heard) = open(&server).await;
    for _ in 0..5 {
        let refused = Arc::new(Failure::new(FailureKind::Connect, "refused"));
        link.endpoint.missed(&refused);
        link.endpoint.missed(&refused);
        call(&link).await.unwrap();
    }
    assert!(link.endpoint.end_reason().is_none());
}
