//! Tests the choice and the detection of a server's transport.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::super::connect::Connected;
use super::super::supervisor::SharedNotificationHandler;
use super::super::{Upstream, UpstreamContext, supervise};
use crate::exchange::{Ask, AskKey, Notice};
use crate::failure::{Failure, FailureKind, Found};
use crate::guard::LazyGuard;
use crate::request::Outgoing;
use crate::settings::{RemoteProtocol, RemoteSettings, Transport, UpstreamKind, UpstreamSettings};
use crate::state::State;
use crate::testing::server::{
    Reply, Seen, Server, event, events, hello, json_reply, reply, status,
};
use crate::testing::{Addressed, LIMITS, LONG, NoBuiltins, NoObserver, client, handler, soon};
use crate::ws::tests::server::WsTestServer as WebSocketServer;

pub(super) fn upstream(protocol: RemoteProtocol, settings: RemoteSettings) -> Arc<Upstream> {
    upstream_with(protocol, settings, |_| {})
}

/// Creates an upstream after changing its settings with `set`.
pub(super) fn upstream_with(
    protocol: RemoteProtocol,
    settings: RemoteSettings,
    set: impl FnOnce(&mut UpstreamSettings),
) -> Arc<Upstream> {
    let kind = UpstreamKind::Remote(RemoteSettings {
        protocol,
        ..settings
    });
    let mut settings = UpstreamSettings::new("srv", kind);
    set(&mut settings);
    let context = Arc::new(context());
    Arc::new(Upstream::new(
        0,
        "srv",
        settings,
        context,
        Arc::new(NoObserver),
    ))
}

pub(super) fn context() -> UpstreamContext {
    let stop = CancellationToken::new();
    let guard = LazyGuard::default();
    UpstreamContext::new(
        LIMITS,
        client(),
        String::new(),
        guard,
        Arc::new(NoBuiltins),
        stop,
    )
}

pub(super) async fn connect(upstream: &Arc<Upstream>) -> Result<Connected, Failure> {
    let (handler, _) = handler();
    let ours = crate::testing::hello();
    soon(upstream.connect(&ours, handler)).await
}

/// Returns the failure to connect, including the detected transport.
async fn failure(upstream: &Arc<Upstream>) -> Failure {
    let failure = connect(upstream).await.err().expect("it must not connect");
    soon(upstream.explain(failure)).await
}

/// Starts a server that speaks HTTP+SSE and responds to all other requests with `refuse`.
async fn older(refuse: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Server {
    let stream = Mutex::new(None::<mpsc::UnboundedSender<String>>);
    Server::bare(move |seen: Seen| {
        let reply = match (seen.method.as_str(), seen.uri.path()) {
            ("GET", "/mcp") => {
                let (sender, reply) = events();
                let endpoint = "event: endpoint\ndata: /messages\n\n";
                sender.send(endpoint.to_owned()).unwrap();
                *stream.lock() = Some(sender);
                reply
            }
            ("POST", "/messages") => {
                let result = match seen.what() {
                    "initialize" => hello("2024-11-05"),
                    _ => json!({"tools": []}),
                };
                if !seen.body["id"].is_null()
                    && let Some(stream) = &*stream.lock()
                {
                    let _ = stream.send(event(&seen.result(result)));
                }
                status(202)
            }
            _ => refuse(&seen),
        };
        async move { reply }
    })
    .await
}

/// Starts a server that responds to every request with `respond`.
async fn stubborn(respond: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Server {
    Server::bare(move |seen| {
        let reply = respond(&seen);
        async move { reply }
    })
    .await
}

async fn streamable() -> Server {
    Server::start(|_| async { status(500) }).await
}

async fn rpc() -> Server {
    let respond = |seen: &Seen| match (seen.uri.path(), seen.what()) {
        ("/mcp/rpc", "initialize") => json_reply(&seen.result(hello("2025-06-18"))),
        ("/mcp/rpc", _) => status(204),
        _ => status(404),
    };
    stubborn(respond).await
}

/// Starts a server that accepts WebSockets and rejects all other requests.
async fn websocket() -> (RemoteSettings, AbortOnDropHandle<()>) {
    let server = WebSocketServer::start().await;
    let mut settings = server.settings();
    settings.url = format!("http://{}/mcp", server.address).parse().unwrap();
    let serving = tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            let asked = server.accept().await;
            match &*asked.head.header("upgrade") {
                "websocket" => {
                    let mut peer = asked.accept_upgrade("mcp").await;
                    open.push(tokio::spawn(async move { peer.greet().await }));
                }
                _ => {
                    let refusal = "HTTP/1.1 426 Upgrade Required\r\ncontent-length: 0\r\n\r\n";
                    asked.respond_and_close(refusal).await;
                }
            }
        }
    });
    (settings, AbortOnDropHandle::new(serving))
}

#[tokio::test]
async fn older_server_is_detected_by_its_refusal() {
    let page = "<html>Cannot POST /mcp</html>";
    for (code, kind, body, how) in [
        (404, "text/plain", "what?", "HTTP 404 Not Found: what?"),
        (404, "text/html", page, "HTTP 404 Not Found: a web page"),
        (405, "", "", "HTTP 405 Method Not Allowed"),
        (400, "", "of s3cr3t-1", "HTTP 400 Bad Request: of ***"),
    ] {
        let mut server = older(move |_| reply(code, kind, body)).await;
        let mut settings = server.settings();
        settings.headers = vec![("x-key".parse().unwrap(), "s3cr3t-1".parse().unwrap())];
        let upstream = upstream(RemoteProtocol::HttpOrSse, settings);
        let Connected { link, found, .. } = connect(&upstream).await.expect("it connects");
        let how = format!("http://{}/mcp answered {how}", server.address);
        let expected = Found {
            transport: Transport::Sse,
            how: Some(how),
            era: None,
        };
        assert_eq!(found, expected);
        let call = Outgoing::own("tools/list", None, LONG);
        let listed = soon(link.request(call)).await.unwrap();
        assert_eq!(listed.as_str(), r#"{"tools":[]}"#);
        for (what, path) in [
            ("initialize", "/mcp"),
            ("GET", "/mcp"),
            ("initialize", "/messages"),
        ] {
            assert_eq!(server.saw(what).await.uri, path);
        }
    }
}

#[tokio::test]
async fn modern_server_is_not_probed_for_older_transports() {
    let server = streamable().await;
    let upstream = upstream(RemoteProtocol::HttpOrSse, server.settings());
    let connected = connect(&upstream).await.expect("it connects");
    let found = Found {
        era: Some("initialize opens a session".to_owned()),
        ..Found::configured(Transport::Http)
    };
    assert_eq!(connected.found, found);
}

#[tokio::test]
async fn json_rpc_error_does_not_trigger_older_transports() {
    let error = |seen: &Seen| {
        let error = json!({"code": -1, "message": "not you"});
        json!({"jsonrpc": "2.0", "id": seen.body["id"], "error": error}).to_string()
    };
    for (code, kind) in [
        (200, FailureKind::Refused),
        (400, FailureKind::Refused),
        (404, FailureKind::Refused),
        (401, FailureKind::SignIn),
        (403, FailureKind::SignIn),
        (500, FailureKind::Refused),
    ] {
        let mut server = older(move |seen| reply(code, "application/json", &error(seen))).await;
        let upstream = upstream(RemoteProtocol::HttpOrSse, server.settings());
        let failure = failure(&upstream).await;
        assert_eq!((failure.kind, failure.speaks), (kind, None), "{code}");
        // It may be a server of the modern era, which does not know `initialize`.
        let asked = match kind {
            FailureKind::SignIn => &["initialize"][..],
            _ => &["initialize", "server/discover"],
        };
        assert_eq!(server.rest(), asked, "{code}");
    }
    // Without an explanation in the body, these statuses do not indicate the wrong transport
    // either.
    for (code, kind) in [
        (401, FailureKind::SignIn),
        (429, FailureKind::Refused),
        (503, FailureKind::Refused),
    ] {
        let mut server = older(move |_| status(code)).await;
        let upstream = upstream(RemoteProtocol::HttpOrSse, server.settings());
        assert_eq!(failure(&upstream).await.kind, kind);
        assert_eq!(server.rest(), ["initialize"], "{code}");
    }
}

/// A gateway in front of an HTTP+SSE server may respond with an error without an id.
#[tokio::test]
async fn error_without_a_request_id_is_not_a_response() {
    let refusal = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not here"}}"#;
    let server = older(move |_| reply(405, "application/json", refusal)).await;
    let upstream = upstream(RemoteProtocol::HttpOrSse, server.settings());
    let Connected { found, .. } = connect(&upstream).await.expect("it connects");
    assert_eq!(found.transport, Transport::Sse);
    let how = found.how.expect("it was found");
    assert!(
        how.ends_with("HTTP 405 Method Not Allowed: not here"),
        "{how}"
    );
}

#[tokio::test]
async fn detected_transport_is_tried_first_next_time() {
    let mut server = older(|_| status(422)).await;
    let upstream = upstream(RemoteProtocol::HttpOrSse, server.settings());
    for expected in [&["initialize", "GET"][..], &["GET", "initialize"]] {
        let Connected { link, found, .. } = connect(&upstream).await.expect("it connects");
        assert!(found.how.expect("still told").contains("HTTP 422"));
        link.close().await;
        assert_eq!(server.rest()[..2], *expected);
    }
}

#[tokio::test]
async fn modern_refusal_is_reported_of_two() {
    let refuse = |seen: &Seen| match seen.what() {
        "initialize" => reply(405, "text/plain", "no posts"),
        _ => reply(404, "text/plain", "no stream"),
    };
    let mut server = stubborn(refuse).await;
    let upstream = upstream(RemoteProtocol::HttpOrSse, server.settings());
    let failure = connect(&upstream).await.err().expect("it must not connect");
    let expected = format!(
        "http://{}/mcp answered HTTP 405 Method Not Allowed: no posts",
        server.address
    );
    assert_eq!(failure.kind, FailureKind::WrongTransport);
    assert_eq!(failure.detail, expected);
    assert_eq!(server.rest(), ["initialize", "GET"]);
}

#[tokio::test]
async fn older_server_failure_reports_its_own_error() {
    let refuse = |seen: &Seen| match seen.what() {
        "initialize" => status(405),
        _ => reply(401, "text/plain", "who?"),
    };
    let server = stubborn(refuse).await;
    let upstream = upstream(RemoteProtocol::HttpOrSse, server.settings());
    let failure = failure(&upstream).await;
    assert_eq!(failure.kind, FailureKind::SignIn);
    assert!(
        failure
            .detail
            .ends_with("/mcp answered HTTP 401 Unauthorized: who?")
    );
}

/// Returns the transport that the probe finds for a server configured with this protocol.
async fn probed_transport(protocol: RemoteProtocol, settings: RemoteSettings) -> Option<Transport> {
    let failure = failure(&upstream(protocol, settings)).await;
    assert_eq!(failure.kind, FailureKind::WrongTransport, "{protocol:?}");
    failure.speaks
}

#[tokio::test]
async fn alternative_transport_is_detected() {
    use RemoteProtocol::{Http, HttpOrSse, Rpc, Sse, WebSocket};
    for protocol in [Http, WebSocket, Rpc] {
        let server = older(|_| status(405)).await;
        let spoken = probed_transport(protocol, server.settings()).await;
        assert_eq!(spoken, Some(Transport::Sse), "{protocol:?}");
    }
    for protocol in [Sse, WebSocket] {
        let mut server = streamable().await;
        let spoken = probed_transport(protocol, server.settings()).await;
        assert_eq!(spoken, Some(Transport::Http), "{protocol:?}");
        // The link opened by the probe is closed again.
        server.saw("DELETE").await;
    }
    for protocol in [HttpOrSse, Http, Sse, Rpc] {
        let (settings, _serving) = websocket().await;
        let spoken = probed_transport(protocol, settings).await;
        assert_eq!(spoken, Some(Transport::WebSocket), "{protocol:?}");
    }
    for protocol in [HttpOrSse, Http, Sse, WebSocket] {
        let server = rpc().await;
        let spoken = probed_transport(protocol, server.settings()).await;
        assert_eq!(spoken, Some(Transport::Rpc), "{protocol:?}");
    }
    for protocol in [HttpOrSse, Http, Sse, WebSocket, Rpc] {
        let server = stubborn(|_| reply(200, "text/html", "<html>hi</html>")).await;
        let spoken = probed_transport(protocol, server.settings()).await;
        assert_eq!(spoken, None, "{protocol:?}");
    }
}

#[tokio::test]
async fn detection_runs_once_and_is_reported_each_time() {
    let mut server = older(|_| status(405)).await;
    let upstream = upstream(RemoteProtocol::Http, server.settings());
    assert_eq!(failure(&upstream).await.speaks, Some(Transport::Sse));
    assert!(server.rest().contains(&"GET".to_owned()));
    for _ in 0..3 {
        assert_eq!(failure(&upstream).await.speaks, Some(Transport::Sse));
        assert_eq!(server.rest(), ["initialize"]);
    }
}

#[tokio::test]
async fn unanswered_probe_moves_on_to_the_next() {
    let respond = |seen: Seen| async move {
        match (seen.what(), seen.header("upgrade"), seen.uri.path()) {
            // The server does not respond.
            ("GET", "", _) => std::future::pending().await,
            ("initialize", _, "/mcp/rpc") => json_reply(&seen.result(hello("2025-06-18"))),
            _ => status(404),
        }
    };
    let server = Server::bare(respond).await;
    let upstream = upstream(RemoteProtocol::Http, server.settings());
    let refused = connect(&upstream).await.err().expect("it must not connect");
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    let failure = upstream.explain(refused).await;
    assert_eq!(failure.speaks, Some(Transport::Rpc));
    let took = began.elapsed();
    let (least, most) = (Duration::from_secs(3), Duration::from_millis(3_100));
    assert!(took >= least && took < most, "{took:?}");
}

pub(super) struct RefusingSharedHandler;

impl SharedNotificationHandler for RefusingSharedHandler {
    fn notice(&self, _: &Arc<Upstream>, _: Notice) {}
    fn ask(&self, _: &Arc<Upstream>, _: Ask) {}
    fn withdraw(&self, _: &Arc<Upstream>, _: AskKey) {}
    fn level(&self) -> Option<&'static str> {
        None
    }
    fn subscribed(&self, _: &Upstream) -> Vec<String> {
        Vec::new()
    }
}

/// Runs the upstream until its state matches `wanted`.
async fn supervised(upstream: &Arc<Upstream>, wanted: impl FnMut(&State) -> bool) -> State {
    let stop = CancellationToken::new();
    let running = tokio::spawn(supervise(
        upstream.clone(),
        stop.clone(),
        Arc::new(RefusingSharedHandler),
    ));
    let mut states = upstream.lifecycle.state.subscribe();
    let state = soon(states.wait_for(wanted)).await.unwrap().clone();
    stop.cancel();
    soon(running).await.unwrap();
    state
}

#[tokio::test]
async fn state_includes_how_the_transport_was_detected() {
    let server = older(|_| status(405)).await;
    let up = upstream(RemoteProtocol::HttpOrSse, server.settings());
    let state = supervised(&up, State::settled).await;
    let State::Up { found, .. } = state else {
        panic!("{state:?}")
    };
    assert_eq!(found.transport, Transport::Sse);
    assert!(found.how.unwrap().contains("HTTP 405"));

    // The detected transport is remembered over several attempts.
    let down = upstream(RemoteProtocol::Http, server.settings());
    let state = supervised(&down, |state| {
        matches!(state, State::Down { attempts: 2, .. })
    });
    let State::Down { failure, .. } = state.await else {
        unreachable!("waited for it")
    };
    assert_eq!(failure.speaks, Some(Transport::Sse));
}

#[tokio::test]
async fn newer_only_server_names_its_revisions() {
    let listed = r#"{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}"#;
    let reported = r#"{"code":-32000,"message":"Bad Request: Unsupported protocol version: 2025-11-25 (supported versions: 2026-07-28)"}"#;
    for (id, error) in [
        ("null", listed),
        ("1", listed),
        ("null", reported),
        ("1", reported),
    ] {
        let server = stubborn(move |_| {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
            reply(400, "application/json", &body)
        })
        .await;
        let failure = failure(&upstream(RemoteProtocol::Http, server.settings())).await;
        assert_eq!(
            failure.kind,
            FailureKind::UnsupportedRevision,
            "{failure:?}"
        );
        let expected = "it rejects the protocol version: it speaks MCP 2026-07-28 only; \
                        the gateway speaks 2024-11-05 to 2026-07-28";
        assert_eq!(failure.detail, expected);
    }
}
