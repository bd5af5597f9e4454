//! Messages that cannot be read, as logs and errors show them.

use std::sync::atomic::Ordering;

use super::Duplex;
use crate::failure::{Failure, FailureKind};
use crate::secrets::Secrets;

/// Characters of an unreadable message that are shown.
const QUOTED: usize = 120;

/// Quotes unreadable messages for logs and errors.
#[derive(Clone, Default)]
pub(crate) struct Quoting {
    pub secrets: Secrets,
    /// True if the server writes messages to stdout.
    pub is_stdout: bool,
}

impl Quoting {
    /// The beginning of the message, escaped, on one line.
    fn quote(&self, frame: &[u8]) -> String {
        // Longer than any secret, so that no cut goes through one.
        let start = &frame[..frame.len().min(8 * 1024)];
        let text = self
            .secrets
            .redact(String::from_utf8_lossy(start).into_owned());
        let shown: String = text.trim().chars().take(QUOTED).collect();
        let more = if text.trim().chars().count() > QUOTED {
            "…"
        } else {
            ""
        };
        format!("{shown:?}{more}")
    }

    /// Describes the unreadable message.
    pub(super) fn explain(&self, frame: &[u8], error: &narrows_wire::Error) -> String {
        let quoted = self.quote(frame);
        match self.is_stdout {
            true => format!("{quoted} on stdout, which is reserved for MCP messages"),
            false => format!("{quoted}, which is no message ({error})"),
        }
    }
}

impl Duplex {
    /// Logs an unreadable message, or keeps the first one as part of the
    /// failure if the server was not greeted yet.
    pub(super) fn note_garbage(&self, frame: &[u8], error: &narrows_wire::Error) {
        let what = self.quoting.explain(frame, error);
        match self.greeted.load(Ordering::Relaxed) {
            true => self.violations.report(&self.server, &what),
            false => {
                self.garbage.lock().get_or_insert(what);
            }
        }
    }

    /// Adds what could not be read to the failure that it may explain.
    pub(super) fn with_garbage(&self, mut failure: Failure) -> Failure {
        if failure.kind != FailureKind::Closed
            && let Some(garbage) = &*self.garbage.lock()
        {
            failure.detail.push_str("; it wrote ");
            failure.detail.push_str(garbage);
        }
        failure
    }
}
