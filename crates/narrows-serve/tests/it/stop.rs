//! Tests of stopping the edge.

use std::time::Duration;

use narrows_gateway::settings::Limits;
use narrows_serve::HttpSettings;
use tokio::net::TcpStream;

use crate::{TestGateway, within};

#[tokio::test]
async fn shutdown_finishes_calls_and_closes_streams() {
    let mut gate = TestGateway::start().await;
    let client = gate.client().await;
    let mut plain = client.call("7", "hold").await;
    let held = gate.upstream.held().await;
    let mut streamed = client.call("8", "hold").await;
    let mut other = gate.upstream.held().await;
    other.progress(1).await;
    streamed.message().await;
    let mut general = client.get(None).await;
    general.head().await;

    gate.stop.cancel();
    assert_eq!(general.event().await, None);
    held.answer("done").await;
    other.answer("done").await;
    assert_eq!(plain.reply().await.json()["id"], 7);
    assert_eq!(streamed.message().await.1["id"], 8);
    within("the edge to end", gate.served).await.unwrap();
    assert!(TcpStream::connect(gate.address).await.is_err());
}

#[tokio::test]
async fn shutdown_does_not_wait_long_for_a_response() {
    let http = HttpSettings {
        grace: Duration::from_millis(50),
        ..HttpSettings::default()
    };
    let mut gate = TestGateway::with(http, Limits::default()).await;
    let client = gate.client().await;
    let mut plain = client.call("7", "hold").await;
    let held = gate.upstream.held().await;
    gate.stop.cancel();
    within("the edge to end", gate.served).await.unwrap();
    assert!(plain.closed().await);
    // The session has ended, and its call is cancelled.
    let notice = gate
        .upstream
        .received("method", &serde_json::json!("notifications/cancelled"))
        .await;
    assert_eq!(notice["params"]["requestId"], held.id);
}
