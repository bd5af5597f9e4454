//! The interface for messages that arrive over a link outside any call.

use crate::exchange::{Ask, AskKey, EventSink, Notice};

/// Receives the messages that arrive over a link outside any call.
pub trait NotificationHandler: Send + Sync {
    fn notice(&self, notice: Notice);
    fn ask(&self, ask: Ask);
    /// Called when the server has cancelled a request that it sent.
    fn withdraw(&self, key: AskKey);
    /// Returns true if the link serves only one session, so that reading from it may wait for that
    /// session's client.
    fn is_own(&self) -> bool {
        false
    }
    /// Returns the queue of notifications outside any call, if its reader never stops reading.
    fn outbox(&self) -> Option<EventSink> {
        None
    }
}
