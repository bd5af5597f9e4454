//! Tests of client limits: concurrent requests, rate and sessions.

use narrows_gateway::settings::{ClientSettings, Rate};

use super::{ALICE, BOB, PING, error, guarded_by, named};
use crate::client::{Reply, call, initialize};

fn rate(per_minute: u32, burst: u32) -> ClientSettings {
    ClientSettings {
        rate: Some(Rate { per_minute, burst }),
        ..named("alice", ALICE)
    }
}

#[track_caller]
fn check_limited(reply: &Reply, status: u16, word: &str) {
    assert_eq!(reply.status, status, "{}", reply.text());
    let error = error(reply);
    assert_eq!(error["data"]["code"], word, "{error}");
    let after = error["data"]["retry_after_ms"].as_u64().expect("a time");
    assert!(after > 0, "{error}");
    let seconds: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert_eq!(seconds, after.div_ceil(1000).max(1), "{error}");
}

#[tokio::test]
async fn requests_over_the_rate_are_rejected_per_client() {
    // The rate is so low that no further request becomes available during the test.
    let gate = guarded_by(&[rate(1, 3), named("bob", BOB)]).await;
    let alice = gate.client_with(ALICE).await;
    let bob = gate.client_with(BOB).await;
    assert_eq!(alice.post(PING).await.status, 200);
    assert_eq!(alice.post(&call("1", "echo")).await.status, 200);
    check_limited(&alice.post(&call("2", "echo")).await, 200, "rate_limited");
    check_limited(&alice.post(PING).await, 200, "rate_limited");
    let hello = initialize(1, "2025-06-18", "{}");
    let another = gate.new_client().with_token(ALICE);
    check_limited(&another.post(&hello).await, 429, "rate_limited");
    for path in ["/rpc", "/api/mcp-gateway/up/rpc"] {
        let reply = another.clone().at(path).post(PING).await;
        check_limited(&reply, 429, "rate_limited");
    }
    assert_eq!(bob.post(&call("1", "echo")).await.status, 200);
    let report = gate.gateway.clients().remove(0);
    assert_eq!((report.calls, report.refused), (3, 5));
    assert_eq!((report.sessions, report.calls_in_flight), (1, 0));
}

#[tokio::test]
async fn only_excess_batch_requests_are_rejected() {
    let gate = guarded_by(&[rate(1, 2)]).await;
    let mut alice = gate.new_client().with_token(ALICE);
    alice.initialize("2025-03-26", "{}").await;
    let batch = format!("[{PING},{}]", PING.replace('7', "8"));
    let reply = alice.post(&batch).await;
    assert_eq!(reply.status, 200);
    let answers = reply.json();
    let refused = answers.as_array().unwrap().iter();
    let refused = refused.filter(|answer| answer["error"]["data"]["code"] == "rate_limited");
    assert_eq!(refused.count(), 1, "{answers}");
}

#[tokio::test]
async fn in_flight_limit_spans_all_sessions() {
    let limited = ClientSettings {
        max_calls: Some(2),
        ..named("alice", ALICE)
    };
    let mut gate = guarded_by(&[limited]).await;
    let one = gate.client_with(ALICE).await;
    let other = gate.client_with(ALICE).await;
    let mut first = one.call("1", "hold").await;
    let held = gate.upstream.held().await;
    let _second = other.call("1", "hold").await;
    let _held = gate.upstream.held().await;
    check_limited(
        &one.post(&call("2", "echo")).await,
        200,
        "too_many_requests",
    );
    for path in ["/rpc", "/api/mcp-gateway/up/rpc"] {
        let reply = gate
            .new_client()
            .with_token(ALICE)
            .at(path)
            .post(PING)
            .await;
        check_limited(&reply, 429, "too_many_requests");
    }
    assert_eq!(gate.gateway.clients()[0].calls_in_flight, 2);
    // A ping does not count as a call, and a call that has ended frees its place.
    assert_eq!(one.post(PING).await.status, 200);
    held.answer("x").await;
    assert_eq!(first.reply().await.status, 200);
    assert_eq!(one.post(&call("2", "echo")).await.status, 200);
}

#[tokio::test]
async fn session_limit_is_enforced() {
    let limited = ClientSettings {
        max_sessions: Some(2),
        ..named("alice", ALICE)
    };
    let gate = guarded_by(&[limited, named("bob", BOB)]).await;
    let first = gate.client_with(ALICE).await;
    let _second = gate.client_with(ALICE).await;
    let hello = initialize(1, "2025-06-18", "{}");
    let third = gate.new_client().with_token(ALICE);
    check_limited(&third.post(&hello).await, 429, "too_many_sessions");
    gate.client_with(BOB).await;
    assert_eq!(first.delete().await.status, 204);
    assert_eq!(third.post(&hello).await.status, 200);
    assert_eq!(gate.gateway.clients()[0].sessions, 2);
}
