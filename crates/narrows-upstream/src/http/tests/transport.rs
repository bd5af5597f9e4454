//! Tests connections: closed by the server, through proxies, and with TLS.

use crate::testing::Addressed;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::super::endpoint::Endpoint;
use super::super::{HttpClient, HttpProtocol};
use super::server::{Seen, Server, json_reply};
use super::{MAX, call, client, fronts, open, soon, try_open};
use crate::failure::{FailureKind, LinkError};
use crate::settings::{ProxySettings, RemoteProtocol, RemoteSettings};
use crate::web::Connector;

/// The action of a raw server after it has read a request.
enum ServerAction {
    Answer,
    /// Sends the response and closes the connection without announcing it.
    AnswerAndClose,
    Close,
    /// Closes the connection in the middle of the response.
    Cut,
}

/// Starts a server that speaks raw HTTP. It completes the handshake and then performs the script.
/// The receiver yields an item for each closed connection.
async fn raw_server(script: Vec<ServerAction>) -> (RemoteSettings, mpsc::UnboundedReceiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap())
        .parse()
        .unwrap();
    let script = Arc::new(Mutex::new(VecDeque::from(script)));
    let (tell, closed) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    let socket = BufReader::new(accepted.unwrap().0);
                    connections.spawn(act_out(socket, script.clone(), tell.clone()));
                }
                () = tell.closed() => break,
            }
        }
    });
    let headers = Vec::new();
    (
        RemoteSettings {
            protocol: RemoteProtocol::Http,
            url,
            headers,
        },
        closed,
    )
}

async fn act_out(
    mut socket: BufReader<TcpStream>,
    script: Arc<Mutex<VecDeque<ServerAction>>>,
    tell: mpsc::UnboundedSender<()>,
) {
    while let Some((what, body)) = read_request(&mut socket).await {
        let answer = |result: serde_json::Value| {
            let text = json!({"jsonrpc": "2.0", "id": body["id"], "result": result}).to_string();
            let length = text.len();
            format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{text}")
        };
        let empty = |status: &str| format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        let (text, close) = match what.as_str() {
            "initialize" => (answer(super::server::hello("2025-06-18")), false),
            "tools/call" => match script.lock().pop_front().expect("a longer script") {
                ServerAction::Answer => (answer(json!("ok")), false),
                ServerAction::AnswerAndClose => (answer(json!("ok")), true),
                ServerAction::Close => (String::new(), true),
                ServerAction::Cut => (answer(json!("ok"))[..60].to_owned(), true),
            },
            "GET" => (empty("405 No"), false),
            _ => (empty("202 Accepted"), false),
        };
        socket.get_mut().write_all(text.as_bytes()).await.unwrap();
        if close {
            break;
        }
    }
    drop(socket);
    let _ = tell.send(());
}

async fn read_request(socket: &mut BufReader<TcpStream>) -> Option<(String, serde_json::Value)> {
    let (mut length, mut first) = (0, String::new());
    socket
        .read_line(&mut first)
        .await
        .ok()
        .filter(|read| *read > 0)?;
    loop {
        let mut line = String::new();
        socket.read_line(&mut line).await.ok()?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.ok()?;
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let what = body["method"].as_str().map_or_else(
        || first.split(' ').next().unwrap().to_owned(),
        str::to_owned,
    );
    Some((what, body))
}

#[tokio::test]
async fn connection_closed_before_the_response_is_not_retried() {
    for (act, expected) in [
        (
            ServerAction::Close,
            "/mcp: the connection was closed before the answer",
        ),
        (
            ServerAction::Cut,
            "/mcp: the connection broke during the answer",
        ),
    ] {
        let (settings, _server) = raw_server(vec![act, ServerAction::Answer]).await;
        let (link, _, _heard) = soon(try_open(client(), &settings)).await.unwrap();
        let Err(LinkError::Closed { failure, .. }) = call(&link).await else {
            panic!("closed")
        };
        assert_eq!(failure.kind, FailureKind::Connect);
        assert!(failure.detail.ends_with(expected), "{}", failure.detail);
        // The link remains usable over a new connection.
        assert_eq!(call(&link).await.unwrap().as_str(), "\"ok\"");
    }
}

#[tokio::test]
async fn idle_connection_close_is_invisible_to_calls() {
    let script = (0..50).map(|_| ServerAction::AnswerAndClose).collect();
    let (settings, mut closed) = raw_server(script).await;
    let (link, _, _heard) = soon(try_open(client(), &settings)).await.unwrap();
    for _ in 0..50 {
        assert_eq!(call(&link).await.unwrap().as_str(), "\"ok\"");
        soon(closed.recv()).await.unwrap();
    }
}

#[tokio::test]
async fn connection_closed_unnoticed_is_not_reused() {
    // The server runs in its own thread, so that a connection can close while the runtime is not
    // polling it.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (close, may_close) = std::sync::mpsc::channel::<()>();
    let (tell, closed) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let mut request = [0; 4096];
            let read = socket.read(&mut request).unwrap();
            assert!(request[..read].ends_with(b"{}"));
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
            socket.write_all(answer).unwrap();
            let Ok(()) = may_close.recv() else { return };
            drop(socket);
            tell.send(()).unwrap();
        }
    });
    let settings = RemoteSettings {
        protocol: RemoteProtocol::Http,
        url: url.parse().unwrap(),
        headers: Vec::new(),
    };
    let endpoint = Endpoint::new(&client(), &settings, HttpProtocol::Streamable, MAX).unwrap();
    for _ in 0..5 {
        let mut sent = false;
        let session = endpoint.session();
        let answer = soon(endpoint.post(&session, "{}".into(), &mut sent)).await;
        let answer = answer
            .ok()
            .expect("an answer")
            .body(&endpoint.address.pool, MAX, None);
        assert_eq!(soon(answer).await.ok().unwrap(), "{}");
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(1)).await;
        tokio::time::resume();
        close.send(()).unwrap();
        closed.recv().unwrap();
    }
}

#[tokio::test]
async fn server_keep_alive_limit_is_respected() {
    let server = Server::start(|seen: Seen| async move {
        let mut reply = json_reply(&seen.result(json!(1)));
        let keeps = "max=100, timeout=3".parse().unwrap();
        reply.headers_mut().insert("keep-alive", keeps);
        reply
    });
    let server = server.await;
    let endpoint =
        Endpoint::new(&client(), &server.settings(), HttpProtocol::Streamable, MAX).unwrap();
    for (pause, connections) in [(0, 1), (0, 1), (1, 1), (3, 2)] {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(pause)).await;
        tokio::time::resume();
        let (session, mut sent) = (endpoint.session(), false);
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#;
        let answer = soon(endpoint.post(&session, body.into(), &mut sent)).await;
        let answer = answer.ok().unwrap().body(&endpoint.address.pool, MAX, None);
        soon(answer).await.ok().unwrap();
        assert_eq!(server.accepted(), connections, "after {pause} s");
    }
}

#[tokio::test]
async fn early_response_does_not_block_the_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let settings = RemoteSettings {
        protocol: RemoteProtocol::Http,
        url: url.parse().unwrap(),
        headers: Vec::new(),
    };
    let client = client();
    let endpoint =
        Arc::new(Endpoint::new(&client, &settings, HttpProtocol::Streamable, MAX).unwrap());
    let serving = tokio::spawn(async move {
        let mut sockets = Vec::new();
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut start = [0; 64];
            socket.read_exact(&mut start).await.unwrap();
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
            socket.write_all(answer).await.unwrap();
            sockets.push(socket);
        }
    });
    let _serving = AbortOnDropHandle::new(serving);
    let large = bytes::Bytes::from(vec![b' '; 32 << 20]);
    for _ in 0..3 {
        let session = endpoint.session();
        let mut sent = false;
        let posting = endpoint.post(&session, large.clone(), &mut sent);
        let answer = soon(posting).await.ok().expect("an answer");
        assert_eq!(
            soon(answer.body(&endpoint.address.pool, MAX, None))
                .await
                .ok()
                .unwrap(),
            "{}"
        );
    }
}

#[tokio::test]
async fn links_to_one_site_share_connections() {
    let server =
        Server::start(|seen: Seen| async move { json_reply(&seen.result(json!(1))) }).await;
    let client = client();
    let mut links = Vec::new();
    for _ in 0..5 {
        let (link, _, received) = soon(try_open(client.clone(), &server.settings()))
            .await
            .unwrap();
        call(&link).await.unwrap();
        soon(async {
            while link.is_listening() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        links.push((link, received));
    }
    // One connection for requests, and one for the GET streams.
    assert!(server.accepted() <= 2, "{}", server.accepted());
}

#[tokio::test]
async fn plain_http_goes_through_the_proxy() {
    let mut proxy =
        Server::start(|seen: Seen| async move { json_reply(&seen.result(json!(1))) }).await;
    let settings = ProxySettings {
        http: format!("http://me:pw@{}", proxy.address),
        no_proxy: "direct.test".to_owned(),
        ..ProxySettings::default()
    };
    let client = HttpClient::new(&settings, Duration::from_secs(5));
    let upstream = RemoteSettings {
        protocol: RemoteProtocol::Http,
        url: "http://up.test:81/mcp?a=1".parse().unwrap(),
        headers: Vec::new(),
    };
    let (link, _, _heard) = soon(try_open(client.clone(), &upstream)).await.unwrap();
    call(&link).await.unwrap();
    let seen = proxy.saw("tools/call").await;
    assert_eq!(seen.uri, "http://up.test:81/mcp?a=1");
    assert_eq!(seen.header("host"), "up.test:81");
    assert_eq!(seen.header("proxy-authorization"), "Basic bWU6cHc=");

    // Requests to loopback addresses never go through the proxy.
    let mut near =
        Server::start(|seen: Seen| async move { json_reply(&seen.result(json!(1))) }).await;
    let (_link, _, _heard) = soon(try_open(client, &near.settings())).await.unwrap();
    assert_eq!(
        near.saw("initialize").await.header("proxy-authorization"),
        ""
    );
}

#[tokio::test]
async fn https_uses_trusted_roots_only() {
    let mut server =
        Server::start(|seen: Seen| async move { json_reply(&seen.result(json!(1))) }).await;
    let (port, trusting, _front) = fronts::tls(server.address).await;
    let settings = RemoteSettings {
        protocol: RemoteProtocol::Http,
        url: format!("https://localhost:{port}/mcp").parse().unwrap(),
        headers: Vec::new(),
    };
    let connector =
        Connector::new(&ProxySettings::default(), Duration::from_secs(5)).with_tls(trusting);
    let (link, _, _heard) = soon(try_open(HttpClient::with_connector(connector), &settings))
        .await
        .unwrap();
    assert_eq!(call(&link).await.unwrap().as_str(), "1");
    assert_eq!(
        server.saw("tools/call").await.header("host"),
        format!("localhost:{port}")
    );

    // The system does not trust the test certificate. If the system has no certificates at all, the
    // error says so.
    let failure = soon(try_open(client(), &settings)).await.err().unwrap();
    assert_eq!(failure.kind, FailureKind::Connect);
    assert!(failure.detail.contains("certificate"), "{}", failure.detail);
}

#[tokio::test]
async fn https_goes_through_a_proxy_tunnel() {
    let server =
        Server::start(|seen: Seen| async move { json_reply(&seen.result(json!(1))) }).await;
    let (port, trusting, _front) = fronts::tls(server.address).await;
    let mut proxy = fronts::proxy(([127, 0, 0, 1], port).into()).await;
    let proxies = ProxySettings {
        https: format!("http://me:pw@{}", proxy.address),
        ..ProxySettings::default()
    };
    let connector = Connector::new(&proxies, Duration::from_secs(5)).with_tls(trusting);
    let settings = RemoteSettings {
        protocol: RemoteProtocol::Http,
        url: "https://up.test/mcp".parse().unwrap(),
        headers: Vec::new(),
    };
    let (link, _, _heard) = soon(try_open(HttpClient::with_connector(connector), &settings))
        .await
        .unwrap();
    let calls = (0..3).map(|_| call(&link));
    for result in futures_util::future::join_all(calls).await {
        assert_eq!(result.unwrap().as_str(), "1");
    }
    for _ in 0..server.accepted() {
        let head = soon(proxy.heads.recv()).await.unwrap();
        assert!(
            head.starts_with("CONNECT up.test:443 HTTP/1.1\r\n"),
            "{head}"
        );
        assert!(
            head.contains("Proxy-Authorization: Basic bWU6cHc="),
            "{head}"
        );
    }
}

#[tokio::test]
async fn unsupported_proxy_scheme_is_named() {
    let proxies = ProxySettings {
        http: "socks5://127.0.0.1:1".to_owned(),
        ..ProxySettings::default()
    };
    let settings = RemoteSettings {
        protocol: RemoteProtocol::Http,
        url: "http://up.test/mcp".parse().unwrap(),
        headers: Vec::new(),
    };
    let failure = soon(try_open(
        HttpClient::new(&proxies, Duration::from_secs(5)),
        &settings,
    ))
    .await
    .err()
    .unwrap();
    assert_eq!(
        failure.detail,
        "no connection to http://up.test/mcp: proxies of the kind socks5 are not supported"
    );
}

#[tokio::test]
async fn configured_headers_are_sent_with_every_request() {
    let mut server =
        Server::start(|seen: Seen| async move { json_reply(&seen.result(json!(1))) }).await;
    let mut settings = server.settings();
    for (name, value) in [
        ("x-a", "1"),
        ("accept", "text/plain"),
        ("content-length", "9"),
        ("user-agent", "me"),
    ] {
        settings
            .headers
            .push((name.parse().unwrap(), value.parse().unwrap()));
    }
    let (link, _, _heard) = soon(try_open(client(), &settings)).await.unwrap();
    call(&link).await.unwrap();
    soon(link.close()).await;
    for what in [
        "initialize",
        "notifications/initialized",
        "tools/call",
        "DELETE",
    ] {
        let seen = server.saw(what).await;
        assert_eq!(
            (seen.header("x-a"), seen.header("user-agent")),
            ("1", "me"),
            "{what}"
        );
        assert_eq!(seen.headers.get_all("accept").iter().count(), 1);
        assert_ne!(seen.header("accept"), "text/plain");
    }
    let (_link, _heard) = open(&server).await;
    assert!(
        server
            .saw("initialize")
            .await
            .header("user-agent")
            .starts_with("narrows/")
    );
}
