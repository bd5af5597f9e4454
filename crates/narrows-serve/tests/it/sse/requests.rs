//! Tests of access, and of invalid posts.

use narrows_gateway::settings::Limits;
use narrows_serve::HttpSettings;

use super::{PING, SseClient};
use crate::TestGateway;
use crate::client::{Client, Connection, Reply};

const MAX: usize = 2000;

async fn gate() -> TestGateway {
    let http = HttpSettings {
        allowed_hosts: vec!["gateway.example".into()],
        allowed_origins: vec!["https://app.example".into()],
        max_message_bytes: MAX,
        ..HttpSettings::default()
    };
    TestGateway::with(http, Limits::default()).await
}

async fn send(gate: &TestGateway, line: &str, headers: &str) -> Reply {
    let mut connection = Connection::open(gate.address).await;
    let request = format!("{line} HTTP/1.1\r\n{headers}content-length: 0\r\n\r\n");
    connection.write(request.as_bytes()).await;
    connection.reply().await
}

#[tokio::test]
async fn post_requires_an_open_stream() {
    let gate = gate().await;
    let listener = SseClient::open(&gate).await;
    let id = listener.place.path.strip_prefix("/messages?session_id=");
    let id = id.unwrap();
    for place in ["", "?", "?session_id", "?other=1"] {
        let reply = gate
            .new_client()
            .at(&format!("/messages{place}"))
            .post(PING)
            .await;
        assert_eq!(
            reply.refusal(),
            r#"400 -32600 "session_required" null"#,
            "{place}"
        );
    }
    for place in [
        "/messages?session_id=".to_owned(),
        "/messages?session_id=0123456789abcdef0123456789abcdef".to_owned(),
        format!("/messages?session_id={id}0"),
        format!("/messages?session_id={}", &id[1..]),
        format!("/messages?session_id=x&session_id={id}"),
    ] {
        let reply = gate.new_client().at(&place).post(PING).await;
        assert_eq!(
            reply.refusal(),
            r#"404 -32600 "unknown_session" null"#,
            "{place}"
        );
    }
    let other = format!("/messages/?other=1&session_id={id}&more");
    assert_eq!(gate.new_client().at(&other).post(PING).await.status, 202);
}

#[tokio::test]
async fn post_body_must_be_a_message() {
    let gate = gate().await;
    let mut listener = SseClient::open(&gate).await;
    for (body, expected) in [
        ("", r#"400 -32700 "parse_error" null"#),
        ("{nonsense", r#"400 -32700 "parse_error" null"#),
        ("{}", r#"400 -32600 "invalid_request" null"#),
        (
            r#"{"jsonrpc":"2.0","id":8,"method":[]}"#,
            r#"400 -32600 "invalid_request" 8"#,
        ),
        (
            &" ".repeat(MAX + 1),
            r#"413 -32600 "request_too_large" null"#,
        ),
    ] {
        assert_eq!(listener.post(body).await.refusal(), expected);
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded", ""] {
        let kind = [("content-type", kind)];
        let posted = listener.place.send("POST", &kind, PING);
        assert_eq!(
            posted.await.reply().await.refusal(),
            r#"415 -32600 "unsupported_content_type" null"#,
            "{kind:?}"
        );
    }
    let charset = [("content-type", "application/json; charset=utf-8")];
    let posted = listener.place.send("POST", &charset, PING);
    assert_eq!(posted.await.reply().await.status, 202);
    // The refused posts left no messages on the stream.
    assert_eq!(listener.receive().await["id"], "p");
}

#[tokio::test]
async fn each_path_has_its_methods() {
    let gate = gate().await;
    let posting = SseClient::open(&gate).await.place;
    let listening = gate.new_client().at("/sse");
    let check = async |client: &Client, method: &str, allow: &str| {
        let reply = client.send(method, &[], "").await.reply().await;
        assert_eq!(
            reply.refusal(),
            r#"405 -32600 "method_not_allowed" null"#,
            "{method}"
        );
        assert_eq!(reply.header("allow"), Some(allow));
    };
    for method in ["GET", "PUT", "DELETE"] {
        check(&posting, method, "POST, OPTIONS").await;
    }
    for method in ["POST", "PUT", "DELETE"] {
        check(&listening, method, "GET, OPTIONS").await;
    }
}

#[tokio::test]
async fn stream_requires_accepting_events() {
    let gate = gate().await;
    let get = async |accept| {
        let client = gate.new_client().at("/sse").accepting(accept);
        client.send("GET", &[], "").await
    };
    for accept in ["application/json", "text/html", "text/event-stream;q=0"] {
        assert_eq!(
            get(accept).await.reply().await.refusal(),
            r#"406 -32600 "not_acceptable" null"#,
            "{accept}"
        );
    }
    for accept in ["*/*", "text/event-stream", "text/html, text/*;q=0.1"] {
        assert_eq!(get(accept).await.head().await.status, 200, "{accept}");
    }
}

#[tokio::test]
async fn unknown_entrypoint_is_not_found() {
    let gate = gate().await;
    for path in ["/sse/nowhere", "/servers/missing/sse"] {
        let reply = gate.new_client().at(path).get(None).await.reply().await;
        assert_eq!(
            reply.refusal(),
            r#"404 -32600 "unknown_endpoint" null"#,
            "{path}"
        );
    }
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_rejected() {
    let gate = gate().await;
    let listener = SseClient::open(&gate).await;
    let posting = format!("POST {}", listener.place.path);
    for line in ["GET /sse", &*posting, "OPTIONS /sse", "OPTIONS /messages"] {
        let reply = send(&gate, line, "host: evil.example\r\n").await;
        assert_eq!(
            reply.refusal(),
            r#"403 -32600 "host_not_allowed" null"#,
            "{line}"
        );
        for origin in ["http://evil.example", "null"] {
            let headers = format!("host: localhost\r\norigin: {origin}\r\n");
            let reply = send(&gate, line, &headers).await;
            assert_eq!(
                reply.refusal(),
                r#"403 -32600 "origin_not_allowed" null"#,
                "{line}"
            );
            assert_eq!(reply.header("access-control-allow-origin"), None);
        }
    }
}

#[tokio::test]
async fn allowed_origin_gets_preflights_and_responses() {
    let gate = gate().await;
    let origin = "https://app.example";
    let asked = format!(
        "host: gateway.example\r\norigin: {origin}\r\naccess-control-request-method: POST\r\n\
         access-control-request-headers: content-type\r\n"
    );
    for (path, methods) in [("/sse", "GET, OPTIONS"), ("/messages", "POST, OPTIONS")] {
        let reply = send(&gate, &format!("OPTIONS {path}"), &asked).await;
        assert_eq!(reply.status, 204);
        let header = |name| reply.header(name);
        assert_eq!(header("access-control-allow-origin"), Some(origin));
        assert_eq!(header("access-control-allow-methods"), Some(methods));
        assert_eq!(header("access-control-allow-headers"), Some("content-type"));
    }
    let from_page = [("origin", origin), ("content-type", "application/json")];
    let mut stream = gate
        .new_client()
        .at("/sse")
        .send("GET", &from_page, "")
        .await;
    let head = stream.head().await;
    assert_eq!(head.status, 200);
    assert_eq!(head.header("access-control-allow-origin"), Some(origin));
    let place = stream.event().await.unwrap().data;
    let place = gate.new_client().at(&place);
    let reply = place.send("POST", &from_page, PING).await.reply().await;
    assert_eq!(reply.status, 202);
    assert_eq!(reply.header("access-control-allow-origin"), Some(origin));
}
