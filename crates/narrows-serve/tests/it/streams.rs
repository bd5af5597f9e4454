//! Tests of SSE streams: event ids, resumption and readers.

use std::time::Duration;

use narrows_gateway::settings::Limits;
use narrows_serve::HttpSettings;
use serde_json::json;

use crate::TestGateway;
use crate::client::Event;

#[tokio::test]
async fn event_ids_differ_between_streams() {
    let mut gate = TestGateway::start().await;
    let client = gate.client().await;
    let mut ids = Vec::new();
    for id in ["1", "2"] {
        let mut answer = client.call(id, "hold").await;
        let mut held = gate.upstream.held().await;
        held.progress(1).await;
        held.answer("done").await;
        while let Some(event) = answer.event().await {
            assert!(!event.id.is_empty());
            ids.push(event.id);
        }
    }
    assert_eq!(ids.len(), 4);
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

#[tokio::test]
async fn streams_start_with_a_priming_event_if_supported() {
    let mut gate = TestGateway::start().await;
    for (revision, primed) in [
        ("2025-11-25", true),
        ("2025-06-18", false),
        ("2025-03-26", false),
    ] {
        let client = gate.client_of(revision).await;
        let mut answer = client.call("1", "hold").await;
        let mut held = gate.upstream.held().await;
        held.progress(1).await;
        let first = answer.event().await.unwrap();
        let is_priming = |event: &Event| event.data.is_empty() && event.retry == Some(1000);
        assert_eq!(is_priming(&first), primed, "{revision} {first:?}");
        assert!(!first.id.is_empty());
        if primed {
            assert_eq!(answer.message().await.1["method"], "notifications/progress");
            let mut general = client.get(None).await;
            assert!(is_priming(&general.event().await.unwrap()));
            // The id of the empty event precedes all messages of its stream.
            let mut resumed = client.get(Some(&first.id)).await;
            assert_eq!(
                resumed.message().await.1["method"],
                "notifications/progress"
            );
        }
        held.answer("done").await;
    }
}

#[tokio::test]
async fn stream_resumes_where_it_broke_off() {
    let mut gate = TestGateway::start().await;
    let client = gate.client().await;
    let mut answer = client.call("7", "hold").await;
    let mut held = gate.upstream.held().await;
    held.progress(1).await;
    let (last, _) = answer.message().await;
    drop(answer);

    held.progress(2).await;
    let mut resumed = client.get(Some(&last)).await;
    let (second, notice) = resumed.message().await;
    assert_eq!(notice["params"]["progress"], 2);
    held.progress(3).await;
    assert_eq!(resumed.message().await.1["params"]["progress"], 3);
    drop(resumed);

    held.answer("done").await;
    let mut again = client.get(Some(&second)).await;
    assert_eq!(again.message().await.1["params"]["progress"], 3);
    assert_eq!(
        again.message().await.1["result"]["content"][0]["text"],
        "done"
    );
    assert_eq!(again.event().await, None);

    // The stream has ended, and can still be read from any position.
    let mut replayed = client.get(Some(&last)).await;
    assert_eq!(replayed.message().await.1["params"]["progress"], 2);
    assert_eq!(replayed.message().await.1["params"]["progress"], 3);
    assert_eq!(replayed.message().await.1["id"], 7);
    assert_eq!(replayed.event().await, None);
    let received = gate.upstream.received_so_far();
    assert!(
        received
            .iter()
            .all(|message| message["method"] != "notifications/cancelled")
    );
}

#[tokio::test]
async fn resuming_replaces_a_connection_that_is_still_open() {
    let mut gate = TestGateway::start().await;
    let client = gate.client().await;
    let mut answer = client.call("7", "hold").await;
    let mut held = gate.upstream.held().await;
    held.progress(1).await;
    let (last, _) = answer.message().await;
    let mut resumed = client.get(Some(&last)).await;
    assert_eq!(resumed.head().await.status, 200);
    assert_eq!(answer.event().await, None);
    held.progress(2).await;
    assert_eq!(resumed.message().await.1["params"]["progress"], 2);
    held.answer("done").await;
    assert_eq!(resumed.message().await.1["id"], 7);
    assert_eq!(resumed.event().await, None);
}

#[tokio::test]
async fn disconnect_does_not_cancel_calls() {
    let mut gate = TestGateway::start().await;
    let client = gate.client().await;
    // Disconnects before the call is answered.
    let answer = client.call("7", "hold").await;
    let held = gate.upstream.held().await;
    drop(answer);
    // The id stays in use while the call runs.
    let duplicate = client.call("7", "echo").await.reply().await;
    assert_eq!(duplicate.refusal(), r#"200 -32600 "duplicate_id" 7"#);
    held.answer("unread").await;
    client.until_over("7").await;
    let received = gate.upstream.received_so_far();
    assert!(
        received
            .iter()
            .all(|message| message["method"] != "notifications/cancelled")
    );
}

#[tokio::test]
async fn delete_cancels_calls_left_by_a_disconnect() {
    let mut gate = TestGateway::start().await;
    let client = gate.client().await;
    let answer = client.call("7", "hold").await;
    let held = gate.upstream.held().await;
    drop(answer);
    let mut streamed = client.call("8", "hold").await;
    let mut other = gate.upstream.held().await;
    other.progress(1).await;
    streamed.message().await;
    drop(streamed);
    client.delete().await;
    let method = json!("notifications/cancelled");
    let mut cancelled = Vec::new();
    for _ in 0..2 {
        let notice = gate.upstream.received("method", &method).await;
        cancelled.push(notice["params"]["requestId"].clone());
    }
    assert!(
        cancelled.contains(&held.id) && cancelled.contains(&other.id),
        "{cancelled:?}"
    );
}

#[tokio::test]
async fn server_request_uses_the_stream_of_its_call() {
    let mut gate = TestGateway::start().await;
    let mut client = gate.new_client();
    client
        .initialize("2025-06-18", r#"{"elicitation":{}}"#)
        .await;
    let mut general = client.get(None).await;
    general.head().await;
    let mut answer = client.call("7", "hold").await;
    let mut held = gate.upstream.held().await;
    held.ask("their-id").await;
    let (last, question) = answer.message().await;
    assert_eq!(question["method"], "elicitation/create");
    let id = question["id"].as_str().unwrap();
    assert!(id.starts_with("up:"), "{id}");

    // After a reconnect, the client receives the request again and then answers it.
    drop(answer);
    let (stream, _) = last.split_once('-').unwrap();
    let mut resumed = client.get(Some(&format!("{stream}-0"))).await;
    assert_eq!(resumed.message().await.1, question);
    let reply = json!({ "jsonrpc": "2.0", "id": id, "result": { "action": "accept" } });
    assert_eq!(client.post(&reply.to_string()).await.status, 202);
    let received = gate.upstream.received("id", &json!("their-id")).await;
    assert_eq!(received["result"]["action"], "accept");
    held.answer("done").await;
    assert_eq!(resumed.message().await.1["id"], 7);
}

#[tokio::test]
async fn notifications_outside_calls_use_the_general_stream() {
    let mut gate = TestGateway::start().await;
    let client = gate.client().await;
    let mut answer = client.call("7", "hold").await;
    let mut held = gate.upstream.held().await;

    // No client reads the general stream yet, so the notification waits.
    gate.upstream.add_tool(&mut held).await;
    let mut general = client.get(None).await;
    let (first, notice) = general.message().await;
    assert_eq!(notice["method"], "notifications/tools/list_changed");

    // The second reader takes over, starting with the next unsent message.
    let mut second = client.get(None).await;
    second.head().await;
    assert_eq!(general.event().await, None);
    gate.upstream.add_tool(&mut held).await;
    let (last, notice) = second.message().await;
    assert_eq!(notice["method"], "notifications/tools/list_changed");
    assert_ne!(first, last);
    drop(second);

    // A client that reconnects continues after its last message.
    let mut resumed = client.get(Some(&first)).await;
    assert_eq!(resumed.event().await.unwrap().id, last);
    held.answer("done").await;
    assert_eq!(answer.reply().await.json()["id"], 7);
}

#[tokio::test]
async fn unknown_event_id_starts_a_new_stream() {
    let mut gate = TestGateway::start().await;
    let client = gate.client().await;
    let _answer = client.call("7", "hold").await;
    let mut held = gate.upstream.held().await;
    for last in [
        "99-1",
        "nonsense",
        "",
        "-1--1",
        "0-99999",
        "18446744073709551615-1",
    ] {
        let mut general = client.get(Some(last)).await;
        assert_eq!(general.head().await.status, 200, "{last}");
        gate.upstream.add_tool(&mut held).await;
        let (_, notice) = general.message().await;
        assert_eq!(notice["method"], "notifications/tools/list_changed");
    }
}

#[tokio::test]
async fn stream_sends_keep_alives() {
    let keep_alive = Duration::from_millis(20);
    let http = HttpSettings {
        keep_alive,
        ..HttpSettings::default()
    };
    let gate = TestGateway::with(http, Limits::default()).await;
    let client = gate.client().await;
    let mut general = client.get(None).await;
    for _ in 0..3 {
        assert!(general.any_event().await.unwrap().comment);
    }
}

#[tokio::test]
async fn stream_requires_accepting_events() {
    let gate = TestGateway::start().await;
    let client = gate.client().await;
    let get = async |accept| client.clone().accepting(accept).send("GET", &[], "").await;
    let refusal = get("application/json").await.reply().await.refusal();
    assert_eq!(refusal, r#"406 -32600 "not_acceptable" null"#);
    assert_eq!(get("*/*").await.head().await.status, 200);
}

#[tokio::test]
async fn only_the_newest_messages_are_kept_for_a_reconnect() {
    let http = HttpSettings {
        resume_events: 3,
        ..HttpSettings::default()
    };
    let mut gate = TestGateway::with(http, Limits::default()).await;
    let client = gate.client().await;
    let mut answer = client.call("7", "hold").await;
    let mut held = gate.upstream.held().await;
    held.progress(1).await;
    let (last, _) = answer.message().await;
    drop(answer);
    for progress in 2..10 {
        held.progress(progress).await;
    }
    held.answer("done").await;
    client.until_over("7").await;
    let mut resumed = client.get(Some(&last)).await;
    let mut seen = Vec::new();
    while let Some(event) = resumed.event().await {
        seen.push(event.id);
    }
    // The first event is a notice that states the number of missing messages.
    assert_eq!(seen, ["1-7", "1-8", "1-9", "1-10"]);
}

#[tokio::test]
async fn stalled_reader_does_not_block_others() {
    let mut gate = TestGateway::start().await;
    let lazy = gate.client().await;
    let other = gate.client().await;
    let mut stuck = lazy.call("7", "hold").await;
    let mut held = gate.upstream.held().await;
    held.progress(0).await;
    stuck.head().await;
    // Far more than the buffers on the path hold.
    held.progress_at_length(1..5_000).await;
    assert_eq!(other.call("7", "echo").await.reply().await.json()["id"], 7);
    assert_eq!(lazy.call("8", "echo").await.reply().await.json()["id"], 8);
    held.answer("done").await;
    // The messages that the client reads are in order, and end with the answer.
    let mut last = 0;
    let result = loop {
        let (_, message) = stuck.message().await;
        match message["params"]["progress"].as_u64() {
            Some(progress) => {
                assert!(progress >= last);
                last = progress;
            }
            // A notice that counts dropped messages.
            None if message["method"] == "notifications/message" => {}
            None => break message,
        }
    };
    assert_eq!(result["id"], 7);
    assert_eq!(stuck.event().await, None);
}

#[tokio::test]
async fn stalled_reader_is_disconnected_but_keeps_its_stream() {
    // Only one connection is allowed, so the next one is served when this one is closed.
    let http = HttpSettings {
        write_timeout: Duration::from_millis(50),
        max_connections: 1,
        ..HttpSettings::default()
    };
    let mut gate = TestGateway::with(http, Limits::default()).await;
    let client = gate.client().await;
    let mut stuck = client.call("7", "hold").await;
    let mut held = gate.upstream.held().await;
    held.progress(0).await;
    let (first, _) = stuck.message().await;
    held.progress_at_length(1..5_000).await;
    held.answer("done").await;
    client.until_over("7").await;

    let mut resumed = client.get(Some(&first)).await;
    let last = loop {
        let (_, message) = resumed.message().await;
        if message["id"] == 7 {
            break message;
        }
    };
    assert_eq!(last["result"]["content"][0]["text"], "done");
    assert_eq!(resumed.event().await, None);
}
