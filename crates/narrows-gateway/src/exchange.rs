//! One exchange, the only form that requests have inside the gateway.
//!
//! A [`Caller`] asks; while the answer is on its way, [`Event`]s come back to
//! it (notices, and questions of the upstream); one result or error ends it.
//! Each era of the protocol has its adapter on either side of this form.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use narrows_wire::{Id, Raw, Revision, encode_notification, encode_request};
use serde_json::json;
use tokio::sync::mpsc::error::{TryRecvError, TrySendError};
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use crate::lock::Mutex;
use crate::memory::{MemoryShare, SMALL};
use crate::meter::Meter;

/// Who asks.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The name of the endpoint it came in by.
    pub endpoint: Arc<str>,
    pub principal: Principal,
    pub revision: Revision,
    pub client: ClientHello,
}

/// On whose behalf; rights and receipts are bound to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Principal {
    /// Whoever started the program, and speaks to it on stdin and stdout.
    Local,
    /// Anybody who can reach the door, where no tokens are asked for.
    Anonymous,
    /// Who brought the token of a client.
    Client(KnownClient),
}

impl Principal {
    /// The name of a client with a token.
    pub fn name(&self) -> Option<&str> {
        match self {
            Principal::Client(known) => Some(&known.name),
            Principal::Local | Principal::Anonymous => None,
        }
    }
}

/// A client, by the token that it brought: another token of the same client is
/// another one's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KnownClient {
    pub name: Arc<str>,
    /// Which of the tokens that the client had over time.
    pub stamp: u64,
}

/// What a client says of itself, as it said it.
#[derive(Debug, Clone)]
pub struct ClientHello {
    pub capabilities: Raw,
    pub client_info: Raw,
}

impl ClientHello {
    /// What this client can be asked.
    pub fn asks(&self) -> Asks {
        let [roots, sampling, elicitation] = self
            .capabilities
            .pick(["roots", "sampling", "elicitation"])
            .unwrap_or_default();
        Asks {
            roots: roots.is_some(),
            sampling: sampling.is_some(),
            elicitation: elicitation.is_some(),
        }
    }
}

/// The kinds of questions that servers put to clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Asks {
    pub roots: bool,
    pub sampling: bool,
    pub elicitation: bool,
}

impl Asks {
    pub fn any(self) -> bool {
        self.roots || self.sampling || self.elicitation
    }

    /// Returns true if a request of this method may be put to the client.
    /// `ping` is answered by links themselves; unknown methods go to nobody.
    pub fn allows(self, method: &str) -> bool {
        match method {
            "roots/list" => self.roots,
            "sampling/createMessage" => self.sampling,
            "elicitation/create" => self.elicitation,
            _ => false,
        }
    }
}

/// Something that happens on the way to an answer, or on a session without any call.
#[derive(Debug)]
pub enum Event {
    Notice(Notice),
    Ask(Ask),
    /// A question that was put to the client is not asked any more.
    Withdraw(AskKey),
}

/// A notification for the client.
#[derive(Debug, Clone)]
pub struct Notice {
    pub method: Box<str>,
    pub params: Option<Raw>,
    /// The slug of the upstream that it came from; none for the gateway's own.
    pub server: Option<Arc<str>>,
}

impl Notice {
    /// A notice of the gateway's own.
    pub fn new(method: impl Into<Box<str>>, params: Option<Raw>) -> Self {
        Notice {
            method: method.into(),
            params,
            server: None,
        }
    }

    pub fn from_server(
        server: &Arc<str>,
        method: impl Into<Box<str>>,
        params: Option<Raw>,
    ) -> Self {
        Notice {
            server: Some(server.clone()),
            ..Notice::new(method, params)
        }
    }

    /// Tells the client how many notifications it does not get.
    pub(crate) fn dropped(count: u64, server: Option<&str>) -> Self {
        let of = server.map_or_else(String::new, |server| format!(" from server '{server}'"));
        let (noun, verb) = match count {
            1 => ("notification", "was"),
            _ => ("notifications", "were"),
        };
        let message = format!(
            "{count} {noun}{of} {verb} dropped: the queue for this client, or the memory for all \
             clients, was full"
        );
        Notice::missing(message, count, server)
    }

    /// Tells a client that resumes a stream how many of its messages are gone.
    pub fn not_kept(count: u64) -> Self {
        let noun = if count == 1 { "message" } else { "messages" };
        let message = format!("{count} {noun} of this stream can no longer be resumed");
        Notice::missing(message, count, None)
    }

    fn missing(message: String, count: u64, server: Option<&str>) -> Self {
        let mut data = json!({ "message": message, "dropped": count });
        if let Some(server) = server {
            data["server"] = server.into();
        }
        let params = json!({ "level": "warning", "logger": "narrows", "data": data });
        Notice::new("notifications/message", Some(Raw::from_serialize(&params)))
    }

    pub fn encode(&self) -> Bytes {
        encode_notification(&self.method, self.params.as_ref())
    }

    /// Returns true if its bytes are charged while it waits for the client.
    fn is_large(&self) -> bool {
        self.params.as_ref().map_or(0, Raw::len) >= SMALL
    }
}

/// How a client takes a request back: a flag that its call waits for, with the
/// client's reason for the upstream.
#[derive(Debug, Default)]
pub(crate) struct Cancel {
    raised: Notify,
    interrupted: AtomicBool,
    reason: OnceLock<Box<str>>,
}

impl Cancel {
    pub(crate) fn raise(&self, reason: Option<&str>) {
        if let Some(reason) = reason {
            self.give_reason(reason);
        }
        self.raised.notify_one();
    }

    /// Ends the call although its client waits for it.
    pub(crate) fn interrupt(&self, reason: &str) {
        self.interrupted.store(true, Ordering::Release);
        self.raise(Some(reason));
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Acquire)
    }

    /// The first reason stays.
    pub(crate) fn give_reason(&self, reason: &str) {
        let _ = self.reason.set(reason.into());
    }

    pub(crate) async fn raised(&self) {
        self.raised.notified().await;
    }

    pub(crate) fn reason(&self) -> &str {
        self.reason
            .get()
            .map_or("cancelled by the client", |reason| reason)
    }
}

/// A question of an upstream to the client. Dropping it unanswered refuses it.
#[derive(Debug)]
pub struct Ask {
    /// The upstream's published id (slug), first part of the id on the wire.
    pub server: Arc<str>,
    pub method: Box<str>,
    pub params: Option<Raw>,
    pub key: AskKey,
    pub reply: AskReply,
}

impl Ask {
    /// As it goes to a legacy client.
    pub fn encode(&self, id: &Id) -> Bytes {
        encode_request(id, &self.method, self.params.as_ref())
    }
}

/// Names a question among all questions of all links.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AskKey {
    pub link: u64,
    pub id: Id,
}

/// The way back to the upstream that asked.
pub struct AskReply(Option<Arc<dyn AnswerTo>>, Id);

/// A link, as seen by who answers its questions.
pub trait AnswerTo: Send + Sync {
    /// Sends the answer, result or error object, under the upstream's own id. Never waits.
    fn answer(&self, id: &Id, body: Result<Raw, Raw>);
    /// Sends a notification about it (progress). Never waits.
    fn notify(&self, method: &str, params: Option<Raw>);
}

impl AskReply {
    pub fn new(link: Arc<dyn AnswerTo>, id: Id) -> Self {
        AskReply(Some(link), id)
    }

    pub fn answer(mut self, body: Result<Raw, Raw>) {
        if let Some(link) = self.0.take() {
            link.answer(&self.1, body);
        }
    }

    pub fn notify(&self, method: &str, params: Option<Raw>) {
        if let Some(link) = &self.0 {
            link.notify(method, params);
        }
    }

    /// Forgets the question without an answer: its asker has withdrawn it.
    pub fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for AskReply {
    // An upstream must not wait for an answer that cannot come any more.
    fn drop(&mut self) {
        if let Some(link) = self.0.take() {
            link.answer(&self.1, Err(Refusal::NoAnswer.error()));
        }
    }
}

impl std::fmt::Debug for AskReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AskReply({:?})", self.1)
    }
}

/// Why an upstream's question is refused. The only errors that the gateway
/// itself sends upstream.
#[derive(Debug, Clone, Copy)]
pub enum Refusal {
    /// No client behind this link can be asked this.
    NotSupported,
    /// More than one client might be meant.
    NoOwner,
    /// The client went away, or its queue is full.
    NoAnswer,
}

impl Refusal {
    pub fn error(self) -> Raw {
        Raw::from_static(match self {
            Refusal::NotSupported => {
                r#"{"code":-32601,"message":"The client behind the gateway does not support this request"}"#
            }
            Refusal::NoOwner => {
                r#"{"code":-32603,"message":"The gateway cannot tell which client this request is meant for"}"#
            }
            Refusal::NoAnswer => {
                r#"{"code":-32603,"message":"The client went away without an answer"}"#
            }
        })
    }
}

/// The longest pause of a reader whose client does not read. Shorter than the
/// time in which a server has to give a sign of life.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Turns that other tasks get before an event of a shared link is dropped.
const YIELDS: usize = 32;

/// Where the events of one call, or of one session, go. Sending never waits:
/// an upstream's reader must not be held up by one client. A reader that serves
/// this client alone waits for `EventSink::room` first.
#[derive(Clone)]
pub struct EventSink {
    queue: mpsc::Sender<Box<Event>>,
    dropped: Arc<Dropped>,
    /// Where it is counted what found the queue full.
    meter: Option<Arc<Meter>>,
}

/// The other end of an [`EventSink`].
pub struct EventStream {
    queue: mpsc::Receiver<Box<Event>>,
    dropped: Arc<Dropped>,
}

/// Notices that found the queue full.
#[derive(Default)]
struct Dropped {
    any: AtomicBool,
    /// By the server that they came from.
    counts: Mutex<Vec<(Option<Arc<str>>, u64)>>,
    /// A reader has paused for as long as it may, and there was no room yet.
    stalled: AtomicBool,
    /// Waits for the next event. A notice may be dropped after the queue was
    /// found empty, so the queue alone cannot wake it.
    reader: AtomicWaker,
}

impl Dropped {
    fn count(&self, server: Option<&Arc<str>>) {
        let mut counts = self.counts.lock();
        match counts.iter_mut().find(|(of, _)| of.as_ref() == server) {
            Some((_, count)) => *count += 1,
            None => counts.push((server.cloned(), 1)),
        }
        self.any.store(true, Ordering::Release);
        drop(counts);
        self.reader.wake();
    }

    /// A notice about those of one server.
    fn take(&self) -> Option<Box<Event>> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let mut counts = self.counts.lock();
        let taken = counts.pop();
        self.any.store(!counts.is_empty(), Ordering::Release);
        let (server, count) = taken?;
        let notice = Notice::dropped(count, server.as_deref());
        Some(Box::new(Event::Notice(notice)))
    }
}

impl EventStream {
    /// The next event. Once the queue is empty, a notice says how many others
    /// were dropped; `None` when nothing more can come.
    pub async fn recv(&mut self) -> Option<Box<Event>> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Polls for the next event, like `recv`.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<Box<Event>>> {
        match self.queue.poll_recv(cx) {
            Poll::Ready(Some(event)) => Poll::Ready(Some(event)),
            Poll::Ready(None) => Poll::Ready(self.dropped.take()),
            Poll::Pending => {
                // Registered before the look, so that no count is missed.
                self.dropped.reader.register(cx.waker());
                match self.dropped.take() {
                    Some(event) => Poll::Ready(Some(event)),
                    None => Poll::Pending,
                }
            }
        }
    }

    /// The next event of a call that goes on. Those that were dropped are told
    /// at its end, by [`EventStream::try_recv`].
    pub fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Box<Event>>> {
        self.queue.poll_recv(cx)
    }

    /// The next event that is there, and then what was dropped.
    pub fn try_recv(&mut self) -> Result<Box<Event>, TryRecvError> {
        self.queue
            .try_recv()
            .or_else(|error| self.dropped.take().ok_or(error))
    }
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventStream").finish_non_exhaustive()
    }
}

impl EventSink {
    pub fn channel(capacity: usize) -> (EventSink, EventStream) {
        let (sender, receiver) = mpsc::channel(capacity.max(1));
        let dropped = Arc::<Dropped>::default();
        let sink = EventSink {
            queue: sender,
            dropped: dropped.clone(),
            meter: None,
        };
        let stream = EventStream {
            queue: receiver,
            dropped,
        };
        (sink, stream)
    }

    /// The same, with what it drops counted.
    pub(crate) fn counted(self, meter: &Arc<Meter>) -> EventSink {
        EventSink {
            meter: Some(meter.clone()),
            ..self
        }
    }

    /// Events that wait to be read.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }

    /// False if the event was dropped: the queue is full or its reader gone. A
    /// dropped question is refused by its own drop.
    pub fn send(&self, event: Event) -> bool {
        let Err(error) = self.queue.try_send(Box::new(event)) else {
            // Its reader has read something.
            if self.dropped.stalled.load(Ordering::Relaxed) {
                self.dropped.stalled.store(false, Ordering::Relaxed);
            }
            return true;
        };
        if let TrySendError::Full(event) = &error {
            self.count_dropped(event);
        }
        false
    }

    /// Sends a notice, charged to its client if it is large. A large one is
    /// dropped while more is held for clients than the limits allow. Returns
    /// false if it was dropped.
    pub(crate) fn send_notice(&self, mut notice: Notice, memory: &Arc<MemoryShare>) -> bool {
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
            self.dropped.count(notice.server.as_ref());
        }
        if let Some(meter) = &self.meter {
            meter.dropped();
        }
    }

    /// Returns true if the next event would be dropped.
    pub(crate) fn is_full(&self) -> bool {
        self.queue.capacity() == 0
    }

    /// Lets other tasks run until there is room for an event, but never waits:
    /// the reader serves other clients, too. A client that reads nothing
    /// meanwhile is not considered again until it has read something.
    pub(crate) async fn yield_for_room(&self) {
        let stalled = &self.dropped.stalled;
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

    /// Waits until there is room for an event, or nobody reads any more. A
    /// client that reads nothing for [`LONGEST_PAUSE`] is not waited for again
    /// until it has read something.
    pub(crate) async fn room(&self) {
        let stalled = &self.dropped.stalled;
        if !self.is_full() || stalled.load(Ordering::Relaxed) {
            return;
        }
        if timeout(LONGEST_PAUSE, self.queue.reserve()).await.is_err() {
            stalled.store(true, Ordering::Relaxed);
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
