//! The response that a connection carries: its stream and memory share, and the handling of clients
//! that do not read.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use narrows_upstream::memory::MemoryShare;
use parking_lot::Mutex;

use super::readers::SlowReaders;
use super::stream::Stream;

/// The response that a connection currently carries.
pub(super) struct Current {
    /// The stream, if the response is one.
    stream: Mutex<Weak<Stream>>,
    /// The memory share of the client, if the response is large.
    memory: Mutex<Option<Arc<MemoryShare>>>,
    /// True if the client may still be sending a body that will not be read.
    lingers: AtomicBool,
    pub(super) readers: Arc<SlowReaders>,
}

impl Current {
    pub(super) fn new(readers: Arc<SlowReaders>) -> Current {
        Current {
            stream: Mutex::default(),
            memory: Mutex::default(),
            lingers: AtomicBool::new(false),
            readers,
        }
    }

    /// Handles a client that does not read: its call continues in a task, so that the server is not
    /// held up.
    pub(super) fn stalled(&self) {
        if let Some(stream) = self.stream() {
            stream.hand_over();
        }
    }

    fn stream(&self) -> Option<Arc<Stream>> {
        let stream = self.stream.lock();
        stream.upgrade()
    }

    pub(super) fn set(&self, stream: &Arc<Stream>) {
        *self.stream.lock() = Arc::downgrade(stream);
    }

    pub(super) fn hold(&self, memory: Option<&Arc<MemoryShare>>) {
        *self.memory.lock() = memory.cloned();
    }

    /// Returns the memory share of the client.
    pub(super) fn memory(&self) -> Option<Arc<MemoryShare>> {
        self.memory.lock().clone()
    }

    /// Drops the messages kept for the client, whose connection is being closed to free memory.
    pub(super) fn evict(&self) {
        if let Some(stream) = self.stream() {
            stream.forget();
        }
    }

    pub(super) fn linger(&self) {
        self.lingers.store(true, Ordering::Relaxed);
    }

    /// Returns true if the client may still be sending a body that will not be
    /// read.
    pub(super) fn lingers(&self) -> bool {
        self.lingers.load(Ordering::Relaxed)
    }
}
