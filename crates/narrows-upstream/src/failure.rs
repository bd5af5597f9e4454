//! The reasons why a request over a link failed, and why a link could not be opened or has ended.

use std::sync::Arc;
use std::time::Duration;

use narrows_wire::{Kind, Raw, Revision};

use crate::chain::Recursion;
use crate::exchange::Refusal;
use crate::settings::Transport;

/// The maximum number of revisions read from one error.
const MAX_REVISIONS: usize = 16;

/// The reason why a request over a link failed.
#[derive(Debug, Clone)]
pub enum LinkError {
    /// The upstream's own error object.
    Answered(Raw),
    Timeout(Duration),
    /// The link has ended, or was never open.
    Closed {
        failure: Arc<Failure>,
        /// True if the server may have received the request. False only if it was certainly never
        /// passed to the task that writes to the server.
        sent: bool,
    },
    Invalid(String),
    TooLarge(usize),
}

impl LinkError {
    /// Returns the error for a request that was never sent because the link has ended.
    pub fn unsent(failure: Arc<Failure>) -> LinkError {
        let sent = false;
        LinkError::Closed { failure, sent }
    }

    /// Returns the error for a request that the server may have received before the link ended.
    pub fn lost(failure: Arc<Failure>) -> LinkError {
        let sent = true;
        LinkError::Closed { failure, sent }
    }

    /// Converts the error of a request that the link cannot work without.
    pub fn into_failure(self, method: &str) -> Failure {
        match self {
            LinkError::Closed { failure, .. } => (*failure).clone(),
            LinkError::Timeout(after) => Failure::new(
                FailureKind::TimedOut,
                format!("no answer to {method} within {} s", after.as_secs_f64()),
            ),
            LinkError::Answered(error) => {
                if let Some(supported) = supported_revisions(&error) {
                    return Failure {
                        is_answer: true,
                        ..unsupported(&supported)
                    };
                }
                // The server has echoed `initialize`, and this is the gateway's own rejection of
                // it.
                if error.as_str() == Refusal::NotSupported.error().as_str() {
                    let detail = "it sends back what it receives, so it is not an MCP server";
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
                let detail = format!("it answered {method} with an error: {message}");
                Failure {
                    is_answer: true,
                    ..Failure::new(FailureKind::Refused, detail)
                }
            }
            LinkError::Invalid(reason) => Failure::new(
                FailureKind::Protocol,
                format!("invalid answer to {method}: {reason}"),
            ),
            LinkError::TooLarge(max) => Failure::new(
                FailureKind::Protocol,
                format!("its answer to {method} is larger than {max} bytes"),
            ),
        }
    }
}

/// Returns the revisions that a server names when it rejects the gateway's revision. Servers of the
/// modern era list them in `data.supported`, others name them in the message. Returns `None` for
/// other errors.
pub(crate) fn supported_revisions(error: &Raw) -> Option<Vec<String>> {
    let listed = error
        .member("data")
        .and_then(|data| data.member("supported"))
        .filter(|listed| listed.kind() == Kind::Array);
    if let Some(listed) = listed {
        return Some(listed_revisions(&listed));
    }
    let message = error.member("message");
    let message = message.as_ref().and_then(Raw::as_text)?;
    if !message
        .to_ascii_lowercase()
        .contains("unsupported protocol version")
    {
        return None;
    }
    // The message may also name the requested revision, which is excluded.
    let words = message.split(|c: char| !c.is_ascii_digit() && c != '-');
    let dates = words.filter(|word| is_date(word) && *word != Revision::LATEST_LEGACY.as_str());
    Some(dates.take(MAX_REVISIONS).map(str::to_owned).collect())
}

/// Returns the revisions in a list of a server.
pub(crate) fn listed_revisions(listed: &Raw) -> Vec<String> {
    let all = listed.elements().take(MAX_REVISIONS);
    let all = all.filter_map(|one| one.as_text().map(|text| text.into_owned()));
    all.filter(|text| is_date(text)).collect()
}

fn is_date(text: &str) -> bool {
    let fits = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    text.len() == 10 && text.bytes().enumerate().all(fits)
}

/// Returns the revisions that the gateway speaks with servers, for people.
pub(crate) fn spoken() -> String {
    let [oldest, .., newest] = Revision::ALL;
    format!("{oldest} to {newest}")
}

pub(crate) fn unsupported(supported: &[String]) -> Failure {
    let theirs = match supported {
        [] => "it does not say which revisions of MCP it speaks".to_owned(),
        all => format!("it speaks MCP {} only", all.join(", ")),
    };
    let detail = format!(
        "it rejects the protocol version: {theirs}; the gateway speaks {}",
        spoken()
    );
    Failure::new(FailureKind::UnsupportedRevision, detail)
}

/// Returns true if the server is a gateway that has detected a loop.
fn is_recursion(error: &Raw) -> bool {
    let code = error.member("data").and_then(|data| data.member("code"));
    let code = code.as_ref().and_then(Raw::as_text);
    matches!(
        code.as_deref(),
        Some(Recursion::CODE | Recursion::OWN_SERVER)
    )
}

/// The reason why a link could not be opened or has ended.
#[derive(Debug, Clone)]
pub struct Failure {
    pub kind: FailureKind,
    /// One line for people, without secrets.
    pub detail: String,
    /// The last lines that the server wrote to stderr.
    pub stderr: Vec<String>,
    /// The transport that the server turned out to speak instead.
    pub speaks: Option<Transport>,
    /// True if the server answered with an error of its own.
    pub is_answer: bool,
}

/// The transport of a connection, and how it was determined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub transport: Transport,
    /// One line for people that says how the transport was detected. `None` if it was configured.
    pub how: Option<String>,
    /// One line for people that says how the era was detected. `None` if it was configured.
    pub era: Option<String>,
}

impl Found {
    pub fn configured(transport: Transport) -> Found {
        Found {
            transport,
            how: None,
            era: None,
        }
    }
}

/// The kind of a failure, which determines the hint shown to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The command was not found.
    NotFound,
    /// The process could not be started, or has exited.
    Process,
    /// The connection could not be opened, or was lost.
    Connect,
    /// HTTP 401 or 403: the server requires credentials.
    SignIn,
    /// The server responds, but not as this transport requires.
    WrongTransport,
    TimedOut,
    /// The server's messages violate the MCP specification.
    Protocol,
    /// The server responded to `initialize` or a list request with an error.
    Refused,
    /// The server supports no revision of MCP that the gateway supports.
    UnsupportedRevision,
    /// The server is this gateway, or a gateway above it.
    Recursion,
    /// The gateway closed the link.
    Closed,
}

impl FailureKind {
    /// Returns true if the server responded, but rejected the way in which it was asked. It may
    /// belong to the other era.
    pub(crate) fn is_refusal(self) -> bool {
        matches!(
            self,
            FailureKind::WrongTransport
                | FailureKind::Protocol
                | FailureKind::Refused
                | FailureKind::UnsupportedRevision
        )
    }

    /// Returns true if the server may recover without user action.
    pub fn is_recoverable(self) -> bool {
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
            is_answer: false,
        }
    }

    /// Returns the failure for a server that turned out to be this gateway or one above it. `shown`
    /// is its address.
    pub fn recursion(shown: &str) -> Failure {
        let detail =
            format!("{shown} leads back to this gateway, or to one above it. Remove the entry");
        Failure::new(FailureKind::Recursion, detail)
    }
}
