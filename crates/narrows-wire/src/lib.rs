//! Encoding and decoding of MCP messages.
//!
//! This crate owns everything about MCP messages that needs no socket, file or clock: JSON kept as
//! the bytes in which it arrived ([`Raw`]), the JSON-RPC envelope ([`Message`]), framing on byte
//! streams ([`frame`], [`sse`]), the protocol revisions ([`Revision`]), and the encoding of all
//! opaque values that the gateway issues ([`token`]).
//!
//! It must not depend on tokio, HTTP, files or time. Start reading at [`decode`].

mod client_hello;
mod envelope;
mod error;
pub mod frame;
mod id;
mod item;
pub mod modern;
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
