//! Writes log lines to stderr from a separate thread.
//!
//! A client that starts the gateway over stdio may never read its stderr. Once that pipe is full,
//! writes to it block forever and would block the gateway. Lines therefore go through a bounded
//! queue to a separate thread. When the queue is full, lines are dropped and counted.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// The maximum number of queued lines.
const QUEUE: usize = 4096;

/// The time limit for writing the last lines at exit.
const LAST_LINES: Duration = Duration::from_millis(500);

/// The queue of log lines. Clones share one thread.
#[derive(Clone)]
pub(super) struct Pipe {
    lines: SyncSender<Item>,
    dropped: Arc<AtomicUsize>,
    finished: Arc<(Mutex<bool>, Condvar)>,
}

enum Item {
    Line(Vec<u8>),
    /// Marks the end: all earlier items have been written.
    Finish,
}

impl Pipe {
    pub(super) fn start() -> Self {
        let (lines, waiting) = sync_channel(QUEUE);
        let pipe = Pipe {
            lines,
            dropped: Arc::default(),
            finished: Arc::default(),
        };
        let writer = pipe.clone();
        std::thread::Builder::new()
            .name("log".into())
            .spawn(move || writer.write_all(&waiting))
            .expect("a thread can be started");
        pipe
    }

    /// Queues a line without blocking.
    pub(super) fn send(&self, line: Vec<u8>) {
        if let Err(TrySendError::Full(_)) = self.lines.try_send(Item::Line(line)) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits briefly until all queued lines are written.
    pub(super) fn finish(&self) {
        if self.lines.try_send(Item::Finish).is_err() {
            return;
        }
        let (finished, changed) = &*self.finished;
        let mut finished = finished.lock();
        changed.wait_while_for(&mut finished, |finished| !*finished, LAST_LINES);
    }

    fn write_all(&self, waiting: &Receiver<Item>) {
        let mut stderr = std::io::stderr();
        for item in waiting {
            match item {
                // Without stderr, the error cannot be reported.
                Item::Line(line) => {
                    let _ = stderr.write_all(&line);
                    self.tell_dropped();
                }
                Item::Finish => {
                    let (finished, changed) = &*self.finished;
                    *finished.lock() = true;
                    changed.notify_all();
                }
            }
        }
    }

    /// Reports dropped lines through the log itself, so that the report has the usual format.
    fn tell_dropped(&self) {
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            tracing::warn!(
                dropped,
                "log lines were dropped because stderr was not read in time"
            );
        }
    }
}
