//! The server-sent events of a Streamable HTTP stream.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use narrows_gateway::ActivityGuard;
use narrows_upstream::memory::{MemoryShare, SMALL};
use narrows_wire::{sse, token};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::stream::{Reader, Stream};

/// The approximate number of bytes in one write. Events that are ready are written together.
const GATHER: usize = 64 * 1024;

/// The delay before a client reconnects to a broken stream.
const RETRY: Duration = Duration::from_secs(1);

/// The events written to a connection with an SSE response.
pub(super) struct Events {
    reader: Reader,
    /// The first event, if one must precede the messages.
    opening: Option<Bytes>,
    /// Bytes that are ready to be written.
    ready: VecDeque<Bytes>,
    beat: Interval,
    ended: bool,
    _stay: Option<ActivityGuard>,
}

impl Events {
    /// Creates the events of a response. `keep_active` keeps the session alive while the connection reads.
    pub(super) fn new(
        reader: Reader,
        keep_alive: Duration,
        keep_active: Option<ActivityGuard>,
    ) -> Events {
        let mut beat = interval_at(Instant::now() + keep_alive, keep_alive);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Events {
            reader,
            opening: None,
            ready: VecDeque::new(),
            beat,
            ended: false,
            _stay: keep_active,
        }
    }

    /// Starts with an event without data, so that the client has an id to resume from before any
    /// message is sent (MCP 2025-11-25, transports, sending messages to the server).
    pub(super) fn primed(mut self) -> Events {
        let (stream, last) = self.reader.place();
        let mut bytes = BytesMut::new();
        let opening = sse::Event {
            id: Some(token::event_id(stream, last).into()),
            retry: Some(RETRY.as_millis() as u64),
            ..sse::Event::default()
        };
        sse::encode(&opening, &mut bytes);
        self.opening = Some(bytes.freeze());
        self
    }

    pub(super) fn stream(&self) -> &Arc<Stream> {
        self.reader.stream()
    }

    pub(super) fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(opening) = self.opening.take() {
            return Poll::Ready(Some(opening));
        }
        if let Some(ready) = self.ready.pop_front() {
            return Poll::Ready(Some(ready));
        }
        if self.ended {
            return Poll::Ready(None);
        }
        let (stream, _) = self.reader.place();
        let mut bytes = BytesMut::new();
        while bytes.len() < GATHER && self.ready.is_empty() {
            match self.reader.poll_next(cx) {
                Poll::Ready(Some((number, data))) => {
                    let event = sse::Event {
                        data,
                        id: Some(token::event_id(stream, number).into()),
                        ..sse::Event::default()
                    };
                    let memory = self.reader.stream().memory();
                    encode(&event, memory, &mut bytes, &mut self.ready);
                }
                Poll::Ready(None) => {
                    self.ended = true;
                    break;
                }
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

/// Writes an event to `bytes`. Large data is not copied: it is appended to `ready` together with
/// the end of the event, and is written after `bytes`.
pub(super) fn encode(
    event: &sse::Event,
    memory: &Arc<MemoryShare>,
    bytes: &mut BytesMut,
    ready: &mut VecDeque<Bytes>,
) {
    if event.data.len() < SMALL {
        return sse::encode(event, bytes);
    }
    match sse::encode_around(event, bytes) {
        Some(data) => ready.extend([data, Bytes::from_static(sse::DATA_END)]),
        None => {
            let mut copy = BytesMut::new();
            sse::encode(event, &mut copy);
            ready.push_back(memory.hold(copy.freeze()));
        }
    }
}
