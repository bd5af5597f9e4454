//! Tests progress, server requests, timeouts and cancellation of calls.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use narrows_wire::Raw;
use serde_json::json;
use tokio::sync::mpsc;

use super::super::HttpLink;
use super::super::incoming::handle_frame;
use super::super::renewable_timeout::RenewableTimeout;
use super::server::{Reply, Seen, Server, event, events, json_reply, stream};
use super::{LONG, call, open, outgoing, raw, soon, waiting_client};
use crate::exchange::{AskResponder, Event};
use crate::failure::LinkError;
use crate::request::Outgoing;

/// Starts a server that responds to each call with a stream that the test controls.
async fn streaming() -> (
    Server,
    mpsc::UnboundedReceiver<(Seen, mpsc::UnboundedSender<String>)>,
) {
    let (give, calls) = mpsc::unbounded_channel();
    let respond = move |seen: Seen| {
        let (sender, reply) = events();
        let _ = give.send((seen, sender));
        async move { reply }
    };
    (Server::start(respond).await, calls)
}

fn note(method: &str, params: serde_json::Value) -> String {
    event(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string())
}

fn question(id: serde_json::Value, method: &str) -> String {
    event(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"q": 1}}).to_string())
}

#[tokio::test]
async fn progress_and_notifications_use_the_clients_token() {
    let (server, mut calls) = streaming().await;
    let (link, mut received) = open(&server).await;
    let mut waiting_client = waiting_client();
    let sending = link.request(outgoing(waiting_client.origin.clone(), LONG));
    let serving = async {
        let (seen, stream) = calls.recv().await.unwrap();
        let id = seen.body["id"].clone();
        assert_eq!(seen.body["params"]["_meta"]["progressToken"], id);
        for text in [
            note(
                "notifications/progress",
                json!({"progressToken": id, "progress": 0.50, "x": 1}),
            ),
            note(
                "notifications/progress",
                json!({"progressToken": 99, "progress": 1}),
            ),
            "data: no json\n\n".to_owned(),
            note("notifications/message", json!({"level": "info"})),
            note("notifications/tools/list_changed", json!({})),
            note("notifications/prompts/list_changed", json!({})),
            note("notifications/resources/list_changed", json!({})),
            note("notifications/resources/updated", json!({"uri": "a:b"})),
            event(&seen.result(json!("done"))),
        ] {
            stream.send(text).unwrap();
        }
    };
    let (result, ()) = soon(async { tokio::join!(sending, serving) }).await;
    assert_eq!(result.unwrap().as_str(), "\"done\"");
    let mut notices = Vec::new();
    while let Some(event) = waiting_client.events.try_recv() {
        let Event::Notice(notice) = *event else {
            panic!("{event:?}")
        };
        assert_eq!(notice.server.as_deref(), Some("srv"));
        notices.push((
            notice.method.to_string(),
            notice.params.unwrap().as_str().to_owned(),
        ));
    }
    assert_eq!(notices[0].0, "notifications/progress");
    assert!(
        notices[0].1.contains(r#""progressToken":"tok""#),
        "{notices:?}"
    );
    assert!(notices[0].1.contains(r#""progress":0.5"#), "{notices:?}");
    assert_eq!(
        notices[1],
        (
            "notifications/message".to_owned(),
            r#"{"level":"info"}"#.to_owned()
        )
    );
    assert_eq!(notices.len(), 2);
    // These concern the server as a whole, so they do not belong to this call.
    for expected in [
        "tools/list_changed",
        "prompts/list_changed",
        "resources/list_changed",
        "resources/updated",
    ] {
        let notice = soon(received.notices.recv()).await.unwrap();
        assert_eq!(&notice.method["notifications/".len()..], expected);
    }
}

#[tokio::test]
async fn server_request_on_a_call_stream_goes_to_the_caller() {
    let (mut server, mut calls) = streaming().await;
    let (link, _heard) = open(&server).await;
    let mut waiting_client = waiting_client();
    let sending = link.request(outgoing(waiting_client.origin.clone(), LONG));
    let serving = async {
        let (seen, stream) = calls.recv().await.unwrap();
        stream.send(question(json!("p"), "ping")).unwrap();
        let pong = server.saw("answer").await;
        assert_eq!(
            pong.body,
            json!({"jsonrpc": "2.0", "id": "p", "result": {}})
        );
        assert_eq!(pong.header("mcp-session-id"), "s1");

        stream
            .send(question(json!("q-1"), "elicitation/create"))
            .unwrap();
        let Event::Ask(ask) = *waiting_client.events.recv().await.unwrap() else {
            panic!("a question")
        };
        assert_eq!(
            (&*ask.server, &*ask.method, ask.key.link),
            ("srv", "elicitation/create", 7)
        );
        assert_eq!(ask.params.unwrap().as_str(), r#"{"q":1}"#);
        ask.reply
            .answer(Ok(Raw::from_static(r#"{"action":"accept"}"#)));
        let answer = server.saw("answer").await;
        assert_eq!(
            answer.body,
            json!({"jsonrpc": "2.0", "id": "q-1", "result": {"action": "accept"}})
        );

        // The client has not declared support for this request.
        stream
            .send(question(json!(5), "sampling/createMessage"))
            .unwrap();
        let refusal = server.saw("answer").await;
        assert_eq!(
            (&refusal.body["id"], &refusal.body["error"]["code"]),
            (&json!(5), &json!(-32601))
        );

        // A server request that is dropped without a response is rejected.
        stream
            .send(question(json!(6), "elicitation/create"))
            .unwrap();
        drop(waiting_client.events.recv().await.unwrap());
        let refusal = server.saw("answer").await;
        assert_eq!(
            (&refusal.body["id"], &refusal.body["error"]["code"]),
            (&json!(6), &json!(-32603))
        );

        // A cancelled server request is withdrawn from its recipient.
        stream
            .send(question(json!(8), "elicitation/create"))
            .unwrap();
        let Event::Ask(ask) = *waiting_client.events.recv().await.unwrap() else {
            panic!("a question")
        };
        stream
            .send(note("notifications/cancelled", json!({"requestId": 8})))
            .unwrap();
        let Event::Withdraw(key) = *waiting_client.events.recv().await.unwrap() else {
            panic!("withdrawn")
        };
        assert_eq!(key, ask.key);
        ask.reply.forget();

        stream.send(event(&seen.result(json!(0)))).unwrap();
    };
    let (result, ()) = soon(async { tokio::join!(sending, serving) }).await;
    assert_eq!(result.unwrap().as_str(), "0");
    assert!(!server.rest().contains(&"answer".to_owned()));
}

#[tokio::test]
async fn server_request_without_a_caller_goes_to_the_link_owner() {
    let (server, mut calls) = streaming().await;
    let (link, mut received) = open(&server).await;
    let serving = async {
        let (seen, stream) = calls.recv().await.unwrap();
        stream.send(question(json!(1), "roots/list")).unwrap();
        assert_eq!(&*received.asks.recv().await.unwrap().method, "roots/list");
        stream.send(event(&seen.result(json!(0)))).unwrap();
    };
    let (result, ()) = soon(async { tokio::join!(call(&link), serving) }).await;
    assert_eq!(result.unwrap().as_str(), "0");
}

#[tokio::test]
async fn timed_out_call_is_cancelled() {
    let (mut server, _calls) = streaming().await;
    let (link, _heard) = open(&server).await;
    let limit = Duration::from_millis(100);
    let sending = link.request(outgoing(waiting_client().origin, limit));
    assert!(matches!(soon(sending).await, Err(LinkError::Timeout(after)) if after == limit));
    let taken_back = server.saw("notifications/cancelled").await;
    assert_eq!(taken_back.body["params"]["reason"], "timeout");
    assert!(taken_back.body["params"]["requestId"].is_u64());
}

#[tokio::test]
async fn only_progress_restarts_the_timeout() {
    let (server, _calls) = streaming().await;
    let (link, _heard) = open(&server).await;
    tokio::time::pause();
    let mut waiting_client = waiting_client();
    let outgoing = outgoing(waiting_client.origin.clone(), LONG);
    let timeout = Arc::new(RenewableTimeout::new(LONG));
    let watch = link.progress.watch(5, &outgoing, &timeout);
    let passed = Duration::from_secs(50);
    let received = |frame: serde_json::Value| {
        // The frame does not belong to the stream of a call.
        assert!(
            handle_frame(&link, None, frame.to_string().into())
                .now_or_never()
                .expect("a small frame is read at once")
                .unwrap()
                .is_none()
        );
        timeout.deadline()
    };
    let first = timeout.deadline();
    tokio::time::advance(passed).await;
    let progress = |token| json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token}});
    assert_eq!(
        received(json!({"jsonrpc": "2.0", "method": "notifications/message"})),
        first
    );
    assert_eq!(received(progress(4)), first);
    assert_eq!(received(progress(5)), first + passed);
    let Event::Notice(notice) = *waiting_client.events.try_recv().unwrap() else {
        panic!("progress")
    };
    assert_eq!(
        notice.params.unwrap().as_str(),
        r#"{"progressToken":"tok"}"#
    );
    drop(watch);
    tokio::time::advance(passed).await;
    assert_eq!(received(progress(5)), first + passed);
}

#[tokio::test]
async fn dropped_call_is_cancelled_with_the_clients_reason() {
    for (reason, expected) in [
        (Some("changed my mind"), "changed my mind"),
        (None, "cancelled by the client"),
    ] {
        let (mut server, mut calls) = streaming().await;
        let (link, _heard) = open(&server).await;
        let waiting_client = waiting_client();
        let mut sending = Box::pin(link.request(outgoing(waiting_client.origin.clone(), LONG)));
        let (seen, _stream) = soon(async {
            tokio::select! {
                _ = &mut sending => unreachable!("the server does not respond"),
                seen = calls.recv() => seen.unwrap(),
            }
        })
        .await;
        waiting_client.origin.cancel.raise(reason);
        drop(sending);
        let taken_back = server.saw("notifications/cancelled").await;
        assert_eq!(
            taken_back.body["params"],
            json!({"requestId": seen.body["id"], "reason": expected})
        );
        assert_eq!(taken_back.header("mcp-session-id"), "s1");
    }
}

#[tokio::test]
async fn answered_call_is_not_cancelled() {
    let mut server =
        Server::start(|seen: Seen| async move { json_reply(&seen.result(json!(1))) }).await;
    let (link, _heard) = open(&server).await;
    call(&link).await.unwrap();
    soon(link.close()).await;
    assert_eq!(
        server
            .rest()
            .into_iter()
            .filter(|what| what != "GET")
            .collect::<Vec<_>>(),
        [
            "initialize",
            "notifications/initialized",
            "tools/call",
            "DELETE"
        ]
    );
}

#[tokio::test]
async fn notifications_and_responses_are_posted_in_order() {
    let mut server =
        Server::start(|seen: Seen| async move { json_reply(&seen.result(json!(1))) }).await;
    let (link, _heard) = open(&server).await;
    for n in 0..100 {
        match n % 2 {
            0 => HttpLink::notify(&link, "notifications/n", Some(raw(&json!({"n": n})))),
            _ => link.answer(&narrows_wire::Id::number(n), Ok(raw(&json!({"n": n})))),
        }
    }
    for n in 0..100 {
        let seen = server
            .saw(if n % 2 == 0 {
                "notifications/n"
            } else {
                "answer"
            })
            .await;
        let body = if n % 2 == 0 {
            &seen.body["params"]
        } else {
            &seen.body["result"]
        };
        assert_eq!(body["n"], n);
    }
}

#[tokio::test]
async fn renamed_tool_is_called_by_its_original_name() {
    let mut server =
        Server::start(|seen: Seen| async move { json_reply(&seen.result(json!(1))) }).await;
    let (link, _heard) = open(&server).await;
    let params = raw(&json!({"name": "srv__t", "arguments": {"a": 1}}));
    let place = params.member("name").unwrap();
    let call = Outgoing {
        rename: Some((place, Raw::string("t"))),
        ..Outgoing::own("tools/call", Some(params), LONG)
    };
    soon(link.request(call)).await.unwrap();
    assert_eq!(
        server.saw("tools/call").await.body["params"],
        json!({"name": "t", "arguments": {"a": 1}})
    );
}

#[tokio::test]
async fn concurrent_calls_stay_separate() {
    let server = Server::start(|seen: Seen| async move {
        let n = seen.body["params"]["n"].as_u64().unwrap();
        let (pieces, reply): (_, Reply) = stream("application/json");
        // Later calls are answered first.
        tokio::spawn(async move {
            for _ in n..200 {
                tokio::task::yield_now().await;
            }
            let _ = pieces.send(seen.result(json!(n)));
        });
        reply
    });
    let server = server.await;
    let (link, _heard) = open(&server).await;
    let calls = (0..200u64).map(|n| {
        let link = link.clone();
        async move {
            let call = Outgoing::own("tools/call", Some(raw(&json!({"n": n}))), LONG);
            assert_eq!(soon(link.request(call)).await.unwrap().as_u64(), Some(n));
        }
    });
    futures_util::future::join_all(calls).await;
}
