//! Tests of requests that are refused without calling a server.

use narrows_gateway::settings::Limits;
use narrows_serve::HttpSettings;
use serde_json::json;

use super::server::{Server, http};
use super::{ForwardRoute, PING, knowing, plain, result};

#[tokio::test]
async fn invalid_bodies_are_rejected() {
    let mut server = Server::answering_with(http(200, "", result("1"))).await;
    let limits = HttpSettings {
        max_message_bytes: 2_000,
        ..HttpSettings::default()
    };
    let route = ForwardRoute::with(knowing([plain("up", server.address)]), limits).await;
    let long = format!(r#"{{"id":1,"method":"{}"}}"#, "x".repeat(2_000));
    for (body, expected) in [
        ("", r#"400 -32700 "parse_error" null"#),
        ("{", r#"400 -32700 "parse_error" null"#),
        ("\u{feff}{}", r#"400 -32700 "parse_error" null"#),
        (r#"{"id":1} x"#, r#"400 -32700 "parse_error" null"#),
        (r#"{"id":1,}"#, r#"400 -32700 "parse_error" null"#),
        ("5", r#"400 -32600 "invalid_request" null"#),
        ("\"text\"", r#"400 -32600 "invalid_request" null"#),
        ("null", r#"400 -32600 "invalid_request" null"#),
        ("[]", r#"400 -32600 "invalid_request" null"#),
        (r#"[{"id":1}]"#, r#"400 -32600 "invalid_request" null"#),
        (
            r#"{"id":1,"method":"a","method":"b"}"#,
            r#"400 -32600 "invalid_request" null"#,
        ),
        (&long, r#"413 -32600 "request_too_large" null"#),
    ] {
        let reply = route.post("up", body).await;
        assert_eq!(reply.refusal(), expected, "{body}");
        assert_eq!(reply.json()["error"]["data"]["server_name"], "up");
    }
    assert_eq!(route.post("up", PING).await.status, 200);
    let first = server.seen().await.body;
    assert_eq!(
        first,
        PING.as_bytes(),
        "nothing else has reached the server"
    );
}

#[tokio::test]
async fn unknown_server_error_lists_known_servers() {
    let server = Server::answering_with(http(200, "", result("1"))).await;
    let servers = ["fast-filesystem", "json-query"].map(|id| plain(id, server.address));
    let route = ForwardRoute::start(knowing(servers)).await;
    let reply = route.post("fast-filesytem", PING).await;
    assert_eq!(
        (reply.status, reply.json()),
        (
            404,
            json!({ "jsonrpc": "2.0", "id": 7, "error": {
                "code": -32011,
                "message": "Unknown server 'fast-filesytem'. Did you mean fast-filesystem?",
                "data": { "code": "unknown_server", "server_name": "fast-filesytem",
                    "nearest": ["fast-filesystem"], "known": ["fast-filesystem", "json-query"] },
            } })
        )
    );
    let notice = r#"{"jsonrpc":"2.0","method":"x"}"#;
    let refusal = route.post("no", notice).await.refusal();
    assert_eq!(refusal, r#"404 -32011 "unknown_server" null"#);
}

#[tokio::test]
async fn only_post_is_allowed() {
    let server = Server::answering_with(http(200, "", result("1"))).await;
    let route = ForwardRoute::to(&server).await;
    let client = route.client("up");
    for method in ["GET", "DELETE", "PUT", "PATCH"] {
        let reply = client.send(method, &[], "").await.reply().await;
        assert_eq!(reply.refusal(), r#"405 -32600 "method_not_allowed" null"#);
        assert_eq!(reply.header("allow"), Some("POST, OPTIONS"));
    }
    let page = [
        ("origin", "http://localhost:3000"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "content-type"),
    ];
    let reply = client.send("OPTIONS", &page, "").await.reply().await;
    assert_eq!(reply.status, 204);
    assert_eq!(
        reply.header("access-control-allow-methods"),
        Some("POST, OPTIONS")
    );
    assert_eq!(
        reply.header("access-control-allow-headers"),
        Some("content-type")
    );
}

#[tokio::test]
async fn foreign_origins_are_rejected() {
    let server = Server::answering_with(http(200, "", result("1"))).await;
    let route = ForwardRoute::to(&server).await;
    let client = route.client("up");
    for (header, expected) in [
        (
            ("origin", "http://evil.test"),
            r#"403 -32600 "origin_not_allowed" null"#,
        ),
        (
            ("host", "evil.test"),
            r#"403 -32600 "host_not_allowed" null"#,
        ),
    ] {
        let reply = client.send("POST", &[header], PING).await.reply().await;
        assert_eq!(reply.refusal(), expected);
    }
    let foreign = [("origin", "http://localhost:3000")];
    let reply = client.send("POST", &foreign, PING).await.reply().await;
    assert_eq!(
        (reply.status, reply.header("access-control-allow-origin")),
        (200, Some("http://localhost:3000"))
    );
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn responses_may_be_as_large_as_a_message() {
    let whole = result(&format!("\"{}\"", "x".repeat(5_000)));
    let server = Server::answering_with(http(200, "", &whole)).await;
    for (max, status) in [(whole.len(), 200), (whole.len() - 1, 502)] {
        let mut settings = knowing([plain("up", server.address)]);
        settings.rpc_servers[0].mask = narrows_shape::Mask::Off;
        settings.limits = Limits {
            max_message_bytes: max,
            ..settings.limits
        };
        let route = ForwardRoute::start(settings).await;
        assert_eq!(route.post("up", PING).await.status, status);
    }
}

#[tokio::test]
async fn index_page_names_the_route() {
    let server = Server::answering_with(http(200, "", result("1"))).await;
    let route = ForwardRoute::to(&server).await;
    let page = crate::client::Client::new(route.address).at("/");
    let reply = page.send("GET", &[], "").await.reply().await;
    assert!(reply.text().contains("\n  /api/mcp-gateway/{server}/rpc\n"));
}
