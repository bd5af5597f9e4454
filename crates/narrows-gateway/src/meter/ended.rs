//! How a request ended, as far as it is counted and remembered.

use narrows_wire::{ItemKind, Raw};

use super::words::Outcome;
use crate::error::Error;
use crate::forward::{ForwardError, Reply};
use narrows_upstream::Error as UpstreamError;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(super) outcome: Outcome,
    /// The stable word of the error.
    pub(super) code: Option<&'static str>,
    /// What a preset refused, if one did.
    pub(super) denied: Option<ItemKind>,
    /// Of the result, or of the error that a server answered.
    pub(super) bytes: usize,
}

impl Ended {
    fn well(bytes: usize) -> Ended {
        Ended {
            outcome: Outcome::Ok,
            code: None,
            denied: None,
            bytes,
        }
    }

    fn badly(outcome: Outcome, code: &'static str, bytes: usize) -> Ended {
        Ended {
            outcome,
            code: Some(code),
            denied: None,
            bytes,
        }
    }
}

impl From<&Error> for Ended {
    fn from(error: &Error) -> Ended {
        let bytes = match error {
            Error::Upstream(UpstreamError::Answered(raw)) => raw.len(),
            _ => 0,
        };
        let denied = match error {
            Error::NotAllowed { kind, .. } => Some(*kind),
            _ => None,
        };
        Ended {
            denied,
            ..Ended::badly(error.fault().into(), error.word(), bytes)
        }
    }
}

impl From<&Result<Raw, Error>> for Ended {
    fn from(answer: &Result<Raw, Error>) -> Ended {
        match answer {
            Ok(result) => Ended::well(result.len()),
            Err(error) => error.into(),
        }
    }
}

/// What a server of plain JSON-RPC says in a message of its own is not read
/// here: that it answered is all that is known.
impl From<Result<&Reply, &ForwardError>> for Ended {
    fn from(answer: Result<&Reply, &ForwardError>) -> Ended {
        match answer {
            Ok(Reply::Error(error)) => {
                Ended::badly(Outcome::Upstream, "upstream_error", error.len())
            }
            Ok(reply) => Ended::well(reply.len()),
            Err(ForwardError::Core(error)) => error.into(),
            Err(ForwardError::UnknownServer { .. }) => {
                Ended::badly(Outcome::Client, "unknown_server", 0)
            }
            Err(ForwardError::NoRequest(_)) => Ended::badly(Outcome::Client, "invalid_request", 0),
            Err(ForwardError::Status { .. }) => {
                Ended::badly(Outcome::Upstream, "upstream_status", 0)
            }
        }
    }
}
