//! HTTP errors, and their conversion into errors of a call or a link. No other module interprets
//! the HTTP statuses of upstreams.

use std::sync::Arc;
use std::time::Duration;

use ::http::StatusCode;
use narrows_wire::Raw;

use crate::failure::{Failure, FailureKind, LinkError};

/// The maximum number of characters shown of a body that explains an error.
const MAX_EXCERPT: usize = 200;

pub(crate) enum HttpError {
    /// No connection could be opened. `late` is the time limit, if it was exceeded.
    Unreachable {
        failure: Arc<Failure>,
        late: Option<Duration>,
    },
    /// The connection was lost before the response was complete.
    Broken(String),
    /// The server's own error object.
    Answered(Raw),
    /// The session has expired, so the server has not processed the request.
    SessionGone(Refused),
    Refused(Refused),
    /// A valid HTTP response that MCP does not allow.
    NotMcp(String),
    Invalid(String),
    TooLarge(usize),
}

/// A response with an error status.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) status: StatusCode,
    /// The authentication scheme that `WWW-Authenticate` requests.
    pub(crate) challenge: Option<String>,
    /// The beginning of the server's explanation.
    pub(crate) summary: String,
    pub(crate) html: bool,
}

impl HttpError {
    /// Converts the error of one request over a link that remains open.
    pub(crate) fn into_link_error(self, shown: &str) -> LinkError {
        let closed = |kind, detail: String| LinkError::lost(Arc::new(Failure::new(kind, detail)));
        match self {
            HttpError::Answered(error) => LinkError::Answered(error),
            HttpError::Unreachable { failure, .. } => LinkError::unsent(failure),
            HttpError::Broken(what) => closed(FailureKind::Connect, format!("{shown}: {what}")),
            HttpError::Invalid(what) | HttpError::NotMcp(what) => LinkError::Invalid(what),
            HttpError::TooLarge(max) => LinkError::TooLarge(max),
            HttpError::Refused(refused) | HttpError::SessionGone(refused) => {
                let detail = format!("{shown} answered {refused}");
                match refused.status {
                    StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                        closed(FailureKind::SignIn, detail)
                    }
                    // Caused by the state of the server, not by this request.
                    StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => {
                        closed(FailureKind::Refused, detail)
                    }
                    status if status.is_server_error() => closed(FailureKind::Refused, detail),
                    _ => LinkError::Invalid(format!("it answered {refused}")),
                }
            }
        }
    }

    /// Converts the error of the `initialize` request that opens a link.
    pub(crate) fn into_failure(self, shown: &str) -> Failure {
        match self {
            HttpError::NotMcp(what) => {
                Failure::new(FailureKind::WrongTransport, format!("{shown}: {what}"))
            }
            HttpError::Refused(refused) if refused.status == StatusCode::LOOP_DETECTED => {
                Failure::recursion(shown)
            }
            HttpError::Refused(refused) | HttpError::SessionGone(refused) => Failure::new(
                refused.kind_when_opening(),
                format!("{shown} answered {refused}"),
            ),
            other => other.into_link_error(shown).into_failure("initialize"),
        }
    }
}

impl Refused {
    fn kind_when_opening(&self) -> FailureKind {
        match self.status.as_u16() {
            401 | 403 => FailureKind::SignIn,
            // Temporary, so they do not indicate the wrong transport.
            407 | 408 | 429 => FailureKind::Refused,
            400..=499 | 501 => FailureKind::WrongTransport,
            _ if self.html && !self.status.is_server_error() => FailureKind::WrongTransport,
            _ => FailureKind::Refused,
        }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HTTP {}", self.status)?;
        if let Some(challenge) = &self.challenge {
            write!(f, " (wants {challenge})")?;
        }
        match self.html {
            true => write!(f, ": a web page"),
            false if self.summary.is_empty() => Ok(()),
            false => write!(f, ": {}", self.summary),
        }
    }
}

/// Returns the first words of a body, on one line and without secrets, because some servers repeat
/// a wrong token in their explanation.
pub(crate) fn summary(body: &[u8], secrets: &[String]) -> String {
    let text = redacted(body, secrets);
    let mut summary = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if summary.chars().count() > MAX_EXCERPT {
            break;
        }
        if !word.is_empty() && !summary.is_empty() {
            summary.push(' ');
        }
        summary.push_str(word);
    }
    match summary.char_indices().nth(MAX_EXCERPT) {
        Some((end, _)) => format!("{}…", &summary[..end]),
        None => summary,
    }
}

/// Returns the first characters of a body unchanged, except that secrets are redacted.
pub(crate) fn excerpt(body: &[u8], secrets: &[String], chars: usize) -> String {
    let mut text = redacted(body, secrets);
    if let Some((end, _)) = text.char_indices().nth(chars) {
        text.truncate(end);
    }
    text
}

/// Redacts secrets. Done before truncation, which could split a secret.
fn redacted(body: &[u8], secrets: &[String]) -> String {
    let text = String::from_utf8_lossy(body).into_owned();
    secrets
        .iter()
        .fold(text, |text, secret| text.replace(secret.as_str(), "***"))
}

pub(crate) fn is_html(content_type: Option<&str>, body: &[u8]) -> bool {
    let start = &body[..body.len().min(64)];
    let start = String::from_utf8_lossy(start).to_ascii_lowercase();
    let start = start.trim_start();
    content_type.is_some_and(|kind| kind.to_ascii_lowercase().starts_with("text/html"))
        || start.starts_with("<!doctype html")
        || start.starts_with("<html")
}
