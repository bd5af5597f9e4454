//! The calls in flight of a session.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use narrows_wire::Id;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::error::Error;
use narrows_upstream::exchange::Cancel;

/// The calls in flight, by the client's id.
#[derive(Default)]
pub(super) struct CallTable {
    calls: Mutex<HashMap<Id, Arc<Cancel>>>,
    /// Notified when a call ends while the session is closed or the gateway is shutting down.
    ended: Notify,
    is_closed: AtomicBool,
    /// True once the gateway is shutting down.
    refuses: AtomicBool,
}

/// An entry in the table, removed when dropped.
pub(super) struct InFlightCall<'a> {
    table: &'a CallTable,
    id: Id,
}

impl CallTable {
    pub(super) fn insert(
        &self,
        id: Id,
        cancel: Arc<Cancel>,
        max: usize,
    ) -> Result<InFlightCall<'_>, Error> {
        let mut calls = self.calls.lock();
        // Checked under the lock, because the end of the session cancels all calls in the table.
        if self.is_closed() {
            return Err(Error::SessionClosed);
        }
        if self.is_refusing() {
            return Err(Error::ShuttingDown);
        }
        if calls.len() >= max {
            return Err(Error::TooManyCalls(max));
        }
        if calls.contains_key(&id) {
            return Err(Error::DuplicateId(id.as_raw().as_str().to_owned()));
        }
        calls.insert(id.clone(), cancel);
        Ok(InFlightCall { table: self, id })
    }

    pub(super) fn len(&self) -> usize {
        self.calls.lock().len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.lock().is_empty()
    }

    pub(super) fn cancel(&self, id: &Id, reason: Option<&str>) {
        if let Some(cancel) = self.calls.lock().get(id) {
            cancel.raise(reason);
        }
    }

    /// Refuses further calls. Returns false if the table was already closed.
    pub(super) fn close(&self) -> bool {
        !self.is_closed.swap(true, Ordering::AcqRel)
    }

    pub(super) fn cancel_all(&self, reason: &str) {
        for cancel in self.calls.lock().values() {
            cancel.raise(Some(reason));
        }
    }

    /// Interrupts the calls in flight because the gateway is shutting down.
    pub(super) fn interrupt(&self) {
        for cancel in self.calls.lock().values() {
            cancel.interrupt("the gateway is shutting down");
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Refuses further calls because the gateway is shutting down.
    pub(super) fn refuse(&self) {
        // Set under the lock, so that every admitted call is in the table.
        let _calls = self.calls.lock();
        self.refuses.store(true, Ordering::Release);
    }

    pub(super) fn is_refusing(&self) -> bool {
        self.refuses.load(Ordering::Acquire)
    }

    /// Waits until no call is in flight. The table must be refusing further calls.
    pub(super) async fn ended(&self) {
        loop {
            let ended = self.ended.notified();
            if self.is_empty() {
                return;
            }
            ended.await;
        }
    }
}

impl Drop for InFlightCall<'_> {
    fn drop(&mut self) {
        self.table.calls.lock().remove(&self.id);
        if self.table.is_closed() || self.table.is_refusing() {
            self.table.ended.notify_waiters();
        }
    }
}
