//! Tests of servers that fail in various ways.

use std::net::SocketAddr;
use std::time::Duration;

use narrows_gateway::settings::{RemoteProtocol, ServerSettings, Settings, UpstreamKind};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::server::{Behaviour, CHUNKED, Server, chunk, http};
use super::{ForwardRoute, NOTICE, PING, knowing, plain, remote, result};

const UNREACHABLE: &str = r#"502 -32012 "upstream_unreachable" 7"#;
const TIMEOUT: &str = r#"504 -32013 "upstream_timeout" 7"#;
const INVALID: &str = r#"502 -32014 "upstream_invalid" 7"#;
const TOO_LARGE: &str = r#"502 -32014 "upstream_too_large" 7"#;
const STATUS: &str = r#"502 -32603 "upstream_status" 7"#;

/// Sends a request to a server with this behaviour, and returns the error object.
async fn check(does: Behaviour, expected: &str) -> Value {
    let server = Server::start(does).await;
    check_settings(knowing([plain("up", server.address)]), expected).await
}

async fn check_settings(settings: Settings, expected: &str) -> Value {
    let route = ForwardRoute::start(settings).await;
    let reply = route.post("up", PING).await;
    assert_eq!(reply.refusal(), expected, "{}", reply.text());
    let error = reply.json()["error"].take();
    assert_eq!(error["data"]["server_name"], "up");
    error
}

fn message(error: &Value) -> &str {
    error["message"].as_str().unwrap()
}

/// Returns an address on which no process listens.
async fn closed_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

#[tokio::test]
async fn connection_failures_are_unreachable() {
    let closed = closed_port().await;
    let error = check_settings(knowing([plain("up", closed)]), UNREACHABLE).await;
    let text = message(&error);
    assert!(text.starts_with("Server 'up' is not available: "), "{text}");
    assert!(text.contains(&format!("http://{closed}/rpc")), "{text}");

    check(Behaviour::Send(Vec::new()), UNREACHABLE).await;
    check(Behaviour::Reset(Vec::new()), UNREACHABLE).await;
    check(
        Behaviour::Send(b"HTTP/1.1 200 OK\r\ncontent-".to_vec()),
        UNREACHABLE,
    )
    .await;
}

#[tokio::test]
async fn truncated_response_is_unreachable() {
    let whole = http(200, "", result(r#""some text""#));
    let cut = whole[..whole.len() - 4].to_vec();
    check(Behaviour::Send(cut.clone()), UNREACHABLE).await;
    check(Behaviour::Reset(cut), UNREACHABLE).await;
    let unfinished = [CHUNKED, &chunk(br#"{"id":7,"result":1}"#)].concat();
    check(Behaviour::Send(unfinished), UNREACHABLE).await;
    let garbage = [CHUNKED, b"zz\r\n{}\r\n"].concat();
    check(Behaviour::Send(garbage), UNREACHABLE).await;
}

#[tokio::test]
async fn short_content_length_is_an_invalid_response() {
    let body = result("1");
    let mut short = http(200, "", &body[..body.len() - 1]);
    short.extend(b"}");
    check(Behaviour::Send(short), INVALID).await;
}

#[tokio::test]
async fn missing_response_is_a_timeout() {
    for said in [
        Vec::new(),
        b"HTTP/1.1 200 OK\r\n".to_vec(),
        http(200, "", "{}")[..60].to_vec(),
        [CHUNKED, &chunk(b"{\"id\":7,")].concat(),
    ] {
        let server = Server::start(Behaviour::Stall(said)).await;
        let mut up = plain("up", server.address);
        up.timeout = Duration::from_millis(150);
        let error = check_settings(knowing([up]), TIMEOUT).await;
        assert_eq!(error["message"], "Server 'up' did not answer within 0.15 s");
        assert_eq!(error["data"]["timeout_ms"], 150);
    }
}

#[tokio::test]
async fn slow_connect_is_a_timeout() {
    // The server accepts connections but does not answer the TLS handshake.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut up = plain("up", listener.local_addr().unwrap());
    up.remote.url = format!("https://{}", listener.local_addr().unwrap())
        .parse()
        .unwrap();
    let mut settings = knowing([up]);
    // Connections use the longest connect timeout of all servers.
    let kind = UpstreamKind::Remote(remote("http://127.0.0.1:1", RemoteProtocol::Rpc));
    let mut other = ServerSettings::new("other", kind);
    other.upstream.enabled = false;
    other.upstream.connect_timeout = Duration::from_millis(50);
    settings.upstreams.push(other);
    let error = check_settings(settings, TIMEOUT).await;
    assert_eq!(error["data"]["timeout_ms"], 50);
}

#[tokio::test]
async fn invalid_json_rpc_is_rejected() {
    for (body, said) in [
        ("<!DOCTYPE html><html>hello</html>", "a web page"),
        ("hello", "not JSON"),
        (r#"{"id":7,"result":1"#, "not JSON"),
        (r#"{"id":7,"result":1} {}"#, "not JSON"),
        ("[]", "not an object with a result"),
        (r#"[{"id":7,"result":1}]"#, "not an object with a result"),
        ("{}", "not an object with a result"),
        ("5", "not an object with a result"),
        (r#"{"jsonrpc":"2.0","id":7}"#, "not an object with a result"),
        (r#"{"x":{"result":1}}"#, "not an object with a result"),
        ("", "without an answer"),
    ] {
        let error = check(Behaviour::Send(http(200, "", body)), INVALID).await;
        assert!(message(&error).contains(said), "{body}: {error}");
    }
    let latin = [&br#"{"id":7,"result":""#[..], b"\xe9", br#""}"#].concat();
    check(Behaviour::Send(http(200, "", latin)), INVALID).await;
    let empty = b"HTTP/1.1 204 No Content\r\n\r\n".to_vec();
    check(Behaviour::Send(empty), INVALID).await;
    check(Behaviour::Send(http(202, "", "")), INVALID).await;
    check(
        Behaviour::Send(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()),
        INVALID,
    )
    .await;
}

#[tokio::test]
async fn streamed_and_compressed_responses_are_named() {
    let gzip = http(200, "content-encoding: gzip\r\n", b"\x1f\x8b\x08\x00");
    let error = check(Behaviour::Send(gzip), INVALID).await;
    assert!(message(&error).contains("compressed (gzip)"), "{error}");
    let same = http(200, "content-encoding: identity\r\n", result("1"));
    let server = Server::answering_with(same).await;
    assert_eq!(
        ForwardRoute::to(&server)
            .await
            .post("up", PING)
            .await
            .status,
        200
    );
    let events = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: hello\n\n";
    let error = check(Behaviour::Stall(events.to_vec()), INVALID).await;
    assert!(message(&error).contains("stream of events"), "{error}");
}

#[tokio::test]
async fn cross_origin_redirect_reports_its_target() {
    for status in [301, 302, 307] {
        let to = "location: https://else.test/rpc?token=1\r\n";
        let error = check(Behaviour::Send(http(status, to, "")), STATUS).await;
        assert_eq!(error["data"]["status_code"], status);
        let text = error["data"]["body"].as_str().expect("what was said");
        assert!(text.contains("https://else.test/rpc;"), "{text}");
        assert!(!text.contains("token"), "{text}");
    }
}

#[tokio::test]
async fn unexpected_status_includes_the_response_body() {
    let long = format!("Oh é\n  no!{}", "x".repeat(600));
    let error = check(Behaviour::Send(http(500, "", &long)), STATUS).await;
    let first: String = long.chars().take(500).collect();
    assert_eq!(
        error["data"],
        json!({ "code": "upstream_status", "server_name": "up", "status_code": 500, "body": first })
    );
    for (status, body) in [
        (400, ""),
        (404, "<html>not here</html>"),
        (401, r#"{"detail":"who are you?"}"#),
        (503, "[]"),
    ] {
        let error = check(Behaviour::Send(http(status, "", body)), STATUS).await;
        assert_eq!(error["data"]["status_code"], status);
        assert_eq!(error["data"]["body"], body);
    }
    // A truncated body is not a valid answer, but its status still counts.
    let whole = http(502, "", "no such host");
    let error = check(Behaviour::Send(whole[..whole.len() - 5].to_vec()), STATUS).await;
    assert_eq!(error["data"]["body"], "no such");
}

#[tokio::test]
async fn secrets_in_responses_are_redacted() {
    let server = Server::answering_with(http(401, "", "bad token s3cret-word, go away")).await;
    let mut up = plain("up", server.address);
    let header = (
        "authorization".parse().unwrap(),
        "Bearer s3cret-word".parse().unwrap(),
    );
    up.remote.headers.push(header);
    let error = check_settings(knowing([up]), STATUS).await;
    assert_eq!(error["data"]["body"], "bad token ***, go away");
}

#[tokio::test]
async fn oversized_response_is_not_read() {
    // Refused because of the announced length.
    let head =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000000\r\n\r\n";
    let piece = vec![b'x'; 100_000];
    let pour = |head: &[u8], piece: &[u8]| Behaviour::Pour {
        head: head.to_vec(),
        piece: piece.to_vec(),
        times: 1_000,
    };
    let error = check(pour(head, &piece), TOO_LARGE).await;
    assert_eq!(error["data"]["max_bytes"], 16 * 1024 * 1024);
    // Refused because of the bytes received.
    let start = [CHUNKED, &chunk(br#"{"id":7,"result":""#)].concat();
    let server = Server::start(pour(&start, &chunk(&piece))).await;
    check_settings(knowing([plain("up", server.address)]), TOO_LARGE).await;
    let written = server.written();
    assert!(written < 50_000_000, "{written} bytes were taken");
}

#[tokio::test]
async fn endless_response_is_aborted() {
    let start = [CHUNKED, &chunk(br#"{"id":7,"result":["#)].concat();
    let server = Server::start(Behaviour::Pour {
        head: start,
        piece: chunk(b"1,"),
        times: usize::MAX,
    })
    .await;
    let mut settings = knowing([plain("up", server.address)]);
    settings.limits.max_message_bytes = 100_000;
    check_settings(settings, TOO_LARGE).await;
}

#[tokio::test]
async fn endless_error_body_is_not_read_to_its_end() {
    let head = [
        &b"HTTP/1.1 500 X\r\n"[..],
        &CHUNKED[b"HTTP/1.1 200 OK\r\n".len()..],
    ]
    .concat();
    let server = Server::start(Behaviour::Pour {
        head,
        piece: chunk(&[b'x'; 1_000]),
        times: usize::MAX,
    })
    .await;
    let error = check_settings(knowing([plain("up", server.address)]), STATUS).await;
    assert_eq!(error["data"]["body"], "x".repeat(500));
}

#[tokio::test]
async fn failed_notification_error_has_no_id() {
    for (does, expected) in [
        (
            Behaviour::Send(Vec::new()),
            r#"502 -32012 "upstream_unreachable" null"#,
        ),
        (
            Behaviour::Send(http(500, "", "no")),
            r#"502 -32603 "upstream_status" null"#,
        ),
    ] {
        let server = Server::start(does).await;
        let route = ForwardRoute::to(&server).await;
        assert_eq!(route.post("up", NOTICE).await.refusal(), expected);
    }
}

#[tokio::test]
async fn dead_server_does_not_affect_others() {
    let silent = Server::start(Behaviour::Stall(Vec::new())).await;
    let well = Server::answering_with(http(200, "", result("1"))).await;
    let servers = [
        plain("dead", closed_port().await),
        plain("silent", silent.address),
        plain("up", well.address),
    ];
    let route = ForwardRoute::start(knowing(servers)).await;
    // Stays open while the other servers are called.
    let _waiting = route.client("silent").begin(PING).await;
    for _ in 0..3 {
        assert_eq!(route.post("dead", PING).await.refusal(), UNREACHABLE);
        assert_eq!(route.post("up", PING).await.status, 200);
    }
}

#[tokio::test]
async fn client_disconnect_aborts_its_request() {
    let mut server = Server::start(Behaviour::Stall(Vec::new())).await;
    let route = ForwardRoute::to(&server).await;
    let waiting = route.client("up").begin(PING).await;
    server.seen().await;
    drop(waiting);
    server.left().await;
}
