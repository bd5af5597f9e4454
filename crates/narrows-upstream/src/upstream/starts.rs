//! Start slots, which limit the number of child processes that start at the same time.
//!
//! A starting server (an interpreter, a package runner) keeps a core busy. If many start at once,
//! they slow each other down until all of them exceed their time limit. Therefore each waits for a
//! slot before it is spawned. Remote servers are already running and need no slot.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The maximum time for which a server holds its slot. A server that takes longer is probably
/// waiting for a download or a login, and must not delay the others.
const MAX_HOLD: Duration = Duration::from_secs(3);

#[derive(Debug, Clone)]
pub struct StartSlots(Arc<Semaphore>);

/// A slot, which is released on drop.
#[derive(Debug)]
pub struct StartSlot {
    _permit: OwnedSemaphorePermit,
}

impl StartSlots {
    pub fn new(count: usize) -> StartSlots {
        StartSlots(Arc::new(Semaphore::new(count.max(1))))
    }

    pub async fn acquire(&self) -> StartSlot {
        let slot = self.0.clone().acquire_owned().await;
        StartSlot {
            _permit: slot.expect("the semaphore is never closed"),
        }
    }
}

impl Default for StartSlots {
    /// Creates two slots per core.
    fn default() -> StartSlots {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        StartSlots::new(2 * cores)
    }
}

impl StartSlot {
    /// Runs `starting`, and holds the slot until it has finished, but at most for [`MAX_HOLD`].
    pub async fn hold<T>(self, starting: impl Future<Output = T>) -> T {
        let mut starting = pin!(starting);
        match timeout(MAX_HOLD, &mut starting).await {
            Ok(done) => done,
            Err(_) => {
                drop(self);
                starting.await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use tokio::time::{Instant, sleep};

    #[tokio::test(start_paused = true)]
    async fn start_slot_is_freed_after_start_or_failure() {
        let slots = StartSlots::new(1);
        let began = Instant::now();
        let slot = slots.acquire().await;
        slot.hold(sleep(Duration::from_secs(1))).await;
        slots.acquire().await;
        assert_eq!(began.elapsed().as_secs(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn start_slot_is_freed_if_a_server_starts_slowly() {
        let slots = StartSlots::new(1);
        let began = Instant::now();
        let slot = slots.acquire().await;
        let slow = tokio::spawn(slot.hold(sleep(Duration::from_secs(30))));
        slots.acquire().await;
        assert_eq!(began.elapsed(), MAX_HOLD);
        slow.await.expect("it ends");
        assert_eq!(began.elapsed().as_secs(), 30);
    }
}
