//! Health checks of connected servers. Links record signs of life from a server, and a silent
//! server is pinged.
//!
//! Every link has its [`Liveness`]. [`watch`] reads only these and is independent of the transport:
//! the caller passes in the function that sends a ping. A link that fails the check ends like any
//! lost connection, and its owner reconnects.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::failure::{Failure, FailureKind};
use crate::hooks::UpstreamObserver;
use crate::settings::HealthSettings;

/// Signs of life from the server behind one link.
pub(crate) struct Liveness {
    start: Instant,
    /// The time of the last message, in nanoseconds after `start`.
    record_activity: AtomicU64,
    /// The number of pending requests.
    work: OnceLock<ActiveRequests>,
    missed: Mutex<MissedChecks>,
    /// Wakes the health check after a call timed out.
    check_now: Notify,
    /// Receives the failed checks.
    observer: OnceLock<Arc<dyn UpstreamObserver>>,
}

/// Counts the requests that a server is working on. Links to the same process share the counter,
/// because a server that handles one request at a time does not answer on any link meanwhile.
#[derive(Debug, Clone, Default)]
pub(crate) struct ActiveRequests(Arc<AtomicUsize>);

/// Pings and calls without a response since the last sign of life.
#[derive(Debug, Default)]
struct MissedChecks {
    pings: u32,
    calls: u32,
    /// The time at which the last of them was counted.
    last: Option<Instant>,
}

/// Counts a request as in flight until it is dropped.
#[must_use]
pub(crate) struct ActiveRequest(ActiveRequests);

impl Liveness {
    pub(crate) fn new() -> Liveness {
        Liveness {
            start: Instant::now(),
            record_activity: AtomicU64::new(0),
            work: OnceLock::new(),
            missed: Mutex::default(),
            check_now: Notify::new(),
            observer: OnceLock::new(),
        }
    }

    /// Counts the requests of this link together with those of other links. Must be called before
    /// the first request.
    pub(crate) fn share(&self, work: &ActiveRequests) {
        let _ = self.work.set(work.clone());
    }

    /// Reports failed checks to `observer`.
    pub(crate) fn set_observer(&self, observer: &Arc<dyn UpstreamObserver>) {
        let _ = self.observer.set(observer.clone());
    }

    /// Records a sign of life.
    pub(crate) fn record_activity(&self) {
        let passed = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.record_activity.store(passed, Ordering::Release);
    }

    /// Counts a request as in flight until the result is dropped.
    pub(crate) fn in_flight(&self) -> ActiveRequest {
        let work = self.work.get_or_init(ActiveRequests::default).clone();
        work.0.fetch_add(1, Ordering::AcqRel);
        ActiveRequest(work)
    }

    /// Records that a call sent at `sent` has timed out. It counts only if no message has arrived
    /// since. Calls that waited at the same time count once, because they are caused by the same
    /// silence.
    pub(crate) fn record_timeout(&self, sent: Instant) {
        let record_activity = self.last_activity();
        let mut missed = self.missed.lock();
        missed.forget_before(record_activity);
        if record_activity < sent && missed.last.is_none_or(|last| last <= sent) {
            missed.calls += 1;
            missed.last = Some(Instant::now());
            drop(missed);
            self.check_now.notify_one();
        }
    }

    /// Returns true if a sign of life arrived at or after this time.
    pub(crate) fn active_since(&self, then: Instant) -> bool {
        self.last_activity() >= then
    }

    fn last_activity(&self) -> Instant {
        self.start + Duration::from_nanos(self.record_activity.load(Ordering::Acquire))
    }

    /// Returns true if the pending requests explain the server's silence.
    fn is_busy(&self, limit: Duration) -> bool {
        let works = self.work.get().is_some_and(ActiveRequests::any);
        works && self.last_activity().elapsed() < limit
    }

    /// Returns the time of the next ping: after an interval of silence, or immediately if a ping or
    /// call was missed.
    fn due(&self, interval: Duration) -> Instant {
        let record_activity = self.last_activity();
        let mut missed = self.missed.lock();
        missed.forget_before(record_activity);
        missed.last.unwrap_or(record_activity + interval)
    }

    /// Counts a failed check.
    fn miss(&self) {
        let mut missed = self.missed.lock();
        missed.forget_before(self.last_activity());
        missed.pings += 1;
        missed.last = Some(Instant::now());
        if let Some(observer) = self.observer.get() {
            observer.health_check_failed();
        }
    }

    /// Returns the reason to give up the link, if there are too many failed checks and calls.
    fn verdict(&self, health: &HealthSettings) -> Option<Failure> {
        let mut missed = self.missed.lock();
        missed.forget_before(self.last_activity());
        (missed.pings.saturating_add(missed.calls) >= health.failures)
            .then(|| Failure::new(FailureKind::TimedOut, missed.describe(health.timeout)))
    }
}

impl MissedChecks {
    /// Resets the counters if a sign of life arrived after the last miss.
    fn forget_before(&mut self, record_activity: Instant) {
        if self.last.is_some_and(|last| last <= record_activity) {
            *self = MissedChecks::default();
        }
    }

    fn describe(&self, timeout: Duration) -> String {
        let many = |count: u32, what: &str| {
            let plural = if count == 1 { "" } else { "s" };
            format!("{count} {what}{plural}")
        };
        let pings = || {
            let each = if self.pings == 1 { "" } else { " each" };
            let checks = many(self.pings, "health check");
            format!("{checks} ({} s{each})", timeout.as_secs_f64())
        };
        match (self.pings, self.calls) {
            (0, calls) => format!("it did not answer {}", many(calls, "call")),
            (_, 0) => format!("it did not answer {}", pings()),
            (_, calls) => format!("it did not answer {} and {}", many(calls, "call"), pings()),
        }
    }
}

impl ActiveRequests {
    fn any(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Checks the health of a link until it must be given up, and returns the reason. `ping` sends a
/// ping and returns after the response or the timeout. The outcome is read from the vitals.
pub(crate) async fn watch<F: Future<Output = ()>>(
    liveness: &Liveness,
    health: &HealthSettings,
    ping: impl Fn(Duration) -> F,
) -> Failure {
    let Some(interval) = health.interval else {
        return std::future::pending().await;
    };
    // The earliest time of the next ping.
    let mut rest = liveness.start;
    loop {
        tokio::select! {
            () = sleep_until(liveness.due(interval).max(rest)) => {
                if liveness.due(interval) > Instant::now() {
                    continue;
                }
            }
            () = liveness.check_now.notified() => {}
        }
        if let Some(failure) = liveness.verdict(health) {
            return failure;
        }
        let asked = Instant::now();
        ping(health.timeout).await;
        if liveness.active_since(asked) {
            continue;
        }
        // An error that is returned immediately does not shorten the time for a sign of life.
        sleep_until(asked + health.timeout).await;
        if liveness.active_since(asked) {
            continue;
        }
        if liveness.is_busy(health.busy) {
            // Pings would pile up at a server that handles one request at a time.
            rest = asked + interval;
            continue;
        }
        liveness.miss();
        if let Some(failure) = liveness.verdict(health) {
            return failure;
        }
    }
}
