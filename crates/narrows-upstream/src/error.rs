//! The reasons why a request to a server has no result.

use std::time::Duration;

use narrows_wire::Raw;

/// The reason why a request has no result. Each variant leads to a different response to the
/// client.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The server's own error object, unchanged.
    #[error("the upstream answered with an error")]
    Answered(Raw),
    /// The server is not available. `reason` may be shown to clients and contains no secrets.
    #[error("Server '{server}' is not available: {reason}{}", retry_notice(*next_try))]
    Down {
        server: String,
        reason: String,
        /// The time until the next connection attempt, if known.
        next_try: Option<Duration>,
    },
    #[error("Server '{server}' did not answer within {} s", after.as_secs_f64())]
    Timeout { server: String, after: Duration },
    #[error("Server '{server}' sent an invalid answer: {reason}")]
    Invalid { server: String, reason: String },
    #[error("Server '{server}' sent an answer larger than {max} bytes")]
    TooLarge { server: String, max: usize },
    #[error(
        "Server '{server}' has no free link for this session: {max} are in use by other sessions (max_links)"
    )]
    TooManyLinks { server: String, max: usize },
}

/// The party that must act before the same request can succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Client,
    Upstream,
    Gateway,
}

impl Error {
    pub fn fault(&self) -> Fault {
        match self {
            Error::TooManyLinks { .. } => Fault::Gateway,
            _ => Fault::Upstream,
        }
    }

    /// Returns true if the same request may succeed later without changes.
    pub fn retry(&self) -> bool {
        matches!(
            self,
            Error::Down { .. } | Error::Timeout { .. } | Error::TooManyLinks { .. }
        )
    }

    /// Returns the id of the server. `None` for an error object of the server itself, which does
    /// not contain the id.
    pub fn server(&self) -> Option<&str> {
        match self {
            Error::Answered(_) => None,
            Error::Down { server, .. }
            | Error::Timeout { server, .. }
            | Error::Invalid { server, .. }
            | Error::TooLarge { server, .. }
            | Error::TooManyLinks { server, .. } => Some(server),
        }
    }

    /// Returns the stable error code for programs, sent as `data.code`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Error::Answered(_) => "upstream_error",
            Error::Down { .. } => "upstream_unavailable",
            Error::Timeout { .. } => "upstream_timeout",
            Error::Invalid { .. } => "upstream_invalid",
            Error::TooLarge { .. } => "upstream_too_large",
            Error::TooManyLinks { .. } => "too_many_links",
        }
    }
}

fn retry_notice(next_try: Option<Duration>) -> String {
    match next_try {
        Some(pause) => format!("; next attempt in {:.1} s", pause.as_secs_f64()),
        None => String::new(),
    }
}
