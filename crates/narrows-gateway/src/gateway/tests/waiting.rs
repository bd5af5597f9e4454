//! Tests of calls that wait for a lost server.

use std::time::Duration;

use narrows_policy::Principal;
use narrows_testkit::http_server::{Reply, Seen, Server, hello, json_reply, status};
use narrows_upstream::exchange::EventSink;
use narrows_wire::{ClientHello, Id, Raw, Request, Revision};
use serde_json::{Value, json};

use crate::gateway::{Entrypoint, Gateway};
use crate::session::Lifetime;
use crate::settings::{RemoteProtocol, RemoteSettings, ServerSettings, Settings, UpstreamKind};

/// Fails after a time limit instead of hanging.
fn within_limit<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let limited = Box::pin(tokio::time::timeout(Duration::from_secs(20), future));
    async { limited.await.expect("within 20 s") }
}

fn at(server: &Server) -> RemoteSettings {
    RemoteSettings {
        protocol: RemoteProtocol::Http,
        url: format!("http://{}/mcp", server.address).parse().unwrap(),
        headers: Vec::new(),
    }
}

fn client() -> ClientHello {
    ClientHello {
        capabilities: Raw::empty_object(),
        client_info: Raw::from_static(r#"{"name":"c","version":"0"}"#),
    }
}

fn raw(value: &Value) -> Raw {
    Raw::parse(value.to_string().into()).expect("a test's JSON")
}

/// Answers all requests and lists one tool without annotations.
fn usual(seen: &Seen) -> Reply {
    let result = match seen.what() {
        "initialize" => hello("2025-06-18"),
        "tools/list" => json!({"tools": [{"name": "drop", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "done"}]}),
        "ping" => json!({}),
        what if what.starts_with("notifications/") => return status(202),
        _ => return status(405),
    };
    json_reply(&seen.result(result))
}

#[tokio::test]
async fn unsent_call_is_sent_after_reconnect() {
    let mut server = Server::bare(|seen| async move { usual(&seen) }).await;
    let kind = UpstreamKind::Remote(at(&server));
    let gateway = Gateway::start(Settings {
        upstreams: vec![ServerSettings::new("srv", kind)],
        ..Settings::default()
    });
    let opening = gateway.open(
        Entrypoint::Endpoint("default"),
        Principal::Anonymous,
        Lifetime::Connection,
        Revision::LATEST_LEGACY,
        client(),
    );
    let opened = within_limit(opening)
        .await
        .expect("an endpoint")
        .expect("a session");
    server.saw("tools/list").await;
    server.stop().await;
    let request = Request {
        id: Id::number(1),
        method: "tools/call".into(),
        params: Some(raw(&json!({"name": "srv__drop", "arguments": {}}))),
    };
    let (sink, _events) = EventSink::channel(1);
    let session = opened.session.clone();
    let call = tokio::spawn(async move { session.request(request, sink, None).await });
    // The test runs on one thread, so the new server is listening before the next connection
    // attempt.
    let down = async {
        while gateway.health().down == 0 {
            tokio::task::yield_now().await;
        }
    };
    within_limit(down).await;
    assert!(!call.is_finished());
    let mut server = Server::in_place_of(&server, |seen| async move { usual(&seen) });
    let answer = within_limit(call).await.unwrap().expect("an answer");
    assert!(answer.as_str().contains("done"), "{}", answer.as_str());
    let calls = server.rest();
    let calls = calls.iter().filter(|what| *what == "tools/call");
    assert_eq!(calls.count(), 1);
    gateway.shutdown().await;
}

/// Stops the server while a call is in flight, then applies changed settings. Returns the error of
/// the call and the number of calls that the server received.
async fn retire_while_a_call_waits(
    replaced_by: impl AsyncFnOnce(&Server) -> Option<Server>,
    change: impl FnOnce(&mut Settings),
) -> (String, usize) {
    let mut server = Server::bare(|seen| async move { usual(&seen) }).await;
    let kind = UpstreamKind::Remote(at(&server));
    let mut settings = Settings {
        upstreams: vec![ServerSettings::new("srv", kind)],
        ..Settings::default()
    };
    let gateway = Gateway::start(settings.clone());
    let opening = gateway.open(
        Entrypoint::Endpoint("default"),
        Principal::Anonymous,
        Lifetime::Connection,
        Revision::LATEST_LEGACY,
        client(),
    );
    let opened = within_limit(opening).await.expect("an endpoint");
    let session = opened.expect("a session").session;
    server.saw("tools/list").await;
    server.stop().await;
    let request = Request {
        id: Id::number(1),
        method: "tools/call".into(),
        params: Some(raw(&json!({"name": "srv__drop", "arguments": {}}))),
    };
    let (sink, _events) = EventSink::channel(1);
    let call = tokio::spawn(async move { session.request(request, sink, None).await });
    let down = async {
        while gateway.health().down == 0 {
            tokio::task::yield_now().await;
        }
    };
    within_limit(down).await;
    let other = replaced_by(&server).await;
    assert!(!call.is_finished());
    change(&mut settings);
    gateway.apply(settings);
    let error = within_limit(call)
        .await
        .unwrap()
        .expect_err("it is not answered");
    let mut other = match other {
        Some(other) => other,
        // Detects a call that would be sent after a restart.
        None => Server::in_place_of(&server, |seen| async move { usual(&seen) }),
    };
    within_limit(gateway.shutdown()).await;
    let calls = other.rest();
    let calls = calls.iter().filter(|what| *what == "tools/call").count();
    (error.to_string(), calls)
}

#[tokio::test]
async fn waiting_call_fails_when_its_server_is_removed() {
    let nobody = async |_: &Server| None;
    let outcome = retire_while_a_call_waits(nobody, |settings| settings.upstreams.clear()).await;
    let removed = "Server 'srv' is not available: it was removed";
    assert_eq!(outcome, (removed.to_owned(), 0));

    // A server that accepts the connection and does not answer.
    let silent = async |server: &Server| {
        let silent = Server::in_place_of(server, |_| std::future::pending());
        let mut silent = silent;
        silent.saw("initialize").await;
        Some(silent)
    };
    let outcome = retire_while_a_call_waits(silent, |settings| settings.upstreams.clear()).await;
    assert_eq!(outcome, (removed.to_owned(), 0));
}

#[tokio::test]
async fn waiting_call_fails_when_its_server_is_disabled() {
    let nobody = async |_: &Server| None;
    let disable = |settings: &mut Settings| settings.upstreams[0].upstream.enabled = false;
    let outcome = retire_while_a_call_waits(nobody, disable).await;
    let disabled = "Server 'srv' is not available: it was disabled";
    assert_eq!(outcome, (disabled.to_owned(), 0));
}
