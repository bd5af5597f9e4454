//! Bytes to MCP and back.
//!
//! This crate owns everything that can be said about MCP messages without a
//! socket, a file or a clock: JSON kept as the bytes it came in ([`Raw`]), the
//! JSON-RPC envelope around it ([`Message`]), framing on byte streams
//! ([`frame`], [`sse`]), the protocol revisions ([`Revision`]) and the one
//! codec for everything opaque that the gateway hands out ([`token`]).
//!
//! It refuses to know tokio, HTTP, files and time. Enter at [`decode`].

mod client_hello;
mod envelope;
mod error;
pub mod frame;
mod id;
mod item;
pub mod redact;
mod revision;
pub mod sse;
#[cfg(test)]
mod testing;
pub mod text;
mod timestamp;
pub mod token;
pub mod tool_result;

pub use client_hello::{Asks, ClientHello};
pub use envelope::{
    Incoming, Message, Notification, Request, Response, decode, encode_error, encode_notification,
    encode_request, encode_result, result_parts,
};
pub use error::Error;
pub use id::Id;
pub use item::ItemKind;
pub use narrows_json::{Edit, Error as JsonError, Kind, Raw, Reason as JsonReason, keeping};
pub use revision::Revision;
pub use timestamp::Timestamp;
