//! A time limit that signs of life start anew.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Poll, ready};
use std::time::Duration;

use tokio::time::Instant;

use crate::timers::Timers;

/// One timer serves the whole wait: a renewal only moves a number, which is
/// looked at when the timer fires.
pub(super) struct RenewableTimeout {
    limit: Duration,
    start: Instant,
    /// Nanoseconds after `start`.
    renewed: AtomicU64,
}

impl RenewableTimeout {
    pub(super) fn new(limit: Duration) -> Self {
        // Longer than any call, and short enough to be added to any instant.
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

    /// What `future` gives, or `None` once the time is up.
    pub(super) async fn limit<F: Future>(
        &self,
        timers: &Arc<Timers>,
        mut future: Pin<&mut F>,
    ) -> Option<F::Output> {
        let mut timer = None;
        poll_fn(|cx| {
            loop {
                if let Poll::Ready(output) = future.as_mut().poll(cx) {
                    return Poll::Ready(Some(output));
                }
                // An answer that is there at once needs no timer.
                let timer = timer.get_or_insert_with(|| timers.sleep_until(self.deadline()));
                ready!(Pin::new(&mut *timer).poll(cx));
                let deadline = self.deadline();
                if deadline <= Instant::now() {
                    return Poll::Ready(None);
                }
                timer.reset(deadline);
            }
        })
        .await
    }

    pub(super) fn deadline(&self) -> Instant {
        let renewed = Duration::from_nanos(self.renewed.load(Ordering::Relaxed));
        self.start + renewed + self.limit
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn renewals_move_the_end() {
        let patience = RenewableTimeout::new(Duration::from_secs(10));
        let start = Instant::now();
        let renewing = pin!(async {
            for _ in 0..3 {
                tokio::time::sleep(Duration::from_secs(9)).await;
                patience.renew();
            }
            std::future::pending::<()>().await;
        });
        assert!(patience.limit(&Arc::default(), renewing).await.is_none());
        let took = start.elapsed();
        assert!(
            took >= Duration::from_secs(37) && took < Duration::from_millis(37_100),
            "{took:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_in_time_is_given_back() {
        for limit in [Duration::from_secs(10), Duration::MAX] {
            let patience = RenewableTimeout::new(limit);
            let working = pin!(tokio::time::sleep(Duration::from_secs(9)));
            assert!(patience.limit(&Arc::default(), working).await.is_some());
        }
    }
}
