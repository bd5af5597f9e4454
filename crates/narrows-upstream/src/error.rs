//! The reasons why a request has no result.

use std::time::Duration;

use narrows_wire::Raw;

/// A variant exists because a caller answers it differently.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The server's own error object, unchanged.
    #[error("the upstream answered with an error")]
    Answered(Raw),
    /// `reason` may be shown to a client: it holds no secret.
    #[error("Server '{server}' is not available: {reason}{}", retry_notice(*next_try))]
    Down {
        server: String,
        reason: String,
        /// The time until the next attempt to connect, where it is known.
        next_try: Option<Duration>,
    },
    #[error("Server '{server}' did not answer within {} s", after.as_secs_f64())]
    Timeout { server: String, after: Duration },
    #[error("Server '{server}' sent an answer that cannot be used: {reason}")]
    Invalid { server: String, reason: String },
    #[error("Server '{server}' sent an answer larger than {max} bytes")]
    TooLarge { server: String, max: usize },
    #[error(
        "Server '{server}' has no free link for this session: {max} other sessions have one (max_links)"
    )]
    TooManyLinks { server: String, max: usize },
}

/// The party that has to act for the same request to succeed.
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

    /// Returns true if the same request may succeed later without a change.
    pub fn retry(&self) -> bool {
        matches!(
            self,
            Error::Down { .. } | Error::Timeout { .. } | Error::TooManyLinks { .. }
        )
    }

    /// The id of the server. The error object of a server does not carry it.
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

    /// The stable code for programs, `data.code` on the wire.
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
        Some(pause) => format!("; it is tried again in {:.1} s", pause.as_secs_f64()),
        None => String::new(),
    }
}
