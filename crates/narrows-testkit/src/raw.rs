//! Raw clients: bytes to the gateway and bytes back, with nothing between that
//! would put right what is wrong.
//!
//! Whatever carries the messages, a [`Client`] talks in the same words, so that
//! one test can be run over every transport: write it for [`Any`], or for any
//! [`Line`].
//!
//! | client | open | the server hears of its end when it is closed | and when dropped |
//! |---|---|---|---|
//! | [`Stdio`] | [`Stdio::start`] | stdin ends | it is killed |
//! | [`Streamable`] | [`Streamable::at`] | DELETE | the connections end |
//! | [`Sse`] | [`Sse::connect`] | the stream ends | the stream ends |
//! | [`WebSocket`] | [`WebSocket::connect`] | a close with 1000 | the connection ends |
//!
//! [`Http`] is below them: requests and answers, with no idea of MCP's streams.

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
