//! Tests that client tokens are not passed to servers.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use narrows_gateway::settings::Limits;
use narrows_serve::HttpSettings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{ALICE, PING, named};
use crate::client::{Client, call};
use crate::gateway_to;
use crate::upstream::Upstream;

/// A proxy in front of an upstream that records all requests.
struct RecordingProxy {
    address: SocketAddr,
    recorded: Arc<Mutex<Vec<u8>>>,
    _tasks: JoinSet<()>,
}

impl RecordingProxy {
    async fn before(upstream: SocketAddr) -> RecordingProxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let recorded = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        let record = recorded.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((near, _)) = listener.accept().await {
                let far = TcpStream::connect(upstream).await.unwrap();
                let (mut near_in, mut near_out) = near.into_split();
                let (mut far_in, mut far_out) = far.into_split();
                let record = record.clone();
                connections.spawn(async move {
                    let mut buffer = vec![0; 16 * 1024];
                    while let Ok(count @ 1..) = near_in.read(&mut buffer).await {
                        record.lock().unwrap().extend_from_slice(&buffer[..count]);
                        let _ = far_out.write_all(&buffer[..count]).await;
                    }
                });
                connections.spawn(async move {
                    let _ = tokio::io::copy(&mut far_in, &mut near_out).await;
                });
            }
        });
        RecordingProxy {
            address,
            recorded,
            _tasks: tasks,
        }
    }
}

#[tokio::test]
async fn client_tokens_are_not_forwarded_upstream() {
    let upstream = Upstream::start().await;
    let recorder = RecordingProxy::before(upstream.address).await;
    let gateway = gateway_to(recorder.address, Limits::default());
    gateway.replace_clients(&[named("alice", ALICE)]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let serving = narrows_serve::serve(listener, gateway, HttpSettings::default(), stop);
    let _served = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(serving));
    let mut client = Client::new(address).with_token(ALICE);
    client.initialize("2025-06-18", "{}").await;
    assert_eq!(client.post(&call("1", "echo")).await.status, 200);
    let plain = Client::new(address).with_token(ALICE);
    let plain = plain.at("/api/mcp-gateway/up/rpc");
    assert_eq!(plain.post(PING).await.status, 200);
    let recorded = recorder.recorded.lock().unwrap();
    let recorded = String::from_utf8_lossy(&recorded).to_lowercase();
    assert!(recorded.contains("tools/call"), "it is written down");
    assert!(!recorded.contains("authorization"), "{recorded}");
    assert!(
        !recorded.contains(&ALICE[4..12].to_lowercase()),
        "{recorded}"
    );
}
