//! Tests the opening handshake and its rejection.

use super::server::{FIN, HandshakeRequest, Head, TEXT, WsTestServer, frame};
use super::{client, connect, describe, soon};
use crate::failure::FailureKind;
use crate::testing::listen;

/// Returns the head of the first handshake request for this URL and these headers.
async fn head(url: &str, headers: &[(&str, &str)]) -> (Head, String) {
    let server = WsTestServer::start().await;
    let mut settings = server.settings();
    let host = server.address.to_string();
    settings.url = url.replace("HOST", &host).parse().unwrap();
    for (name, value) in headers {
        let (name, value) = (name.parse().unwrap(), value.parse().unwrap());
        settings.headers.push((name, value));
    }
    let asked = soon(async {
        tokio::select! {
            asked = server.accept() => asked,
            _ = connect(client(), settings) => panic!("the server does not respond"),
        }
    });
    (asked.await.head, host)
}

#[tokio::test]
async fn handshake_sends_the_required_headers() {
    let (head, host) = head("ws://HOST/a/ws?k=1", &[]).await;
    assert_eq!(head.line, "GET /a/ws?k=1 HTTP/1.1");
    let agent = concat!("narrows/", env!("CARGO_PKG_VERSION"));
    for (name, expected) in [
        ("host", &*host),
        ("upgrade", "websocket"),
        ("connection", "Upgrade"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-protocol", "mcp"),
        ("sec-websocket-extensions", ""),
        ("user-agent", agent),
        ("authorization", ""),
    ] {
        assert_eq!(head.header(name), expected, "{name}");
    }
    // 16 random bytes in base64.
    let key = head.header("sec-websocket-key");
    assert_eq!(key.len(), 24);
    let (again, _) = self::head("ws://HOST/ws", &[]).await;
    assert_ne!(again.header("sec-websocket-key"), key);
}

#[tokio::test]
async fn configured_headers_are_added_unless_reserved() {
    let headers = [
        ("x-a", "1"),
        ("x-a", "2"),
        ("host", "virtual.test"),
        ("user-agent", "me"),
        ("connection", "close"),
        ("upgrade", "h2c"),
        ("sec-websocket-key", "mine"),
        ("sec-websocket-version", "8"),
        ("sec-websocket-extensions", "permessage-deflate"),
    ];
    let (head, _) = head("http://joe:pass-word@HOST", &headers).await;
    assert_eq!(head.line, "GET / HTTP/1.1");
    assert_eq!(head.header("sec-websocket-key").len(), 24);
    for (name, expected) in [
        ("x-a", "1 | 2"),
        ("host", "virtual.test"),
        ("user-agent", "me"),
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-extensions", ""),
        ("sec-websocket-protocol", "mcp"),
        ("authorization", "Basic am9lOnBhc3Mtd29yZA=="),
    ] {
        assert_eq!(head.header(name), expected, "{name}");
    }
}

#[tokio::test]
async fn configured_subprotocol_replaces_the_default() {
    let server = WsTestServer::start().await;
    let mut settings = server.settings();
    let name = "sec-websocket-protocol".parse().unwrap();
    settings.headers = vec![(name, "a, b".parse().unwrap())];
    let serving = async {
        let asked = server.accept().await;
        assert_eq!(asked.head.header("sec-websocket-protocol"), "a, b");
        let mut peer = asked.accept_upgrade("b").await;
        peer.greet().await;
        peer
    };
    let connecting = connect(client(), settings);
    let (opened, _peer) = soon(async { tokio::join!(connecting, serving) }).await;
    assert!(opened.is_ok());
}

#[tokio::test]
async fn server_without_subprotocols_is_retried_without() {
    for configured in [None, Some("a, b")] {
        let server = WsTestServer::start().await;
        let mut settings = server.settings();
        if let Some(offer) = configured {
            let name = "sec-websocket-protocol".parse().unwrap();
            settings.headers.push((name, offer.parse().unwrap()));
        }
        let serving = async {
            let asked = server.accept().await;
            let offered = asked.head.header("sec-websocket-protocol");
            assert_eq!(offered, configured.unwrap_or("mcp"));
            asked.accept_upgrade("").await;
            let asked = server.accept().await;
            assert_eq!(asked.head.header("sec-websocket-protocol"), "");
            let mut peer = asked.accept_upgrade("").await;
            peer.greet().await;
            peer
        };
        let connecting = connect(client(), settings);
        let (opened, _peer) = soon(async { tokio::join!(connecting, serving) }).await;
        assert!(opened.is_ok());
    }
}

#[tokio::test]
async fn frames_sent_with_the_handshake_are_read() {
    let server = WsTestServer::start().await;
    let serving = async {
        let asked = server.accept().await;
        let mut bytes = asked.agreement("mcp").into_bytes();
        let notice = br#"{"jsonrpc":"2.0","method":"notifications/early"}"#;
        bytes.extend(frame(FIN | TEXT, notice));
        let mut peer = asked.accept_upgrade_with(&bytes).await;
        peer.greet().await;
        peer
    };
    let connecting = connect(client(), server.settings());
    let (opened, _peer) = soon(async { tokio::join!(connecting, serving) }).await;
    let (_link, mut received) = opened.expect("it opens");
    let notice = soon(received.notices.recv()).await.expect("a notice");
    assert_eq!(&*notice.method, "notifications/early");
}

/// Returns the failure of opening a link to a server that responds to the handshake with `answer`.
async fn refusal(answer: impl Fn(&HandshakeRequest) -> String) -> String {
    let server = WsTestServer::start().await;
    let mut settings = server.settings();
    let url = format!("ws://{}/ws?key=s3cr3t-1", server.address);
    settings.url = url.parse().unwrap();
    let serving = async {
        loop {
            let asked = server.accept().await;
            let answer = answer(&asked);
            asked.respond_and_close(&answer).await;
        }
    };
    let refused = soon(async {
        tokio::select! {
            refused = connect(client(), settings) => refused.err().expect("it must not open"),
            never = serving => never,
        }
    });
    describe(&refused.await)
}

#[tokio::test]
async fn refused_handshake_is_reported() {
    for (status, kind) in [
        ("400 Bad Request", "WrongTransport"),
        ("404 Not Found", "WrongTransport"),
        ("426 Upgrade Required", "WrongTransport"),
        ("200 OK", "WrongTransport"),
        ("307 Temporary Redirect", "WrongTransport"),
        ("401 Unauthorized", "SignIn"),
        ("403 Forbidden", "SignIn"),
        ("429 Too Many Requests", "Refused"),
        ("503 Service Unavailable", "Refused"),
    ] {
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\nno");
        let expected =
            format!("{kind}: ws://HOST/ws answered HTTP {status} instead of opening a WebSocket");
        assert_eq!(refusal(|_| answer.clone()).await, expected);
    }
}

#[tokio::test]
async fn invalid_handshake_is_reported() {
    let with = |what: &'static str, instead: &'static str| {
        move |asked: &HandshakeRequest| asked.agreement("mcp").replace(what, instead)
    };
    let start = "WrongTransport: ws://HOST/ws did not open a WebSocket: ";
    for reported in [
        refusal(|_| "220 ready to serve\r\n".to_owned()).await,
        refusal(|_| String::new()).await,
        refusal(|_| "HTTP/1.1 101 Switching".to_owned()).await,
        refusal(|_| "HTTP/1.0 404 Not Found\r\n\r\n".to_owned()).await,
        refusal(with("sec-websocket-accept: ", "sec-websocket-accept: x")).await,
        refusal(with("upgrade: WebSocket", "upgrade: h2c")).await,
        refusal(with("connection: upgrade", "connection: close")).await,
        refusal(with("protocol: mcp", "protocol: soap")).await,
    ] {
        assert!(reported.starts_with(start), "{reported}");
    }
}

#[tokio::test]
async fn refused_connection_and_invalid_url_are_reported() {
    let mut settings = WsTestServer::start().await.settings();
    let (listener, _port) = listen();
    let url = format!("ws://{}/ws", listener.local_addr().unwrap());
    settings.url = url.parse().unwrap();
    drop(listener);
    let failure = soon(connect(client(), settings.clone()))
        .await
        .err()
        .unwrap();
    assert_eq!(failure.kind, FailureKind::Connect);
    let reported = describe(&failure);
    assert!(
        reported.starts_with("Connect: no connection to ws://HOST/ws: ")
            && reported.contains("refused"),
        "{reported}"
    );
    for url in ["/ws", "ftp://127.0.0.1/ws"] {
        let mut settings = settings.clone();
        settings.url = url.parse().unwrap();
        let failure = soon(connect(client(), settings)).await.err().unwrap();
        assert_eq!(
            describe(&failure),
            "Connect: its URL is invalid or has an unsupported scheme"
        );
    }
}
