//! A waker that records wake-ups.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

use futures_util::task::AtomicWaker;

/// Wakes the task that polls a future, and records the wake-up, so that the future is only polled
/// after one.
#[derive(Debug)]
pub struct WakeFlag {
    is_raised: AtomicBool,
    task: AtomicWaker,
}

impl WakeFlag {
    /// Returns a raised flag, because every future must be polled once at first.
    pub fn raised() -> Arc<WakeFlag> {
        Arc::new(WakeFlag {
            is_raised: AtomicBool::new(true),
            task: AtomicWaker::new(),
        })
    }

    /// Clears the flag, and returns true if it was raised. The next wake-up wakes `task`.
    pub fn take(&self, task: &Waker) -> bool {
        // Registered first, so that no wake-up is missed.
        self.task.register(task);
        // The flag is usually not raised, and a load costs less than a swap. The swap orders the
        // poll after the wake-up that it clears.
        self.is_raised.load(Ordering::Relaxed) && self.is_raised.swap(false, Ordering::AcqRel)
    }
}

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_raised.store(true, Ordering::Release);
        self.task.wake();
    }
}
