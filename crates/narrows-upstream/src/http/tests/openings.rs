//! Tests failures to open a link, and their messages.

use crate::testing::Addressed;
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;

use super::super::{HttpClient, HttpLink, HttpProtocol};
use super::server::{Reply, Seen, Server, event, hello, json_reply, reply, status};
use super::{MAX, client, handler, soon, try_open};
use crate::failure::{Failure, FailureKind};
use crate::settings::{ProxySettings, RemoteProtocol, RemoteSettings};
use crate::web::summary;

async fn failure(respond: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Failure {
    let server = Server::bare(move |seen| {
        let reply = respond(&seen);
        async move { reply }
    })
    .await;
    let opened = soon(try_open(client(), &server.settings())).await;
    let mut failure = opened.err().expect("it must not open");
    failure.detail = failure.detail.replace(&server.address.to_string(), "HOST");
    failure
}

#[track_caller]
fn check(failure: &Failure, kind: FailureKind, detail: &str) {
    assert_eq!((failure.kind, failure.detail.as_str()), (kind, detail));
}

#[tokio::test]
async fn each_failure_has_its_kind() {
    use FailureKind::{Protocol, Refused, SignIn, UnsupportedRevision, WrongTransport};
    for (code, kind, text) in [
        (400, WrongTransport, "Bad Request"),
        (404, WrongTransport, "Not Found"),
        (405, WrongTransport, "Method Not Allowed"),
        (415, WrongTransport, "Unsupported Media Type"),
        (401, SignIn, "Unauthorized"),
        (403, SignIn, "Forbidden"),
        (500, Refused, "Internal Server Error"),
        (429, Refused, "Too Many Requests"),
    ] {
        let expected = format!("http://HOST/mcp answered HTTP {code} {text}: why");
        check(
            &failure(move |_| reply(code, "text/plain", "why")).await,
            kind,
            &expected,
        );
    }
    check(
        &failure(|_| reply(200, "text/html", "<html>hi</html>")).await,
        WrongTransport,
        "http://HOST/mcp: it answers with a web page",
    );
    check(
        &failure(|_| reply(418, "", "<!DOCTYPE html><p>hi")).await,
        WrongTransport,
        "http://HOST/mcp answered HTTP 418 I'm a teapot: a web page",
    );
    let error = |code, seen: &Seen| {
        let body = json!({"jsonrpc": "2.0", "id": seen.body["id"], "error": {"code": -1, "message": "not you"}});
        reply(code, "application/json", &body.to_string())
    };
    for code in [200, 400] {
        let failure = failure(move |seen| error(code, seen)).await;
        check(
            &failure,
            Refused,
            "it answered initialize with an error: not you",
        );
    }
    let answer = failure(|seen| json_reply(&seen.result(hello("2099-01-01")))).await;
    assert_eq!(answer.kind, UnsupportedRevision);
    assert!(
        answer.detail.contains("2099-01-01") && answer.detail.contains("2026-07-28"),
        "{}",
        answer.detail
    );
    assert_eq!(failure(|_| json_reply("{}")).await.kind, Protocol);
}

#[tokio::test]
async fn every_legacy_revision_opens_in_either_response_form() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        for streams in [false, true] {
            let server = Server::bare(move |seen: Seen| async move {
                match seen.what() {
                    "initialize" if streams => reply(
                        200,
                        "text/event-stream",
                        &event(&seen.result(hello(version))),
                    ),
                    "initialize" => json_reply(&seen.result(hello(version))),
                    "GET" => status(405),
                    // Some servers reject `notifications/initialized`.
                    _ => status(400),
                }
            });
            let mut server = server.await;
            let (_link, hello, _heard) =
                soon(try_open(client(), &server.settings())).await.unwrap();
            assert_eq!(hello.revision.as_str(), version);
            assert_eq!(hello.capabilities.as_str(), r#"{"tools":{}}"#);
            let initialized = server.saw("notifications/initialized").await;
            assert_eq!(initialized.header("mcp-protocol-version"), version);
        }
    }
}

#[tokio::test]
async fn refused_connection_and_invalid_url_are_reported() {
    let mut server = Server::start(|_| async { status(500) }).await;
    let settings = server.settings();
    server.stop().await;
    let refused = soon(try_open(client(), &settings)).await.err().unwrap();
    assert_eq!(refused.kind, FailureKind::Connect);
    assert!(
        refused.detail.contains("Connection refused"),
        "{}",
        refused.detail
    );
    let settings = RemoteSettings {
        protocol: RemoteProtocol::Http,
        url: "/mcp".parse().unwrap(),
        headers: Vec::new(),
    };
    let nowhere = soon(try_open(client(), &settings)).await.err().unwrap();
    check(
        &nowhere,
        FailureKind::Connect,
        "its URL is invalid or has an unsupported scheme",
    );
}

#[tokio::test]
async fn unresponsive_server_times_out() {
    let server = Server::bare(|_| std::future::pending()).await;
    let (handler, _heard) = handler();
    let (hello, limit) = (super::hello(), Duration::from_millis(50));
    let settings = server.settings();
    let opening = HttpLink::open(
        client(),
        &settings,
        HttpProtocol::Streamable,
        "s".into(),
        1,
        &hello,
        handler,
        MAX,
        limit,
    );
    let failure = opening.await.err().unwrap();
    assert_eq!(failure.kind, FailureKind::TimedOut);
    assert!(
        failure
            .detail
            .ends_with("/mcp: no answer to initialize within 0.05 s"),
        "{}",
        failure.detail
    );
}

#[tokio::test]
async fn secrets_in_responses_are_redacted() {
    let mut server = Server::bare(|seen: Seen| async move {
        let reported = format!(
            "bad token {} for {} at {}",
            seen.header("authorization"),
            seen.header("x-key"),
            seen.uri
        );
        reply(401, "text/plain", &reported)
    })
    .await;
    let url = format!(
        "http://joe:pa%3Ass-word@{}/mcp?key=s3cr3t-key",
        server.address
    );
    let settings = RemoteSettings {
        protocol: RemoteProtocol::Http,
        url: url.parse().unwrap(),
        headers: vec![(
            "x-key".parse().unwrap(),
            "Bearer abcdef123".parse().unwrap(),
        )],
    };
    let failure = soon(try_open(client(), &settings)).await.err().unwrap();
    for secret in ["joe", "pa%3A", "ss-word", "s3cr3t", "abcdef123", "am9l"] {
        assert!(
            !failure.detail.contains(secret),
            "{secret} in {}",
            failure.detail
        );
    }
    assert!(
        failure.detail.contains("/mcp answered HTTP 401"),
        "{}",
        failure.detail
    );
    // The credentials are sent nevertheless.
    let seen = server.saw("initialize").await;
    assert_eq!(seen.header("authorization"), "Basic am9lOnBhOnNzLXdvcmQ=");
    assert_eq!(seen.header("x-key"), "Bearer abcdef123");
    assert_eq!(seen.uri.query(), Some("key=s3cr3t-key"));
    assert!(!format!("{settings:?}").contains("s3cr3t"));
}

#[test]
fn server_messages_are_shortened_to_one_line() {
    assert_eq!(summary(b" a\r\n\tb\x00c  ", &[]), "a b c");
    assert_eq!(summary(b"", &[]), "");
    let long = summary("é".repeat(1_000).as_bytes(), &[]);
    assert_eq!(long.chars().count(), 201);
    let secret = "hunter22".to_owned();
    let mut body = "x".repeat(195);
    body.push_str("hunter22");
    assert!(!summary(body.as_bytes(), &[secret]).contains("hunt"));
}

#[tokio::test]
async fn same_site_redirects_are_followed_and_remembered() {
    for location in [
        "/v2/mcp/?a=b",
        "http://HOST/v2/mcp/?a=b",
        "v2/mcp/?a=b",
        "//HOST/v2/mcp/?a=b",
    ] {
        let address = std::sync::Arc::new(std::sync::OnceLock::<String>::new());
        let known = address.clone();
        let server = Server::bare(move |seen: Seen| {
            let location = location.replace("HOST", known.get().map_or("", |address| address));
            async move {
                if seen.uri.path() == "/mcp" {
                    let mut reply = status(307);
                    reply
                        .headers_mut()
                        .insert("location", location.parse().unwrap());
                    return reply;
                }
                match seen.what() {
                    "initialize" => json_reply(&seen.result(hello("2025-06-18"))),
                    "notifications/initialized" => status(202),
                    "GET" => status(405),
                    _ => json_reply(&seen.result(json!(1))),
                }
            }
        });
        let mut server = server.await;
        address.set(server.address.to_string()).unwrap();
        let (link, _heard) = super::open(&server).await;
        super::call(&link).await.unwrap();
        assert_eq!(server.saw("initialize").await.uri.path(), "/mcp");
        assert_eq!(server.saw("initialize").await.uri, "/v2/mcp/?a=b");
        assert_eq!(
            server.saw("notifications/initialized").await.uri,
            "/v2/mcp/?a=b"
        );
        assert_eq!(server.saw("tools/call").await.uri, "/v2/mcp/?a=b");
    }
}

#[tokio::test]
async fn cross_site_redirects_are_not_followed() {
    let to = |code: u16, location: &'static str| {
        move |_: &Seen| {
            let mut reply = status(code);
            reply
                .headers_mut()
                .insert("location", location.parse().unwrap());
            reply
        }
    };
    check(
        &failure(to(307, "https://else.test/mcp?token=1")).await,
        FailureKind::WrongTransport,
        "http://HOST/mcp: it redirects with HTTP 307 Temporary Redirect to https://else.test/mcp; configure that URL if it is correct",
    );
    check(
        &failure(to(308, "/mcp")).await,
        FailureKind::WrongTransport,
        "http://HOST/mcp: it redirects too many times",
    );
    assert!(
        failure(to(302, "/login"))
            .await
            .detail
            .contains("HTTP 302 Found to http://HOST/login")
    );
    assert!(
        failure(to(308, ""))
            .await
            .detail
            .contains("to an invalid location")
    );
}

#[tokio::test]
async fn connect_timeout_is_enforced() {
    // The server accepts the connection but does not begin the TLS handshake.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap())
        .parse()
        .unwrap();
    let settings = RemoteSettings {
        protocol: RemoteProtocol::Http,
        url,
        headers: Vec::new(),
    };
    let client = HttpClient::new(&ProxySettings::default(), Duration::from_millis(50));
    let failure = soon(try_open(client, &settings)).await.err().unwrap();
    assert_eq!(failure.kind, FailureKind::Connect);
    assert!(
        failure
            .detail
            .ends_with("/mcp: no connection within 0.05 s"),
        "{}",
        failure.detail
    );
}
