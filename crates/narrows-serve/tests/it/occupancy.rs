//! Tests of the connection limits.

use narrows_gateway::settings::Limits;
use narrows_serve::HttpSettings;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::{TestGateway, within};

async fn gate(max_connections: usize) -> TestGateway {
    let http = HttpSettings {
        max_connections,
        ..HttpSettings::default()
    };
    TestGateway::with(http, Limits::default()).await
}

/// Waits until the peer has closed a connection, and returns all bytes received.
async fn closed(mut socket: TcpStream) -> String {
    let mut said = Vec::new();
    let read = within("the end", socket.read_to_end(&mut said)).await;
    assert!(read.is_ok() || said.is_empty(), "{read:?}");
    String::from_utf8_lossy(&said).into_owned()
}

#[tokio::test]
async fn silent_connections_do_not_block_new_ones() {
    let gate = gate(3).await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(TcpStream::connect(gate.address).await.unwrap());
    }
    let client = gate.new_client().at("/health");
    for _ in 0..5 {
        let mut request = client.send("GET", &[], "").await;
        assert_eq!(request.reply().await.status, 200);
    }
    // The oldest connections were closed first, without a response.
    for socket in silent.drain(..15) {
        assert_eq!(closed(socket).await, "");
    }
    let families = gate.gateway.measure();
    let counted = families
        .iter()
        .find(|family| family.name == "narrows_evictions_total");
    assert!(counted.is_some(), "{families:?}");
}

#[tokio::test]
async fn idle_connection_is_closed_for_a_new_one() {
    let gate = gate(1).await;
    let client = gate.new_client().at("/health");
    let mut first = client.send("GET", &[], "").await;
    assert_eq!(first.reply().await.status, 200);
    // The first connection is kept alive and idle.
    let mut second = client.send("GET", &[], "").await;
    assert_eq!(second.reply().await.status, 200);
    assert!(first.closed().await);
}

#[tokio::test]
async fn busy_connections_stay_and_new_ones_are_rejected() {
    let mut gate = gate(2).await;
    let client = gate.client().await;
    let mut call = client.call("7", "hold").await;
    let held = gate.upstream.held().await;
    let mut general = client.get(None).await;
    general.head().await;
    let refused = closed(TcpStream::connect(gate.address).await.unwrap()).await;
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert!(refused.contains("retry-after: 30\r\n"), "{refused}");
    held.answer("done").await;
    assert_eq!(call.reply().await.json()["id"], 7);
}
