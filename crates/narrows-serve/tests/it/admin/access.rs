//! Tests of authentication and local access.

use std::time::Duration;

use futures_util::future::select_all;
use narrows_serve::HttpSettings;
use serde_json::Value;

use super::{AdminGateway, CONFIGURED, OF_THIS_RUN};
use crate::client::{Client, Reply};
use crate::{TestGateway, within};

/// Returns the status and error code.
fn refusal(reply: &Reply) -> (u16, Value) {
    (reply.status, reply.json()["error"]["code"].clone())
}

async fn with_token(admin: &AdminGateway, authorization: &str) -> Reply {
    let headers = [("authorization", authorization)];
    let mut connection = admin.send("GET", "/status", &headers, "").await;
    connection.reply().await
}

#[tokio::test]
async fn admin_api_is_absent_without_a_token() {
    let gate = TestGateway::start().await;
    let headers = [("authorization", "Bearer nra_x")];
    for path in ["/api/v1", "/api/v1/status", "/api/v1/openapi.json"] {
        let client = gate.new_client().at(path);
        let reply = client.send("GET", &headers, "").await.reply().await;
        assert_eq!(reply.status, 404, "{path}");
        assert!(reply.json()["error"].is_string(), "{path}");
    }
}

#[tokio::test]
async fn either_token_grants_access() {
    let admin = AdminGateway::open().await;
    for token in [CONFIGURED, OF_THIS_RUN] {
        let reply = with_token(&admin, &format!("Bearer {token}")).await;
        assert_eq!(reply.status, 200, "{token}");
        assert_eq!(reply.header("cache-control"), Some("no-store"));
    }
    let client = "Bearer nrw_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let basic = format!("Basic {CONFIGURED}");
    for wrong in ["Bearer nra_wrong", client, &basic, CONFIGURED, "Bearer", ""] {
        let reply = with_token(&admin, wrong).await;
        assert_eq!(refusal(&reply), (401, "unauthorized".into()), "{wrong}");
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
    }
    let mut connection = admin.send("GET", "/status", &[], "").await;
    let reply = connection.reply().await;
    assert_eq!(refusal(&reply), (401, "unauthorized".into()));
}

#[tokio::test]
async fn two_tokens_are_rejected() {
    let admin = AdminGateway::open().await;
    let token = format!("Bearer {CONFIGURED}");
    let headers = [("authorization", &*token), ("authorization", &*token)];
    let mut connection = admin.send("GET", "/status", &headers, "").await;
    assert_eq!(connection.reply().await.status, 400);
}

#[tokio::test]
async fn every_route_requires_a_token() {
    let admin = AdminGateway::open().await;
    let json = [("content-type", "application/json")];
    for (method, path) in [
        ("GET", "/openapi.json"),
        ("GET", "/events"),
        ("GET", "/nowhere"),
        ("PATCH", "/servers"),
        ("DELETE", "/servers/demo"),
        ("DELETE", "/sessions/1"),
    ] {
        let mut connection = admin.send(method, path, &json, "").await;
        assert_eq!(connection.reply().await.status, 401, "{method} {path}");
    }
    assert_eq!(admin.recorder.asked(), []);
}

#[tokio::test]
async fn foreign_hosts_and_origins_get_the_same_error_format() {
    let admin = AdminGateway::open().await;
    let client = Client::new(admin.address).at("/api/v1/status");
    let token = format!("Bearer {CONFIGURED}");
    let headers = [
        ("authorization", &*token),
        ("origin", "https://evil.example"),
    ];
    let reply = client.send("GET", &headers, "").await.reply().await;
    assert_eq!(refusal(&reply), (403, "forbidden".into()));

    let mut connection = crate::client::Connection::open(admin.address).await;
    let request = format!(
        "GET /api/v1/status HTTP/1.1\r\nhost: evil.example\r\nauthorization: {token}\r\n\r\n"
    );
    connection.write(request.as_bytes()).await;
    assert_eq!(
        refusal(&connection.reply().await),
        (403, "forbidden".into())
    );
}

#[tokio::test]
async fn own_origin_may_use_every_method() {
    let admin = AdminGateway::open().await;
    let headers = [
        ("origin", "http://localhost:3000"),
        ("access-control-request-method", "DELETE"),
        ("access-control-request-headers", "authorization"),
    ];
    let mut connection = admin.send("OPTIONS", "/servers/demo", &headers, "").await;
    let reply = connection.reply().await;
    assert_eq!(reply.status, 204);
    let methods = reply.header("access-control-allow-methods").unwrap();
    assert!(
        methods.contains("DELETE") && methods.contains("PUT"),
        "{methods}"
    );
    let allowed = reply.header("access-control-allow-headers");
    assert_eq!(allowed, Some("authorization"));
}

#[tokio::test]
async fn repeated_wrong_tokens_are_throttled() {
    let hour = Duration::from_secs(3600);
    let admin = AdminGateway::with(HttpSettings::default(), |auth| {
        auth.wrong_token_delay = hour;
    })
    .await;
    // Of nine concurrent requests, eight wait for their delayed answer and one is refused at once.
    let tries = (0..9).map(|_| Box::pin(with_token(&admin, "Bearer nra_guess")));
    let answered = within("one of them", select_all(tries));
    let (reply, _, others) = answered.await;
    assert_eq!(refusal(&reply), (429, "too_many".into()));
    assert_eq!(reply.header("retry-after"), Some("1"));
    // The waiting requests do not affect a client with a valid token.
    assert_eq!(admin.get("/status").await.status, 200);
    assert_eq!(others.len(), 8);
}

#[tokio::test]
async fn unknown_paths_and_methods_are_reported() {
    let admin = AdminGateway::open().await;
    for path in [
        "",
        "/",
        "/nowhere",
        "/servers/",
        "/servers/a/b",
        "/status/",
        "/%zz",
    ] {
        let reply = admin.get(path).await;
        assert_eq!(refusal(&reply), (404, "unknown".into()), "{path}");
    }
    for (method, path, allowed) in [
        ("POST", "/status", "GET"),
        ("PATCH", "/servers", "POST"),
        ("POST", "/servers/demo", "DELETE"),
        ("GET", "/servers/demo/enable", "POST"),
        ("GET", "/sessions/1", "DELETE"),
        ("TRACE", "/presets/review", "PUT"),
        ("OPTIONS", "/servers/demo/enable", "POST"),
    ] {
        let reply = admin.ask(method, path, "").await;
        assert_eq!(refusal(&reply), (405, "method".into()), "{method} {path}");
        let allow = reply.header("allow").unwrap();
        assert!(allow.contains(allowed), "{method} {path}: {allow}");
    }
}
