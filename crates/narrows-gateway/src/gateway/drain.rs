//! Shutdown: refuses new work and waits for calls in flight.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Gateway, Inner};
use crate::error::Error;
use crate::session::Session;

/// The time for interrupted calls to end.
const INTERRUPTED_WITHIN: Duration = Duration::from_secs(2);

/// The state of a shutdown.
#[derive(Default)]
pub(crate) struct Drain {
    /// True once no new work is accepted.
    begun: AtomicBool,
    /// Cancelled when the gateway stops waiting for calls in flight.
    interrupted: CancellationToken,
    /// Requests outside sessions.
    plain: TaskTracker,
}

impl Drain {
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::SeqCst)
    }

    /// Runs a request outside sessions, unless the gateway shuts down first.
    pub(super) async fn carry<T, E: From<Error>>(
        &self,
        request: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        // Counted before the check, so that `drain` waits for it.
        let _in_flight = self.plain.token();
        if self.has_begun() {
            return Err(Error::ShuttingDown.into());
        }
        tokio::select! {
            biased;
            answer = request => answer,
            () = self.interrupted.cancelled() => Err(Error::Interrupted { sent: true }.into()),
        }
    }
}

impl Gateway {
    /// Refuses new work from now on. Calls in flight continue.
    pub fn refuse_work(&self) {
        let inner = &self.0;
        inner.drain.begun.store(true, Ordering::SeqCst);
        inner.drain.plain.close();
        let sessions = inner.all_sessions();
        sessions.iter().for_each(|session| session.refuse_calls());
    }

    /// Refuses new work and waits for calls in flight, at most
    /// [`Limits::shutdown_grace`](crate::settings::Limits::shutdown_grace). The remaining calls get
    /// an error that says whether they may have been carried out. Returns immediately if no calls
    /// are in flight.
    pub async fn drain(&self) {
        self.refuse_work();
        let inner = &self.0;
        let sessions = inner.all_sessions();
        let grace = inner.services.limits.shutdown_grace;
        let in_flight = inner.in_flight(&sessions);
        if in_flight == 0 {
            return;
        }
        let grace_s = grace.as_secs_f64();
        tracing::info!(in_flight, grace_s, "waiting for calls in flight");
        if timeout(grace, inner.calls_ended(&sessions)).await.is_ok() {
            return;
        }
        let interrupted = inner.in_flight(&sessions);
        tracing::warn!(interrupted, "calls did not end in time, interrupting them");
        inner.drain.interrupted.cancel();
        sessions.iter().for_each(|session| session.interrupt());
        let _ = timeout(INTERRUPTED_WITHIN, inner.calls_ended(&sessions)).await;
    }

    /// Returns true once the gateway is shutting down.
    pub fn is_draining(&self) -> bool {
        self.0.drain.has_begun()
    }
}

impl Inner {
    fn in_flight(&self, sessions: &[Arc<Session>]) -> usize {
        let calls = sessions.iter().map(|session| session.calls_in_flight());
        calls.sum::<usize>() + self.drain.plain.len()
    }

    async fn calls_ended(&self, sessions: &[Arc<Session>]) {
        join_all(sessions.iter().map(|session| session.calls_ended())).await;
        self.drain.plain.wait().await;
    }
}
