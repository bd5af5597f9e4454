//! Durations in fixed buckets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::MetricValue;

/// The upper bounds in nanoseconds, from the gateway's own time for a call to the longest time that
/// clients wait.
const BOUNDS: [u64; 16] = [
    25_000,
    100_000,
    250_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    5_000_000_000,
    20_000_000_000,
    60_000_000_000,
];

/// The counts by bucket, and the sum. The last bucket has no bound.
#[derive(Default)]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BOUNDS.len() + 1],
    /// The sum in nanoseconds, sufficient for five hundred years.
    sum: AtomicU64,
}

impl Histogram {
    pub(crate) fn observe(&self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        // A value equal to a bound belongs to the bucket of that bound.
        let bucket = BOUNDS.partition_point(|bound| *bound < nanos);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Returns the histogram with cumulative buckets. The count is computed from the buckets as
    /// read, so that both agree despite concurrent updates.
    pub(crate) fn value(&self) -> MetricValue {
        let mut count = 0;
        let mut buckets = Vec::with_capacity(BOUNDS.len());
        let (last, bounded) = self.buckets.split_last().expect("there is one more bucket");
        for (bucket, bound) in bounded.iter().zip(BOUNDS) {
            count += bucket.load(Ordering::Relaxed);
            buckets.push((bound as f64 / 1e9, count));
        }
        MetricValue::Histogram {
            buckets,
            count: count + last.load(Ordering::Relaxed),
            sum: self.sum.load(Ordering::Relaxed) as f64 / 1e9,
        }
    }
}
