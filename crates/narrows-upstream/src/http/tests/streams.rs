//! Tests the GET stream, and streams that are cut.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::mpsc;

use super::server::{Reply, Seen, Server, event, events, json_reply, reply, status};
use super::{call, open, soon};
use crate::failure::{FailureKind, LinkError};

/// Starts a server that responds to GET requests with these replies in order, and to calls with
/// `on_call`.
async fn server(
    gets: Vec<Reply>,
    on_call: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
) -> Server {
    let gets = Arc::new(Mutex::new(VecDeque::from(gets)));
    let greeted = Mutex::new(0u64);
    Server::bare(move |seen: Seen| {
        let reply = match seen.what() {
            "initialize" => {
                let mut greeted = greeted.lock();
                *greeted += 1;
                let mut reply = json_reply(&seen.result(super::server::hello("2025-11-25")));
                reply
                    .headers_mut()
                    .insert("mcp-session-id", format!("s{greeted}").parse().unwrap());
                reply
            }
            "tools/call" => on_call(&seen),
            "GET" => gets.lock().pop_front().unwrap_or_else(|| status(405)),
            _ => status(202),
        };
        async move { reply }
    })
    .await
}

fn notice(method: &str) -> String {
    event(&json!({"jsonrpc": "2.0", "method": method}).to_string())
}

#[tokio::test]
async fn general_stream_is_read_and_resumed() {
    let (first, first_reply) = events();
    let (second, second_reply) = events();
    let mut server = server(vec![first_reply, status(503), second_reply], |_| {
        status(500)
    })
    .await;
    let (link, mut received) = open(&server).await;
    let get = server.saw("GET").await;
    assert_eq!(get.header("accept"), "text/event-stream");
    assert_eq!(get.header("mcp-session-id"), "s1");
    assert_eq!(get.header("mcp-protocol-version"), "2025-11-25");
    assert_eq!(get.header("last-event-id"), "");

    first
        .send(format!(
            "id: e1\nretry: 1\n{}",
            notice("notifications/tools/list_changed")
        ))
        .unwrap();
    let heard_first = soon(received.notices.recv()).await.unwrap();
    assert_eq!(&*heard_first.method, "notifications/tools/list_changed");
    let question = json!({"jsonrpc": "2.0", "id": "x", "method": "roots/list"});
    first.send(event(&question.to_string())).unwrap();
    let ask = soon(received.asks.recv()).await.unwrap();
    assert_eq!((&*ask.method, ask.key.link), ("roots/list", 7));
    let key = ask.key.clone();
    drop(ask);
    assert_eq!(server.saw("answer").await.body["id"], "x");
    let taken_back = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "x"}});
    first.send(event(&taken_back.to_string())).unwrap();
    assert_eq!(soon(received.withdrawn.recv()).await.unwrap(), key);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    first.send(event(&ping.to_string())).unwrap();
    assert_eq!(
        server.saw("answer").await.body,
        json!({"jsonrpc": "2.0", "id": 1, "result": {}})
    );

    // The stream is cut, refused once, and then opened again.
    first.send("retry: 1\n\n".to_owned()).unwrap();
    drop(first);
    assert_eq!(server.saw("GET").await.header("last-event-id"), "e1");
    assert_eq!(server.saw("GET").await.header("last-event-id"), "e1");
    second
        .send(notice("notifications/resources/updated"))
        .unwrap();
    let heard_second = soon(received.notices.recv()).await.unwrap();
    assert_eq!(&*heard_second.method, "notifications/resources/updated");
    assert!(link.endpoint.end_reason().is_none());
}

#[tokio::test]
async fn missing_general_stream_is_not_requested_again() {
    for code in [400, 404, 405, 501] {
        let mut server = server(vec![status(code)], |seen| {
            json_reply(&seen.result(json!(1)))
        })
        .await;
        let (link, _heard) = open(&server).await;
        server.saw("GET").await;
        call(&link).await.unwrap();
        soon(async {
            while link.is_listening() {
                tokio::task::yield_now().await
            }
        })
        .await;
        assert!(!server.rest().contains(&"GET".to_owned()), "{code}");
    }
}

#[tokio::test]
async fn stream_detects_a_session_lost_while_idle() {
    let (first, first_reply) = events();
    let (second, second_reply) = events();
    let mut server = server(vec![first_reply, status(404), second_reply], |_| {
        status(500)
    })
    .await;
    let (_link, mut received) = open(&server).await;
    first.send("id: 1\nretry: 1\n\n".to_owned()).unwrap();
    assert_eq!(server.saw("GET").await.header("mcp-session-id"), "s1");
    drop(first);
    server.saw("initialize").await;
    let get = server.saw("GET").await;
    // The event id of the old session has no meaning in the new one.
    assert_eq!(
        (get.header("mcp-session-id"), get.header("last-event-id")),
        ("s2", "")
    );
    assert_eq!(
        &*soon(received.notices.recv()).await.unwrap().method,
        "narrows/reopened"
    );
    second.send(notice("notifications/x")).unwrap();
    assert_eq!(
        &*soon(received.notices.recv()).await.unwrap().method,
        "notifications/x"
    );
}

#[tokio::test]
async fn lost_link_closes_the_general_stream() {
    let (stream, reply) = events();
    let server = server(vec![reply], |_| status(500)).await;
    let (link, mut received) = open(&server).await;
    stream.send(notice("notifications/a")).unwrap();
    soon(received.notices.recv()).await.unwrap();
    drop(link);
    soon(stream.closed()).await;
}

/// Starts a server that cuts the stream of a call after a first event with an id, and responds to
/// the attempts to resume it with `gets`.
async fn cut_after(
    first: String,
    gets: Vec<Reply>,
) -> (Server, mpsc::UnboundedReceiver<serde_json::Value>) {
    let (tell, ids) = mpsc::unbounded_channel();
    // The listener's GET receives the first reply.
    let gets = std::iter::once(status(405)).chain(gets).collect();
    let server = server(gets, move |seen| {
        let _ = tell.send(seen.body["id"].clone());
        reply(200, "text/event-stream", &first)
    });
    (server.await, ids)
}

#[tokio::test]
async fn interrupted_stream_is_resumed_until_the_response() {
    let (rest, rest_reply) = events();
    // The server cuts the stream on purpose several times, each time after an event, and then fails
    // once.
    let polled = |n| {
        let text = format!("id: e{n}\nretry: 1\ndata:\n\n");
        reply(200, "text/event-stream", &text)
    };
    let gets = (2..9).map(polled).chain([status(503), rest_reply]);
    let primed = "id: e1\nretry: 1\ndata:\n\n".to_owned();
    let (mut server, mut ids) = cut_after(primed, gets.collect()).await;
    let (link, _heard) = open(&server).await;
    server.saw("GET").await;
    let serving = async {
        let id = ids.recv().await.unwrap();
        for place in ["e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8", "e8"] {
            let get = server.saw("GET").await;
            assert_eq!(get.header("last-event-id"), place);
            assert_eq!(get.header("mcp-session-id"), "s1");
        }
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": "late"});
        rest.send(event(&answer.to_string())).unwrap();
    };
    let (result, ()) = soon(async { tokio::join!(call(&link), serving) }).await;
    assert_eq!(result.unwrap().as_str(), "\"late\"");
}

#[tokio::test]
async fn unresumable_stream_fails_the_call() {
    let primed = || "id: e1\nretry: 1\ndata:\n\n".to_owned();
    let refused = cut_after(primed(), vec![status(405)]).await;
    let empty = || reply(200, "text/event-stream", "");
    let silent = cut_after(primed(), (0..9).map(|_| empty()).collect()).await;
    for ((mut server, _ids), expected, asked) in [
        (
            refused,
            "its stream broke, and it refused to resume the stream (HTTP 405 Method Not Allowed)",
            1,
        ),
        (
            silent,
            "its stream broke and could not be resumed in 5 attempts",
            5,
        ),
    ] {
        let (link, _heard) = open(&server).await;
        server.saw("GET").await;
        let Err(LinkError::Closed { failure, .. }) = call(&link).await else {
            panic!("lost")
        };
        assert_eq!(failure.kind, FailureKind::Connect);
        assert!(failure.detail.ends_with(expected), "{}", failure.detail);
        // The server may still be working on the call, so it receives a cancellation.
        for _ in 0..asked {
            server.saw("GET").await;
        }
        let taken_back = server.saw("notifications/cancelled").await;
        assert_eq!(taken_back.body["params"]["reason"], "connection lost");
    }
}
