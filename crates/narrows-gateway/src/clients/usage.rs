//! The resources that a client uses, in atomics: its bucket, its calls and its sessions.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::bucket::Bucket;
use super::settings::Rate;
use narrows_upstream::memory::{ClientMemory, Memory};

#[derive(Debug, Default)]
pub(super) struct Usage {
    bucket: Bucket,
    calls_in_flight: AtomicUsize,
    sessions: AtomicUsize,
    calls: AtomicU64,
    refused: AtomicU64,
    memory: OnceLock<ClientMemory>,
}

/// The permit for one request of a client, valid until dropped.
#[derive(Debug)]
#[must_use = "the request counts as in flight only while this is held"]
pub struct ClientPermit(Option<Arc<Usage>>);

/// The permit for one session of a client, valid until dropped.
#[derive(Debug)]
#[must_use = "the session counts only while this is held"]
pub(crate) struct SessionPermit(Option<Arc<Usage>>);

impl ClientPermit {
    /// Returns a permit for a client without limits.
    pub(crate) fn free() -> ClientPermit {
        ClientPermit(None)
    }
}

impl SessionPermit {
    /// Returns a permit for a client without limits.
    pub(crate) fn free() -> SessionPermit {
        SessionPermit(None)
    }
}

impl Drop for ClientPermit {
    fn drop(&mut self) {
        if let Some(usage) = &self.0 {
            usage.calls_in_flight.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for SessionPermit {
    fn drop(&mut self) {
        if let Some(usage) = &self.0 {
            usage.sessions.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Usage {
    /// Counts a call in flight. Returns `None` if there are already `max`.
    pub(super) fn start_call(self: &Arc<Self>, max: Option<usize>) -> Option<ClientPermit> {
        self.enter(&self.calls_in_flight, max)?;
        Some(ClientPermit(Some(self.clone())))
    }

    /// Counts a session. Returns `None` if there are already `max`.
    pub(super) fn start_session(self: &Arc<Self>, max: Option<usize>) -> Option<SessionPermit> {
        self.enter(&self.sessions, max)?;
        Some(SessionPermit(Some(self.clone())))
    }

    /// Counts a request if the rate allows it. Otherwise returns the time until it does.
    pub(super) fn take_turn(&self, rate: Rate, now: Duration) -> Result<(), Duration> {
        match self.bucket.take(rate, now) {
            Ok(()) => {
                self.count_call();
                Ok(())
            }
            Err(after) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                Err(after)
            }
        }
    }

    pub(super) fn memory(&self, all: &Memory) -> ClientMemory {
        self.memory.get_or_init(|| all.client()).clone()
    }

    pub(super) fn count_call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn calls_in_flight(&self) -> usize {
        self.calls_in_flight.load(Ordering::Relaxed)
    }

    pub(super) fn sessions(&self) -> usize {
        self.sessions.load(Ordering::Relaxed)
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    fn enter(&self, count: &AtomicUsize, max: Option<usize>) -> Option<()> {
        let max = max.unwrap_or(usize::MAX);
        let more = |now: usize| (now < max).then_some(now + 1);
        let entered = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        if entered.is_err() {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        entered.ok().map(drop)
    }
}
