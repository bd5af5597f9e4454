//! Slow readers: clients that do not read their responses. They are disconnected when responses
//! hold too much memory.
//!
//! A response over a connection of one call is read from the server no faster than there is memory
//! for it. One client cannot hold up a connection that many calls share; there the slowest reader
//! is disconnected.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;

use narrows_upstream::memory::MemoryShare;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use super::Edge;

/// A client that reads at all takes some bytes at least this often.
const STALLED: Duration = Duration::from_millis(250);

/// A client that has taken nothing for this fraction of the write timeout may be disconnected to
/// make room for waiting responses.
const STALLED_FOR_LONG: u32 = 4;

/// The interval between checks, and the number of checks after the last shortage.
const STEP: Duration = Duration::from_millis(50);
const STEPS: usize = 40;

/// Connections that wait for their clients to read.
#[derive(Default)]
pub(super) struct SlowReaders {
    last: AtomicU64,
    stalled: Mutex<HashMap<u64, StalledReader>>,
}

struct StalledReader {
    since: Instant,
    memory: Option<Arc<MemoryShare>>,
    closed: Arc<AtomicBool>,
    waker: Waker,
}

/// The registration of a connection as a slow reader.
pub(super) struct Stall {
    readers: Arc<SlowReaders>,
    number: u64,
    closed: Arc<AtomicBool>,
}

impl SlowReaders {
    /// Registers a connection. `memory` is the memory share of the client, if known.
    pub(super) fn enter(
        self: &Arc<Self>,
        memory: Option<Arc<MemoryShare>>,
        waker: &Waker,
    ) -> Stall {
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        let closed = Arc::new(AtomicBool::new(false));
        let stalled = StalledReader {
            since: Instant::now(),
            memory,
            closed: closed.clone(),
            waker: waker.clone(),
        };
        self.stalled.lock().insert(number, stalled);
        Stall {
            readers: self.clone(),
            number,
            closed,
        }
    }

    /// Closes the slowest reader that `fits`, if it has taken nothing for at least `least`.
    fn close_slowest(&self, least: Duration, fits: impl Fn(&MemoryShare) -> bool) -> bool {
        let mut stalled = self.stalled.lock();
        let fitting = stalled.iter().filter(|(_, stalled)| {
            stalled.since.elapsed() >= least
                && stalled.memory.as_ref().is_some_and(|memory| fits(memory))
        });
        let slowest = fitting.min_by_key(|(_, stalled)| stalled.since);
        let number = slowest.map(|(number, _)| *number);
        let closed = number.and_then(|number| stalled.remove(&number));
        drop(stalled);
        if let Some(closed) = &closed {
            closed.closed.store(true, Ordering::Release);
            closed.waker.wake_by_ref();
        }
        closed.is_some()
    }

    // The lock is not poisoned on panic; a panic while it is held can only leave a reader out.
}

impl Stall {
    /// Returns true if the connection must be closed.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

impl Drop for Stall {
    fn drop(&mut self) {
        self.readers.stalled.lock().remove(&self.number);
    }
}

/// Closes slow readers whenever responses hold too much memory, until the edge stops.
pub(super) async fn make_room(edge: Arc<Edge>) {
    let budget = edge.gateway.response_memory().clone();
    let for_long = edge.settings.write_timeout / STALLED_FOR_LONG;
    let work = async {
        loop {
            budget.under_pressure().await;
            let mut left = STEPS;
            while left > 0 {
                left -= 1;
                let is_needed = budget.is_over() || budget.is_waited_for();
                if is_needed {
                    left = STEPS;
                    // Messages kept for resumption are dropped first, since no client is reading
                    // them.
                    edge.sessions.forget_unread();
                }
                let closed = (budget.is_over()
                    && edge
                        .readers
                        .close_slowest(STALLED, |memory| memory.used() > 0))
                    || (budget.is_waited_for()
                        && edge
                            .readers
                            .close_slowest(for_long, |memory| memory.used() > 0))
                    || edge.readers.close_slowest(STALLED, MemoryShare::is_over);
                if closed {
                    budget.count_closed_reader();
                    tracing::debug!("closed a client that does not read, to free memory");
                }
                sleep(STEP).await;
            }
        }
    };
    tokio::select! {
        () = edge.stop.cancelled() => {}
        () = work => {}
    }
}
