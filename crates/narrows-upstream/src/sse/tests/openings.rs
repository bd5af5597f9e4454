//! Tests opening the stream, and the address that messages are posted to.

use super::server::SseTestServer;
use super::{client, connect, describe, soon};
use crate::failure::FailureKind;

/// Returns the request that the client posts if the server names this address on a stream at
/// `/a/sse`.
async fn leads_to(reference: &str) -> String {
    let mut server = SseTestServer::start().await;
    let mut settings = server.settings();
    let url = format!("http://{}/a/sse?key=s3cr3t-1", server.address);
    settings.url = url.parse().unwrap();
    let reference = reference.replace("HOST", &server.address.to_string());
    let hide = server.address.to_string();
    let serving = async {
        let mut stream = server.saw("GET").await.stream().await;
        stream.endpoint(&reference).await;
        let asked = soon(server.next()).await;
        assert_eq!(asked.header("host"), server.address.to_string());
        format!("{} {}", asked.what(), asked.line)
    };
    let reported = soon(async {
        tokio::select! {
            reported = serving => reported,
            refused = connect(settings) => describe(&refused.err().expect("the server does not respond")),
        }
    });
    reported.await.replace(&hide, "HOST")
}

#[track_caller]
fn check(got: String, expected: &str) {
    assert_eq!(got, expected);
}

#[tokio::test]
async fn endpoint_event_supports_any_url_form() {
    for (reference, target) in [
        ("/messages?s=1", "/messages?s=1"),
        ("messages/?s=1", "/a/messages/?s=1"),
        ("../messages?s=1", "/messages?s=1"),
        ("?s=1", "/a/sse?s=1"),
        ("http://HOST/messages?s=1", "/messages?s=1"),
        ("HTTP://HOST/messages?s=1", "/messages?s=1"),
        ("//HOST/messages?s=1", "/messages?s=1"),
        (
            "messages?to=http://else.test/",
            "/a/messages?to=http://else.test/",
        ),
        (
            "/messages?to=http://else.test/",
            "/messages?to=http://else.test/",
        ),
        ("http://HOST", "/"),
        // More spaces than the SSE format removes.
        ("   /messages ", "/messages"),
    ] {
        check(
            leads_to(reference).await,
            &format!("initialize POST {target}"),
        );
    }
}

#[tokio::test]
async fn cross_site_endpoint_is_rejected() {
    for (reference, reported) in [
        (
            "http://else.test/messages?token=s3cr3t-2",
            "http://else.test/messages",
        ),
        ("//else.test:81/m", "http://else.test:81/m"),
        ("http://joe:s3cr3t@else.test/m", "http://else.test/m"),
        ("http://127.0.0.1/m", "http://127.0.0.1/m"),
        ("https://HOST/m", "https://HOST/m"),
        (
            "https://else.test/0123456789abcdef0123/m",
            "https://else.test/***/m",
        ),
    ] {
        let expected = format!(
            "Protocol: http://HOST/a/sse: it expects messages at {reported}, which is another site"
        );
        check(leads_to(reference).await, &expected);
    }
    for reference in [
        "",
        "/a b",
        "mailto:joe@else.test",
        "ftp://HOST/m",
        "http://",
    ] {
        check(
            leads_to(reference).await,
            "Protocol: http://HOST/a/sse: it expects messages at an invalid address",
        );
    }
}

/// Returns the failure of opening a link to a server that responds to GET with `answer`.
async fn refusal(answer: &str) -> String {
    let mut server = SseTestServer::start().await;
    let settings = server.settings();
    let serving = async { server.saw("GET").await.respond_and_close(answer).await };
    let (opened, ()) = soon(async { tokio::join!(connect(settings), serving) }).await;
    server.hide(&describe(&opened.err().expect("it must not open")))
}

fn answer(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}")
}

#[tokio::test]
async fn refused_stream_means_another_transport() {
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}"#;
    for (answer, expected) in [
        (
            answer("405 Method Not Allowed", "text/plain", "no"),
            "WrongTransport: http://HOST/sse answered HTTP 405 Method Not Allowed: no",
        ),
        (
            answer("404 Not Found", "text/html", "<html>nothing here</html>"),
            "WrongTransport: http://HOST/sse answered HTTP 404 Not Found: a web page",
        ),
        (
            answer("400 Bad Request", "application/json", error),
            "WrongTransport: http://HOST/sse answered HTTP 400 Bad Request: no session",
        ),
        (
            answer(
                "401 Unauthorized\r\nwww-authenticate: Bearer x=y",
                "text/plain",
                "who?",
            ),
            "SignIn: http://HOST/sse answered HTTP 401 Unauthorized (wants Bearer): who?",
        ),
        (
            answer("500 Internal Server Error", "text/plain", "oh"),
            "Refused: http://HOST/sse answered HTTP 500 Internal Server Error: oh",
        ),
        (
            answer("200 OK", "text/html", "<html>hi</html>"),
            "WrongTransport: http://HOST/sse: it does not answer GET with an event stream",
        ),
        (
            answer("302 Found\r\nlocation: /login?next=1", "text/plain", ""),
            "WrongTransport: http://HOST/sse: it redirects with HTTP 302 Found to http://HOST/login; configure that URL if it is correct",
        ),
    ] {
        check(refusal(&answer).await, expected);
    }
    let not_http = refusal("220 ready\r\n").await;
    assert!(
        not_http.starts_with("WrongTransport: http://HOST/sse: its answer is not HTTP"),
        "{not_http}"
    );
}

#[tokio::test]
async fn first_event_must_be_the_endpoint() {
    let stream = |text: &str| answer("200 OK", "text/event-stream", text);
    let first = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n";
    let late = format!("{first}event: endpoint\ndata: /m\n\n");
    let large = format!("data: {}\n\n", "x".repeat(super::MAX + 1));
    for (body, expected) in [
        (stream(""), "its event stream ended at once"),
        (stream(": hi\n\n"), "its event stream ended at once"),
        // The event is incomplete.
        (
            stream("event: endpoint\ndata: /m\n"),
            "its event stream ended at once",
        ),
        (
            stream(first),
            "its event stream does not begin with an endpoint",
        ),
        (
            stream(&late),
            "its event stream does not begin with an endpoint",
        ),
        (
            stream(&large),
            "its event stream does not begin with an endpoint",
        ),
        (
            stream(first).replace("data: {", "dat"),
            "its event stream broke",
        ),
    ] {
        let expected = format!("WrongTransport: http://HOST/sse: {expected}");
        check(refusal(&body).await, &expected);
    }
}

#[tokio::test(start_paused = true)]
async fn stream_without_an_endpoint_means_another_transport() {
    let mut server = SseTestServer::start().await;
    let settings = server.settings();
    let serving = async {
        let mut stream = server.saw("GET").await.stream().await;
        stream.send(b": welcome\n\n").await;
        std::future::pending::<()>().await
    };
    let failure = tokio::select! {
        () = serving => unreachable!("it never ends"),
        refused = connect(settings) => refused.err().expect("the server does not respond"),
    };
    let reported = "its event stream names no endpoint";
    assert_eq!(failure.kind, FailureKind::WrongTransport);
    assert!(failure.detail.ends_with(reported), "{}", failure.detail);
}

#[tokio::test]
async fn keep_alives_may_precede_the_endpoint_event() {
    let mut server = SseTestServer::start().await;
    let settings = server.settings();
    let serving = async {
        let mut stream = server.saw("GET").await.stream().await;
        stream
            .send(b": ping\n\nretry: 5000\n\nid: 1\ndata:\n\n")
            .await;
        stream.endpoint("/m").await;
        server.saw("initialize").await.line
    };
    let line = soon(async {
        tokio::select! {
            line = serving => line,
            _ = connect(settings) => panic!("the server does not respond"),
        }
    });
    assert_eq!(line.await, "POST /m");
}

#[tokio::test]
async fn refused_connection_is_reported() {
    let mut server = SseTestServer::start().await;
    server.stop().await;
    let failure = soon(connect(server.settings())).await.err().unwrap();
    assert_eq!(failure.kind, FailureKind::Connect);
    let reported = server.hide(&failure.detail);
    assert!(
        reported.starts_with("no connection to http://HOST/sse: ") && reported.contains("refused"),
        "{reported}"
    );
}

#[tokio::test]
async fn configured_headers_are_sent_with_every_request() {
    let mut server = SseTestServer::start().await;
    let mut settings = server.settings();
    for (name, value) in [
        ("x-a", "1"),
        ("x-a", "2"),
        ("content-length", "9"),
        ("authorization", "Bearer t0ken"),
    ] {
        let (name, value) = (name.parse().unwrap(), value.parse().unwrap());
        settings.headers.push((name, value));
    }
    let serving = async {
        let get = server.saw("GET").await;
        assert_eq!(get.header("accept"), "text/event-stream");
        let mut stream = get.stream().await;
        stream.endpoint("/messages").await;
        let asked = server.saw("initialize").await;
        assert_eq!(asked.header("accept"), "*/*");
        assert_eq!(asked.header("content-type"), "application/json");
        [stream_headers(&asked), asked.header("mcp-protocol-version")]
    };
    fn stream_headers(asked: &super::server::Request) -> String {
        ["x-a", "authorization", "user-agent"]
            .map(|name| asked.header(name))
            .join("; ")
    }
    let seen = soon(async {
        tokio::select! {
            seen = serving => seen,
            _ = connect(settings) => panic!("the server does not respond"),
        }
    });
    let agent = concat!("narrows/", env!("CARGO_PKG_VERSION"));
    let expected = format!("1 | 2; Bearer t0ken; {agent}");
    assert_eq!(seen.await, [expected, String::new()]);
}

#[tokio::test]
async fn same_site_redirects_are_followed() {
    let to = |location: &str| {
        format!(
            "HTTP/1.1 307 Temporary Redirect\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
        )
    };
    let mut server = SseTestServer::start().await;
    let mut settings = server.settings();
    settings.headers = vec![("x-a".parse().unwrap(), "1".parse().unwrap())];
    let serving = async {
        server.saw("GET").await.respond(&to("/v2/sse")).await;
        let get = server.saw("GET").await;
        assert_eq!((&*get.line, &*get.header("x-a")), ("GET /v2/sse", "1"));
        let mut stream = get.stream().await;
        // Relative to the URL after redirects.
        stream.endpoint("messages?s=1").await;
        let asked = server.saw("initialize").await;
        assert_eq!(asked.line, "POST /v2/messages?s=1");
        asked.respond(&to("/v3/messages?s=1")).await;
        let asked = server.saw("initialize").await;
        assert_eq!(asked.header("x-a"), "1");
        asked.line
    };
    let line = soon(async {
        tokio::select! {
            line = serving => line,
            _ = connect(settings) => panic!("the server does not respond"),
        }
    });
    assert_eq!(line.await, "POST /v3/messages?s=1");
}

#[tokio::test]
async fn invalid_url_is_reported() {
    let mut settings = SseTestServer::start().await.settings();
    settings.url = "/sse".parse().unwrap();
    let failure = soon(super::super::open(&client(), &settings, "srv".into(), 1)).await;
    assert_eq!(
        describe(&failure.err().unwrap()),
        "Connect: its URL is invalid or has an unsupported scheme"
    );
}
