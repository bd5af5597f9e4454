//! Limits on the number of logged calls.
//!
//! A busy gateway handles thousands of calls a second. Logging all of them costs more than the
//! calls and fills disks. So the number of logged calls per second is limited. The rest is counted,
//! and the count is logged.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The maximum number of calls per second whose events are logged.
pub(super) const MAX_CALLS: u64 = 200;

/// The maximum number of error events per second that are logged for calls beyond that limit, so
/// that a flood of successful calls does not hide failures.
pub(super) const MAX_ERRORS: u64 = 20;

/// A limit on the number of events per second.
pub(super) struct EventLimit {
    max: u64,
    /// The second that `taken` refers to, counted from the first use.
    second: AtomicU64,
    taken: AtomicU64,
    left_out: AtomicU64,
}

impl EventLimit {
    pub(super) const fn new(max: u64) -> EventLimit {
        EventLimit {
            max,
            second: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
        }
    }

    /// Returns true if another event is within the limit of this second. Otherwise counts the event
    /// as left out. Races at the end of a second may admit a few more.
    pub(super) fn admit(&self) -> bool {
        self.admit_at(second())
    }

    fn admit_at(&self, now: u64) -> bool {
        let seen = self.second.load(Ordering::Relaxed);
        let began = || {
            self.second
                .compare_exchange(seen, now, Ordering::Relaxed, Ordering::Relaxed)
        };
        if seen != now && began().is_ok() {
            self.taken.store(0, Ordering::Relaxed);
        }
        // Reading first avoids writes to a shared cache line for most of the calls beyond the
        // limit.
        if self.taken.load(Ordering::Relaxed) < self.max
            && self.taken.fetch_add(1, Ordering::Relaxed) < self.max
        {
            return true;
        }
        self.left_out.fetch_add(1, Ordering::Relaxed);
        false
    }

    /// Returns the number of events left out since the last call.
    pub(super) fn take_left_out(&self) -> u64 {
        self.left_out.swap(0, Ordering::Relaxed)
    }
}

fn second() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_applies_per_second_and_counts_the_excess() {
        let limit = EventLimit::new(3);
        let admitted = |second| (0..10).filter(|_| limit.admit_at(second)).count();
        assert_eq!([admitted(0), admitted(0), admitted(7)], [3, 0, 3]);
        assert_eq!((limit.take_left_out(), limit.take_left_out()), (24, 0));
    }
}
