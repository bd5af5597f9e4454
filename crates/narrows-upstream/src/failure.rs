//! The reasons why a request over a link has no result, and why a link could not
//! be opened or has ended.

use std::sync::Arc;
use std::time::Duration;

use narrows_wire::{Kind, Raw, Revision};

use crate::chain::Recursion;
use crate::exchange::Refusal;
use crate::settings::Transport;

/// Revisions that are read of one error.
const MOST_REVISIONS: usize = 16;

/// The reason why a request over a link has no result.
#[derive(Debug, Clone)]
pub enum LinkError {
    /// The upstream's own error object.
    Answered(Raw),
    Timeout(Duration),
    /// The link is gone, or was never there.
    Closed {
        failure: Arc<Failure>,
        /// True if the server may have got the request. False only where that
        /// is certain: it was never handed to what writes to the server.
        sent: bool,
    },
    Invalid(String),
    TooLarge(usize),
}

impl LinkError {
    /// The link is gone, and the request never left.
    pub fn unsent(failure: Arc<Failure>) -> LinkError {
        let sent = false;
        LinkError::Closed { failure, sent }
    }

    /// The link is gone, and perhaps the request has come through.
    pub fn lost(failure: Arc<Failure>) -> LinkError {
        let sent = true;
        LinkError::Closed { failure, sent }
    }

    /// For a request without which the link is of no use.
    pub fn into_failure(self, method: &str) -> Failure {
        match self {
            LinkError::Closed { failure, .. } => (*failure).clone(),
            LinkError::Timeout(after) => Failure::new(
                FailureKind::TimedOut,
                format!("no answer to {method} within {} s", after.as_secs_f64()),
            ),
            LinkError::Answered(error) => {
                if let Some(supported) = supported_revisions(&error) {
                    return unsupported(&supported);
                }
                // Our refusal of what it asked for, which was our own request.
                if error.as_str() == Refusal::NotSupported.error().as_str() {
                    let detail = "it sends back what it receives, so it is no MCP server";
                    return Failure::new(FailureKind::Protocol, detail);
                }
                let is_recursion = is_recursion(&error);
                let message = error.member("message");
                let message = message
                    .as_ref()
                    .and_then(Raw::as_text)
                    .unwrap_or("no message".into());
                let message: String = message.chars().take(300).collect();
                if is_recursion {
                    return Failure::new(FailureKind::Recursion, message);
                }
                Failure::new(
                    FailureKind::Refused,
                    format!("it answered {method} with an error: {message}"),
                )
            }
            LinkError::Invalid(reason) => Failure::new(
                FailureKind::Protocol,
                format!("its answer to {method}: {reason}"),
            ),
            LinkError::TooLarge(max) => Failure::new(
                FailureKind::Protocol,
                format!("its answer to {method} is larger than {max} bytes"),
            ),
        }
    }
}

/// The revisions that a server names in its error, if it refuses ours. A
/// server of the modern era lists them in `data.supported`; others name them
/// in the message.
pub(crate) fn supported_revisions(error: &Raw) -> Option<Vec<String>> {
    let is_date = |text: &str| {
        let fits = |(at, byte): (usize, u8)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        };
        text.len() == 10 && text.bytes().enumerate().all(fits)
    };
    let listed = error
        .member("data")
        .and_then(|data| data.member("supported"))
        .filter(|listed| listed.kind() == Kind::Array);
    if let Some(listed) = listed {
        let all = listed.elements().take(MOST_REVISIONS);
        let all = all.filter_map(|one| one.as_text().map(|text| text.into_owned()));
        return Some(all.filter(|text| is_date(text)).collect());
    }
    let message = error.member("message");
    let message = message.as_ref().and_then(Raw::as_text)?;
    if !message
        .to_ascii_lowercase()
        .contains("unsupported protocol version")
    {
        return None;
    }
    // The one that it was asked for may be among them.
    let words = message.split(|c: char| !c.is_ascii_digit() && c != '-');
    let dates = words.filter(|word| is_date(word) && *word != Revision::LATEST_LEGACY.as_str());
    Some(dates.take(MOST_REVISIONS).map(str::to_owned).collect())
}

fn unsupported(supported: &[String]) -> Failure {
    let theirs = match supported {
        [] => "it does not say which revisions of MCP it speaks".to_owned(),
        all => format!("it speaks MCP {} only", all.join(", ")),
    };
    let detail = format!(
        "it refuses our protocol version: {theirs}; we speak 2024-11-05 to {}",
        Revision::LATEST_LEGACY
    );
    Failure::new(FailureKind::UnsupportedRevision, detail)
}

/// Returns true if a gateway refused to serve its own descendant.
fn is_recursion(error: &Raw) -> bool {
    let code = error.member("data").and_then(|data| data.member("code"));
    let code = code.as_ref().and_then(Raw::as_text);
    matches!(
        code.as_deref(),
        Some(Recursion::CODE | Recursion::OWN_SERVER)
    )
}

/// The reason why a link could not be opened, or has ended.
#[derive(Debug, Clone)]
pub struct Failure {
    pub kind: FailureKind,
    /// One line for people; holds no secret.
    pub detail: String,
    /// The last lines that the server wrote to stderr.
    pub stderr: Vec<String>,
    /// The transport that the server was found to speak instead.
    pub speaks: Option<Transport>,
}

/// The transport of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub transport: Transport,
    /// One line for people about how the transport was found, where it was not
    /// configured.
    pub how: Option<String>,
}

impl Found {
    pub fn configured(transport: Transport) -> Found {
        Found {
            transport,
            how: None,
        }
    }
}

/// The kind of a failure. Hints are given by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The command is not there.
    NotFound,
    /// The process could not be started, or ended.
    Process,
    /// No connection, or it broke.
    Connect,
    /// 401 or 403: the server wants credentials.
    SignIn,
    /// It answers, but not as this transport would.
    WrongTransport,
    TimedOut,
    /// It speaks, but not as MCP says.
    Protocol,
    /// The server answered `initialize` or a list with an error.
    Refused,
    /// It speaks no revision of MCP that we speak.
    UnsupportedRevision,
    /// The entry leads back to a gateway that is already running above.
    Recursion,
    /// Ended by us.
    Closed,
}

impl FailureKind {
    /// Returns true if the server may recover without user action.
    pub fn heals(self) -> bool {
        !matches!(
            self,
            FailureKind::NotFound | FailureKind::SignIn | FailureKind::UnsupportedRevision
        )
    }
}

impl Failure {
    pub fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Failure {
            kind,
            detail: detail.into(),
            stderr: Vec::new(),
            speaks: None,
        }
    }

    /// A server that turned out to be a gateway above this one. `shown` is its
    /// address.
    pub fn recursion(shown: &str) -> Failure {
        let detail =
            format!("{shown} leads back to this gateway, or to one above it. Remove the entry");
        Failure::new(FailureKind::Recursion, detail)
    }
}
