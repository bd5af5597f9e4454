//! Tests of results that require input from the client.

use super::*;
use crate::exchange::{Ask, Event};

/// The answer to the first round, and a check of the second.
fn rounds(first: Value) -> impl Fn(Seen) -> std::future::Ready<Reply> + Send + Sync + 'static {
    move |seen| {
        let params = &seen.body["params"];
        let is_second =
            params.get("inputResponses").is_some() || params.get("requestState").is_some();
        std::future::ready(json_reply(&seen.result(match is_second {
            true => json!({"resultType": "complete", "content": []}),
            false => first.clone(),
        })))
    }
}

fn required(requests: Value) -> Value {
    json!({"resultType": "input_required", "requestState": "s\u{1}", "inputRequests": requests})
}

fn elicitation() -> Value {
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": "who?"}})
}

async fn next_ask(events: &mut EventStream) -> Ask {
    match *soon(events.recv()).await.expect("an event") {
        Event::Ask(ask) => ask,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn input_is_asked_of_the_client_and_sent_with_a_new_request() {
    let requests = json!({
        "b": {"method": "sampling/createMessage", "params": {"maxTokens": 1}},
        "a": elicitation(),
        "c": {"method": "roots/list"},
    });
    let mut server = serve(json!({}), rounds(required(requests))).await;
    let (link, _received) = open(&server).await;
    let (origin, mut events) = origin();
    let answering = async {
        let mut methods = Vec::new();
        for _ in 0..3 {
            let ask = next_ask(&mut events).await;
            methods.push(ask.method.to_string());
            let answer = json!({"for": &*ask.method});
            ask.reply.answer(Ok(raw(&answer)));
        }
        methods
    };
    let pending = link.request(of_client(origin, LONG));
    let (result, methods) = soon(async { tokio::join!(pending, answering) }).await;
    assert_eq!(result.unwrap().as_str(), r#"{"content":[]}"#);
    assert_eq!(methods.len(), 3);
    let first = server.saw("tools/call").await;
    let second = server.saw("tools/call").await;
    assert_ne!(first.body["id"], second.body["id"]);
    let params = &second.body["params"];
    assert_eq!(params["requestState"], "s\u{1}");
    assert_eq!(params["name"], "t");
    let expected = json!({
        "a": {"for": "elicitation/create"},
        "b": {"for": "sampling/createMessage"},
        "c": {"for": "roots/list"},
    });
    assert_eq!(params["inputResponses"], expected);
    assert_eq!(params["_meta"][VERSION], "2026-07-28");
}

#[tokio::test]
async fn a_state_alone_is_sent_back_at_once() {
    let first = json!({"resultType": "input_required", "requestState": "s"});
    let mut server = serve(json!({}), rounds(first)).await;
    let (link, _received) = open(&server).await;
    call(&link, "tools/call", json!({"name": "t"}))
        .await
        .unwrap();
    server.saw("tools/call").await;
    let second = server.saw("tools/call").await;
    assert_eq!(second.body["params"].get("inputResponses"), None);
    assert_eq!(second.body["params"]["requestState"], "s");
}

#[tokio::test]
async fn a_server_that_never_has_enough_is_given_up() {
    let mut server = serve(json!({}), |seen| async move {
        let again = json!({"resultType": "input_required", "requestState": "s"});
        json_reply(&seen.result(again))
    })
    .await;
    let (link, _received) = open(&server).await;
    server.rest();
    let endless = call(&link, "tools/call", json!({"name": "t"})).await;
    assert!(matches!(endless, Err(LinkError::Invalid(_))), "{endless:?}");
    assert_eq!(server.rest().len(), 11);
}

#[tokio::test]
async fn a_client_that_refuses_cancels_an_elicitation_and_fails_the_rest() {
    for (request, answered) in [
        (elicitation(), Some(json!({"action": "cancel"}))),
        (
            json!({"method": "sampling/createMessage", "params": {}}),
            None,
        ),
    ] {
        let mut server = serve(json!({}), rounds(required(json!({"k": request})))).await;
        let (link, _received) = open(&server).await;
        let (origin, mut events) = origin();
        let refusing = async {
            let ask = next_ask(&mut events).await;
            let error = json!({"code": -1, "message": "rejected"});
            ask.reply.answer(Err(raw(&error)));
        };
        let pending = link.request(of_client(origin, LONG));
        let (result, ()) = soon(async { tokio::join!(pending, refusing) }).await;
        match answered {
            Some(answered) => {
                result.unwrap();
                server.saw("tools/call").await;
                let second = server.saw("tools/call").await;
                assert_eq!(second.body["params"]["inputResponses"]["k"], answered);
            }
            None => {
                let Err(LinkError::Answered(error)) = result else {
                    panic!("{result:?}")
                };
                assert!(error.as_str().contains("rejected"), "{error:?}");
            }
        }
    }
}

#[tokio::test]
async fn open_requests_are_withdrawn_when_the_call_ends() {
    let requests = json!({"a": elicitation(), "b": elicitation()});
    let server = serve(json!({}), rounds(required(requests))).await;
    let (link, _received) = open(&server).await;
    let (origin, mut events) = origin();
    let mut asks = Vec::new();
    {
        let pending = link.request(of_client(origin, LONG));
        tokio::pin!(pending);
        while asks.len() < 2 {
            tokio::select! {
                _ = &mut pending => panic!("both answers are missing"),
                event = events.recv() => match *event.unwrap() {
                    Event::Ask(ask) => asks.push(ask),
                    other => panic!("{other:?}"),
                },
            }
        }
        let first = asks.remove(0);
        first.reply.answer(Ok(Raw::empty_object()));
        tokio::select! {
            _ = &mut pending => panic!("one answer is missing"),
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
        }
    }
    let Event::Withdraw(key) = *soon(events.recv()).await.unwrap() else {
        panic!("it is withdrawn")
    };
    assert_eq!(key, asks[0].key);
    assert!(events.try_recv().is_none(), "the answered one is not");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_answers_ends_the_call() {
    let server = serve(json!({}), rounds(required(json!({"a": elicitation()})))).await;
    let (link, _received) = open(&server).await;
    let (origin, mut events) = origin();
    let limit = Duration::from_secs(9);
    let pending = link.request(of_client(origin, limit));
    let keeping = async {
        let ask = next_ask(&mut events).await;
        std::future::pending::<()>().await;
        drop(ask);
    };
    tokio::select! {
        result = pending => assert!(matches!(result, Err(LinkError::Timeout(_))), "{result:?}"),
        () = keeping => unreachable!(),
    }
}

#[tokio::test]
async fn hostile_requirements_fail_the_call() {
    let many: serde_json::Map<_, _> = (0..33).map(|n| (n.to_string(), elicitation())).collect();
    for first in [
        json!({"resultType": "input_required"}),
        required(json!([1])),
        required(json!({"a": 5})),
        required(json!({"a": {"method": "tools/call", "params": {}}})),
        required(json!({"a": {"method": "ping"}})),
        required(Value::Object(many)),
    ] {
        let server = serve(json!({}), rounds(first.clone())).await;
        let (link, _received) = open(&server).await;
        let (origin, mut events) = origin();
        let result = soon(link.request(of_client(origin, LONG))).await;
        assert!(
            matches!(result, Err(LinkError::Invalid(_))),
            "{first}: {result:?}"
        );
        assert!(events.try_recv().is_none(), "{first}");
    }
    // Only some methods may require input.
    let server = serve(json!({}), rounds(required(json!({"a": elicitation()})))).await;
    let (link, _received) = open(&server).await;
    let listed = call(&link, "tools/list", json!({})).await;
    assert!(matches!(listed, Err(LinkError::Invalid(_))), "{listed:?}");
}

#[tokio::test]
async fn an_elicitation_by_url_has_an_id_for_older_clients() {
    let url =
        json!({"method": "elicitation/create", "params": {"mode": "url", "url": "https://x/"}});
    let server = serve(json!({}), rounds(required(json!({"a": url})))).await;
    let (link, _received) = open(&server).await;
    let (origin, mut events) = origin();
    let answering = async {
        let ask = next_ask(&mut events).await;
        let id = ask.params.as_ref().unwrap().member("elicitationId");
        assert!(!id.unwrap().as_text().unwrap().is_empty());
        ask.reply.answer(Ok(raw(&json!({"action": "accept"}))));
    };
    let pending = link.request(of_client(origin, LONG));
    soon(async { tokio::join!(pending, answering) })
        .await
        .0
        .unwrap();
}
