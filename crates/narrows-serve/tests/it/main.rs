//! Tests of the real gateway on loopback, between raw clients and a scripted upstream that the test
//! controls step by step.

mod admin;
mod batch;
mod client;
mod clients;
mod forward;
mod guard;
mod memory;
mod metrics;
mod modern;
mod occupancy;
mod pages;
mod post;
mod rpc;
mod sessions;
mod sse;
mod stdio;
mod stop;
mod streams;
mod upstream;
mod ws;

use std::net::SocketAddr;
use std::time::Duration;

use narrows_gateway::Gateway;
use narrows_gateway::settings::{Limits, RemoteProtocol, RemoteSettings, Settings, ShapeChoice};
use narrows_gateway::settings::{ServerSettings, UpstreamKind};
use narrows_serve::HttpSettings;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::client::{Client, SMALL_BUFFER};
use crate::upstream::Upstream;

/// A gateway with one scripted upstream, `up`, served on its own port.
struct TestGateway {
    address: SocketAddr,
    upstream: Upstream,
    gateway: Gateway,
    stop: CancellationToken,
    served: JoinHandle<()>,
}

impl TestGateway {
    async fn start() -> TestGateway {
        TestGateway::with(HttpSettings::default(), Limits::default()).await
    }

    async fn with(http: HttpSettings, limits: Limits) -> TestGateway {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        TestGateway::at(listener, http, limits).await
    }

    /// Starts a gateway whose sockets have small send buffers, so that unread data stays in the
    /// gateway.
    async fn with_small_buffers(http: HttpSettings, limits: Limits) -> TestGateway {
        TestGateway::at(listener_with_small_buffers(), http, limits).await
    }

    async fn at(listener: TcpListener, http: HttpSettings, limits: Limits) -> TestGateway {
        let upstream = Upstream::start().await;
        let gateway = gateway(&upstream, limits);
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let serving = narrows_serve::serve(listener, gateway.clone(), http, stop.clone());
        let served = tokio::spawn(serving);
        TestGateway {
            address,
            upstream,
            gateway,
            stop,
            served,
        }
    }

    /// Creates a client without a session.
    fn new_client(&self) -> Client {
        Client::new(self.address)
    }

    /// Creates a client with a session and without capabilities.
    async fn client(&self) -> Client {
        self.client_of("2025-06-18").await
    }

    async fn client_of(&self, revision: &str) -> Client {
        let mut client = self.new_client();
        client.initialize(revision, "{}").await;
        client
    }
}

/// Creates a listener whose connections have a fixed, small send buffer.
fn listener_with_small_buffers() -> TcpListener {
    let socket = TcpSocket::new_v4().unwrap();
    // Accepted connections inherit the size.
    socket.set_send_buffer_size(SMALL_BUFFER).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    socket.listen(1024).unwrap()
}

fn gateway(upstream: &Upstream, limits: Limits) -> Gateway {
    gateway_to(upstream.address, limits)
}

fn gateway_to(upstream: SocketAddr, limits: Limits) -> Gateway {
    let url = format!("http://{upstream}/mcp").parse().unwrap();
    let kind = UpstreamKind::Remote(RemoteSettings {
        protocol: RemoteProtocol::Http,
        url,
        headers: Vec::new(),
    });
    Gateway::start(Settings {
        upstreams: vec![ServerSettings::new("up", kind)],
        limits,
        // Long limits, so that the result does not depend on the load on the machine.
        initialize_wait: Duration::from_secs(60),
        list_wait: Duration::from_secs(60),
        // Shaping is off, so that results keep their length.
        shape: ShapeChoice {
            on: Some(false),
            ..ShapeChoice::default()
        },
        ..Settings::default()
    })
}

/// Waits for `future`, with a time limit far above any normal duration, so that tests do not fail
/// on a busy machine.
async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(20), future).await {
        Ok(value) => value,
        Err(_) => panic!("still waiting for {what}"),
    }
}
