//! The server-sent events of an HTTP+SSE client's stream.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use narrows_upstream::memory::MemoryShare;
use narrows_wire::sse;
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::events::encode;

/// The approximate number of bytes in one write. Events that are ready are written together.
const GATHER: usize = 64 * 1024;

/// The stream of one client. Dropping it means that the client has disconnected.
pub(super) struct Channel {
    /// The first event.
    opening: Option<Bytes>,
    written: mpsc::Receiver<Bytes>,
    /// Bytes that are ready to be written.
    ready: VecDeque<Bytes>,
    /// The memory shares of the client.
    memory: Arc<MemoryShare>,
    beat: Interval,
    ended: bool,
}

impl Channel {
    /// Creates a stream whose first event names `post_to`, the URL to which the client posts its
    /// messages.
    pub(super) fn new(
        post_to: String,
        written: mpsc::Receiver<Bytes>,
        memory: Arc<MemoryShare>,
        keep_alive: Duration,
    ) -> Channel {
        let mut beat = interval_at(Instant::now() + keep_alive, keep_alive);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut opening = BytesMut::new();
        sse::encode(&event("endpoint", post_to.into()), &mut opening);
        Channel {
            opening: Some(opening.freeze()),
            written,
            ready: VecDeque::new(),
            memory,
            beat,
            ended: false,
        }
    }

    pub(super) fn memory(&self) -> &Arc<MemoryShare> {
        &self.memory
    }

    pub(super) fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(opening) = self.opening.take() {
            return Poll::Ready(Some(opening));
        }
        if let Some(ready) = self.ready.pop_front() {
            return Poll::Ready(Some(ready));
        }
        let mut bytes = BytesMut::new();
        while !self.ended && bytes.len() < GATHER && self.ready.is_empty() {
            match self.written.poll_recv(cx) {
                Poll::Ready(Some(message)) => {
                    let event = event("message", message);
                    encode(&event, &self.memory, &mut bytes, &mut self.ready);
                }
                Poll::Ready(None) => self.ended = true,
                Poll::Pending => break,
            }
        }
        if !bytes.is_empty() {
            return Poll::Ready(Some(bytes.freeze()));
        }
        if let Some(ready) = self.ready.pop_front() {
            return Poll::Ready(Some(ready));
        }
        if self.ended {
            return Poll::Ready(None);
        }
        self.beat
            .poll_tick(cx)
            .map(|_| Some(Bytes::from_static(sse::COMMENT)))
    }
}

fn event(kind: &str, data: Bytes) -> sse::Event {
    sse::Event {
        event: Some(kind.into()),
        data,
        ..sse::Event::default()
    }
}
