//! A token bucket in one atomic word: the generic cell rate algorithm.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::settings::Rate;

/// The time at which the bucket will be full again, in nanoseconds since an epoch.
#[derive(Debug, Default)]
pub(super) struct Bucket(AtomicU64);

impl Bucket {
    /// Takes one token from the bucket. If it is empty, returns the time until the next token.
    pub(super) fn take(&self, rate: Rate, now: Duration) -> Result<(), Duration> {
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let each = 60_000_000_000 / u64::from(rate.per_minute.max(1));
        let empty = each.saturating_mul(u64::from(rate.burst.max(1)));
        let mut full_at = self.0.load(Ordering::Relaxed);
        loop {
            // Limited to the current size of the bucket, which may have been larger when the time
            // was stored.
            let from = full_at.clamp(now, now.saturating_add(empty));
            let over = (from.saturating_add(each) - now).saturating_sub(empty);
            let next = match over {
                0 => from.saturating_add(each),
                _ => from,
            };
            let swapped =
                self.0
                    .compare_exchange_weak(full_at, next, Ordering::Relaxed, Ordering::Relaxed);
            match swapped {
                Ok(_) if over > 0 => return Err(Duration::from_nanos(over)),
                Ok(_) => return Ok(()),
                Err(other) => full_at = other,
            }
        }
    }
}
