//! Decoding errors of messages.

use crate::{Id, JsonError};

/// The reason why a message could not be decoded. JSON-RPC defines a different error code for each
/// variant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not JSON (JSON-RPC parse error, id null).
    #[error("not JSON: {0}")]
    Parse(#[from] JsonError),
    /// The text is JSON, but not a JSON-RPC message (invalid request). `id` is set if the message
    /// has a readable id, so that the response can include it.
    #[error("not a JSON-RPC message: {reason}")]
    Invalid {
        id: Option<Id>,
        reason: &'static str,
    },
}
