//! Tests of HTTP+SSE.

mod ends;
mod requests;
mod sessions;
mod slow;

use serde_json::Value;

use crate::TestGateway;
use crate::client::{Client, Connection, Reply, initialize};

const PING: &str = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A client: its stream and the URL to which it posts.
struct SseClient {
    stream: Connection,
    place: Client,
}

impl SseClient {
    /// Connects a client without a session.
    async fn connect(gate: &TestGateway) -> SseClient {
        SseClient::connect_at(gate, "/sse").await
    }

    async fn connect_at(gate: &TestGateway, path: &str) -> SseClient {
        SseClient::connect_as(gate, gate.new_client().at(path)).await
    }

    async fn connect_as(gate: &TestGateway, client: Client) -> SseClient {
        let mut stream = client.get(None).await;
        assert_eq!(stream.head().await.status, 200);
        let first = stream.event().await.expect("the place to post to");
        assert_eq!(first.kind, "endpoint");
        SseClient {
            stream,
            place: gate.new_client().at(&first.data),
        }
    }

    /// Connects a client with a session.
    async fn open(gate: &TestGateway) -> SseClient {
        SseClient::open_with(gate, "2025-06-18", "{}").await
    }

    async fn open_with(gate: &TestGateway, revision: &str, capabilities: &str) -> SseClient {
        let listener = SseClient::connect(gate).await;
        listener.initialize(revision, capabilities).await
    }

    /// Connects a client with a session and a small receive buffer, so that unread data stays in
    /// the gateway.
    async fn open_with_small_buffer(gate: &TestGateway) -> SseClient {
        let client = gate.new_client().at("/sse").with_small_buffer();
        let listener = SseClient::connect_as(gate, client).await;
        listener.initialize("2025-06-18", "{}").await
    }

    async fn initialize(mut self, revision: &str, capabilities: &str) -> SseClient {
        let listener = &mut self;
        listener
            .send_message(&initialize(1, revision, capabilities))
            .await;
        assert_eq!(
            listener.receive().await["result"]["protocolVersion"],
            revision
        );
        listener.send_message(INITIALIZED).await;
        self
    }

    async fn post(&self, message: &str) -> Reply {
        self.place.post(message).await
    }

    /// Posts a message that must be accepted.
    async fn send_message(&self, message: &str) {
        let reply = self.post(message).await;
        assert_eq!((reply.status, reply.text()), (202, ""), "{message}");
    }

    async fn receive(&mut self) -> Value {
        let event = self.stream.event().await.expect("a message");
        assert_eq!((&*event.kind, &*event.id), ("message", ""));
        serde_json::from_str(&event.data).unwrap()
    }

    /// Returns true if the stream has ended cleanly and further posts are refused.
    async fn ended(&mut self) -> bool {
        self.stream.event().await.is_none()
            && self.post(PING).await.refusal() == r#"404 -32600 "unknown_session" null"#
    }
}
