//! Tests of the handshake.

use narrows_gateway::settings::Limits;
use narrows_serve::HttpSettings;

use super::{ACCEPT, FIN, KEY, TEXT, WsClient, frame, upgrade};
use crate::TestGateway;
use crate::client::{Connection, Reply, initialize};

async fn send(gate: &TestGateway, request: &str) -> Reply {
    let mut connection = Connection::open(gate.address).await;
    connection.write(request.as_bytes()).await;
    connection.reply().await
}

#[tokio::test]
async fn upgrade_is_accepted() {
    let gate = TestGateway::start().await;
    let reply = send(&gate, &upgrade("/ws", "")).await;
    assert_eq!(reply.status, 101);
    let header = |name| reply.header(name).unwrap_or_default().to_ascii_lowercase();
    assert_eq!(header("upgrade"), "websocket");
    assert_eq!(header("connection"), "upgrade");
    assert_eq!(reply.header("sec-websocket-accept"), Some(ACCEPT));
    assert_eq!(reply.header("sec-websocket-protocol"), None);
    assert_eq!(reply.header("sec-websocket-extensions"), None);
}

#[tokio::test]
async fn mcp_subprotocol_is_selected_if_offered() {
    let gate = TestGateway::start().await;
    for (offer, chosen) in [
        ("sec-websocket-protocol: mcp\r\n", Some("mcp")),
        ("sec-websocket-protocol: chat, mcp ,x\r\n", Some("mcp")),
        (
            "sec-websocket-protocol: chat\r\nsec-websocket-protocol: mcp\r\n",
            Some("mcp"),
        ),
        ("sec-websocket-protocol: mcp2, chat\r\n", None),
        ("sec-websocket-extensions: permessage-deflate\r\n", None),
    ] {
        let reply = send(&gate, &upgrade("/ws", offer)).await;
        assert_eq!(reply.status, 101, "{offer}");
        assert_eq!(reply.header("sec-websocket-protocol"), chosen, "{offer}");
        assert_eq!(reply.header("sec-websocket-extensions"), None);
    }
}

#[tokio::test]
async fn invalid_upgrade_is_rejected() {
    let gate = TestGateway::start().await;
    let good = upgrade("/ws", "");
    for (from, to) in [
        ("connection: Upgrade\r\nupgrade: websocket\r\n", ""),
        ("connection: Upgrade", "connection: keep-alive"),
        ("upgrade: websocket", "upgrade: h2c"),
        ("version: 13", "version: 8"),
        ("version: 13", "version: 13, 8"),
        ("sec-websocket-version: 13\r\n", ""),
        (KEY, "short"),
        (KEY, "this is no base64 at all"),
        (KEY, ""),
        ("GET", "POST"),
        ("GET", "HEAD"),
        ("HTTP/1.1", "HTTP/1.0"),
    ] {
        assert!(good.contains(from));
        let request = good.replacen(from, to, 1);
        let mut connection = Connection::open(gate.address).await;
        connection.write(request.as_bytes()).await;
        let head = connection.head().await;
        assert_eq!(head.status, 426, "{request}");
        assert_eq!(head.header("upgrade"), Some("websocket"));
        assert_eq!(head.header("connection"), Some("upgrade"));
        assert_eq!(head.header("sec-websocket-version"), Some("13"));
        if to != "HEAD" {
            assert_eq!(
                connection.reply().await.refusal(),
                r#"426 -32600 "websocket_required" null"#
            );
        }
    }
}

#[tokio::test]
async fn unknown_entrypoint_is_not_found() {
    let gate = TestGateway::start().await;
    for path in ["/ws/nowhere", "/servers/missing/ws"] {
        let reply = send(&gate, &upgrade(path, "")).await;
        assert_eq!(
            reply.refusal(),
            r#"404 -32600 "unknown_endpoint" null"#,
            "{path}"
        );
    }
}

#[tokio::test]
async fn every_entrypoint_has_a_websocket() {
    let gate = TestGateway::start().await;
    for (path, tool) in [
        ("/ws/default", "up__echo"),
        ("/ws/", "up__echo"),
        ("/servers/up/ws", "echo"),
    ] {
        let mut peer = WsClient::connect_at(gate.address, path).await;
        peer.send_message(&initialize(1, "2025-06-18", "{}")).await;
        peer.receive().await;
        peer.send_message(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#)
            .await;
        assert_eq!(peer.receive().await["result"]["tools"][0]["name"], tool);
    }
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_rejected() {
    let http = HttpSettings {
        allowed_origins: vec!["https://app.example".into()],
        ..HttpSettings::default()
    };
    let gate = TestGateway::with(http, Limits::default()).await;
    let foreign = upgrade("/ws", "").replace("localhost", "evil.example");
    assert_eq!(
        send(&gate, &foreign).await.refusal(),
        r#"403 -32600 "host_not_allowed" null"#
    );
    for (origin, status) in [
        ("http://evil.example", 403),
        ("null", 403),
        ("https://app.example", 101),
        ("http://localhost:5173", 101),
    ] {
        let reply = send(&gate, &upgrade("/ws", &format!("origin: {origin}\r\n"))).await;
        assert_eq!(reply.status, status, "{origin}");
        if status == 403 {
            assert_eq!(reply.refusal(), r#"403 -32600 "origin_not_allowed" null"#);
        }
    }
    let twice = "origin: http://localhost\r\norigin: http://localhost\r\n";
    assert_eq!(
        send(&gate, &upgrade("/ws", twice)).await.refusal(),
        r#"400 -32600 "repeated_header" null"#
    );
}

#[tokio::test]
async fn frames_may_arrive_with_the_upgrade_request() {
    let gate = TestGateway::start().await;
    let hello = initialize(1, "2025-06-18", "{}");
    let mut together = upgrade("/ws", "").into_bytes();
    together.extend(frame(FIN | TEXT, hello.as_bytes()));
    let mut connection = Connection::open(gate.address).await;
    connection.write(&together).await;
    assert_eq!(connection.head().await.status, 101);
    let mut peer = WsClient {
        socket: connection.into_socket(),
    };
    assert_eq!(peer.receive().await["id"], 1);
}

#[tokio::test]
async fn upgrade_with_a_body_is_rejected() {
    let gate = TestGateway::start().await;
    for body in ["content-length: 5\r\n", "transfer-encoding: chunked\r\n"] {
        let reply = send(&gate, &upgrade("/ws", body)).await;
        assert_eq!(
            reply.refusal(),
            r#"426 -32600 "websocket_required" null"#,
            "{body}"
        );
    }
}

#[tokio::test]
async fn number_of_connections_is_limited() {
    let http = HttpSettings {
        max_connections: 1,
        ..HttpSettings::default()
    };
    let gate = TestGateway::with(http, Limits::default()).await;
    let mut first = WsClient::open(&gate).await;
    let reply = send(&gate, &upgrade("/ws", "")).await;
    assert_eq!(reply.refusal(), r#"503 -32600 "too_many_connections" null"#);
    first.send_message(super::PING_REQUEST).await;
    assert_eq!(first.receive().await["id"], "p");
    drop(first);
    let freed = async { while send(&gate, &upgrade("/ws", "")).await.status != 101 {} };
    crate::within("the first to be let go", freed).await;
}
