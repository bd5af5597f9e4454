//! The real gateway on loopback, between raw client bytes and a scripted
//! upstream that does what the test says, when the test says it.

mod admin;
mod batch;
mod client;
mod clients;
mod forward;
mod guard;
mod memory;
mod metrics;
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

/// A gateway with one scripted upstream, `up`, served on a port of its own.
struct Gate {
    address: SocketAddr,
    upstream: Upstream,
    gateway: Gateway,
    stop: CancellationToken,
    served: JoinHandle<()>,
}

impl Gate {
    async fn start() -> Gate {
        Gate::with(HttpSettings::default(), Limits::default()).await
    }

    async fn with(http: HttpSettings, limits: Limits) -> Gate {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Gate::at(listener, http, limits).await
    }

    /// A gateway whose sockets hold little of what its clients do not read.
    async fn with_small_buffers(http: HttpSettings, limits: Limits) -> Gate {
        Gate::at(listener_with_small_buffers(), http, limits).await
    }

    async fn at(listener: TcpListener, http: HttpSettings, limits: Limits) -> Gate {
        let upstream = Upstream::start().await;
        let gateway = gateway(&upstream, limits);
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let serving = narrows_serve::serve(listener, gateway.clone(), http, stop.clone());
        let served = tokio::spawn(serving);
        Gate {
            address,
            upstream,
            gateway,
            stop,
            served,
        }
    }

    /// A client that has said nothing yet.
    fn stranger(&self) -> Client {
        Client::new(self.address)
    }

    /// A client with a session, which can be asked nothing.
    async fn client(&self) -> Client {
        self.client_of("2025-06-18").await
    }

    async fn client_of(&self, revision: &str) -> Client {
        let mut client = self.stranger();
        client.initialize(revision, "{}").await;
        client
    }
}

/// A listener whose connections have a send buffer that does not grow.
fn listener_with_small_buffers() -> TcpListener {
    let socket = TcpSocket::new_v4().unwrap();
    // Connections inherit it.
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
        // How busy the machine is must not decide what a client sees first.
        initialize_wait: Duration::from_secs(60),
        list_wait: Duration::from_secs(60),
        // What an edge carries is as long as it is.
        shape: ShapeChoice {
            on: Some(false),
            ..ShapeChoice::default()
        },
        ..Settings::default()
    })
}

/// Far beyond what anything here takes, so that a busy machine fails no test.
async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(20), future).await {
        Ok(value) => value,
        Err(_) => panic!("still waiting for {what}"),
    }
}
