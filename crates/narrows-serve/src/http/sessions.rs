//! The sessions of this edge, by `mcp-session-id`.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use narrows_gateway::Principal;
use narrows_gateway::{Opened, Session};
use narrows_upstream::exchange::EventStream;
use parking_lot::{Mutex, RwLock};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::replay::Bounds;
use super::routes::Target;
use super::stream::{GENERAL, Reader, Stream};
use crate::call::Call;

#[cfg(test)]
mod tests;

/// The maximum number of ended streams per session that are kept for rereading.
const KEPT_STREAMS: usize = 32;

/// The memory limit of these streams, as a number of full resumption buffers.
const KEPT_BUFFERS: usize = 4;

/// The time for which a stream is kept after its end was sent, in case the client did not receive
/// it.
const KEPT_DELIVERED: Duration = Duration::from_secs(60);

/// A session and its streams.
pub(super) struct HttpSession {
    pub(super) session: Arc<Session>,
    target: Target<'static>,
    general: Arc<Stream>,
    calls: Mutex<CallStreams>,
    bounds: Bounds,
    tasks: TaskTracker,
}

struct CallStreams {
    last: u64,
    /// Ordered by number.
    streams: VecDeque<Arc<Stream>>,
}

impl HttpSession {
    fn new(
        session: Arc<Session>,
        outbox: EventStream,
        target: Target<'static>,
        bounds: Bounds,
        tasks: TaskTracker,
    ) -> HttpSession {
        let general = Stream::general(session.clone(), outbox, bounds, tasks.clone());
        let calls = Mutex::new(CallStreams {
            last: GENERAL,
            streams: VecDeque::new(),
        });
        HttpSession {
            session,
            target,
            general,
            calls,
            bounds,
            tasks,
        }
    }

    /// Creates a stream for a call, beginning with the messages in `before`.
    pub(super) fn stream(&self, call: Call, before: Vec<Bytes>) -> Reader {
        let mut calls = self.calls.lock();
        calls.last += 1;
        let tasks = self.tasks.clone();
        let stream = Stream::of_call(calls.last, call, before, self.bounds, tasks);
        calls.streams.push_back(stream.clone());
        calls.trim(self.bounds.bytes.saturating_mul(KEPT_BUFFERS));
        stream.attach(Some(0))
    }

    /// Attaches a reader to the general stream, from the next message on.
    pub(super) fn listen(&self) -> Reader {
        self.general.attach(None)
    }

    /// Attaches a reader to stream `number`, after message `last`, if the stream is still kept.
    pub(super) fn resume(&self, number: u64, last: u64) -> Option<Reader> {
        if number == GENERAL {
            return Some(self.general.attach(Some(last)));
        }
        let calls = self.calls.lock();
        let at = calls
            .streams
            .binary_search_by_key(&number, |stream| stream.number())
            .ok()?;
        calls
            .streams
            .get(at)
            .map(|stream| stream.attach(Some(last)))
    }

    /// Ends the general stream; the streams of calls end with their calls.
    pub(super) fn end_general_streams(&self) {
        self.general.end();
    }

    fn forget_unread(&self) {
        let calls = self.calls.lock();
        let streams = calls.streams.iter().chain([&self.general]);
        streams.for_each(|stream| stream.forget_unread());
    }

    fn forget_delivered(&self, now: Instant) {
        let mut calls = self.calls.lock();
        calls.forget_delivered(now);
    }
}

impl CallStreams {
    /// Drops the oldest ended streams if they are too many or too large. The number of running
    /// streams is bounded by the calls in flight.
    fn trim(&mut self, max_bytes: usize) {
        let ended = self.streams.iter().filter(|stream| stream.has_ended());
        let (mut count, mut bytes) = ended.fold((0, 0), |(count, bytes), stream| {
            (count + 1, bytes + stream.bytes())
        });
        self.streams.retain(|stream| {
            if (count <= KEPT_STREAMS && bytes <= max_bytes) || !stream.has_ended() {
                return true;
            }
            count -= 1;
            bytes = bytes.saturating_sub(stream.bytes());
            false
        });
    }

    fn forget_delivered(&mut self, now: Instant) {
        let recent = |at: Instant| now.saturating_duration_since(at) < KEPT_DELIVERED;
        self.streams
            .retain(|stream| stream.delivered().is_none_or(recent));
    }
}

/// All sessions of this edge.
#[derive(Default)]
pub(super) struct SessionRegistry {
    // Read on every request, and written when a session begins or ends. Never held across an await.
    by_id: RwLock<HashMap<Box<str>, Arc<HttpSession>>>,
}

impl SessionRegistry {
    /// Adds a session, and removes it when it is closed.
    pub(super) fn insert(
        self: &Arc<Self>,
        opened: Opened,
        target: Target<'static>,
        bounds: Bounds,
        tasks: &TaskTracker,
    ) -> Arc<HttpSession> {
        let Opened {
            session, outbox, ..
        } = opened;
        let id: Box<str> = session.id().into();
        let entry = HttpSession::new(session.clone(), outbox, target, bounds, tasks.clone());
        let entry = Arc::new(entry);
        self.by_id.write().insert(id.clone(), entry.clone());
        let sessions = self.clone();
        tasks.spawn(async move {
            session.closed().await;
            sessions.remove(&id);
        });
        entry
    }

    /// Returns the session with this id, if the same principal opened it at the same entrypoint.
    /// For everyone else the session does not exist.
    pub(super) fn find(
        &self,
        id: &str,
        target: &Target<'_>,
        principal: &Principal,
    ) -> Option<Arc<HttpSession>> {
        let sessions = self.by_id.read();
        let found = sessions.get(id)?;
        let session = &found.session;
        let is_own = found.target == *target && session.caller().principal == *principal;
        (is_own && !session.is_closed()).then(|| found.clone())
    }

    pub(super) fn remove(&self, id: &str) {
        let removed = self.by_id.write().remove(id);
        if let Some(session) = removed {
            session.end_general_streams();
        }
    }

    /// Drops streams that were read to their end some time ago.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        self.all()
            .iter()
            .for_each(|session| session.forget_delivered(now));
    }

    /// Drops messages and streams kept for resumption.
    pub(super) fn forget_unread(&self) {
        self.all()
            .iter()
            .for_each(|session| session.forget_unread());
    }

    /// Ends the general streams, which otherwise stay open until their clients disconnect.
    pub(super) fn end_general_streams(&self) {
        self.all()
            .iter()
            .for_each(|session| session.end_general_streams());
    }

    pub(super) fn close(&self) {
        self.all()
            .iter()
            .for_each(|session| session.session.close());
    }

    fn all(&self) -> Vec<Arc<HttpSession>> {
        let sessions = self.by_id.read();
        sessions.values().cloned().collect()
    }
}
