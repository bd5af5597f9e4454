//! A timeout that progress renews.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::timers::Timers;

/// The timeout of one call. It needs a single timer: a renewal only stores a time, which is checked
/// when the timer fires.
pub(super) struct RenewableTimeout {
    limit: Duration,
    start: Instant,
    /// The time of the last renewal, in nanoseconds after `start`.
    renewed: AtomicU64,
}

impl RenewableTimeout {
    pub(super) fn new(limit: Duration) -> Self {
        // Longer than any call, and short enough to be added to any instant without overflow.
        let limit = limit.min(Duration::from_secs(365 * 24 * 3600));
        RenewableTimeout {
            limit,
            start: Instant::now(),
            renewed: AtomicU64::new(0),
        }
    }

    pub(super) fn renew(&self) {
        let passed = self.start.elapsed().as_nanos();
        self.renewed
            .store(u64::try_from(passed).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Waits until the timeout has passed. The timer is only taken on the first poll, so a response
    /// that is available immediately does not need one.
    pub(super) async fn expired(&self, timers: &Arc<Timers>) {
        let mut timer = timers.sleep_until(self.deadline());
        loop {
            (&mut timer).await;
            let deadline = self.deadline();
            if deadline <= Instant::now() {
                return;
            }
            timer.reset(deadline);
        }
    }

    pub(super) fn deadline(&self) -> Instant {
        let renewed = Duration::from_nanos(self.renewed.load(Ordering::Relaxed));
        self.start + renewed + self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn renewal_extends_the_deadline() {
        let timeout = RenewableTimeout::new(Duration::from_secs(10));
        let timers = Arc::default();
        let start = Instant::now();
        let renewing = async {
            for _ in 0..3 {
                tokio::time::sleep(Duration::from_secs(9)).await;
                timeout.renew();
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = renewing => {}
            () = timeout.expired(&timers) => {}
        }
        let took = start.elapsed();
        assert!(
            took >= Duration::from_secs(37) && took < Duration::from_millis(37_100),
            "{took:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn work_done_in_time_is_not_aborted() {
        for limit in [Duration::from_secs(10), Duration::MAX] {
            let timeout = RenewableTimeout::new(limit);
            let timers = Arc::default();
            let is_done = tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(9)) => true,
                () = timeout.expired(&timers) => false,
            };
            assert!(is_done);
        }
    }
}
