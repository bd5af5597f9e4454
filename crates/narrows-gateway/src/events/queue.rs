//! The queue of events for the log.
//!
//! The call path only records an event. A task formats the recorded events shortly afterwards and
//! passes them to `tracing`. One task serves many calls, so each call pays for a push but not for
//! waking another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use narrows_wire::Raw;
use parking_lot::Mutex;

use super::limit::{EventLimit, MAX_CALLS, MAX_ERRORS};
use super::{EventValue, RequestTag, Severity};

/// The maximum number of events that wait to be formatted.
const MAX_WAITING: usize = 4_096;

/// The maximum time that an event waits to be formatted.
const DELAY: Duration = Duration::from_millis(20);

/// The interval at which left-out events are reported.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

pub(super) static CALLS: EventLimit = EventLimit::new(MAX_CALLS);
pub(super) static ERRORS: EventLimit = EventLimit::new(MAX_ERRORS);

static WAITING: Mutex<Vec<QueuedEvent>> = Mutex::new(Vec::new());
static DROPPED: AtomicU64 = AtomicU64::new(0);
static IS_REPORT_DUE: AtomicBool = AtomicBool::new(false);

/// A recorded event that is not formatted yet.
pub(super) struct QueuedEvent {
    at_ms: u64,
    severity: Severity,
    name: &'static str,
    tag: RequestTag,
    members: Vec<(&'static str, EventValue)>,
}

pub(super) fn push(
    severity: Severity,
    name: &'static str,
    tag: RequestTag,
    members: Vec<(&'static str, EventValue)>,
) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let noted = QueuedEvent {
        at_ms: since.unwrap_or_default().as_millis() as u64,
        severity,
        name,
        tag,
        members,
    };
    let is_first = {
        let mut waiting = WAITING.lock();
        if waiting.len() < MAX_WAITING {
            waiting.push(noted);
            waiting.len() == 1
        } else {
            DROPPED.fetch_add(1, Ordering::Relaxed);
            report_soon();
            false
        }
    };
    if is_first {
        later(DELAY, flush);
    }
}

/// Formats and logs all waiting events.
pub(super) fn flush() {
    let noted = std::mem::take(&mut *WAITING.lock());
    for noted in noted {
        noted.log();
    }
}

/// Schedules a report of left-out events, within a second. Called for every event that is left out;
/// usually costs a single load.
pub(super) fn report_soon() {
    if !IS_REPORT_DUE.load(Ordering::Relaxed) && !IS_REPORT_DUE.swap(true, Ordering::Relaxed) {
        later(REPORT_INTERVAL, report);
    }
}

fn report() {
    IS_REPORT_DUE.store(false, Ordering::Relaxed);
    let payload = Raw::empty_object()
        .with_member("calls", &Raw::number(CALLS.take_left_out()))
        .with_member("errors", &Raw::number(ERRORS.take_left_out()))
        .with_member("dropped", &Raw::number(DROPPED.swap(0, Ordering::Relaxed)))
        .with_member("max_calls_per_s", &Raw::number(MAX_CALLS));
    tracing::info!(target: "narrows::event", event = "log.left_out", payload = payload.as_str());
}

/// Runs `work` after a delay, or when the runtime shuts down before that.
fn later(delay: Duration, work: fn()) {
    struct RunOnDrop(fn());
    impl Drop for RunOnDrop {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    let due = RunOnDrop(work);
    // Without a runtime, `due` is dropped here and runs the work immediately.
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move {
            let _due = due;
            tokio::time::sleep(delay).await;
        });
    }
}

impl QueuedEvent {
    fn log(self) {
        let start = Raw::empty_object().with_member("request_id", &self.tag.to_raw());
        let payload = self.members.iter().fold(start, |payload, (name, value)| {
            payload.with_member(name, &value.to_raw())
        });
        let (at_ms, event, payload) = (self.at_ms, self.name, payload.as_str());
        match self.severity {
            Severity::Info => {
                tracing::info!(target: "narrows::event", at_ms, event, payload);
            }
            Severity::Warn => {
                tracing::warn!(target: "narrows::event", at_ms, event, payload);
            }
        }
    }
}
