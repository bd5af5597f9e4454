//! Tests of HTTP+SSE.

mod doors;
mod ends;
mod sessions;
mod slow;

use serde_json::Value;

use crate::Gate;
use crate::client::{Client, Connection, Reply, initialize};

const PING: &str = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A client: its stream and the URL to which it posts.
struct Listener {
    stream: Connection,
    place: Client,
}

impl Listener {
    /// Connects a client without a session.
    async fn connect(gate: &Gate) -> Listener {
        Listener::connect_at(gate, "/sse").await
    }

    async fn connect_at(gate: &Gate, path: &str) -> Listener {
        Listener::connect_as(gate, gate.stranger().at(path)).await
    }

    async fn connect_as(gate: &Gate, client: Client) -> Listener {
        let mut stream = client.get(None).await;
        assert_eq!(stream.head().await.status, 200);
        let first = stream.event().await.expect("the place to post to");
        assert_eq!(first.kind, "endpoint");
        Listener {
            stream,
            place: gate.stranger().at(&first.data),
        }
    }

    /// Connects a client with a session.
    async fn open(gate: &Gate) -> Listener {
        Listener::open_with(gate, "2025-06-18", "{}").await
    }

    async fn open_with(gate: &Gate, revision: &str, capabilities: &str) -> Listener {
        let listener = Listener::connect(gate).await;
        listener.initialize(revision, capabilities).await
    }

    /// Connects a client with a session and a small receive buffer, so that unread data stays in
    /// the gateway.
    async fn open_with_small_buffer(gate: &Gate) -> Listener {
        let client = gate.stranger().at("/sse").with_small_buffer();
        let listener = Listener::connect_as(gate, client).await;
        listener.initialize("2025-06-18", "{}").await
    }

    async fn initialize(mut self, revision: &str, capabilities: &str) -> Listener {
        let listener = &mut self;
        listener.say(&initialize(1, revision, capabilities)).await;
        assert_eq!(listener.hear().await["result"]["protocolVersion"], revision);
        listener.say(INITIALIZED).await;
        self
    }

    async fn post(&self, message: &str) -> Reply {
        self.place.post(message).await
    }

    /// Posts a message that must be accepted.
    async fn say(&self, message: &str) {
        let reply = self.post(message).await;
        assert_eq!((reply.status, reply.text()), (202, ""), "{message}");
    }

    async fn hear(&mut self) -> Value {
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
