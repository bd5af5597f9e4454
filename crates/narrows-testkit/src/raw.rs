//! Raw clients: they exchange bytes with the gateway, without a library that would correct
//! mistakes.
//!
//! A [`Client`] has the same methods for every transport, so that one test can run over all of
//! them: write it for [`Any`], or for any [`Line`].
//!
//! | client | open | effect of closing | effect of dropping |
//! |---|---|---|---|
//! | [`Stdio`] | [`Stdio::start`] | stdin ends | the child is killed |
//! | [`Streamable`] | [`Streamable::at`] | DELETE | the connections end |
//! | [`Sse`] | [`Sse::connect`] | the stream ends | the stream ends |
//! | [`WebSocket`] | [`WebSocket::connect`] | close frame with 1000 | the connection ends |
//!
//! [`Http`] is the layer below: requests and responses, without MCP streams.

mod client;
mod event;
mod events;
mod http;
mod response;
mod sse;
mod stdio;
mod streamable;
mod websocket;

pub use client::{Any, Client, Line, Waiting};
pub use event::Event;
pub use events::Events;
pub use http::{Http, MCP_HEADERS};
pub use response::Response;
pub use sse::Sse;
pub use stdio::Stdio;
pub use streamable::Streamable;
pub use websocket::WebSocket;

use tokio::time::timeout;

use crate::LIMIT;

async fn limited<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(LIMIT, future)
        .await
        .unwrap_or_else(|_| panic!("{what}: nothing within {LIMIT:?}"))
}
