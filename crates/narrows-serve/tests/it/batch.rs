//! Tests of batches, which only revision 2025-03-26 has.

use serde_json::{Value, json};

use crate::TestGateway;
use crate::client::{call, initialize};

fn batch(entries: &[&str]) -> String {
    format!("[{}]", entries.join(","))
}

fn ids(answers: &Value) -> Vec<String> {
    let mut ids: Vec<_> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| answer["id"].to_string())
        .collect();
    ids.sort();
    ids
}

#[tokio::test]
async fn only_one_revision_supports_batches() {
    let gate = TestGateway::start().await;
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let client = gate.client_of(revision).await;
        let reply = client
            .post(&batch(&[&call("1", "echo"), &call("2", "echo")]))
            .await;
        if revision == "2025-03-26" {
            assert_eq!(reply.status, 200);
            assert_eq!(ids(&reply.json()), ["1", "2"]);
        } else {
            assert_eq!(
                reply.refusal(),
                r#"400 -32600 "batch_not_supported" null"#,
                "{revision}"
            );
        }
    }
}

#[tokio::test]
async fn batch_requests_run_concurrently() {
    let mut gate = TestGateway::start().await;
    let client = gate.client_of("2025-03-26").await;
    let body = batch(&[&call("1", "hold"), &call("2", "hold"), &call("3", "echo")]);
    let mut answer = client.begin(&body).await;
    let first = gate.upstream.held().await;
    let second = gate.upstream.held().await;
    second.answer("second").await;
    first.answer("first").await;
    let reply = answer.reply().await;
    assert_eq!(ids(&reply.json()), ["1", "2", "3"]);
}

#[tokio::test]
async fn event_turns_a_batch_into_a_stream() {
    let mut gate = TestGateway::start().await;
    let client = gate.client_of("2025-03-26").await;
    let mut answer = client
        .begin(&batch(&[&call("1", "hold"), &call("2", "echo")]))
        .await;
    let mut held = gate.upstream.held().await;
    held.progress(1).await;
    held.answer("done").await;
    let mut seen = Vec::new();
    while let Some(event) = answer.event().await {
        let message: Value = serde_json::from_str(&event.data).unwrap();
        seen.push(match message["id"].as_u64() {
            Some(id) => format!("answer {id}"),
            None => format!("progress {}", message["params"]["progress"]),
        });
    }
    let place = |what: &str| seen.iter().position(|entry| entry == what);
    assert!(place("progress 1") < place("answer 1"), "{seen:?}");
    assert!(
        place("answer 2").is_some() && place("progress 1").is_some(),
        "{seen:?}"
    );
    assert_eq!(seen.len(), 3);
}

#[tokio::test]
async fn each_batch_entry_is_handled_separately() {
    let gate = TestGateway::start().await;
    let client = gate.client_of("2025-03-26").await;
    let body = batch(&[
        "7",
        r#"{"jsonrpc":"2.0","method":"notifications/whatever"}"#,
        r#"{"jsonrpc":"2.0","id":"up:9","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"bad","method":1}"#,
        &initialize(3, "2025-03-26", "{}"),
        &call("4", "echo"),
    ]);
    let reply = client.post(&body).await;
    let mut shown: Vec<_> = reply
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| format!("{} {}", answer["id"], answer["error"]["data"]["code"]))
        .collect();
    shown.sort();
    assert_eq!(
        shown,
        [
            r#""bad" "invalid_request""#,
            r#"3 "initialize_in_batch""#,
            "4 null",
            r#"null "invalid_request""#,
        ]
    );
}

#[tokio::test]
async fn batch_without_requests_is_accepted() {
    let gate = TestGateway::start().await;
    let client = gate.client_of("2025-03-26").await;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/whatever"}"#;
    let reply = client.post(&batch(&[note, note])).await;
    assert_eq!((reply.status, reply.text()), (202, ""));
}

#[tokio::test]
async fn batch_size_is_limited() {
    let gate = TestGateway::start().await;
    let client = gate.client_of("2025-03-26").await;
    assert_eq!(
        client.post("[]").await.refusal(),
        r#"400 -32600 "invalid_request" null"#
    );
    let ping = |id: usize| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let pings: Vec<_> = (0..101).map(ping).collect();
    let pings: Vec<_> = pings.iter().map(String::as_str).collect();
    assert_eq!(
        client.post(&batch(&pings)).await.refusal(),
        r#"400 -32600 "batch_too_long" null"#
    );
    assert_eq!(
        client
            .post(&batch(&pings[..100]))
            .await
            .json()
            .as_array()
            .unwrap()
            .len(),
        100
    );
}

#[tokio::test]
async fn duplicate_ids_in_a_batch_are_rejected() {
    let gate = TestGateway::start().await;
    let client = gate.client_of("2025-03-26").await;
    let reply = client
        .post(&batch(&[&call("1", "echo"), &call("1", "echo")]))
        .await;
    let answers = reply.json();
    let codes: Vec<_> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| &answer["error"]["code"])
        .collect();
    assert!(
        codes.contains(&&json!(-32600)) && codes.contains(&&Value::Null),
        "{answers}"
    );
}
