//! Tests of clients with tokens, over every entrypoint.

mod entrypoints;
mod limits;
mod page;
mod sessions;
mod upstream;
mod wrong_tokens;

use narrows_gateway::settings::{AllowedEntrypoints, ClientSettings, EntrypointName, TokenDigest};
use serde_json::Value;

use crate::TestGateway;
use crate::client::{Client, Connection, Reply, initialize};

const ALICE: &str = "nrw_Alice7f3kQz0pLm2Wc9VbT4sXa8RyE1uJ6nHd5GoK";
const BOB: &str = "nrw_Bob9xT2mVq8ZkR4cY7wP1nLs6Jd3GfH5aUeB0oCiM";

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

/// An entrypoint, by the request that opens it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestForm {
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
const WAYS: [(RequestForm, &str); 10] = [
    (RequestForm::Post("/mcp", Body::Initialize), "default"),
    (
        RequestForm::Post("/mcp/default", Body::Initialize),
        "default",
    ),
    (RequestForm::Stream("/sse"), "default"),
    (RequestForm::WebSocket("/ws"), "default"),
    (RequestForm::WebSocket("/ws/default"), "default"),
    (
        RequestForm::Post("/servers/up/mcp", Body::Initialize),
        "servers/up",
    ),
    (RequestForm::Stream("/servers/up/sse"), "servers/up"),
    (RequestForm::WebSocket("/servers/up/ws"), "servers/up"),
    (
        RequestForm::Post("/api/mcp-gateway/up/rpc", Body::Ping),
        "servers/up",
    ),
    (RequestForm::Post("/rpc", Body::Ping), "rpc"),
];

impl RequestForm {
    /// Requests access with these headers.
    async fn go(self, gate: &TestGateway, headers: &[(&str, &str)]) -> Reply {
        let mut connection = self.begin(gate, headers).await;
        match connection.head().await.status {
            200 | 101 if !matches!(self, RequestForm::Post(..)) => {
                Reply::of_head(connection.head().await)
            }
            _ => connection.reply().await,
        }
    }

    async fn begin(self, gate: &TestGateway, headers: &[(&str, &str)]) -> Connection {
        let (path, method, body) = match self {
            RequestForm::Post(path, Body::Initialize) => {
                (path, "POST", initialize(1, "2025-06-18", "{}"))
            }
            RequestForm::Post(path, Body::Ping) => (path, "POST", PING.to_owned()),
            RequestForm::Stream(path) | RequestForm::WebSocket(path) => {
                (path, "GET", String::new())
            }
        };
        let upgrade = [
            ("connection", "Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        let mut all = headers.to_vec();
        match self {
            RequestForm::Post(..) => all.push(("content-type", "application/json")),
            RequestForm::WebSocket(_) => all.extend(upgrade),
            RequestForm::Stream(_) => {}
        }
        gate.new_client().at(path).send(method, &all, &body).await
    }

    /// Returns the status of a request with access.
    fn welcome(self) -> u16 {
        match self {
            RequestForm::WebSocket(_) => 101,
            RequestForm::Post(..) | RequestForm::Stream(_) => 200,
        }
    }
}

fn named(name: &str, token: &str) -> ClientSettings {
    ClientSettings {
        token: Some(TokenDigest::of(token)),
        ..ClientSettings::named(name)
    }
}

fn only(entrypoints: impl IntoIterator<Item = EntrypointName>) -> AllowedEntrypoints {
    AllowedEntrypoints::These(entrypoints.into_iter().collect())
}

/// Starts a gateway that requires a token, with the clients Alice and Bob, who have no
/// restrictions.
async fn guarded() -> TestGateway {
    guarded_by(&[named("alice", ALICE), named("bob", BOB)]).await
}

async fn guarded_by(clients: &[ClientSettings]) -> TestGateway {
    let gate = TestGateway::start().await;
    gate.gateway.settled().await;
    gate.gateway.replace_clients(clients);
    gate
}

impl TestGateway {
    /// Creates a client with a token and a session.
    async fn client_with(&self, token: &str) -> Client {
        let mut client = self.new_client().with_token(token);
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
