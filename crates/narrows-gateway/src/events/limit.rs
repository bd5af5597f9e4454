//! Limits on how many calls are logged.
//!
//! A busy gateway answers thousands of calls a second. Logging all of them
//! costs more than the calls and fills disks, so each second has room for a
//! number of calls; the rest is counted, and the count is logged.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Calls a second whose events are logged.
pub(super) const MAX_CALLS: u64 = 200;

/// Error events a second that are logged besides, of calls beyond that limit:
/// a flood of successful calls must not hide the failures.
pub(super) const MAX_ERRORS: u64 = 20;

/// A number of events for each second.
pub(super) struct Limit {
    max: u64,
    /// The second that `taken` counts, since the process began to log.
    second: AtomicU64,
    taken: AtomicU64,
    left_out: AtomicU64,
}

impl Limit {
    pub(super) const fn new(max: u64) -> Limit {
        Limit {
            max,
            second: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
        }
    }

    /// Returns true if one more fits into this second, and counts it as left
    /// out otherwise. Threads that meet at the end of a second may let a few
    /// more pass.
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
        // Reading first keeps calls beyond the limit from writing to a line
        // that all threads share more often than once.
        if self.taken.load(Ordering::Relaxed) < self.max
            && self.taken.fetch_add(1, Ordering::Relaxed) < self.max
        {
            return true;
        }
        self.left_out.fetch_add(1, Ordering::Relaxed);
        false
    }

    /// Returns how many were left out since this was last asked.
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
    fn each_second_has_its_own_room_and_the_rest_is_counted() {
        let limit = Limit::new(3);
        let admitted = |second| (0..10).filter(|_| limit.admit_at(second)).count();
        assert_eq!([admitted(0), admitted(0), admitted(7)], [3, 0, 3]);
        assert_eq!((limit.take_left_out(), limit.take_left_out()), (24, 0));
    }
}
