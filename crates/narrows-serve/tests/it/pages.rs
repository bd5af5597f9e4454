//! Tests of the pages outside MCP.

use std::time::Duration;

use narrows_gateway::Gateway;
use narrows_gateway::settings::{
    RemoteProtocol, RemoteSettings, ServerSettings, Settings, UpstreamKind,
};
use narrows_serve::HttpSettings;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::client::Client;
use crate::{TestGateway, within};

#[tokio::test]
async fn health_reports_upstream_counts() {
    let gate = TestGateway::start().await;
    within("the upstream", gate.gateway.settled()).await;
    let reply = gate
        .new_client()
        .at("/health")
        .send("GET", &[], "")
        .await
        .reply()
        .await;
    assert_eq!(reply.status, 200);
    let mut health = reply.json();
    assert!(health["gateway"]["uptime_s"].take().is_u64());
    assert!(health["timestamp"].take().is_string());
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        health,
        json!({
            "status": "healthy",
            "server": "mcp-pruner",
            "version": version,
            "capabilities": ["prune_text", "recover_text", "annotations", "markers"],
            "timestamp": null,
            "gateway": {
                "version": version,
                "uptime_s": null,
                "upstreams": { "up": 1, "starting": 0, "down": 0, "left_out": 0 },
            },
        })
    );
}

#[tokio::test]
async fn ready_succeeds_once_upstreams_have_settled() {
    // An upstream that accepts connections but never answers.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", silent.local_addr().unwrap())
        .parse()
        .unwrap();
    let kind = UpstreamKind::Remote(RemoteSettings {
        protocol: RemoteProtocol::Http,
        url,
        headers: Vec::new(),
    });
    let gateway = Gateway::start(Settings {
        upstreams: vec![ServerSettings::new("silent", kind)],
        list_wait: Duration::from_secs(3600),
        ..Settings::default()
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    tokio::spawn(narrows_serve::serve(
        listener,
        gateway,
        HttpSettings::default(),
        stop.clone(),
    ));
    let ready = Client::new(address)
        .at("/ready")
        .send("GET", &[], "")
        .await
        .reply()
        .await;
    assert_eq!(
        (ready.status, ready.json()),
        (503, json!({ "ready": false }))
    );
    let health = Client::new(address)
        .at("/health")
        .send("GET", &[], "")
        .await
        .reply()
        .await;
    assert_eq!(health.json()["gateway"]["upstreams"]["starting"], 1);
    stop.cancel();

    let gate = TestGateway::start().await;
    within("the upstream", gate.gateway.settled()).await;
    let ready = gate
        .new_client()
        .at("/ready")
        .send("GET", &[], "")
        .await
        .reply()
        .await;
    assert_eq!(
        (ready.status, ready.json()),
        (200, json!({ "ready": true }))
    );
}

#[tokio::test]
async fn index_page_names_the_endpoints() {
    let gate = TestGateway::start().await;
    let reply = gate
        .new_client()
        .at("/")
        .send("GET", &[], "")
        .await
        .reply()
        .await;
    assert_eq!(reply.status, 200);
    for word in [
        "Narrows",
        env!("CARGO_PKG_VERSION"),
        "/mcp",
        "/servers/up/mcp",
        "/health",
    ] {
        assert!(reply.text().contains(word), "{word}: {}", reply.text());
    }
}

#[tokio::test]
async fn unknown_paths_and_methods_are_reported() {
    let gate = TestGateway::start().await;
    for path in [
        "/nowhere",
        "/mcp/a/b",
        "/servers/up",
        "/healthy",
        "/%zz",
        "//mcp",
        "/mcp/%ff",
    ] {
        let reply = gate
            .new_client()
            .at(path)
            .send("GET", &[], "")
            .await
            .reply()
            .await;
        assert_eq!(reply.status, 404, "{path}");
        assert!(reply.json()["error"].is_string(), "{path}");
    }
    let reply = gate
        .new_client()
        .at("/health")
        .send("POST", &[], "")
        .await
        .reply()
        .await;
    assert_eq!(reply.status, 405);
    assert!(reply.json()["error"].is_string());
    assert!(
        reply
            .header("allow")
            .is_some_and(|allow| allow.contains("GET"))
    );
}
