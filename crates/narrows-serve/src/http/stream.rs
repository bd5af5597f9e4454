//! One SSE stream of a session, independent of the connections that carry it.
//!
//! A [`Stream`] owns the source of its messages (a call, or the session's outbox) and the latest
//! messages. A [`Reader`] is the view of one connection. There is one reader at a time: a new one
//! takes over from the last, which is how a client resumes after its connection breaks.
//!
//! The reader drives the stream: polling the reader polls the source, which saves a task per call.
//! The call moves into a task only if its reader goes away before it ends, or if its client stops
//! reading: a disconnect does not cancel a call, and servers must not wait for a slow client.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use narrows_gateway::Session;
use narrows_upstream::exchange::{EventStream, Notice};
use narrows_upstream::memory::{ClientMemory, MemoryShare, SMALL};
use narrows_wire::Id;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::replay::{Bounds, Replay};
use crate::call::{Call, Step};
use crate::error::Refused;

#[cfg(test)]
mod tests;

/// The number of a session's general stream; streams of calls are numbered from 1.
pub(super) const GENERAL: u64 = 0;

pub(super) struct Stream {
    number: u64,
    state: Mutex<StreamState>,
    tasks: TaskTracker,
    /// The memory shares of the client.
    memory: ClientMemory,
}

struct StreamState {
    replay: Replay,
    source: EventSource,
    /// The number of the current reader.
    turn: u64,
    /// True while the current reader is connected.
    is_read: bool,
    waker: Option<Waker>,
    /// The time when the end of the stream was delivered to a connection.
    delivered: Option<Instant>,
    /// The requests answered on this stream, with the number of the message that holds the
    /// response. Bounded by the maximum size of a batch.
    answers: Vec<(u64, Id)>,
}

enum EventSource {
    Call(Call),
    /// A call that runs in a task, which pushes its messages.
    Elsewhere,
    Outbox(Arc<Session>, EventStream),
    Ended,
}

impl Stream {
    /// Creates the stream of one call, beginning with the messages in `before`.
    pub(super) fn of_call(
        number: u64,
        call: Call,
        before: Vec<Bytes>,
        bounds: Bounds,
        tasks: TaskTracker,
    ) -> Arc<Stream> {
        let mut replay = Replay::new(bounds);
        before.into_iter().for_each(|message| replay.push(message));
        let memory = call.memory().clone();
        Stream::new(number, EventSource::Call(call), replay, tasks, memory)
    }

    /// Creates the stream for events that belong to no call. Without a reader, its messages wait in
    /// the outbox, which is bounded.
    pub(super) fn general(
        session: Arc<Session>,
        outbox: EventStream,
        bounds: Bounds,
        tasks: TaskTracker,
    ) -> Arc<Stream> {
        let memory = session.memory().clone();
        Stream::new(
            GENERAL,
            EventSource::Outbox(session, outbox),
            Replay::new(bounds),
            tasks,
            memory,
        )
    }

    fn new(
        number: u64,
        source: EventSource,
        replay: Replay,
        tasks: TaskTracker,
        memory: ClientMemory,
    ) -> Arc<Stream> {
        let state = StreamState {
            replay,
            source,
            turn: 0,
            is_read: false,
            waker: None,
            delivered: None,
            answers: Vec::new(),
        };
        Arc::new(Stream {
            number,
            state: Mutex::new(state),
            tasks,
            memory,
        })
    }

    /// Creates a stream with a message of each size, whose call runs in a task.
    #[cfg(test)]
    pub(super) fn sample(number: u64, sizes: &[usize], bounds: Bounds) -> Arc<Stream> {
        let mut replay = Replay::new(bounds);
        sizes
            .iter()
            .for_each(|size| replay.push(vec![b'x'; *size].into()));
        let memory = ClientMemory::unlimited();
        Stream::new(
            number,
            EventSource::Elsewhere,
            replay,
            TaskTracker::new(),
            memory,
        )
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn memory(&self) -> &Arc<MemoryShare> {
        &self.memory.responses
    }

    /// Drops the messages kept for resumption.
    pub(super) fn forget(&self) {
        self.state.lock().replay.clear();
    }

    /// Drops them only if no connection is reading and they take much memory.
    pub(super) fn forget_unread(&self) {
        let mut state = self.state.lock();
        if !state.is_read && state.replay.bytes() >= SMALL {
            state.replay.clear();
        }
    }

    /// Makes a new connection the reader, starting after message `last`, or with the next new
    /// message if `last` is `None`. The previous reader ends.
    pub(super) fn attach(self: &Arc<Self>, last: Option<u64>) -> Reader {
        let mut state = self.state.lock();
        state.turn += 1;
        state.is_read = true;
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        let newest = state.replay.last();
        let next = match last {
            Some(last) => last.min(newest) + 1,
            None => newest + 1,
        };
        Reader {
            stream: self.clone(),
            turn: state.turn,
            next,
        }
    }

    /// Ends the stream: no further messages are added.
    pub(super) fn end(&self) {
        let mut state = self.state.lock();
        let source = std::mem::replace(&mut state.source, EventSource::Ended);
        let waker = state.waker.take();
        drop(state);
        drop(source);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state.lock().source, EventSource::Ended)
    }

    pub(super) fn delivered(&self) -> Option<Instant> {
        self.state.lock().delivered
    }

    pub(super) fn bytes(&self) -> usize {
        self.state.lock().replay.bytes()
    }

    /// Continues the call in a task, if a reader has driven it so far.
    pub(super) fn hand_over(self: &Arc<Self>) {
        let mut state = self.state.lock();
        if !matches!(state.source, EventSource::Call(_)) {
            return;
        }
        if let EventSource::Call(call) =
            std::mem::replace(&mut state.source, EventSource::Elsewhere)
        {
            drop(state);
            self.tasks.spawn(self.clone().run(call));
        }
    }

    /// Runs a call whose reader has left.
    async fn run(self: Arc<Self>, mut call: Call) {
        while let Some(step) = call.next().await {
            let mut state = self.state.lock();
            state.push_step(step, &self.memory);
            if let Some(waker) = state.waker.take() {
                waker.wake();
            }
        }
        self.end();
    }

    // The lock is not poisoned on panic; a panic while it is held can only leave a message out.
}

impl StreamState {
    fn push_step(&mut self, step: Step, memory: &ClientMemory) {
        let message = match step {
            Step::Event(message) => Some(message),
            Step::Answer(answer) => {
                let message = answer.encode(memory);
                if let (Some(_), Some(id)) = (&message, answer.id()) {
                    self.answers.push((self.replay.last() + 1, id.clone()));
                }
                message
            }
        };
        if let Some(message) = message {
            self.replay.push(message);
        }
    }

    /// Returns a substitute for dropped messages from `next` on: an error for a response, a
    /// notification for the others.
    fn missing(&self, next: u64, found: Option<u64>) -> Option<(u64, Bytes)> {
        let end = found.unwrap_or_else(|| self.replay.last() + 1);
        if end <= next {
            return None;
        }
        let mut answers = self.answers.iter();
        match answers.find(|(number, _)| (next..end).contains(number)) {
            Some((number, id)) if *number == next => {
                Some((next, Refused::ResponseDropped.encode(Some(id))))
            }
            answer => {
                let until = answer.map_or(end, |(number, _)| *number);
                // The notice takes the number of the last missing message.
                Some((until - 1, Notice::not_kept(until - next).encode()))
            }
        }
    }

    /// Polls the source. Returns false if it is pending or has ended.
    fn drive(&mut self, cx: &mut Context<'_>, memory: &ClientMemory) -> bool {
        match &mut self.source {
            EventSource::Call(call) => match call.poll_step(cx) {
                Poll::Ready(Some(step)) => self.push_step(step, memory),
                Poll::Ready(None) => self.source = EventSource::Ended,
                Poll::Pending => return false,
            },
            EventSource::Outbox(session, outbox) => match outbox.poll_recv(cx) {
                Poll::Ready(Some(event)) => {
                    if let Some(message) = session.encode(*event) {
                        self.replay.push(message);
                    }
                }
                Poll::Ready(None) => self.source = EventSource::Ended,
                Poll::Pending => return false,
            },
            EventSource::Elsewhere | EventSource::Ended => return false,
        }
        true
    }
}

pub(super) struct Reader {
    stream: Arc<Stream>,
    turn: u64,
    /// The number of the next message to read.
    next: u64,
}

impl Reader {
    pub(super) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// Returns the number of the stream and of the last message read.
    pub(super) fn place(&self) -> (u64, u64) {
        (self.stream.number, self.next - 1)
    }

    /// Polls for the next message and its number; `None` at the end of the stream, or when another
    /// reader has taken over.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(u64, Bytes)>> {
        // The source is polled under the lock. Only one reader is current, so the lock is contended
        // only briefly during a takeover.
        let mut state = self.stream.state.lock();
        if state.turn != self.turn {
            return Poll::Ready(None);
        }
        loop {
            let found = state.replay.read(self.next);
            let missing = state.missing(self.next, found.as_ref().map(|(number, _)| *number));
            if let Some((number, message)) = missing.or(found) {
                self.next = number + 1;
                return Poll::Ready(Some((number, message)));
            }
            if matches!(state.source, EventSource::Ended) {
                state.delivered.get_or_insert_with(Instant::now);
                return Poll::Ready(None);
            }
            if !state.drive(cx, &self.stream.memory) {
                state.waker = Some(cx.waker().clone());
                return Poll::Pending;
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.stream.state.lock();
        if state.turn == self.turn {
            state.is_read = false;
            drop(state);
            self.stream.hand_over();
        }
    }
}
