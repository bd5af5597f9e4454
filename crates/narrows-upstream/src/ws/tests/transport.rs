//! Tests connections over TLS and through proxies.

use std::time::Duration;

use serde_json::json;

use super::server::{Head, WsTestServer};
use super::{call, connect, outcome, soon};
use crate::settings::ProxySettings;
use crate::testing::fronts;
use crate::web::{Connector, HttpClient};

/// Makes a call over a connection to `url`. Returns the head of the handshake request.
async fn check(server: &WsTestServer, url: &str, connector: Connector) -> Head {
    let mut settings = server.settings();
    settings.url = url.parse().unwrap();
    let serving = async {
        let asked = server.accept().await;
        let head = asked.head.clone();
        let mut peer = asked.accept_upgrade("mcp").await;
        peer.greet().await;
        (head, peer)
    };
    let connecting = connect(HttpClient::with_connector(connector), settings);
    let (opened, (head, mut peer)) = soon(async { tokio::join!(connecting, serving) }).await;
    let (link, _heard) = opened.expect("it opens");
    let one = call(&link);
    let asked = peer.saw("tools/call").await;
    peer.answer(&asked, json!(1)).await;
    assert_eq!(outcome(one).await, "result 1");
    head
}

#[tokio::test]
async fn wss_uses_trusted_roots_only() {
    let server = WsTestServer::start().await;
    let (port, trusting, _front) = fronts::tls(server.address).await;
    let url = format!("wss://localhost:{port}/ws");
    let connector = Connector::new(&ProxySettings::default(), Duration::from_secs(5));
    let head = check(&server, &url, connector.with_tls(trusting)).await;
    assert_eq!(head.header("host"), format!("localhost:{port}"));

    // The system does not trust the test certificate.
    let mut settings = server.settings();
    settings.url = url.parse().unwrap();
    let refused = soon(connect(super::client(), settings))
        .await
        .err()
        .unwrap();
    assert!(refused.detail.contains("certificate"), "{}", refused.detail);
}

#[tokio::test]
async fn proxy_tunnels_bytes_and_keeps_its_credentials() {
    let server = WsTestServer::start().await;
    let (port, trusting, _front) = fronts::tls(server.address).await;
    let mut plain = fronts::proxy(server.address).await;
    let mut secure = fronts::proxy(([127, 0, 0, 1], port).into()).await;
    let proxies = ProxySettings {
        http: format!("http://me:pw@{}", plain.address),
        https: format!("http://me:pw@{}", secure.address),
        ..ProxySettings::default()
    };
    for (url, host, asked) in [
        ("ws://up.test/ws?a=1", "up.test", "up.test:80"),
        ("ws://up.test:81/ws?a=1", "up.test:81", "up.test:81"),
        ("wss://up.test/ws?a=1", "up.test", "up.test:443"),
    ] {
        let connector = Connector::new(&proxies, Duration::from_secs(5));
        let head = check(&server, url, connector.with_tls(trusting.clone())).await;
        assert_eq!(head.line, "GET /ws?a=1 HTTP/1.1");
        assert_eq!(head.header("host"), host);
        // The credentials are for the proxy only.
        assert_eq!(head.header("proxy-authorization"), "");
        let proxy = match url.starts_with("wss:") {
            true => &mut secure,
            false => &mut plain,
        };
        let reported = soon(proxy.heads.recv()).await.expect("it was asked");
        let line = format!("CONNECT {asked} HTTP/1.1\r\n");
        assert!(reported.starts_with(&line), "{reported}");
        assert!(
            reported.contains("Proxy-Authorization: Basic bWU6cHc="),
            "{reported}"
        );
    }
}
