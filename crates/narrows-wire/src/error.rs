//! What can be wrong with bytes from a peer.

use crate::{Id, JsonError};

/// Why a message could not be read. The two variants exist because JSON-RPC
/// answers them with different codes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not JSON (JSON-RPC: parse error, id null).
    #[error("not JSON: {0}")]
    Parse(#[from] JsonError),
    /// JSON, but no JSON-RPC message (invalid request). `id` is there when the
    /// message had a readable one, so that the answer can be told apart.
    #[error("not a JSON-RPC message: {reason}")]
    Invalid {
        id: Option<Id>,
        reason: &'static str,
    },
}
