//! The log events of a call.
//!
//! An event becomes a `tracing` event with the target `narrows::event`, its name in `event`, JSON
//! text in `payload` and its time in `at_ms`. The call path records events with [`step`] and
//! [`log_failure`]; `queue` formats and logs them shortly afterwards. `limit` decides which calls are
//! logged. Bodies are not parsed. Arguments are copied up to a limit and the values of
//! secret-looking members are removed. Only the size of results is logged.

mod limit;
mod queue;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use narrows_wire::Raw;
use narrows_wire::redact::redact;
use tracing::Level;

/// The maximum number of bytes of a JSON value in the log.
const MAX_BYTES: usize = 2_000;

/// Identifies a request in all its log events.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestTag {
    session: u64,
    pub(crate) request: u64,
    /// False if the call is beyond the limit of the log.
    is_logged: bool,
}

impl RequestTag {
    /// Returns the tag of a request and counts the request against the limit of the log.
    pub(crate) fn of(session: u64, request: u64) -> RequestTag {
        let is_wanted = tracing::enabled!(target: "narrows::event", Level::INFO);
        let is_logged = is_wanted && queue::CALLS.admit();
        if is_wanted && !is_logged {
            queue::report_soon();
        }
        RequestTag {
            session,
            request,
            is_logged,
        }
    }

    /// Returns the tag of a request whose failures alone are logged.
    pub(crate) const fn unlogged(session: u64, request: u64) -> RequestTag {
        RequestTag {
            session,
            request,
            is_logged: false,
        }
    }

    fn to_raw(self) -> Raw {
        Raw::string(&format!("{}-{}", self.session, self.request))
    }
}

/// The log level of an event.
#[derive(Debug, Clone, Copy)]
enum Severity {
    Info,
    Warn,
}

/// The value of an event's member, in a form that is cheap to create on the call path.
#[derive(Debug)]
pub(crate) enum EventValue {
    Null,
    Number(u64),
    /// A fixed text, such as a method or an error code.
    Word(&'static str),
    /// A shared text, such as the id of a server.
    Shared(Arc<str>),
    Text(Box<str>),
    /// JSON created by the gateway.
    Json(Raw),
    /// The beginning of JSON from a peer, with the full length.
    Sent {
        start: Box<[u8]>,
        length: usize,
    },
}

/// Records a step of a call.
pub(crate) fn step<V: Into<EventValue>>(
    name: &'static str,
    tag: RequestTag,
    members: impl FnOnce() -> Vec<(&'static str, V)>,
) {
    if tag.is_logged {
        note(Severity::Info, name, tag, members());
    }
}

/// Records a failure. Failures of calls beyond the limit are logged too, up to a separate limit.
pub(crate) fn log_failure<V: Into<EventValue>>(
    name: &'static str,
    tag: RequestTag,
    members: impl FnOnce() -> Vec<(&'static str, V)>,
) {
    if !tracing::enabled!(target: "narrows::event", Level::WARN) {
        return;
    }
    if tag.is_logged || queue::ERRORS.admit() {
        note(Severity::Warn, name, tag, members());
    } else {
        queue::report_soon();
    }
}

/// Logs all waiting events. Must be called before the log is closed.
pub fn flush() {
    queue::flush();
}

fn note<V: Into<EventValue>>(
    severity: Severity,
    name: &'static str,
    tag: RequestTag,
    members: Vec<(&'static str, V)>,
) {
    let members = members
        .into_iter()
        .map(|(name, value)| (name, value.into()))
        .collect();
    queue::push(severity, name, tag, members);
}

/// Returns the part of a peer's JSON that the log may contain.
pub(crate) fn shown(raw: &Raw) -> EventValue {
    sent(raw.as_str(), raw.len())
}

/// Returns the same for the beginning of JSON with a full length of `length` bytes.
pub(crate) fn sent(start: &str, length: usize) -> EventValue {
    let bytes = start.as_bytes();
    EventValue::Sent {
        start: bytes[..bytes.len().min(MAX_BYTES)].into(),
        length,
    }
}

/// Returns a text that may contain a peer's data, cut to a maximum length.
pub(crate) fn cut(text: &str) -> EventValue {
    EventValue::Text(match text.char_indices().nth(MAX_BYTES / 4) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    })
}

impl EventValue {
    fn to_raw(&self) -> Raw {
        match self {
            EventValue::Null => Raw::from_static("null"),
            EventValue::Number(number) => Raw::number(*number),
            EventValue::Word(text) => Raw::string(text),
            EventValue::Shared(text) => Raw::string(text),
            EventValue::Text(text) => Raw::string(text),
            EventValue::Json(raw) => raw.clone(),
            EventValue::Sent { start, length } => sent_to_raw(start, *length),
        }
    }
}

/// Returns the complete JSON if it is short enough, otherwise its beginning as text.
fn sent_to_raw(start: &[u8], length: usize) -> Raw {
    let text = redact(start);
    if start.len() == length
        && let Ok(raw) = Raw::parse(text.clone().into())
    {
        return raw;
    }
    Raw::string(&format!(
        "{}… ({length} bytes)",
        String::from_utf8_lossy(&text)
    ))
}

impl From<Raw> for EventValue {
    fn from(raw: Raw) -> EventValue {
        EventValue::Json(raw)
    }
}

impl From<&Arc<str>> for EventValue {
    fn from(text: &Arc<str>) -> EventValue {
        EventValue::Shared(text.clone())
    }
}

impl From<&'static str> for EventValue {
    fn from(text: &'static str) -> EventValue {
        EventValue::Word(text)
    }
}

impl From<usize> for EventValue {
    fn from(number: usize) -> EventValue {
        EventValue::Number(number as u64)
    }
}
