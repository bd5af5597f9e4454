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

/// Queued lines are written together up to this many bytes, because a system call for each line
/// costs more than formatting it.
const MAX_BATCH: usize = 64 * 1024;

/// The time limit for writing the last lines at exit.
const LAST_LINES: Duration = Duration::from_millis(500);

/// The queue of log lines. Clones share one thread.
#[derive(Clone)]
pub(super) struct Pipe {
    lines: SyncSender<PipeItem>,
    dropped: Arc<AtomicUsize>,
    finished: Arc<(Mutex<bool>, Condvar)>,
}

enum PipeItem {
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
        if let Err(TrySendError::Full(_)) = self.lines.try_send(PipeItem::Line(line)) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits briefly until all queued lines are written.
    pub(super) fn finish(&self) {
        if self.lines.try_send(PipeItem::Finish).is_err() {
            return;
        }
        let (finished, changed) = &*self.finished;
        let mut finished = finished.lock();
        changed.wait_while_for(&mut finished, |finished| !*finished, LAST_LINES);
    }

    fn write_all(&self, waiting: &Receiver<PipeItem>) {
        let mut stderr = std::io::stderr();
        while let Ok(item) = waiting.recv() {
            let mut item = Some(item);
            let mut batch = Vec::new();
            while let Some(PipeItem::Line(line)) = item {
                batch.extend_from_slice(&line);
                item = match batch.len() < MAX_BATCH {
                    true => waiting.try_recv().ok(),
                    false => None,
                };
            }
            if !batch.is_empty() {
                // Without stderr, the error cannot be reported.
                let _ = stderr.write_all(&batch);
                self.tell_dropped();
            }
            if let Some(PipeItem::Finish) = item {
                let (finished, changed) = &*self.finished;
                *finished.lock() = true;
                changed.notify_all();
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
