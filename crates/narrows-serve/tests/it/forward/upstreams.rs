//! Tests of configured plain JSON-RPC servers, which the MCP endpoints also use.

use narrows_gateway::settings::{RemoteProtocol, ServerSettings, Settings, UpstreamKind};
use narrows_shape::Mask;
use narrows_testkit::scripted::{Script, Step, Transport};
use serde_json::{Value, json};

use super::server::{Server, http};
use super::{ForwardRoute, NOTICE, PING, knowing, plain, remote, result};
use crate::within;

fn upstream(id: &str, url: &str) -> ServerSettings {
    let kind = UpstreamKind::Remote(remote(url, RemoteProtocol::Rpc));
    ServerSettings::new(id, kind)
}

#[tokio::test]
async fn configured_server_receives_the_bytes_unchanged() {
    let script = Script::new("alpha").on_tool("big", [Step::text("abcdef")]);
    let installed = script.plain_tool("big").install();
    let served = installed.serve_http().await;
    let mut alpha = upstream("alpha", &served.url_of(Transport::Rpc));
    alpha.mask = Mask::new(5, 2, 1);
    let route = ForwardRoute::start(Settings {
        upstreams: vec![alpha],
        ..knowing([])
    })
    .await;
    within("the upstream", route.gateway.settled()).await;
    let request = r#"{ "jsonrpc":"2.0", "id":"my own", "method":"tools/call", "params":{"name":"big","_meta":{"progressToken":9}} }"#;
    let reply = route.post("alpha", request).await;
    let answer = reply.json();
    assert_eq!(answer["id"], "my own");
    assert_eq!(
        answer["result"]["content"][0]["text"],
        "ab\n... [KIMI_PROXY_OBSERVATION_MASKED original_chars=6 head=2 tail=1] ...\nf"
    );
    let received = installed.received_with("my own").await;
    let received: Value = serde_json::from_str(&received).unwrap();
    assert_eq!(received["body"].as_str().unwrap(), request);
    assert_eq!(received["path"], "/rpc");
    assert_eq!(route.post("alpha", NOTICE).await.status, 202);
}

#[tokio::test]
async fn server_marked_down_still_receives_requests() {
    // The server never answers `initialize`, so it is down for the MCP endpoints.
    let server = Server::answering_with(http(200, "", result("1"))).await;
    let address = server.address;
    let route = ForwardRoute::start(Settings {
        upstreams: vec![upstream("up", &format!("http://{address}"))],
        ..knowing([])
    })
    .await;
    let reply = route.post("up", PING).await;
    assert_eq!((reply.status, reply.text()), (200, &*result("1")));
}

#[tokio::test]
async fn configured_server_takes_precedence_over_forward_only() {
    let configured = Server::answering_with(http(200, "", result("1"))).await;
    let other = Server::answering_with(http(200, "", result("2"))).await;
    let address = configured.address;
    let route = ForwardRoute::start(Settings {
        upstreams: vec![upstream("a b", &format!("http://{address}"))],
        ..knowing([plain("a b", other.address), plain("c", other.address)])
    })
    .await;
    assert_eq!(route.post("a%20b", PING).await.text(), result("1"));
    assert_eq!(route.post("c", PING).await.text(), result("2"));
    // The slug works too, as on the MCP endpoints.
    assert_eq!(route.post("a_b", PING).await.text(), result("1"));
}

#[tokio::test]
async fn disabled_server_receives_no_requests() {
    let server = Server::answering_with(http(200, "", result("1"))).await;
    let mut up = upstream("up", &format!("http://{}", server.address));
    up.upstream.enabled = false;
    let route = ForwardRoute::start(Settings {
        upstreams: vec![up],
        ..knowing([])
    })
    .await;
    let reply = route.post("up", PING).await;
    assert_eq!(
        (reply.status, &reply.json()["error"]),
        (
            502,
            &json!({ "code": -32012,
                "message": "Server 'up' is not available: it is disabled",
                "data": { "code": "upstream_unreachable", "server_name": "up" } })
        )
    );
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn duplicate_tool_name_is_rejected() {
    let server = Server::answering_with(http(200, "", result("1"))).await;
    let route = ForwardRoute::start(Settings {
        upstreams: vec![upstream("up", &format!("http://{}", server.address))],
        ..knowing([])
    })
    .await;
    let request = r#"{"id":7,"method":"tools/call","params":{"name":"a","name":"b"}}"#;
    let reply = route.post("up", request).await;
    assert_eq!(reply.refusal(), r#"400 -32602 "invalid_params" 7"#);
}
