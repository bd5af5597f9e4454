//! Tests of clients that do not read their stream.

use std::time::Duration;

use narrows_gateway::settings::Limits;
use narrows_serve::HttpSettings;
use serde_json::json;

use super::{PING, SseClient};
use crate::client::call;
use crate::{TestGateway, within};

/// Returns a request id of the maximum length. Every answer repeats the id, so that results and
/// errors have similar sizes.
fn long_id(number: usize) -> String {
    format!("\"{number} {}\"", "x".repeat(1_000))
}

/// Sends calls until the gateway accepts no more. Their answers exceed the buffers on the path.
/// Returns the number of calls accepted.
async fn ask_for_much(listener: &SseClient) -> usize {
    for number in 0..5000 {
        let reply = listener.post(&call(&long_id(number), "echo")).await;
        if reply.status != 202 {
            assert_eq!(reply.refusal(), r#"503 -32600 "client_too_slow" null"#);
            return number;
        }
    }
    panic!("everything was taken");
}

fn narrow() -> HttpSettings {
    HttpSettings {
        queue: 1,
        max_calls: 4,
        inbox_timeout: Duration::from_millis(200),
        ..HttpSettings::default()
    }
}

#[tokio::test]
async fn no_more_posts_are_accepted_from_a_stalled_reader() {
    let gate = TestGateway::with_small_buffers(narrow(), Limits::default()).await;
    let mut other = SseClient::open(&gate).await;
    let mut stuck = SseClient::open_with_small_buffer(&gate).await;
    let taken = ask_for_much(&stuck).await;
    other.send_message(&call("3", "echo")).await;
    assert_eq!(other.receive().await["id"], 3);
    // When the client reads again, it gets an answer to every accepted call.
    let mut answered = Vec::new();
    for _ in 0..taken {
        let answer = stuck.receive().await;
        let (number, _) = answer["id"].as_str().unwrap().split_once(' ').unwrap();
        answered.push(number.parse::<usize>().unwrap());
    }
    answered.sort();
    assert_eq!(answered, (0..taken).collect::<Vec<_>>());
    stuck.send_message(PING).await;
    assert_eq!(stuck.receive().await["id"], "p");
}

#[tokio::test]
async fn client_that_never_reads_is_disconnected() {
    let http = HttpSettings {
        write_timeout: Duration::from_millis(500),
        ..HttpSettings::default()
    };
    let mut gate = TestGateway::with(http, Limits::default()).await;
    let stuck = SseClient::open(&gate).await;
    stuck.send_message(&call("2", "hold")).await;
    let held = gate.upstream.held().await;
    let mut ids = 100..;
    let given_up = async {
        loop {
            let id = ids.next().unwrap().to_string();
            let reply = stuck.post(&call(&id, "blob")).await;
            if reply.status != 202 {
                return reply.refusal();
            }
        }
    };
    assert_eq!(
        within("the client to be given up", given_up).await,
        r#"404 -32600 "unknown_session" null"#
    );
    let notice = gate
        .upstream
        .received("method", &json!("notifications/cancelled"))
        .await;
    assert_eq!(notice["params"]["requestId"], held.id);
}
