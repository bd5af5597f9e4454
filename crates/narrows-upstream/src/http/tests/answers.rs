//! Tests all forms of responses.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;

use super::server::{Reply, Seen, Server, event, events, json_reply, reply, status, stream};
use super::{LONG, MAX, call, open, soon};
use crate::failure::{FailureKind, LinkError};
use crate::request::Outgoing;

/// Makes a call that receives this response. Returns the result, or the kind and text of the error.
async fn outcome(respond: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> String {
    let server = Server::start(move |seen| {
        let reply = respond(&seen);
        async move { reply }
    })
    .await;
    let (link, _heard) = open(&server).await;
    match call(&link).await {
        Ok(result) => format!("result {}", result.as_str()),
        Err(LinkError::Answered(error)) => format!("answered {}", error.as_str()),
        Err(LinkError::Invalid(reason)) => format!("invalid: {reason}"),
        Err(LinkError::TooLarge(max)) => format!("too large: {max}"),
        Err(LinkError::Timeout(_)) => "timeout".to_owned(),
        Err(LinkError::Closed { failure, .. }) => {
            let address = server.address.to_string();
            format!(
                "{:?}: {}",
                failure.kind,
                failure.detail.replace(&address, "HOST")
            )
        }
    }
}

#[track_caller]
fn check(got: String, expected: &str) {
    assert_eq!(got, expected);
}

#[tokio::test]
async fn result_bytes_are_unchanged() {
    let server = Server::start(|seen: Seen| async move {
        let id = &seen.body["id"];
        json_reply(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"n":1.50,  "e":"\u00e9"}}}}"#
        ))
    });
    let mut server = server.await;
    let (link, _heard) = open(&server).await;
    let result = call(&link).await.unwrap();
    assert_eq!(result.as_str(), r#"{"n":1.50,  "e":"\u00e9"}"#);

    let greeting = server.saw("initialize").await;
    assert_eq!(greeting.header("mcp-session-id"), "");
    assert_eq!(greeting.body["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(
        greeting.body["params"]["capabilities"],
        json!({"elicitation": {}})
    );
    let seen = server.saw("tools/call").await;
    assert_eq!(seen.header("accept"), "application/json, text/event-stream");
    assert_eq!(seen.header("content-type"), "application/json");
    assert_eq!(seen.header("mcp-session-id"), "s1");
    assert_eq!(seen.header("mcp-protocol-version"), "2025-11-25");
    assert_eq!(seen.header("host"), server.address.to_string());
    assert_eq!(seen.body["params"], json!({"name": "t", "arguments": {}}));
    assert!(seen.body["id"].is_u64());
}

#[tokio::test]
async fn all_result_forms_are_accepted() {
    check(
        outcome(|seen| json_reply(&seen.result(json!({})))).await,
        "result {}",
    );
    // Content types may have parameters and are case-insensitive.
    let typed = |seen: &Seen| {
        reply(
            200,
            "Application/JSON; charset=utf-8",
            &seen.result(json!(1)),
        )
    };
    check(outcome(typed).await, "result 1");
    let untyped = |seen: &Seen| reply(200, "", &seen.result(json!(2)));
    check(outcome(untyped).await, "result 2");
    let batch = |seen: &Seen| {
        let notice = r#"{"jsonrpc":"2.0","method":"notifications/message"}"#;
        json_reply(&format!("[{notice},{}]", seen.result(json!(3))))
    };
    check(outcome(batch).await, "result 3");
    let in_events = |seen: &Seen| {
        let other = format!("event: other\ndata: {}\n\n", seen.result(json!("other")));
        let text = format!(": hi\n\n{other}{}", event(&seen.result(json!(4))));
        reply(200, "Text/Event-Stream;charset=utf-8", &text)
    };
    check(outcome(in_events).await, "result 4");
}

#[tokio::test]
async fn chunked_body_is_reassembled() {
    for announced in [false, true] {
        let text = "x".repeat(20_000);
        let expected = format!("result {}", json!({"text": text}));
        let got = outcome(move |seen| {
            let (pieces, mut reply) = stream("application/json");
            let body = seen.result(json!({"text": text}));
            if announced {
                reply
                    .headers_mut()
                    .insert("content-length", body.len().into());
            }
            for piece in body.as_bytes().chunks(1_000) {
                pieces
                    .send(String::from_utf8(piece.to_vec()).unwrap())
                    .unwrap();
            }
            reply
        });
        check(got.await, &expected);
    }
}

#[tokio::test]
async fn invalid_response_is_rejected_with_a_reason() {
    let garbage = outcome(|_| json_reply("{\"jsonrpc\":")).await;
    assert!(garbage.starts_with("invalid: not JSON: "), "{garbage}");
    let other = r#"{"jsonrpc":"2.0","id":12345,"result":{}}"#;
    check(
        outcome(move |_| json_reply(other)).await,
        "invalid: it does not belong to the request",
    );
    check(
        outcome(|_| status(202)).await,
        "invalid: HTTP 202 Accepted without an answer",
    );
    let page = |_: &Seen| reply(200, "text/html", "<html>log in</html>");
    check(outcome(page).await, "invalid: it answers with a web page");
    let cut = |_: &Seen| {
        reply(
            200,
            "text/event-stream",
            &event(r#"{"jsonrpc":"2.0","method":"a"}"#),
        )
    };
    check(
        outcome(cut).await,
        "invalid: its stream ended without the answer",
    );
}

#[tokio::test]
async fn error_object_is_unchanged_for_any_status() {
    let error = r#"{"code":-32000,"message":"no","data":[1.0]}"#;
    for code in [200, 400, 404, 500] {
        let got = outcome(move |seen| {
            let id = &seen.body["id"];
            reply(
                code,
                "application/json",
                &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#),
            )
        });
        check(got.await, &format!("answered {error}"));
    }
    let nameless =
        |_: &Seen| json_reply(r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#);
    check(
        outcome(nameless).await,
        r#"answered {"code":1,"message":"m"}"#,
    );
}

#[tokio::test]
async fn http_statuses_map_to_failure_kinds() {
    check(
        outcome(|_| reply(503, "text/plain", "back\n soon")).await,
        "Refused: http://HOST/mcp answered HTTP 503 Service Unavailable: back soon",
    );
    check(
        outcome(|_| reply(502, "text/html", "<html>")).await,
        "Refused: http://HOST/mcp answered HTTP 502 Bad Gateway: a web page",
    );
    check(
        outcome(|_| status(429)).await,
        "Refused: http://HOST/mcp answered HTTP 429 Too Many Requests",
    );
    check(
        outcome(|_| status(415)).await,
        "invalid: it answered HTTP 415 Unsupported Media Type",
    );
    check(
        outcome(|_| {
            let mut reply = reply(401, "text/plain", "token expired");
            let challenge = r#"Bearer realm="x", resource_metadata="https://a/b""#;
            reply
                .headers_mut()
                .insert("www-authenticate", challenge.parse().unwrap());
            reply
        })
        .await,
        "SignIn: http://HOST/mcp answered HTTP 401 Unauthorized (wants Bearer): token expired",
    );
    let forbidden = |_: &Seen| {
        reply(
            403,
            "application/json",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#,
        )
    };
    assert!(outcome(forbidden).await.starts_with("SignIn: "));
}

#[tokio::test]
async fn oversized_response_is_dropped() {
    let large = || "x".repeat(MAX + 1);
    let expected = format!("too large: {MAX}");
    check(
        outcome(move |seen| json_reply(&seen.result(json!(large())))).await,
        &expected,
    );
    let held = Arc::new(Mutex::new(Vec::new()));
    let announced = move |_: &Seen| {
        let (pieces, mut reply) = stream("application/json");
        reply
            .headers_mut()
            .insert("content-length", (MAX + 1).into());
        // No more data is sent, and the gateway must not wait for it.
        held.lock().push(pieces);
        reply
    };
    check(outcome(announced).await, &expected);
    let chunked = move |seen: &Seen| {
        let (pieces, reply) = stream("application/json");
        pieces.send(seen.result(json!(large()))).unwrap();
        reply
    };
    check(outcome(chunked).await, &expected);
    let endless = move |_: &Seen| {
        let (pieces, reply) = stream("application/json");
        tokio::spawn(async move {
            while pieces.send("x".repeat(1000)).is_ok() {
                tokio::task::yield_now().await
            }
        });
        reply
    };
    check(outcome(endless).await, &expected);
    let in_event = move |seen: &Seen| {
        reply(
            200,
            "text/event-stream",
            &event(&seen.result(json!(large()))),
        )
    };
    check(outcome(in_event).await, &expected);
    let just_fits = |seen: &Seen| {
        let around = seen.result(json!("")).len();
        json_reply(&seen.result(json!("x".repeat(MAX - around))))
    };
    assert!(outcome(just_fits).await.starts_with("result"));
}

#[tokio::test]
async fn connection_is_reused_after_either_response_form() {
    let server = Server::start(|seen: Seen| async move {
        if seen.body["params"]["name"] == "t" {
            return json_reply(&seen.result(json!(1)));
        }
        // The stream ends after the response.
        let (sender, reply) = events();
        sender.send(event(&seen.result(json!(1)))).unwrap();
        tokio::spawn(async move {
            tokio::task::yield_now().await;
            drop(sender);
        });
        reply
    });
    let server = server.await;
    let (link, _heard) = open(&server).await;
    for round in 0..10 {
        call(&link).await.unwrap();
        if round % 2 == 0 {
            soon(link.request(Outgoing::own("tools/list", None, LONG)))
                .await
                .unwrap();
            // The connection returns to the pool after the end of the stream has been read.
            soon(async {
                while link.endpoint.address.pool.idle() == 0 {
                    tokio::task::yield_now().await
                }
            })
            .await;
        }
    }
    // One connection for the calls, and one on which the GET stream was refused.
    assert!(server.accepted() <= 2, "{} connections", server.accepted());
}

#[tokio::test]
async fn failed_request_keeps_the_link() {
    let server = Server::start(|seen: Seen| async move {
        match seen.body["params"]["name"].as_str() {
            Some("t") => json_reply(&seen.result(json!("fine"))),
            _ => status(500),
        }
    });
    let server = server.await;
    let (link, _heard) = open(&server).await;
    for _ in 0..5 {
        let failed = soon(link.request(Outgoing::own("tools/list", None, LONG))).await;
        assert!(
            matches!(failed, Err(LinkError::Closed { failure, .. }) if failure.kind == FailureKind::Refused)
        );
        assert_eq!(call(&link).await.unwrap().as_str(), "\"fine\"");
    }
}
