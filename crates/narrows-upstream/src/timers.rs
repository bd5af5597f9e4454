//! Timers that are reused by successive calls.
//!
//! Nearly every timeout of a call is dropped before it expires. Inserting a timer into the
//! runtime's wheel and removing it is the most expensive part, so the timer of a finished call
//! stays in the wheel and serves the next call. If it then fires too early, it is set again.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use parking_lot::Mutex;

/// Longer than any wait, and short enough to be added to any instant without overflow.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// The maximum number of spare timers. Each holds the memory of the task that polled it last.
const MAX_SPARE: usize = 64;

/// Timers for timeouts of similar length. If the lengths varied, most spare timers would have to be
/// set again.
#[derive(Debug, Default)]
pub struct Timers {
    spare: Mutex<Vec<Pin<Box<Sleep>>>>,
}

/// A future that completes at its deadline.
#[derive(Debug)]
pub struct Timer {
    /// `None` only while the timer is being dropped.
    sleep: Option<Pin<Box<Sleep>>>,
    deadline: Instant,
    timers: Arc<Timers>,
}

impl Timers {
    /// Returns a timer that completes after `duration`, which may be of any length.
    pub fn sleep(self: &Arc<Self>, duration: Duration) -> Timer {
        self.sleep_until(Instant::now() + duration.min(FOREVER))
    }

    pub fn sleep_until(self: &Arc<Self>, deadline: Instant) -> Timer {
        let spare = self.spare.lock().pop();
        let sleep = match spare {
            Some(mut sleep) => {
                if sleep.is_elapsed() || sleep.deadline() > deadline {
                    sleep.as_mut().reset(deadline);
                }
                sleep
            }
            None => Box::pin(sleep_until(deadline)),
        };
        Timer {
            sleep: Some(sleep),
            deadline,
            timers: self.clone(),
        }
    }
}

impl Timer {
    /// Changes the deadline.
    pub fn reset(&mut self, deadline: Instant) {
        self.deadline = deadline;
        if let Some(sleep) = &mut self.sleep
            && (sleep.is_elapsed() || sleep.deadline() > deadline)
        {
            sleep.as_mut().reset(deadline);
        }
    }
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = self.deadline;
        let Some(sleep) = &mut self.sleep else {
            return Poll::Ready(());
        };
        loop {
            ready!(sleep.as_mut().poll(cx));
            if sleep.deadline() >= deadline {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(deadline);
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        let mut spare = self.timers.spare.lock();
        if spare.len() < MAX_SPARE {
            spare.extend(self.sleep.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn spare_timer_fires_at_a_later_deadline() {
        let timers = Arc::<Timers>::default();
        let start = Instant::now();
        // Polled, so that the timer is inserted into the wheel.
        let unused = timers.sleep_until(start + 10 * SECOND);
        assert!(tokio::time::timeout(SECOND, unused).await.is_err());
        for deadline in [start + 12 * SECOND, start + 15 * SECOND] {
            assert_eq!(timers.spare.lock().len(), 1);
            timers.sleep_until(deadline).await;
            assert_eq!(Instant::now(), deadline);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn earlier_deadline_than_the_spare_timer_is_kept() {
        let timers = Arc::<Timers>::default();
        let start = Instant::now();
        drop(timers.sleep_until(start + 10 * SECOND));
        timers.sleep_until(start + SECOND).await;
        assert_eq!(Instant::now(), start + SECOND);
        let mut moved = timers.sleep_until(start + 9 * SECOND);
        moved.reset(start + 2 * SECOND);
        moved.await;
        assert_eq!(Instant::now(), start + 2 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn few_spare_timers_are_kept() {
        let timers = Arc::<Timers>::default();
        let at = Instant::now() + SECOND;
        let many: Vec<Timer> = (0..3 * MAX_SPARE).map(|_| timers.sleep_until(at)).collect();
        drop(many);
        assert_eq!(timers.spare.lock().len(), MAX_SPARE);
    }
}
