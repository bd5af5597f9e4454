//! Formats unreadable messages for logs and errors.

use std::sync::atomic::Ordering;

use super::Duplex;
use crate::failure::{Failure, FailureKind};
use crate::secrets::Secrets;

/// The maximum number of characters quoted from an unreadable message.
const MAX_QUOTED: usize = 120;

/// Quotes unreadable messages for logs and errors.
#[derive(Clone, Default)]
pub(crate) struct MessageQuoter {
    pub secrets: Secrets,
    /// True if the server sends its messages over stdout.
    pub is_stdout: bool,
}

impl MessageQuoter {
    /// Returns the beginning of the message, escaped, on one line.
    fn quote(&self, frame: &[u8]) -> String {
        // Longer than any secret, so that truncation cannot split one and prevent its redaction.
        let start = &frame[..frame.len().min(8 * 1024)];
        let text = self
            .secrets
            .redact(String::from_utf8_lossy(start).into_owned());
        let shown: String = text.trim().chars().take(MAX_QUOTED).collect();
        let more = if text.trim().chars().count() > MAX_QUOTED {
            "…"
        } else {
            ""
        };
        format!("{shown:?}{more}")
    }

    /// Describes an unreadable message.
    pub(super) fn explain(&self, frame: &[u8], error: &narrows_wire::Error) -> String {
        let quoted = self.quote(frame);
        match self.is_stdout {
            true => format!("{quoted} on stdout, which is reserved for MCP messages"),
            false => format!("{quoted}, which is not a valid message ({error})"),
        }
    }
}

impl Duplex {
    /// Logs an unreadable message. Before the link is initialised, the first such message is kept
    /// instead, to be included in a startup failure.
    pub(super) fn log_unreadable(&self, frame: &[u8], error: &narrows_wire::Error) {
        let what = self.quoter.explain(frame, error);
        match self.initialised.load(Ordering::Relaxed) {
            true => self.violations.report(&self.server, &what),
            false => {
                self.unreadable.lock().get_or_insert(what);
            }
        }
    }

    /// Appends the first unreadable message to the failure, because it may explain it.
    pub(super) fn with_unreadable(&self, mut failure: Failure) -> Failure {
        if failure.kind != FailureKind::Closed
            && let Some(unreadable) = &*self.unreadable.lock()
        {
            failure.detail.push_str("; it wrote ");
            failure.detail.push_str(unreadable);
        }
        failure
    }
}
