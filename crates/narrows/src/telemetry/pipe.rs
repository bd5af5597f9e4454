//! The way of log lines to stderr.
//!
//! A client that starts us over stdio may never read our stderr. Once that
//! pipe is full a write to it waits for ever, and the gateway would with it.
//! So a thread of its own writes, from a bounded queue, and lines that find
//! the queue full are dropped and counted.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Lines that may wait.
const QUEUE: usize = 4096;

/// How long the last lines may take when the program ends.
const LAST_LINES: Duration = Duration::from_millis(500);

/// Cheap to clone; all clones lead to the same thread.
#[derive(Clone)]
pub(super) struct Pipe {
    lines: SyncSender<Item>,
    dropped: Arc<AtomicUsize>,
    finished: Arc<(Mutex<bool>, Condvar)>,
}

enum Item {
    Line(Vec<u8>),
    /// Everything before this has been written once it is seen.
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

    /// Never waits.
    pub(super) fn send(&self, line: Vec<u8>) {
        if let Err(TrySendError::Full(_)) = self.lines.try_send(Item::Line(line)) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits a moment for what has been sent so far.
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
                // If stderr is gone there is nobody left to tell.
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

    /// Through the log itself, so that it is a line like any other.
    fn tell_dropped(&self) {
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            tracing::warn!(
                dropped,
                "log lines were dropped because nobody read them in time"
            );
        }
    }
}
