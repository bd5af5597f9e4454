//! The errors of requests.

use std::sync::Arc;
use std::time::Duration;

use narrows_policy::preset::{Denial, DenialSource};
use narrows_wire::ItemKind;
use narrows_wire::text::percent_encoded;

use narrows_results::Error as ResultsError;
pub use narrows_upstream::Fault;
use narrows_upstream::chain::Recursion;

/// The reason why a request failed. Variants differ in the response at the edge or in the text for
/// the client. The edge assigns their codes and statuses, in a single file.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The server did not return a result.
    #[error(transparent)]
    Upstream(#[from] narrows_upstream::Error),
    #[error("Unknown {kind}: {name}{}", did_you_mean(nearest))]
    Unknown {
        kind: ItemKind,
        name: String,
        nearest: Vec<String>,
    },
    #[error("{} '{name}' is not allowed{}", kind.title(), by_rules(denial))]
    NotAllowed {
        kind: ItemKind,
        name: String,
        denial: Arc<Denial>,
    },
    /// The tool cannot be called on an endpoint that does not route tasks.
    #[error("Tool '{name}' {}. Call it at {path}", NEEDS_TASK)]
    NeedsTask {
        name: String,
        /// The path of an endpoint that routes tasks.
        path: String,
    },
    #[error("{0}")]
    BadParams(String),
    #[error("Method not found: {0}")]
    UnknownMethod(String),
    /// The request has already passed through this gateway.
    #[error(
        "This gateway is one of its own servers: a server entry leads back to it. Remove that entry"
    )]
    OwnServer,
    #[error("Request id {0} is already in use")]
    DuplicateId(String),
    #[error("Too many requests in flight (limit {0})")]
    TooManyCalls(usize),
    #[error("Too many sessions (limit {0})")]
    TooManySessions(usize),
    #[error("Client '{client}' sends too many requests (limit {per_minute} per minute)")]
    RateLimited {
        client: String,
        per_minute: u32,
        /// The time until the same request would be admitted.
        after: Duration,
    },
    #[error("Client '{client}' has too many requests in flight (limit {max})")]
    ClientBusy { client: String, max: usize },
    #[error("Client '{client}' has too many sessions (limit {max})")]
    ClientSessions { client: String, max: usize },
    /// The server asks the client something that the client does not support.
    #[error(
        "The server sent '{method}', but the client did not declare the capability: {required}"
    )]
    MissingCapability {
        method: Box<str>,
        /// The missing capabilities, as JSON.
        required: &'static str,
    },
    /// The client cancelled the request and does not expect a response.
    #[error("Request cancelled")]
    Cancelled,
    #[error("The session has ended")]
    SessionClosed,
    /// The gateway accepts no new work.
    #[error("The gateway is shutting down. Try again when it has restarted")]
    ShuttingDown,
    /// The gateway shut down before the call ended.
    #[error("The gateway is shutting down and stopped waiting for this call{}", interrupted_progress(*sent))]
    Interrupted {
        /// True if the server may have received the call.
        sent: bool,
    },
    /// A fault in the gateway itself. The log contains the details.
    #[error("{0}")]
    Internal(&'static str),
}

/// The reason why a tool is hidden on endpoints that join servers.
pub const NEEDS_TASK: &str = "runs only as a task (its execution.taskSupport is \"required\"), \
    and endpoints that join servers do not route tasks";

impl From<ResultsError> for Error {
    fn from(error: ResultsError) -> Error {
        match error {
            ResultsError::UnknownReceipt(uri) => Error::Unknown {
                kind: ItemKind::Resource,
                name: uri,
                nearest: Vec::new(),
            },
            ResultsError::LineRange { .. } => Error::BadParams(error.to_string()),
        }
    }
}

impl Error {
    /// Returns the error for calling a tool that runs only as a task where tasks are not routed.
    pub(crate) fn needs_task(published: &str, server: &str) -> Error {
        Error::NeedsTask {
            name: published.to_owned(),
            path: format!("/servers/{}/mcp", percent_encoded(server)),
        }
    }

    pub fn fault(&self) -> Fault {
        use Error::*;
        match self {
            Unknown { .. }
            | NotAllowed { .. }
            | NeedsTask { .. }
            | BadParams(_)
            | UnknownMethod(_)
            | MissingCapability { .. }
            | OwnServer
            | DuplicateId(_)
            | TooManyCalls(_)
            | RateLimited { .. }
            | ClientBusy { .. }
            | ClientSessions { .. }
            | Cancelled
            | SessionClosed => Fault::Client,
            Upstream(error) => error.fault(),
            TooManySessions(_) | ShuttingDown | Interrupted { .. } | Internal(_) => Fault::Gateway,
        }
    }

    /// Returns the server that caused the error, if any.
    pub(crate) fn server(&self) -> Option<&str> {
        match self {
            Error::Upstream(error) => error.server(),
            _ => None,
        }
    }

    /// Returns true if the same request may succeed later without any change.
    pub fn retry(&self) -> bool {
        use Error::*;
        match self {
            Upstream(error) => error.retry(),
            TooManyCalls(_)
            | RateLimited { .. }
            | ClientBusy { .. }
            | ClientSessions { .. }
            | TooManySessions(_)
            | ShuttingDown
            | Interrupted { sent: false } => true,
            _ => false,
        }
    }

    /// Returns the stable error code for programs, `data.code` on the wire.
    pub fn as_str(&self) -> &'static str {
        use Error::*;
        match self {
            Upstream(error) => error.as_str(),
            Unknown {
                kind: ItemKind::Tool,
                ..
            } => "unknown_tool",
            Unknown {
                kind: ItemKind::Prompt,
                ..
            } => "unknown_prompt",
            Unknown {
                kind: ItemKind::Resource,
                ..
            } => "unknown_resource",
            Unknown {
                kind: ItemKind::Server,
                ..
            } => "unknown_server",
            Unknown {
                kind: ItemKind::Method,
                ..
            } => "unknown_method",
            NotAllowed { .. } => "not_allowed",
            NeedsTask { .. } => "task_required",
            BadParams(_) => "invalid_params",
            UnknownMethod(_) => "unknown_method",
            MissingCapability { .. } => "missing_capability",
            OwnServer => Recursion::OWN_SERVER,
            DuplicateId(_) => "duplicate_id",
            TooManyCalls(_) => "too_many_requests",
            TooManySessions(_) | ClientSessions { .. } => "too_many_sessions",
            RateLimited { .. } => "rate_limited",
            ClientBusy { .. } => "too_many_requests",
            Cancelled => "cancelled",
            SessionClosed => "session_closed",
            ShuttingDown => "shutting_down",
            Interrupted { .. } => "interrupted",
            Internal(_) => "internal_error",
        }
    }
}

/// Returns the suggestions in a message about an unknown name. They are part of the message because
/// models read the message and not `data`.
pub(crate) fn did_you_mean(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        [others @ .., last] if !others.is_empty() => {
            format!(". Did you mean {} or {last}?", others.join(", "))
        }
        [only, ..] => format!(". Did you mean {only}?"),
    }
}

/// Returns the end of the message that an item is not allowed.
fn by_rules(denial: &Denial) -> String {
    match denial.source {
        DenialSource::Preset(_) => " by current preset".to_owned(),
        DenialSource::ToolList(_) => format!(": {denial}"),
    }
}

/// Returns the end of the message that a call was interrupted.
fn interrupted_progress(sent: bool) -> &'static str {
    match sent {
        true => {
            ". Its server may have received it: check whether it was carried out before you repeat it"
        }
        false => {
            ". It was not sent to its server, so it can be repeated when the gateway has restarted"
        }
    }
}
