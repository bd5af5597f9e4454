//! Tests of clients with tokens, over every entrypoint.

mod doors;
mod limits;
mod page;
mod sessions;
mod upstream;
mod wrong;

use narrows_gateway::settings::{ClientSettings, DoorName, Doors, TokenDigest};
use serde_json::Value;

use crate::Gate;
use crate::client::{Client, Connection, Reply, initialize};

const ALICE: &str = "nrw_Alice7f3kQz0pLm2Wc9VbT4sXa8RyE1uJ6nHd5GoK";
const BOB: &str = "nrw_Bob9xT2mVq8ZkR4cY7wP1nLs6Jd3GfH5aUeB0oCiM";

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

/// An entrypoint, by the request that opens it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A POST to this path with this body.
    Post(&'static str, Body),
    /// A GET that opens an HTTP+SSE stream.
    Stream(&'static str),
    WebSocket(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    Initialize,
    Ping,
}

/// Every entrypoint of a gateway with one server, and the permission that it requires.
const WAYS: [(Way, &str); 10] = [
    (Way::Post("/mcp", Body::Initialize), "default"),
    (Way::Post("/mcp/default", Body::Initialize), "default"),
    (Way::Stream("/sse"), "default"),
    (Way::WebSocket("/ws"), "default"),
    (Way::WebSocket("/ws/default"), "default"),
    (Way::Post("/servers/up/mcp", Body::Initialize), "servers/up"),
    (Way::Stream("/servers/up/sse"), "servers/up"),
    (Way::WebSocket("/servers/up/ws"), "servers/up"),
    (
        Way::Post("/api/mcp-gateway/up/rpc", Body::Ping),
        "servers/up",
    ),
    (Way::Post("/rpc", Body::Ping), "rpc"),
];

impl Way {
    /// Requests access with these headers.
    async fn go(self, gate: &Gate, headers: &[(&str, &str)]) -> Reply {
        let mut connection = self.begin(gate, headers).await;
        match connection.head().await.status {
            200 | 101 if !matches!(self, Way::Post(..)) => Reply::of_head(connection.head().await),
            _ => connection.reply().await,
        }
    }

    async fn begin(self, gate: &Gate, headers: &[(&str, &str)]) -> Connection {
        let (path, method, body) = match self {
            Way::Post(path, Body::Initialize) => (path, "POST", initialize(1, "2025-06-18", "{}")),
            Way::Post(path, Body::Ping) => (path, "POST", PING.to_owned()),
            Way::Stream(path) | Way::WebSocket(path) => (path, "GET", String::new()),
        };
        let upgrade = [
            ("connection", "Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        let mut all = headers.to_vec();
        match self {
            Way::Post(..) => all.push(("content-type", "application/json")),
            Way::WebSocket(_) => all.extend(upgrade),
            Way::Stream(_) => {}
        }
        gate.stranger().at(path).send(method, &all, &body).await
    }

    /// Returns the status of a request with access.
    fn welcome(self) -> u16 {
        match self {
            Way::WebSocket(_) => 101,
            Way::Post(..) | Way::Stream(_) => 200,
        }
    }
}

fn named(name: &str, token: &str) -> ClientSettings {
    ClientSettings {
        token: Some(TokenDigest::of(token)),
        ..ClientSettings::named(name)
    }
}

fn only(doors: impl IntoIterator<Item = DoorName>) -> Doors {
    Doors::These(doors.into_iter().collect())
}

/// Starts a gateway that requires a token, with the clients Alice and Bob, who have no
/// restrictions.
async fn guarded() -> Gate {
    guarded_by(&[named("alice", ALICE), named("bob", BOB)]).await
}

async fn guarded_by(clients: &[ClientSettings]) -> Gate {
    let gate = Gate::start().await;
    gate.gateway.settled().await;
    gate.gateway.replace_clients(clients);
    gate
}

impl Gate {
    /// Creates a client with a token and a session.
    async fn client_with(&self, token: &str) -> Client {
        let mut client = self.stranger().with_token(token);
        client.initialize("2025-06-18", "{}").await;
        client
    }
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// Returns the error of a response.
fn error(reply: &Reply) -> Value {
    reply.json()["error"].take()
}
