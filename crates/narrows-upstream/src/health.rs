//! Health checks of connected servers: links note the signs of life of a server,
//! and a server that gives none is pinged.
//!
//! Every link has its [`Vitals`]. [`watch`] reads them and nothing else: it
//! knows no transport, and what it asks with is handed to it. A link that it
//! gives up ends like any other that was lost, and is made anew by whoever
//! keeps it.

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

/// The signs of life of the server behind one link.
pub(crate) struct Vitals {
    start: Instant,
    /// The last message, in nanoseconds after `start`.
    heard: AtomicU64,
    /// Requests that wait for an answer.
    work: OnceLock<Work>,
    misses: Mutex<Misses>,
    /// A call was not answered, so whoever watches should look.
    doubt: Notify,
    /// Counts checks without an answer.
    observer: OnceLock<Arc<dyn UpstreamObserver>>,
}

/// Counts the requests that a server works on, or says that it does. Links to
/// one and the same process share it: a server that does one thing at a time
/// answers none of them meanwhile.
#[derive(Debug, Clone, Default)]
pub(crate) struct Work(Arc<AtomicUsize>);

/// Requests without an answer since the last sign of life.
#[derive(Debug, Default)]
struct Misses {
    pings: u32,
    calls: u32,
    /// When the last of them was counted.
    last: Option<Instant>,
}

/// A request in flight, as long as it is.
#[must_use]
pub(crate) struct InFlight(Work);

impl Vitals {
    pub(crate) fn new() -> Vitals {
        Vitals {
            start: Instant::now(),
            heard: AtomicU64::new(0),
            work: OnceLock::new(),
            misses: Mutex::default(),
            doubt: Notify::new(),
            observer: OnceLock::new(),
        }
    }

    /// Has the requests of this link counted together with those of others.
    /// Said before the first call, or not at all.
    pub(crate) fn share(&self, work: &Work) {
        let _ = self.work.set(work.clone());
    }

    /// Reports checks without an answer to `observer`.
    pub(crate) fn report_to(&self, observer: &Arc<dyn UpstreamObserver>) {
        let _ = self.observer.set(observer.clone());
    }

    /// Notes a sign of life.
    pub(crate) fn heard(&self) {
        let passed = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.heard.store(passed, Ordering::Release);
    }

    /// Notes that a request is on its way.
    pub(crate) fn in_flight(&self) -> InFlight {
        let work = self.work.get_or_init(Work::default).clone();
        work.0.fetch_add(1, Ordering::AcqRel);
        InFlight(work)
    }

    /// Notes that a call that was sent at `sent` was not answered in its time.
    /// It counts only if nothing else has come since, and calls that waited at
    /// the same time count once: they tell the same.
    pub(crate) fn unanswered(&self, sent: Instant) {
        let heard = self.last_heard();
        let mut misses = self.misses.lock();
        misses.forget_before(heard);
        if heard < sent && misses.last.is_none_or(|last| last <= sent) {
            misses.calls += 1;
            misses.last = Some(Instant::now());
            drop(misses);
            self.doubt.notify_one();
        }
    }

    /// Returns true if there was a sign of life at that time or after it.
    pub(crate) fn heard_since(&self, then: Instant) -> bool {
        self.last_heard() >= then
    }

    fn last_heard(&self) -> Instant {
        self.start + Duration::from_nanos(self.heard.load(Ordering::Acquire))
    }

    /// Returns true if its silence is explained by what it has to do.
    fn is_busy(&self, limit: Duration) -> bool {
        let works = self.work.get().is_some_and(Work::any);
        works && self.last_heard().elapsed() < limit
    }

    /// When it has to be asked: after a silence, or at once where something
    /// was missed already.
    fn due(&self, interval: Duration) -> Instant {
        let heard = self.last_heard();
        let mut misses = self.misses.lock();
        misses.forget_before(heard);
        misses.last.unwrap_or(heard + interval)
    }

    /// Counts a check that was not answered.
    fn miss(&self) {
        let mut misses = self.misses.lock();
        misses.forget_before(self.last_heard());
        misses.pings += 1;
        misses.last = Some(Instant::now());
        if let Some(observer) = self.observer.get() {
            observer.health_check_failed();
        }
    }

    /// Returns why the link has to be given up, if it has to.
    fn verdict(&self, health: &HealthSettings) -> Option<Failure> {
        let mut misses = self.misses.lock();
        misses.forget_before(self.last_heard());
        (misses.pings.saturating_add(misses.calls) >= health.failures)
            .then(|| Failure::new(FailureKind::TimedOut, misses.describe(health.timeout)))
    }
}

impl Misses {
    /// A sign of life makes good what was missed before it.
    fn forget_before(&mut self, heard: Instant) {
        if self.last.is_some_and(|last| last <= heard) {
            *self = Misses::default();
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

impl Work {
    fn any(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Watches over a link for as long as it is polled, and returns why it must be
/// given up. `ping` asks the server for a sign of life and returns when there
/// is an answer or the time is up; what it brought shows in the vitals.
pub(crate) async fn watch<F: Future<Output = ()>>(
    vitals: &Vitals,
    health: &HealthSettings,
    ping: impl Fn(Duration) -> F,
) -> Failure {
    let Some(interval) = health.interval else {
        return std::future::pending().await;
    };
    // Before this the server is not asked again, however silent it is.
    let mut rest = vitals.start;
    loop {
        tokio::select! {
            () = sleep_until(vitals.due(interval).max(rest)) => {
                if vitals.due(interval) > Instant::now() {
                    continue;
                }
            }
            () = vitals.doubt.notified() => {}
        }
        if let Some(failure) = vitals.verdict(health) {
            return failure;
        }
        let asked = Instant::now();
        ping(health.timeout).await;
        if vitals.heard_since(asked) {
            continue;
        }
        // A refusal that comes at once would come again at once.
        sleep_until(asked + health.timeout).await;
        if vitals.heard_since(asked) {
            continue;
        }
        if vitals.is_busy(health.busy) {
            // Questions pile up at a server that does one thing at a time.
            rest = asked + interval;
            continue;
        }
        vitals.miss();
        if let Some(failure) = vitals.verdict(health) {
            return failure;
        }
    }
}
