//! Tests of the time that sessions wait for servers that are still starting. Time is paused, so
//! that all waits are exact.

use tokio::net::TcpListener;
use tokio::time::Instant;

use super::*;
use crate::settings::{RemoteProtocol, RemoteSettings};

const LONG: Duration = Duration::from_secs(3600);

/// Returns a server that accepts connections and never answers.
async fn hanging() -> (TcpListener, ServerSettings) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("it is bound");
    let remote = RemoteSettings {
        url: format!("http://{address}/mcp").parse().expect("a URL"),
        headers: Vec::new(),
        protocol: RemoteProtocol::Http,
    };
    let mut server = ServerSettings::new("mute", UpstreamKind::Remote(remote));
    server.upstream.startup_timeout = LONG;
    server.upstream.connect_timeout = LONG;
    server.upstream.request_timeout = LONG;
    (listener, server)
}

/// Returns the seconds until the responses to `initialize` and to the first list.
async fn waits(settings: Settings, entrypoint: Entrypoint<'_>, client: &str) -> (u64, u64) {
    let gateway = Gateway::start(settings);
    // Later clients wait as long as the first one.
    tokio::time::sleep(Duration::from_secs(60)).await;
    let began = Instant::now();
    let opened = TestClient::open_named(&gateway, entrypoint, client).await;
    let greeted = began.elapsed();
    let (sink, _events) = EventSink::channel(16);
    let request = Request {
        id: Id::number(1),
        method: "tools/list".into(),
        params: None,
    };
    opened
        .session
        .request(request, sink, None)
        .await
        .expect("a list");
    let listed = began.elapsed();
    gateway.shutdown().await;
    (greeted.as_secs(), listed.as_secs())
}

#[tokio::test(start_paused = true)]
async fn wait_for_a_hanging_server_depends_on_the_client() {
    let (_listener, server) = hanging().await;
    let joined = Entrypoint::Endpoint("default");
    let check = async |settings: Settings, entrypoint, client, expected| {
        let took = waits(settings, entrypoint, client).await;
        assert_eq!(took, expected, "{entrypoint:?} {client}");
    };
    let usual = || settings(vec![server.clone()]);
    check(usual(), joined, "claude-code", (1, 4)).await;
    check(usual(), Entrypoint::Server("mute"), "claude-code", (1, 4)).await;
    check(usual(), joined, "codex-mcp-client", (1, 20)).await;
    check(usual(), joined, "goose", (1, 20)).await;
    let mut answer_locally = usual();
    answer_locally.initialize_wait = Duration::ZERO;
    answer_locally.list_wait = Duration::ZERO;
    check(answer_locally, joined, "goose", (0, 0)).await;
}
