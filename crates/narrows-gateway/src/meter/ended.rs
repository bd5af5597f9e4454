//! The end of a request, for metrics and records.

use narrows_wire::{ItemKind, Raw};

use super::labels::Outcome;
use crate::error::Error;
use narrows_upstream::{Error as UpstreamError, Fault};

#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestEnd {
    pub(super) outcome: Outcome,
    /// The stable error code.
    code: Option<&'static str>,
    /// The kind of item that a preset refused, if any.
    pub(super) denied: Option<ItemKind>,
    /// The size of the result, or of the error from a server.
    bytes: usize,
}

impl RequestEnd {
    pub(crate) fn ok(bytes: usize) -> RequestEnd {
        RequestEnd {
            outcome: Outcome::Ok,
            code: None,
            denied: None,
            bytes,
        }
    }

    pub(crate) fn failed(fault: Fault, code: &'static str, bytes: usize) -> RequestEnd {
        RequestEnd {
            outcome: fault.into(),
            code: Some(code),
            denied: None,
            bytes,
        }
    }
}

impl RequestEnd {
    /// Returns the stable error code, or `None` if the request succeeded.
    pub(crate) fn code(&self) -> Option<&'static str> {
        self.code
    }

    /// Returns the party that has to act for the request to succeed.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.outcome.fault()
    }

    /// Returns the outcome as a word for metrics and records.
    pub(crate) fn outcome(&self) -> &'static str {
        self.outcome.as_str()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    #[must_use]
    pub(crate) fn with_bytes(mut self, bytes: usize) -> RequestEnd {
        self.bytes = bytes;
        self
    }
}

impl From<&Error> for RequestEnd {
    fn from(error: &Error) -> RequestEnd {
        let bytes = match error {
            Error::Upstream(UpstreamError::Answered(raw)) => raw.len(),
            _ => 0,
        };
        let denied = match error {
            Error::NotAllowed { kind, .. } => Some(*kind),
            _ => None,
        };
        RequestEnd {
            denied,
            ..RequestEnd::failed(error.fault(), error.as_str(), bytes)
        }
    }
}

impl From<&Result<Raw, Error>> for RequestEnd {
    fn from(answer: &Result<Raw, Error>) -> RequestEnd {
        match answer {
            Ok(result) => RequestEnd::ok(result.len()),
            Err(error) => error.into(),
        }
    }
}
