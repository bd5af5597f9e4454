//! Tests of sessions: when they are required, how they are found, and how they end.

use std::time::Duration;

use narrows_gateway::settings::Limits;
use narrows_serve::HttpSettings;

use crate::client::{Client, call, initialize};
use crate::{TestGateway, within};

const LIST: &str = r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#;

fn named(client: &Client, session: &str) -> Client {
    Client {
        session: Some(session.to_string()),
        ..client.clone()
    }
}

#[tokio::test]
async fn only_initialize_is_accepted_without_a_session() {
    let gate = TestGateway::start().await;
    let client = gate.new_client();
    assert_eq!(
        client.post(LIST).await.refusal(),
        r#"400 -32600 "session_required" 5"#
    );
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let refusal = r#"400 -32600 "session_required" null"#;
    assert_eq!(client.post(notification).await.refusal(), refusal);
    assert_eq!(client.get(None).await.reply().await.refusal(), refusal);
    assert_eq!(client.delete().await.refusal(), refusal);
    let batch = client.post(&format!("[{LIST}]")).await;
    assert_eq!(batch.refusal(), refusal);
}

#[tokio::test]
async fn unknown_session_is_not_found() {
    let gate = TestGateway::start().await;
    let client = gate.client().await;
    for name in ["missing", "", "ä", &"x".repeat(5000)] {
        let client = named(&client, name);
        assert_eq!(
            client.post(LIST).await.refusal(),
            r#"404 -32600 "unknown_session" 5"#
        );
        let refusal = r#"404 -32600 "unknown_session" null"#;
        assert_eq!(client.get(None).await.reply().await.refusal(), refusal);
        assert_eq!(client.delete().await.refusal(), refusal);
    }
}

#[tokio::test]
async fn session_is_bound_to_its_entrypoint() {
    let gate = TestGateway::start().await;
    let mut one = gate.new_client().at("/servers/up/mcp");
    one.initialize("2025-06-18", "{}").await;
    assert_eq!(
        one.post(LIST).await.json()["result"]["tools"][0]["name"],
        "echo"
    );
    let elsewhere = one.clone().at("/mcp");
    assert_eq!(
        elsewhere.post(LIST).await.refusal(),
        r#"404 -32600 "unknown_session" 5"#
    );
    assert_eq!(elsewhere.delete().await.status, 404);

    let all = gate.client().await;
    assert_eq!(
        all.post(LIST).await.json()["result"]["tools"][0]["name"],
        "up__echo"
    );
    assert_eq!(
        all.clone().at("/servers/up/mcp").post(LIST).await.status,
        404
    );
    // The same endpoint at another path accepts the session.
    assert_eq!(all.clone().at("/mcp/default").post(LIST).await.status, 200);
}

#[tokio::test]
async fn unknown_entrypoint_is_not_found() {
    let gate = TestGateway::start().await;
    for path in ["/mcp/nowhere", "/servers/missing/mcp"] {
        let client = gate.new_client().at(path);
        let reply = client.post(&initialize(3, "2025-06-18", "{}")).await;
        assert_eq!(reply.refusal(), r#"404 -32600 "unknown_endpoint" 3"#);
        assert_eq!(
            client.post(LIST).await.refusal(),
            r#"404 -32600 "unknown_endpoint" 5"#
        );
        let refusal = r#"404 -32600 "unknown_endpoint" null"#;
        assert_eq!(client.get(None).await.reply().await.refusal(), refusal);
    }
}

#[tokio::test]
async fn delete_closes_the_session_and_its_calls() {
    let mut gate = TestGateway::start().await;
    let client = gate.client().await;
    let other = gate.client().await;
    let mut call = client.call("7", "hold").await;
    let _held = gate.upstream.held().await;
    let mut general = client.get(None).await;
    assert_eq!(general.head().await.status, 200);

    let reply = client.delete().await;
    assert_eq!((reply.status, reply.text()), (204, ""));
    assert_eq!(general.event().await, None);
    assert_eq!(
        call.reply().await.refusal(),
        r#"200 -32603 "session_closed" 7"#
    );
    assert_eq!(
        client.post(LIST).await.refusal(),
        r#"404 -32600 "unknown_session" 5"#
    );
    assert_eq!(client.delete().await.status, 404);
    assert_eq!(other.post(LIST).await.status, 200);
}

#[tokio::test]
async fn shutdown_closes_only_the_session() {
    let gate = TestGateway::start().await;
    let client = gate.client().await;
    let other = gate.client().await;
    let mut general = client.get(None).await;
    general.head().await;
    let reply = client
        .post(r#"{"jsonrpc":"2.0","id":1,"method":"shutdown"}"#)
        .await;
    assert_eq!(reply.json()["result"], serde_json::json!({}));
    assert_eq!(general.event().await, None);
    assert_eq!(client.post(LIST).await.status, 404);
    assert_eq!(other.post(LIST).await.status, 200);
}

#[tokio::test]
async fn idle_session_expires_unless_a_stream_is_open() {
    let limits = Limits {
        session_idle: Duration::from_millis(100),
        ..Limits::default()
    };
    let gate = TestGateway::with(HttpSettings::default(), limits).await;
    let idle = gate.client().await;
    let listening = gate.client().await;
    let mut general = listening.get(None).await;
    general.head().await;
    // A batch is refused before it counts as activity.
    let gone = async { while idle.post(&format!("[{LIST}]")).await.status != 404 {} };
    within("the idle session to end", gone).await;
    assert_eq!(listening.post(LIST).await.status, 200);
}

#[tokio::test]
async fn number_of_sessions_is_limited() {
    let limits = Limits {
        max_sessions: 2,
        ..Limits::default()
    };
    let gate = TestGateway::with(HttpSettings::default(), limits).await;
    let first = gate.client().await;
    let _second = gate.client().await;
    let third = gate.new_client();
    let refused = third.post(&initialize(1, "2025-06-18", "{}")).await;
    assert_eq!(refused.refusal(), r#"503 -32603 "too_many_sessions" 1"#);
    assert_eq!(refused.header("mcp-session-id"), None);
    first.delete().await;
    assert_eq!(
        third.post(&initialize(1, "2025-06-18", "{}")).await.status,
        200
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_ids_in_fifty_sessions_stay_separate() {
    let mut gate = TestGateway::start().await;
    let mut clients = Vec::new();
    for _ in 0..50 {
        clients.push(gate.client().await);
    }
    let mut answers = Vec::new();
    for (number, client) in clients.iter().enumerate() {
        let body = call("7", "hold").replace(r#"{"id":7}"#, &format!(r#"{{"from":{number}}}"#));
        answers.push(client.begin(&body).await);
    }
    let mut held = Vec::new();
    for _ in 0..50 {
        held.push(gate.upstream.held().await);
    }
    // Answered in a different order from the requests.
    held.sort_by_key(|held| std::cmp::Reverse(held.arguments["from"].as_u64()));
    for mut held in held {
        let from = held.arguments["from"].as_u64().unwrap();
        held.progress(from).await;
        held.answer(&format!("for {from}")).await;
    }
    for (number, answer) in answers.iter_mut().enumerate() {
        let (_, notice) = answer.message().await;
        assert_eq!(notice["params"]["progressToken"], 7);
        assert_eq!(notice["params"]["progress"], number);
        let (_, result) = answer.message().await;
        assert_eq!(result["id"], 7);
        assert_eq!(
            result["result"]["content"][0]["text"],
            format!("for {number}")
        );
        assert_eq!(answer.event().await, None);
    }
}
