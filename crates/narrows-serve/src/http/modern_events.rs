//! The event stream of one request. Its events have no ids, because it cannot be resumed.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use narrows_gateway::{ListenStream, ModernExchange, ModernStep};
use narrows_upstream::memory::{ClientMemory, MemoryShare};
use narrows_wire::{Id, Revision, encode_error, encode_result, sse};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use crate::error;
use crate::http::events::encode;

/// The approximate number of bytes in one write. Events that are ready are written together.
const GATHER: usize = 64 * 1024;

/// The events of a request. Dropping them cancels the request.
pub(super) struct ModernEvents {
    source: Source,
    id: Id,
    memory: ClientMemory,
    /// A message that precedes those of the source.
    before: Option<Bytes>,
    /// Bytes that are ready to be written.
    ready: VecDeque<Bytes>,
    beat: Interval,
}

enum Source {
    Exchange(ModernExchange),
    Listener {
        stream: ListenStream,
        /// Completes when the gateway or the session ends.
        end: BoxFuture<'static, ()>,
    },
    Ended,
}

impl ModernEvents {
    pub(super) fn of_exchange(
        exchange: ModernExchange,
        id: Id,
        before: Option<Bytes>,
        keep_alive: Duration,
    ) -> ModernEvents {
        let memory = exchange.memory().clone();
        ModernEvents::new(Source::Exchange(exchange), id, memory, before, keep_alive)
    }

    pub(super) fn of_listener(
        stream: ListenStream,
        id: Id,
        stop: CancellationToken,
        keep_alive: Duration,
    ) -> ModernEvents {
        let memory = stream.memory().clone();
        let session = stream.session().clone();
        let end = Box::pin(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = session.closed() => {}
            }
        });
        ModernEvents::new(
            Source::Listener { stream, end },
            id,
            memory,
            None,
            keep_alive,
        )
    }

    fn new(
        source: Source,
        id: Id,
        memory: ClientMemory,
        before: Option<Bytes>,
        keep_alive: Duration,
    ) -> ModernEvents {
        let mut beat = interval_at(Instant::now() + keep_alive, keep_alive);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ModernEvents {
            source,
            id,
            memory,
            before,
            ready: VecDeque::new(),
            beat,
        }
    }

    /// Returns the memory share that the messages are charged to.
    pub(super) fn memory(&self) -> &Arc<MemoryShare> {
        &self.memory.responses
    }

    pub(super) fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut bytes = BytesMut::new();
        while bytes.len() < GATHER && self.ready.is_empty() {
            let message = match self.before.take() {
                Some(message) => Poll::Ready(Some(message)),
                None => self.poll_message(cx),
            };
            match message {
                Poll::Ready(Some(data)) => {
                    let event = sse::Event {
                        data,
                        ..sse::Event::default()
                    };
                    encode(&event, &self.memory.responses, &mut bytes, &mut self.ready);
                }
                Poll::Ready(None) | Poll::Pending => break,
            }
        }
        if !bytes.is_empty() {
            return Poll::Ready(Some(bytes.freeze()));
        }
        if let Some(ready) = self.ready.pop_front() {
            return Poll::Ready(Some(ready));
        }
        if matches!(self.source, Source::Ended) {
            return Poll::Ready(None);
        }
        self.beat
            .poll_tick(cx)
            .map(|_| Some(Bytes::from_static(sse::COMMENT)))
    }

    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let last = match &mut self.source {
            Source::Ended => return Poll::Ready(None),
            Source::Exchange(exchange) => match exchange.poll_step(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(ModernStep::Event(message))) => {
                    return Poll::Ready(Some(message));
                }
                Poll::Ready(Some(ModernStep::Answer(Ok(result)))) => {
                    let message = encode_result(&self.id, &result);
                    Some(self.memory.responses.hold(message))
                }
                Poll::Ready(Some(ModernStep::Answer(Err(failure)))) => {
                    let error = error::core(&failure, Revision::V2026_07_28);
                    Some(encode_error(Some(&self.id), &error))
                }
                Poll::Ready(None) => None,
            },
            Source::Listener { stream, end } => match stream.poll_next(cx) {
                Poll::Ready(Some(message)) => return Poll::Ready(Some(message)),
                Poll::Ready(None) => Some(encode_result(&self.id, &stream.end())),
                Poll::Pending => match Pin::new(end).poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(()) => Some(encode_result(&self.id, &stream.end())),
                },
            },
        };
        self.source = Source::Ended;
        Poll::Ready(last)
    }
}
