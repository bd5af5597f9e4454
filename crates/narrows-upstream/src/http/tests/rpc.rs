//! Tests plain JSON-RPC: no sessions, no streams, and the path `/rpc`.

use crate::testing::Addressed;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::{HttpLink, HttpProtocol};
use super::server::{Reply, Seen, Server, hello, json_reply, reply, status};
use super::{call, client, soon, try_open_as};
use crate::carrier::Carrier;
use crate::failure::{Failure, LinkError};
use crate::handshake::ServerHello;
use crate::link::Link;
use crate::offer::{ListReader, Offer};
use crate::secrets::Secrets;

/// Starts a server that responds to requests at `/rpc` only.
async fn server(respond: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Server {
    Server::bare(move |seen: Seen| {
        let reply = match (seen.method.as_str(), seen.uri.path()) {
            ("POST", "/rpc") => respond(&seen),
            _ => status(404),
        };
        async move { reply }
    })
    .await
}

/// Opens a link to the server at `path`.
async fn open(server: &Server, path: &str) -> Result<(Arc<HttpLink>, ServerHello), Failure> {
    let mut settings = server.settings();
    let url = format!("http://{}{path}", server.address);
    settings.url = url.parse().unwrap();
    let opened = soon(try_open_as(HttpProtocol::Rpc, client(), &settings)).await;
    opened.map(|(link, hello, _)| (link, hello))
}

/// Responds as a server that supports the MCP handshake.
fn handshake_reply(seen: &Seen) -> Reply {
    match seen.what() {
        "initialize" => json_reply(&seen.result(hello("2025-06-18"))),
        "notifications/initialized" => status(204),
        _ => json_reply(&seen.result(json!("ok"))),
    }
}

fn error(seen: &Seen, code: i32) -> String {
    let error = json!({"code": code, "message": "unknown"});
    json!({"jsonrpc": "2.0", "id": seen.body["id"], "error": error}).to_string()
}

#[tokio::test]
async fn requests_use_the_rpc_path_below_the_url() {
    for (path, target) in [
        ("", "/rpc"),
        ("/", "/rpc"),
        ("/api", "/api/rpc"),
        ("/api/", "/api/rpc"),
        ("/api//", "/api/rpc"),
        ("/api?key=1&x=/", "/api/rpc?key=1&x=/"),
        ("/?key=1", "/rpc?key=1"),
    ] {
        let mut server = Server::bare(|seen: Seen| async move { handshake_reply(&seen) }).await;
        let (link, _) = open(&server, path).await.unwrap();
        call(&link).await.unwrap();
        for what in ["initialize", "notifications/initialized", "tools/call"] {
            assert_eq!(server.saw(what).await.uri, target, "{path}: {what}");
        }
    }
}

#[tokio::test]
async fn no_sessions_or_streams_are_used() {
    let mut server = server(|seen| {
        let mut reply = handshake_reply(seen);
        let session = "s1".parse().unwrap();
        reply.headers_mut().insert("mcp-session-id", session);
        reply
    })
    .await;
    let (link, hello) = open(&server, "/").await.unwrap();
    assert_eq!(hello.revision.as_str(), "2025-06-18");
    assert_eq!(call(&link).await.unwrap().as_str(), "\"ok\"");
    assert!(!link.is_listening());
    soon(link.close()).await;
    for what in ["initialize", "notifications/initialized", "tools/call"] {
        let seen = server.saw(what).await;
        assert_eq!(seen.header("accept"), "application/json", "{what}");
        assert_eq!(seen.header("content-type"), "application/json");
        for absent in ["mcp-session-id", "mcp-protocol-version", "last-event-id"] {
            assert!(!seen.headers.contains_key(absent), "{what}: {absent}");
        }
    }
    // The link sends neither GET nor DELETE.
    assert_eq!(server.rest(), Vec::<String>::new());
}

#[tokio::test]
async fn server_without_initialize_is_probed_by_its_lists() {
    for code in [200, 404] {
        let mut server = server(move |seen| match seen.what() {
            "tools/list" => json_reply(&seen.result(json!({"tools": [{"name": "add"}]}))),
            "tools/call" => json_reply(&seen.result(json!(3))),
            _ => reply(code, "application/json", &error(seen, -32601)),
        })
        .await;
        let (link, hello) = open(&server, "/").await.unwrap();
        let http = link.clone();
        let link = Link::legacy(Carrier::Http(link));
        let (limits, limit) = (crate::testing::LIMITS, Duration::from_secs(5));
        let reader = ListReader {
            link: &link,
            server: "srv",
            limits: &limits,
            timeout: limit,
            mark: "me",
            secrets: &Secrets::default(),
        };
        let reading = Offer::read(reader, hello);
        let offer = soon(reading).await.unwrap();
        let names: Vec<&str> = offer.tools.iter().map(|tool| &*tool.key).collect();
        assert_eq!(names, ["add"]);
        assert!(offer.prompts.is_empty() && offer.resources.is_empty());
        assert_eq!(call(&http).await.unwrap().as_str(), "3");
        // A server without a handshake does not receive `notifications/initialized`.
        let mut asked = server.rest();
        asked.sort();
        assert_eq!(
            asked,
            [
                "initialize",
                "prompts/list",
                "resources/list",
                "resources/templates/list",
                "tools/call",
                "tools/list",
            ]
        );
    }
}

#[tokio::test]
async fn other_initialize_errors_fail_the_connection() {
    async fn failure(respond: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> String {
        let server = server(respond).await;
        let failure = open(&server, "/").await.err().expect("it must not open");
        let detail = failure.detail.replace(&server.address.to_string(), "HOST");
        format!("{:?}: {detail}", failure.kind)
    }
    let refused = failure(|seen| json_reply(&error(seen, -32600))).await;
    let expected = "Refused: it answered initialize with an error: unknown";
    assert_eq!(refused, expected);
    for (code, expected) in [
        (
            404,
            "WrongTransport: http://HOST/rpc answered HTTP 404 Not Found: why",
        ),
        (
            405,
            "WrongTransport: http://HOST/rpc answered HTTP 405 Method Not Allowed: why",
        ),
        (
            401,
            "SignIn: http://HOST/rpc answered HTTP 401 Unauthorized: why",
        ),
        (
            500,
            "Refused: http://HOST/rpc answered HTTP 500 Internal Server Error: why",
        ),
    ] {
        let reported = failure(move |_| reply(code, "text/plain", "why")).await;
        assert_eq!(reported, expected);
    }
    let page = failure(|_| reply(200, "text/html", "<html>hi</html>")).await;
    let expected = "WrongTransport: http://HOST/rpc: it answers with a web page";
    assert_eq!(page, expected);
    // Only plain JSON-RPC permits a server without a handshake.
    let streamable = Server::bare(|seen: Seen| async move { json_reply(&error(&seen, -32601)) });
    let streamable = streamable.await;
    let settings = streamable.settings();
    let opening = try_open_as(HttpProtocol::Streamable, client(), &settings);
    assert!(soon(opening).await.is_err());
}

#[tokio::test]
async fn failed_call_is_reported_and_the_link_continues() {
    let server = server(|seen| match seen.body["params"]["name"].as_str() {
        None => handshake_reply(seen),
        Some("t") => reply(500, "text/plain", "oh"),
        Some("page") => reply(200, "text/html", "<html>hi</html>"),
        Some("empty") => status(204),
        Some(_) => json_reply(&error(seen, -5)),
    })
    .await;
    let (link, _) = open(&server, "/").await.unwrap();
    let Err(LinkError::Closed { failure, .. }) = call(&link).await else {
        panic!("refused")
    };
    let detail = failure.detail.replace(&server.address.to_string(), "HOST");
    assert_eq!(
        detail,
        "http://HOST/rpc answered HTTP 500 Internal Server Error: oh"
    );
    for (name, expected) in [
        ("page", "it answers with a web page"),
        ("empty", "HTTP 204 No Content without an answer"),
    ] {
        let Err(LinkError::Invalid(reason)) = named(&link, name).await else {
            panic!("invalid")
        };
        assert_eq!(reason, expected);
    }
    let Err(LinkError::Answered(answered)) = named(&link, "other").await else {
        panic!("answered")
    };
    assert_eq!(answered.as_str(), r#"{"code":-5,"message":"unknown"}"#);
    assert!(link.endpoint.end_reason().is_none());
}

async fn named(link: &Arc<HttpLink>, name: &str) -> Result<narrows_wire::Raw, LinkError> {
    let params: Value = json!({"name": name});
    let call = super::Outgoing::own("tools/call", Some(super::raw(&params)), super::LONG);
    soon(link.request(call)).await
}
