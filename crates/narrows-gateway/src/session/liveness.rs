//! The time since a session heard from its client.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// The condition that ends a session whose client sends no more messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Ends with the connection: stdio, WebSocket or SSE.
    Connection,
    /// Ends after `Limits::session_idle` without a message.
    Idle,
}

/// The start of a session and the time until which its lists wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionTimes {
    pub(crate) began: Instant,
    pub(crate) lists_by: Instant,
}

pub(super) struct Liveness {
    lifetime: Lifetime,
    times: SessionTimes,
    /// The number of streams and other holders that keep the session open.
    active_guards: AtomicUsize,
    /// The time of the last message, in milliseconds after the start.
    last_sign: AtomicU64,
}

impl Liveness {
    pub(super) fn new(lifetime: Lifetime, times: SessionTimes) -> Liveness {
        Liveness {
            lifetime,
            times,
            active_guards: AtomicUsize::new(0),
            last_sign: AtomicU64::new(0),
        }
    }

    /// Returns true if the session ends with its connection.
    pub(super) fn is_connected(&self) -> bool {
        self.lifetime == Lifetime::Connection
    }

    /// Records a message from the client.
    pub(super) fn record_message(&self) {
        let elapsed = self.age().as_millis() as u64;
        self.last_sign.store(elapsed, Ordering::Relaxed);
    }

    pub(super) fn keep_active(&self) {
        self.active_guards.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn release_active(&self) {
        self.record_message();
        self.active_guards.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn age(&self) -> Duration {
        self.times.began.elapsed()
    }

    /// Returns the time since the last message.
    pub(super) fn silence(&self) -> Duration {
        let last = Duration::from_millis(self.last_sign.load(Ordering::Relaxed));
        (self.times.began + last).elapsed()
    }

    /// Returns true if the session may end when idle and has been silent for longer than `limit`.
    pub(super) fn is_idle(&self, limit: Duration) -> bool {
        self.lifetime == Lifetime::Idle
            && self.active_guards.load(Ordering::Relaxed) == 0
            && self.silence() > limit
    }

    /// Returns the time until which lists wait for servers that are starting.
    pub(super) fn lists_by(&self) -> Instant {
        self.times.lists_by
    }
}
