//! The event queue from a call or a session to its client.
//!
//! Every call has a queue, but hardly any call uses it. An empty queue costs one allocation, and
//! checking it takes one uncontended lock.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::{Event, Notice};
use crate::memory::MemoryShare;

/// The longest time that a reader waits for a client that does not read. It is shorter than the
/// time after which a silent server fails its health checks.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The number of times that other tasks may run before an event of a shared link is dropped.
const YIELDS: usize = 32;

/// The sending half of the event queue of a call or a session. Sending never waits, because one
/// client must not block the reader of a server's messages. A reader that serves only this client
/// calls `EventSink::room` first.
pub struct EventSink {
    queue: Arc<Queue>,
    /// Counts the events that are dropped because the queue is full.
    dropped: Option<Arc<AtomicU64>>,
}

/// The receiving half of the event queue.
pub struct EventStream {
    queue: Arc<Queue>,
}

struct Queue {
    capacity: usize,
    queued: Mutex<QueuedEvents>,
    sinks: AtomicUsize,
    /// Wakes the task that waits for an event.
    stream: AtomicWaker,
    /// Wakes senders that wait for room.
    room: Notify,
    /// True after a sender has waited for the maximum time without getting room.
    stalled: AtomicBool,
}

#[derive(Default)]
struct QueuedEvents {
    events: VecDeque<Box<Event>>,
    /// The number of notifications dropped because the queue was full, by server.
    dropped: Vec<(Option<Arc<str>>, u64)>,
    /// True once the stream has been dropped.
    is_closed: bool,
}

impl QueuedEvents {
    /// Returns a notification about the dropped notifications of one server.
    fn take_dropped(&mut self) -> Option<Box<Event>> {
        let (server, count) = self.dropped.pop()?;
        let notice = Notice::dropped(count, server.as_deref());
        Some(Box::new(Event::Notice(notice)))
    }
}

impl Queue {
    fn has_room(&self) -> bool {
        let queued = self.queued.lock();
        queued.is_closed || queued.events.len() < self.capacity
    }

    /// Removes the next event, and wakes waiting senders if the queue was full.
    fn pop(&self, queued: &mut QueuedEvents) -> Option<Box<Event>> {
        let was_full = queued.events.len() >= self.capacity;
        let event = queued.events.pop_front();
        if was_full {
            self.room.notify_waiters();
        }
        event
    }
}

impl EventStream {
    /// Returns the next event. Once the queue is empty, a notification reports how many others were
    /// dropped. Returns `None` when all sinks are closed.
    pub async fn recv(&mut self) -> Option<Box<Event>> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Polls for the next event, like `recv`.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<Box<Event>>> {
        self.poll(cx, QueuedEvents::take_dropped)
    }

    /// Polls for the next event of a running call. Dropped notifications are reported at its end,
    /// by [`EventStream::try_recv`].
    pub fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Box<Event>>> {
        self.poll(cx, |_| None)
    }

    /// Returns the next queued event, or a report about dropped notifications if the queue is
    /// empty.
    pub fn try_recv(&mut self) -> Option<Box<Event>> {
        let mut queued = self.queue.queued.lock();
        self.queue
            .pop(&mut queued)
            .or_else(|| queued.take_dropped())
    }

    /// Polls the queue. `when_empty` supplies an event if the queue is empty.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        when_empty: impl Fn(&mut QueuedEvents) -> Option<Box<Event>>,
    ) -> Poll<Option<Box<Event>>> {
        let queue = &*self.queue;
        // The waker is registered before the queue is checked, so that no event is missed. The
        // number of sinks is read first, because a sink sends its last event before it is dropped.
        queue.stream.register(cx.waker());
        let is_last = queue.sinks.load(Ordering::Acquire) == 0;
        let mut queued = queue.queued.lock();
        let event = queue.pop(&mut queued).or_else(|| when_empty(&mut queued));
        match event {
            None if !is_last => Poll::Pending,
            event => Poll::Ready(event),
        }
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        let mut queued = self.queue.queued.lock();
        queued.is_closed = true;
        // Dropping an unanswered server request rejects it, which takes other locks.
        let unread = std::mem::take(&mut queued.events);
        drop(queued);
        self.queue.room.notify_waiters();
        drop(unread);
    }
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventStream").finish_non_exhaustive()
    }
}

impl EventSink {
    pub fn channel(capacity: usize) -> (EventSink, EventStream) {
        let queue = Arc::new(Queue {
            capacity: capacity.max(1),
            queued: Mutex::default(),
            sinks: AtomicUsize::new(1),
            stream: AtomicWaker::new(),
            room: Notify::new(),
            stalled: AtomicBool::new(false),
        });
        let sink = EventSink {
            queue: queue.clone(),
            dropped: None,
        };
        (sink, EventStream { queue })
    }

    /// Counts dropped events in `dropped`.
    pub fn counted(mut self, dropped: &Arc<AtomicU64>) -> EventSink {
        self.dropped = Some(dropped.clone());
        self
    }

    /// Returns the number of queued events.
    pub fn queued(&self) -> usize {
        self.queue.queued.lock().events.len()
    }

    /// Sends an event. Returns false if the event was dropped because the queue is full or the
    /// stream is closed. A dropped server request is rejected automatically.
    pub fn send(&self, event: Event) -> bool {
        let queue = &*self.queue;
        let mut queued = queue.queued.lock();
        if queued.is_closed {
            drop(queued);
            return false;
        }
        if queued.events.len() >= queue.capacity {
            drop(queued);
            self.count_dropped(&event);
            return false;
        }
        queued.events.push_back(Box::new(event));
        drop(queued);
        queue.stream.wake();
        // There is room, so the client has read something.
        if queue.stalled.load(Ordering::Relaxed) {
            queue.stalled.store(false, Ordering::Relaxed);
        }
        true
    }

    /// Sends a notification. A large one is charged to the client, and is dropped if the client's
    /// share or the whole budget is exceeded. Returns false if it was dropped.
    pub fn send_notice(&self, mut notice: Notice, memory: &Arc<MemoryShare>) -> bool {
        if notice.is_large() {
            if memory.is_over() || memory.budget().is_over() {
                self.count_dropped(&Event::Notice(notice));
                return false;
            }
            notice.params = notice.params.map(|params| memory.hold_raw(params));
        }
        self.send(Event::Notice(notice))
    }

    fn count_dropped(&self, event: &Event) {
        if let Event::Notice(notice) = event {
            let mut queued = self.queue.queued.lock();
            let server = notice.server.as_ref();
            let mut counts = queued.dropped.iter_mut();
            match counts.find(|(of, _)| of.as_ref() == server) {
                Some((_, count)) => *count += 1,
                None => queued.dropped.push((server.cloned(), 1)),
            }
            drop(queued);
            self.queue.stream.wake();
        }
        if let Some(dropped) = &self.dropped {
            dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns true if the queue is full, so that the next event would be dropped.
    pub fn is_full(&self) -> bool {
        !self.queue.has_room()
    }

    /// Lets other tasks run until there is room for an event, but does not block, because the
    /// reader also serves other clients. If the client reads nothing meanwhile, later calls return
    /// immediately until it has read something.
    pub async fn yield_for_room(&self) {
        let stalled = &self.queue.stalled;
        if stalled.load(Ordering::Relaxed) {
            return;
        }
        for _ in 0..YIELDS {
            tokio::task::yield_now().await;
            if !self.is_full() {
                return;
            }
        }
        stalled.store(true, Ordering::Relaxed);
    }

    /// Waits until there is room for an event, or the stream is closed. If the client reads nothing
    /// for `LONGEST_PAUSE`, later calls return immediately until it has read something.
    pub async fn room(&self) {
        let stalled = &self.queue.stalled;
        if !self.is_full() || stalled.load(Ordering::Relaxed) {
            return;
        }
        if timeout(LONGEST_PAUSE, self.wait_for_room()).await.is_err() {
            stalled.store(true, Ordering::Relaxed);
        }
    }

    async fn wait_for_room(&self) {
        loop {
            let mut room = pin!(self.queue.room.notified());
            room.as_mut().enable();
            if !self.is_full() {
                return;
            }
            room.await;
        }
    }
}

impl Clone for EventSink {
    fn clone(&self) -> EventSink {
        self.queue.sinks.fetch_add(1, Ordering::Relaxed);
        EventSink {
            queue: self.queue.clone(),
            dropped: self.dropped.clone(),
        }
    }
}

impl Drop for EventSink {
    fn drop(&mut self) {
        if self.queue.sinks.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.queue.stream.wake();
        }
    }
}

impl std::fmt::Debug for EventSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventSink").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
