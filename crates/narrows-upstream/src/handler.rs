//! The receiver of what comes over a link and belongs to no call.

use crate::exchange::{Ask, AskKey, EventSink, Notice};

/// Hears what comes over a link and belongs to no call.
pub trait NotificationHandler: Send + Sync {
    fn notice(&self, notice: Notice);
    fn ask(&self, ask: Ask);
    /// A question that was heard is asked no more.
    fn withdraw(&self, key: AskKey);
    /// Returns true if the link serves one session alone, so that reading from
    /// it may wait for that session's client.
    fn is_own(&self) -> bool {
        false
    }
    /// The queue of notices that belong to no call, where its reader always
    /// reads on.
    fn outbox(&self) -> Option<EventSink> {
        None
    }
}
