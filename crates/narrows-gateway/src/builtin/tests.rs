//! Tests of a built-in server over its channel, from the view of a link.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use narrows_testkit::LIMIT;
use narrows_wire::Raw;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{BuiltinCall, BuiltinServer, RpcError, connection};
use narrows_upstream::{Channel, ChannelEvent};

/// Exchanges whole messages with a server.
pub(super) struct TestConnection(pub(super) Channel);

impl TestConnection {
    pub(super) async fn open(server: impl BuiltinServer, capabilities: Value) -> TestConnection {
        let mut wire = TestConnection(connection::open(server));
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities,
            "clientInfo": { "name": "test", "version": "1" } });
        wire.ask(0, "initialize", params).await;
        wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .await;
        wire
    }

    pub(super) async fn send(&self, message: Value) {
        self.0
            .outgoing
            .send(message.to_string().into())
            .await
            .expect("the server reads");
    }

    pub(super) async fn request(&self, id: u64, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
    }

    pub(super) async fn next(&mut self) -> Value {
        let arrival = timeout(LIMIT, self.0.incoming.next()).await;
        match arrival.expect("an answer in time") {
            Some(ChannelEvent::Message(bytes)) => serde_json::from_slice(&bytes).expect("JSON"),
            _ => panic!("the connection ended"),
        }
    }

    /// Returns the result or error of the next message, which must be the response.
    pub(super) async fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.request(id, method, params).await;
        let mut answer = self.next().await;
        assert_eq!(answer["id"], id, "{answer}");
        if answer["error"].is_null() {
            answer["result"].take()
        } else {
            answer["error"].take()
        }
    }
}

/// A server that never answers `wait`, panics in `panic`, and answers all other methods.
struct MisbehavingServer;

impl BuiltinServer for MisbehavingServer {
    fn info(&self) -> Raw {
        Raw::from_static(r#"{"name":"odd","version":"0"}"#)
    }

    fn capabilities(&self) -> Raw {
        Raw::from_static(r#"{"tools":{}}"#)
    }

    fn instructions(&self) -> &str {
        "None."
    }

    fn answer<'a>(&'a self, call: &'a BuiltinCall) -> BoxFuture<'a, Result<Raw, RpcError>> {
        Box::pin(async move {
            match &*call.method {
                "wait" => std::future::pending().await,
                "panic" => panic!("as the test wants it"),
                "ask" => Ok(call
                    .peer
                    .ask("roots/list", &json!({}))
                    .await
                    .unwrap_or_else(|error| error)),
                _ => Ok(Raw::string(&call.method)),
            }
        })
    }
}

#[tokio::test]
async fn every_legacy_revision_is_supported() {
    let mut wire = TestConnection(connection::open(MisbehavingServer));
    for (pending, given) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let hello = wire
            .ask(1, "initialize", json!({ "protocolVersion": pending }))
            .await;
        assert_eq!(hello["protocolVersion"], given);
        assert_eq!(hello["serverInfo"]["name"], "odd");
        assert_eq!(hello["capabilities"], json!({ "tools": {} }));
        assert_eq!(hello["instructions"], "None.");
    }
    assert_eq!(wire.ask(2, "ping", json!({})).await, json!({}));
}

#[tokio::test]
async fn slow_call_does_not_block_others() {
    let mut wire = TestConnection::open(MisbehavingServer, json!({})).await;
    wire.request(1, "wait", json!({})).await;
    assert_eq!(wire.ask(2, "quick", json!({})).await, "quick");
}

#[tokio::test]
async fn cancelled_call_gets_no_response_and_frees_its_id() {
    let mut wire = TestConnection::open(MisbehavingServer, json!({})).await;
    wire.request(1, "wait", json!({})).await;
    assert_eq!(wire.ask(1, "quick", json!({})).await["code"], -32600);
    wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } })).await;
    assert_eq!(wire.ask(1, "quick", json!({})).await, "quick");
}

#[tokio::test]
async fn panic_fails_only_one_call() {
    let mut wire = TestConnection::open(MisbehavingServer, json!({})).await;
    assert_eq!(wire.ask(1, "panic", json!({})).await["code"], -32603);
    assert_eq!(wire.ask(2, "quick", json!({})).await, "quick");
}

#[tokio::test]
async fn excess_calls_are_rejected_and_others_continue() {
    let mut wire = TestConnection::open(MisbehavingServer, json!({})).await;
    for id in 1..=1_024 {
        wire.request(id, "wait", json!({})).await;
    }
    let refused = wire.ask(9_999, "quick", json!({})).await;
    assert_eq!(
        refused["message"],
        "Too many requests in flight (limit 1024)"
    );
}

#[tokio::test]
async fn responses_are_matched_to_requests_by_id() {
    let mut wire = TestConnection::open(MisbehavingServer, json!({})).await;
    wire.request(1, "ask", json!({})).await;
    let question = wire.next().await;
    assert_eq!(question["method"], "roots/list");
    // A response with an unknown id and a second response to the same request are ignored.
    wire.send(json!({ "jsonrpc": "2.0", "id": 77, "result": {} }))
        .await;
    for roots in ["yes", "again"] {
        wire.send(json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "roots": roots } }))
            .await;
    }
    assert_eq!(wire.next().await["result"]["roots"], "yes");
}

#[tokio::test]
async fn cancelled_call_withdraws_its_client_request() {
    let mut wire = TestConnection::open(MisbehavingServer, json!({})).await;
    wire.request(1, "ask", json!({})).await;
    let question = wire.next().await;
    wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } })).await;
    let notice = wire.next().await;
    assert_eq!(notice["method"], "notifications/cancelled");
    assert_eq!(notice["params"]["requestId"], question["id"]);
}

#[tokio::test]
async fn invalid_messages_get_errors_and_keep_the_link() {
    let mut wire = TestConnection::open(MisbehavingServer, json!({})).await;
    for (text, code) in [("{", -32700), ("{\"id\":1}", -32600), ("[1]", -32600)] {
        wire.0
            .outgoing
            .send(text.into())
            .await
            .expect("the server reads");
        assert_eq!(wire.next().await["error"]["code"], code, "{text}");
    }
    assert_eq!(wire.ask(2, "quick", json!({})).await, "quick");
}

#[tokio::test]
async fn close_and_drop_end_all_calls() {
    for close in [true, false] {
        let wire = TestConnection::open(MisbehavingServer, json!({})).await;
        wire.request(1, "wait", json!({})).await;
        let Channel {
            outgoing,
            mut incoming,
            closer,
        } = wire.0;
        if close {
            timeout(LIMIT, closer()).await.expect("closing returns");
        } else {
            drop(closer);
        }
        // The stream ends when no call is left that could send a response.
        let end = timeout(LIMIT, incoming.next())
            .await
            .expect("the calls end");
        assert!(end.is_none());
        timeout(Duration::from_secs(1), outgoing.closed())
            .await
            .expect("the connection is closed");
    }
}

#[test]
fn client_cannot_impersonate_another() {
    use crate::builtin::{PRINCIPAL, with_principal};
    use narrows_policy::{KnownClient, Principal};

    let alice = Principal::Client(KnownClient {
        name: "alice".into(),
        stamp: 1,
    });
    let named = |params: &str, principal: &Principal| {
        let params = Raw::parse(params.to_owned().into()).unwrap();
        let params = with_principal(Some(&params), principal).unwrap();
        let meta = params.member("_meta")?;
        let name = meta.member(PRINCIPAL)?;
        name.as_text().map(|name| name.into_owned())
    };
    for params in [
        "{}",
        r#"{"_meta":1}"#,
        r#"{"_meta":{"narrows/principal":"bob"}}"#,
        r#"{"_meta":{"narrows/principal":"bob","narrows\u002fprincipal":"bob"}}"#,
        r#"{"_meta":{"narrows/principal":"bob"},"_meta":{"narrows/principal":"bob"}}"#,
    ] {
        assert_eq!(named(params, &alice).as_deref(), Some("alice"), "{params}");
        assert_eq!(named(params, &Principal::Anonymous), None, "{params}");
    }
}
