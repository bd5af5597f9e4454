//! From the begin of a client's request to its place in the counters and in
//! the memory of calls.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use narrows_policy::Principal;
use narrows_wire::Raw;

use super::ended::Ended;
use super::words::Method;
use super::{DoorMeter, Meter, count};
use crate::error::Error;
use crate::feed::{CallError, CallRecord, Feed, Happening, MethodName};

/// As much of a name as is remembered: it may be anything, and of any length.
const NAME_KEPT: usize = 200;

/// Where the route of plain JSON-RPC is, which has no endpoint's name.
pub(super) const PLAIN: &str = "api/mcp-gateway";

/// Watches over the requests of one session, or over those of the route that
/// has none.
pub(crate) struct Watch {
    meter: Arc<Meter>,
    feed: Arc<Feed>,
    door: Arc<DoorMeter>,
    session: u64,
    endpoint: Arc<str>,
    client: Option<Arc<str>>,
}

/// What is found out about a request on its way.
#[derive(Default)]
pub(crate) struct Trace {
    server: OnceLock<Arc<str>>,
    name: OnceLock<Box<str>>,
    upstream_nanos: AtomicU64,
    /// True if a server may have received the request.
    sent: AtomicBool,
    /// The error behind a result that reports one.
    failure: OnceLock<Ended>,
}

/// A request in flight. Dropped before its end, its client took it back.
pub(crate) struct Watched<'a> {
    watch: &'a Watch,
    client: Option<Arc<str>>,
    method: &'a str,
    known: Method,
    began: Instant,
    bytes_in: usize,
    pub(crate) trace: Trace,
    ended: Option<Ended>,
}

impl Watch {
    /// Over a session that begins now.
    pub(crate) fn open(
        meter: &Arc<Meter>,
        feed: &Arc<Feed>,
        session: u64,
        endpoint: Arc<str>,
        principal: &Principal,
    ) -> Watch {
        let watch = Watch {
            door: meter.door(&endpoint),
            meter: meter.clone(),
            feed: feed.clone(),
            session,
            endpoint,
            client: client_of(principal),
        };
        count(&watch.door.open);
        count(&watch.door.opened);
        watch.feed.tell(|| Happening::SessionOpened {
            session,
            endpoint: watch.endpoint.clone(),
            client: watch.client.clone(),
        });
        watch
    }

    /// Over the route of plain JSON-RPC.
    pub(crate) fn plain(meter: &Arc<Meter>, feed: &Arc<Feed>) -> Watch {
        let endpoint: Arc<str> = PLAIN.into();
        Watch {
            door: meter.door(&endpoint),
            meter: meter.clone(),
            feed: feed.clone(),
            session: 0,
            endpoint,
            client: None,
        }
    }

    /// The session has ended; called once.
    pub(crate) fn close(&self) {
        self.door.open.fetch_sub(1, Ordering::Relaxed);
        let session = self.session;
        self.feed.tell(|| Happening::SessionClosed { session });
    }

    pub(crate) fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    /// The same for a client that is known by the request alone.
    pub(crate) fn begin_for<'a>(
        &'a self,
        principal: &Principal,
        method: &'a str,
        bytes_in: usize,
    ) -> Watched<'a> {
        let mut watched = self.begin(method, bytes_in);
        watched.client = client_of(principal);
        watched
    }

    pub(crate) fn begin<'a>(&'a self, method: &'a str, bytes_in: usize) -> Watched<'a> {
        count(&self.meter.in_flight);
        Watched {
            watch: self,
            client: self.client.clone(),
            method,
            known: Method::of(method),
            began: Instant::now(),
            bytes_in,
            trace: Trace::default(),
            ended: None,
        }
    }
}

fn client_of(principal: &Principal) -> Option<Arc<str>> {
    match principal {
        Principal::Local | Principal::Anonymous => None,
        Principal::Client(known) => Some(known.name.clone()),
    }
}

impl Trace {
    /// What the client asks for. What it named first counts.
    pub(crate) fn named(&self, name: &Raw) {
        self.name.get_or_init(|| {
            let text = name.as_text().unwrap_or_default();
            cut(&text).into()
        });
    }

    /// The server that works on it.
    pub(crate) fn went_to(&self, server: &Arc<str>) {
        self.server.get_or_init(|| server.clone());
    }

    pub(crate) fn server(&self) -> Option<&Arc<str>> {
        self.server.get()
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name.get().map(|name| &**name)
    }

    /// Notes whether a server may have received the request.
    pub(crate) fn set_sent(&self, sent: bool) {
        self.sent.store(sent, Ordering::Relaxed);
    }

    /// Returns whether a server may have received the request.
    pub(crate) fn was_sent(&self) -> bool {
        self.sent.load(Ordering::Relaxed)
    }

    /// Counts the request as failed although its client gets a result, because
    /// that result reports this error.
    pub(crate) fn failed(&self, error: &Error) {
        let _ = self.failure.set(error.into());
    }

    /// Time that was not the gateway's own.
    pub(super) fn took(&self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.upstream_nanos.fetch_add(nanos, Ordering::Relaxed);
    }
}

impl Watched<'_> {
    pub(crate) fn end(mut self, answer: impl Into<Ended>) {
        let ended = answer.into();
        self.ended = Some(match self.trace.failure.get() {
            Some(failure) => Ended {
                bytes: ended.bytes,
                ..*failure
            },
            None => ended,
        });
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        let took = self.began.elapsed();
        let Watch { meter, door, .. } = self.watch;
        let Ended {
            outcome,
            code,
            denied,
            bytes,
        } = self.ended.unwrap_or_else(|| Ended::from(&Error::Cancelled));
        meter.in_flight.fetch_sub(1, Ordering::Relaxed);
        door.request(self.known, outcome);
        if let Some(kind) = denied {
            meter.denied(kind);
        }
        let upstream = self.trace.upstream_nanos.load(Ordering::Relaxed);
        meter
            .inside
            .observe(took.saturating_sub(Duration::from_nanos(upstream)));
        // Nobody wants to know of the last thousand signs of life.
        if self.known == Method::Ping {
            return;
        }
        self.watch.feed.remember(CallRecord {
            at: SystemTime::now().into(),
            session: self.watch.session,
            endpoint: self.watch.endpoint.clone(),
            client: self.client.clone(),
            method: match self.known {
                Method::Other => MethodName::Owned(cut(self.method).to_owned()),
                known => MethodName::Borrowed(known.word()),
            },
            name: self.trace.name.take(),
            server: self.trace.server.take(),
            elapsed_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            bytes_in: self.bytes_in,
            bytes_out: bytes,
            error: code.map(|code| CallError {
                code,
                fault: outcome.word(),
            }),
        });
    }
}

fn cut(text: &str) -> &str {
    match text.char_indices().nth(NAME_KEPT) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
