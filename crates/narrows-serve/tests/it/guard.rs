//! Tests of `Host`, `Origin` and CORS on every path.

use narrows_gateway::settings::Limits;
use narrows_serve::HttpSettings;

use crate::TestGateway;
use crate::client::{Client, Connection, Reply};

async fn gate() -> TestGateway {
    let http = HttpSettings {
        allowed_hosts: vec!["gateway.example".into()],
        allowed_origins: vec!["https://app.example".into()],
        ..HttpSettings::default()
    };
    TestGateway::with(http, Limits::default()).await
}

async fn send(gate: &TestGateway, line: &str, headers: &str) -> Reply {
    let mut connection = Connection::open(gate.address).await;
    connection
        .write(format!("{line} HTTP/1.1\r\n{headers}\r\n").as_bytes())
        .await;
    connection.reply().await
}

#[tokio::test]
async fn foreign_host_is_rejected_everywhere() {
    let gate = gate().await;
    for host in [
        "evil.example",
        "evil.example:7420",
        "localhost.evil.example",
        "",
    ] {
        let headers = format!("host: {host}\r\n");
        for line in [
            "POST /mcp",
            "GET /mcp",
            "DELETE /mcp/x",
            "OPTIONS /servers/up/mcp",
        ] {
            let reply = send(&gate, line, &headers).await;
            assert_eq!(
                reply.refusal(),
                r#"403 -32600 "host_not_allowed" null"#,
                "{line} {host}"
            );
        }
        for line in [
            "GET /",
            "GET /health",
            "GET /ready",
            "GET /nowhere",
            "OPTIONS /health",
        ] {
            let reply = send(&gate, line, &headers).await;
            assert_eq!(reply.status, 403, "{line} {host}");
            assert!(reply.json()["error"].is_string());
        }
    }
    assert_eq!(send(&gate, "GET /health", "x: y\r\n").await.status, 403);
    let absolute = send(
        &gate,
        "GET http://evil.example/health",
        "host: localhost\r\n",
    )
    .await;
    assert_eq!(absolute.status, 403);
    let twice = send(
        &gate,
        "GET /health",
        "host: localhost\r\nhost: localhost\r\n",
    )
    .await;
    assert_eq!(twice.status, 400);
}

#[tokio::test]
async fn own_host_names_are_accepted() {
    let gate = gate().await;
    for host in [
        "localhost",
        "127.0.0.1:1",
        "[::1]:9",
        "LOCALHOST:80",
        "gateway.example:443",
    ] {
        let reply = send(&gate, "GET /health", &format!("host: {host}\r\n")).await;
        assert_eq!(reply.status, 200, "{host}");
    }
}

#[tokio::test]
async fn foreign_origin_is_rejected_without_details() {
    let gate = gate().await;
    for origin in [
        "http://evil.example",
        "null",
        "http://localhost.evil.example",
        "https://app",
    ] {
        let headers = format!("host: localhost\r\norigin: {origin}\r\n");
        let reply = send(&gate, "POST /mcp", &headers).await;
        assert_eq!(
            reply.refusal(),
            r#"403 -32600 "origin_not_allowed" null"#,
            "{origin}"
        );
        assert_eq!(reply.header("access-control-allow-origin"), None);
        let preflight = format!("{headers}access-control-request-method: POST\r\n");
        let reply = send(&gate, "OPTIONS /mcp", &preflight).await;
        assert_eq!(reply.status, 403);
        assert_eq!(reply.header("access-control-allow-origin"), None);
        assert_eq!(reply.header("access-control-allow-methods"), None);
    }
}

#[tokio::test]
async fn allowed_origin_gets_preflight_and_responses() {
    let gate = gate().await;
    for origin in [
        "https://app.example",
        "http://localhost:5173",
        "http://[::1]",
    ] {
        let host = format!("host: localhost\r\norigin: {origin}\r\n");
        let asked = "access-control-request-method: POST\r\naccess-control-request-headers: content-type, mcp-session-id\r\n";
        let reply = send(&gate, "OPTIONS /mcp", &format!("{host}{asked}")).await;
        assert_eq!(reply.status, 204);
        let header = |name| {
            reply
                .header(name)
                .unwrap_or_else(|| panic!("{name}: {reply:?}"))
        };
        assert_eq!(header("access-control-allow-origin"), origin);
        assert_eq!(
            header("access-control-allow-methods"),
            "GET, POST, DELETE, OPTIONS"
        );
        assert_eq!(
            header("access-control-allow-headers"),
            "content-type, mcp-session-id"
        );
        assert_eq!(header("vary"), "origin");

        let reply = send(&gate, "GET /health", &host).await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("access-control-allow-origin"), Some(origin));
        assert_eq!(
            reply.header("access-control-expose-headers"),
            Some("mcp-session-id, retry-after, www-authenticate")
        );
        // A page can also read the reason for a refusal.
        let reply = send(&gate, "GET /mcp", &host).await;
        assert_eq!(
            (reply.status, reply.header("access-control-allow-origin")),
            (400, Some(origin))
        );
    }
}

#[tokio::test]
async fn responses_without_an_origin_have_no_cors_headers() {
    let gate = gate().await;
    let reply = send(&gate, "GET /health", "host: localhost\r\n").await;
    assert_eq!(reply.header("access-control-allow-origin"), None);
    let options = send(&gate, "OPTIONS /mcp", "host: localhost\r\n").await;
    assert_eq!(options.status, 204);
    assert_eq!(options.header("allow"), Some("GET, POST, DELETE, OPTIONS"));
    assert_eq!(options.header("access-control-allow-methods"), None);
}

#[tokio::test]
async fn gateway_rejects_itself_as_a_server() {
    let gate = TestGateway::start().await;
    let own = gate.gateway.mark().to_owned();
    let above = format!("{own},another");
    let hello = crate::client::initialize(1, "2025-06-18", "{}");
    let json = ("content-type", "application/json");
    for (mark, status) in [(own.as_str(), 508), (above.as_str(), 508), ("another", 200)] {
        let client = Client::new(gate.address);
        let headers = [json, ("narrows-gateway", mark)];
        let mut connection = client.send("POST", &headers, &hello).await;
        let reply = connection.reply().await;
        assert_eq!(reply.status, status, "{}", reply.text());
    }
}
