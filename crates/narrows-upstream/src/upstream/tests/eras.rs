//! Tests the detection of a server's era.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use narrows_wire::Revision;
use serde_json::json;

use super::transport_detection::{connect, upstream, upstream_with};
use crate::failure::{Failure, FailureKind};
use crate::settings::{Era, RemoteProtocol};
use crate::testing::server::{Reply, Seen, Server, hello, json_reply, reply, status};
use crate::testing::{Addressed, soon};
use crate::upstream::Upstream;

fn discovery(seen: &Seen) -> Reply {
    json_reply(&seen.result(json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"],
        "capabilities": {}, "ttlMs": 0, "cacheScope": "private",
    })))
}

fn refusal(code: u16, id: &serde_json::Value, number: i64) -> Reply {
    let data = json!({"supported": ["2026-07-28"]});
    let error = match number {
        -32022 => json!({"code": number, "message": "Unsupported protocol version", "data": data}),
        _ => json!({"code": number, "message": "no"}),
    };
    let body = json!({"jsonrpc": "2.0", "id": id, "error": error});
    reply(code, "application/json", &body.to_string())
}

fn greeting(seen: &Seen, session: bool) -> Reply {
    let mut reply = json_reply(&seen.result(hello("2025-11-25")));
    if session {
        let headers = reply.headers_mut();
        headers.insert("mcp-session-id", "s".parse().unwrap());
    }
    reply
}

async fn serve(respond: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Server {
    Server::bare(move |seen| {
        let reply = respond(&seen);
        async move { reply }
    })
    .await
}

/// Connects, and returns the revision and the reason for the era.
async fn era(upstream: &Arc<Upstream>) -> Result<(Revision, Option<String>), Failure> {
    let connected = connect(upstream).await?;
    connected.link.close().await;
    Ok((connected.hello.revision, connected.found.era))
}

#[tokio::test]
async fn a_server_that_refuses_initialize_is_modern() {
    for (code, number, has_id) in [
        (400, -32022, true),
        (400, -32022, false),
        (400, -32020, false),
        (404, -32601, true),
        (200, -32600, true),
        (500, -32603, true),
    ] {
        let mut server = serve(move |seen| match seen.what() {
            "server/discover" => discovery(seen),
            _ if has_id => refusal(code, &seen.body["id"], number),
            _ => refusal(code, &serde_json::Value::Null, number),
        })
        .await;
        let up = upstream(RemoteProtocol::HttpOrSse, server.settings());
        let found = era(&up).await.unwrap();
        let expected = (
            Revision::V2026_07_28,
            Some("it refuses initialize".to_owned()),
        );
        assert_eq!(found, expected, "{code} {number}");
        assert_eq!(server.rest(), ["initialize", "server/discover"]);
        // It is remembered.
        assert_eq!(era(&up).await.unwrap(), expected);
        assert_eq!(server.rest(), ["server/discover"]);
    }
}

#[tokio::test]
async fn a_server_that_answers_initialize_with_our_modern_revision_is_modern() {
    let server = serve(|seen| match seen.what() {
        "server/discover" => discovery(seen),
        "initialize" => json_reply(&seen.result(hello("2026-07-28"))),
        _ => status(202),
    })
    .await;
    let up = upstream(RemoteProtocol::Http, server.settings());
    let connected = connect(&up).await.expect("it connects");
    assert_eq!(connected.hello.revision, Revision::V2026_07_28);
    // Legacy clients require a name and a version, which this server does not send.
    let info = connected.hello.server_info;
    assert_eq!(info.as_str(), r#"{"name":"srv","version":"unknown"}"#);
}

#[tokio::test]
async fn of_both_eras_the_one_with_sessions_is_used() {
    for (session, revision, how) in [
        (true, Revision::V2025_11_25, "initialize opens a session"),
        (
            false,
            Revision::V2026_07_28,
            "initialize opens no session, and server/discover works",
        ),
    ] {
        let mut server = serve(move |seen| match seen.what() {
            "server/discover" => discovery(seen),
            "initialize" => greeting(seen, session),
            "GET" => status(405),
            _ => status(202),
        })
        .await;
        let up = upstream(RemoteProtocol::Http, server.settings());
        for _ in 0..2 {
            let found = era(&up).await.unwrap();
            assert_eq!(found, (revision, Some(how.to_owned())));
        }
        let asked = server.rest();
        let discovered = asked.iter().filter(|what| *what == "server/discover");
        assert_eq!(discovered.count(), if session { 0 } else { 2 }, "{asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_legacy_server_without_sessions_is_asked_once() {
    for silent in [false, true] {
        let mut server = Server::bare(move |seen: Seen| async move {
            match seen.what() {
                "server/discover" if silent => std::future::pending().await,
                "server/discover" => refusal(200, &seen.body["id"], -32601),
                "initialize" => greeting(&seen, false),
                "GET" => status(405),
                _ => status(202),
            }
        })
        .await;
        let up = upstream(RemoteProtocol::Http, server.settings());
        for _ in 0..2 {
            let (revision, how) = era(&up).await.unwrap();
            assert_eq!(revision, Revision::V2025_11_25);
            assert!(how.unwrap().contains("does not work"));
        }
        let asked = server.rest();
        let discovered = asked.iter().filter(|what| *what == "server/discover");
        assert_eq!(discovered.count(), 1, "{asked:?}");
    }
}

#[tokio::test]
async fn an_era_that_is_refused_is_detected_anew() {
    let downgraded = Arc::new(AtomicBool::new(false));
    let is_old = downgraded.clone();
    let server = serve(move |seen| {
        let is_old = is_old.load(Ordering::Relaxed);
        match seen.what() {
            "server/discover" if !is_old => discovery(seen),
            "server/discover" => refusal(400, &seen.body["id"], -32600),
            "initialize" if is_old => greeting(seen, true),
            "initialize" => refusal(400, &seen.body["id"], -32022),
            "GET" => status(405),
            _ => status(202),
        }
    })
    .await;
    let up = upstream(RemoteProtocol::Http, server.settings());
    for (old, revision) in [
        (false, Revision::V2026_07_28),
        (true, Revision::V2025_11_25),
        (false, Revision::V2026_07_28),
    ] {
        downgraded.store(old, Ordering::Relaxed);
        assert_eq!(era(&up).await.unwrap().0, revision);
    }
}

#[tokio::test]
async fn a_configured_era_is_the_only_one_tried() {
    for (configured, asked) in [
        (Era::Legacy, "initialize"),
        (Era::Modern, "server/discover"),
    ] {
        let mut server = serve(|seen| refusal(400, &seen.body["id"], -32022)).await;
        let settings = server.settings();
        let up = upstream_with(RemoteProtocol::HttpOrSse, settings, |settings| {
            settings.era = configured;
        });
        let failure = soon(era(&up)).await.expect_err("it must not connect");
        assert_eq!(failure.kind, FailureKind::UnsupportedRevision);
        assert!(failure.detail.contains("2026-07-28"), "{failure:?}");
        let is_named = failure.detail.contains("\"era\" is \"legacy\"");
        assert_eq!(is_named, configured == Era::Legacy, "{failure:?}");
        assert_eq!(server.rest(), [asked]);
    }
}
