//! A link over a duplex channel. Responses are matched to requests by id.
//!
//! On such a channel, only a progress token ties a notification or a server request to a call.
//! [`incoming`] finds the calls that a message may belong to, and [`recipient`](crate::recipient)
//! decides who receives it.

mod incoming;
mod quoter;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use narrows_wire::{Id, Raw};
use narrows_wire::{encode_error, encode_notification, encode_request, encode_result};
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, Semaphore, mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};
use tokio_util::task::TaskTracker;

pub(crate) use self::quoter::MessageQuoter;
use crate::channel::{Channel, ChannelEvent, Closer};
use crate::exchange::{AskKey, AskResponder, ClientHello, Event, EventSink};
use crate::failure::{Failure, FailureKind, LinkError};
use crate::handler::NotificationHandler;
use crate::handshake::ServerHello;
use crate::health::Liveness;
use crate::request::{ModernParts, Origin, Outgoing, is_work};
use crate::settings::Era;
use crate::violations::ViolationLog;

/// The time to wait for the reason after a server has closed its input.
const END_REASON_TIMEOUT: Duration = Duration::from_secs(1);

/// The time during which a server may still send messages about an abandoned call.
const LATE_MESSAGE_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum number of abandoned calls that a link remembers.
const MAX_ABANDONED: usize = 1_024;

/// The maximum number of responses that wait for a server that does not read. If it is exceeded,
/// the link is closed.
const MAX_LATE_RESPONSES: usize = 256;

pub(crate) struct Duplex {
    /// Distinguishes this link from all others.
    serial: u64,
    server: Arc<str>,
    outgoing: mpsc::Sender<Bytes>,
    next_id: AtomicU64,
    pending: Mutex<HashMap<u64, Pending>>,
    /// Abandoned calls that the server may still be working on: the session, and the time until
    /// which messages about the call may arrive.
    abandoned: Mutex<HashMap<u64, (u64, Instant)>>,
    /// The recipients of the server's open requests.
    open_asks: Mutex<HashMap<Id, AskRecipient>>,
    /// Limits the responses that wait for a server that does not read.
    late_responses: Arc<Semaphore>,
    ended: watch::Sender<Option<Arc<Failure>>>,
    violations: ViolationLog,
    quoter: MessageQuoter,
    /// The first unreadable message that arrived before the link was initialised.
    unreadable: Mutex<Option<String>>,
    initialised: AtomicBool,
    /// True if the server belongs to the modern era, where servers send no requests.
    is_modern: AtomicBool,
    pub(crate) liveness: Liveness,
    /// The lock is held while the closer runs, so that a second caller waits until it has finished.
    closer: AsyncMutex<Option<Closer>>,
}

/// A request that is waiting for its response.
struct Pending {
    done: oneshot::Sender<Result<Raw, LinkError>>,
    origin: Option<Origin>,
    /// The client's own progress token.
    token: Option<Raw>,
    /// The time at which the request was sent, or the last progress notification arrived.
    last_alive: Instant,
}

/// The recipient of a server request.
enum AskRecipient {
    Call(EventSink),
    Handler(Arc<dyn NotificationHandler>),
}

impl Duplex {
    /// Starts the reader and initialises the connection.
    #[expect(
        clippy::too_many_arguments,
        reason = "the arguments are independent, and there is only one caller"
    )]
    pub(crate) async fn open(
        channel: Channel,
        server: Arc<str>,
        serial: u64,
        quoter: MessageQuoter,
        hello: &ClientHello,
        handler: Arc<dyn NotificationHandler>,
        startup_timeout: Duration,
        era: Era,
        tasks: &TaskTracker,
    ) -> Result<(Arc<Duplex>, ServerHello), Failure> {
        let link = Arc::new(Duplex::new(
            channel.outgoing,
            channel.closer,
            server,
            serial,
            quoter,
        ));
        // Nothing else owns the link until it is initialised. If this future is dropped before, the
        // guard ends the link, and `listen` releases its resources.
        let mut opening = DuplexOpening(Some(&link));
        tasks.spawn(link.clone().listen(channel.incoming, handler));
        let hello = link.greet(hello, startup_timeout, era).await;
        let hello = hello.map_err(|failure| link.with_unreadable(failure))?;
        link.initialised.store(true, Ordering::Relaxed);
        if let Some(unreadable) = link.unreadable.lock().take() {
            link.violations.report(&link.server, &unreadable);
        }
        opening.0 = None;
        drop(opening);
        Ok((link, hello))
    }

    fn new(
        outgoing: mpsc::Sender<Bytes>,
        closer: Closer,
        server: Arc<str>,
        serial: u64,
        quoter: MessageQuoter,
    ) -> Self {
        Duplex {
            serial,
            server,
            outgoing,
            next_id: AtomicU64::new(1),
            pending: Mutex::default(),
            abandoned: Mutex::default(),
            open_asks: Mutex::default(),
            late_responses: Arc::new(Semaphore::new(MAX_LATE_RESPONSES)),
            ended: watch::Sender::new(None),
            violations: ViolationLog::default(),
            quoter,
            unreadable: Mutex::default(),
            initialised: AtomicBool::new(false),
            is_modern: AtomicBool::new(false),
            liveness: Liveness::new(),
            closer: AsyncMutex::new(Some(closer)),
        }
    }

    /// Opens the connection in the era of the server.
    ///
    /// With [`Era::Auto`], `initialize` comes first: every server answers it, a legacy server sees
    /// nothing that it does not know, and no time limit decides.
    async fn greet(
        self: &Arc<Self>,
        hello: &ClientHello,
        timeout: Duration,
        era: Era,
    ) -> Result<ServerHello, Failure> {
        match era {
            Era::Legacy => self.initialize(hello, timeout).await,
            Era::Modern => self.discover(hello, timeout).await,
            Era::Auto => {
                let began = Instant::now();
                let refused = match self.initialize(hello, timeout).await {
                    Err(failure) if failure.is_answer => failure,
                    settled => return settled,
                };
                let left = timeout.saturating_sub(began.elapsed());
                let discovered = Box::pin(self.discover(hello, left)).await;
                discovered.map_err(|_| refused)
            }
        }
    }

    async fn discover(
        self: &Arc<Self>,
        hello: &ClientHello,
        timeout: Duration,
    ) -> Result<ServerHello, Failure> {
        let meta = ServerHello::request_meta(hello);
        let parts = ModernParts {
            meta: &meta,
            resumed: &[],
            headers: None,
        };
        let method = "server/discover";
        let call = Outgoing::own(method, None, timeout);
        let result = self.request_with(call, Some(&parts)).await;
        let result = result.map_err(|error| error.into_failure(method))?;
        let hello = ServerHello::of_discovery(&result, &self.server)?;
        self.is_modern.store(true, Ordering::Relaxed);
        Ok(hello)
    }

    async fn initialize(
        self: &Arc<Self>,
        hello: &ClientHello,
        timeout: Duration,
    ) -> Result<ServerHello, Failure> {
        let params = ServerHello::request(hello);
        let result = self
            .request(Outgoing::own("initialize", Some(params), timeout))
            .await;
        let hello = ServerHello::read(&result.map_err(|error| error.into_failure("initialize"))?)?;
        self.notify("notifications/initialized", None);
        Ok(hello)
    }

    pub(crate) fn request(
        self: &Arc<Self>,
        call: Outgoing<'_>,
    ) -> impl Future<Output = Result<Raw, LinkError>> {
        self.request_with(call, None)
    }

    /// Sends a request and waits for its response. `parts` is set for servers of the modern era.
    pub(crate) async fn request_with(
        self: &Arc<Self>,
        call: Outgoing<'_>,
        parts: Option<&ModernParts<'_>>,
    ) -> Result<Raw, LinkError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let message = encode_request(
            &Id::number(id),
            call.method,
            call.encoded_params(id, parts).as_ref(),
        );
        let message = call.charged(message);
        let (done, mut answer) = oneshot::channel();
        let sent = Instant::now();
        let cancellable = call.method != "initialize";
        let reason = call.origin.as_ref().map(|origin| origin.cancel.clone());
        let pending = Pending {
            done,
            origin: call.origin,
            token: call.progress_token,
            last_alive: sent,
        };
        self.pending.lock().insert(id, pending);
        // From here on, the entry must be removed if this future is dropped early.
        let mut entry = PendingGuard {
            link: self,
            id,
            sent: false,
            cancellable,
            answered: false,
        };
        if let Some(failure) = self.end_reason() {
            return Err(LinkError::unsent(failure));
        }
        let _in_flight = is_work(call.method).then(|| self.liveness.in_flight());
        let mut deadline = sent + call.timeout;
        match timeout_at(deadline, self.outgoing.send(message)).await {
            Ok(Ok(())) => entry.sent = true,
            // The reader knows why the channel was closed, and is about to report it.
            Ok(Err(_)) => {
                let ended = timeout_at(deadline, self.ended()).await;
                return Err(ended.map_or(LinkError::Timeout(call.timeout), LinkError::unsent));
            }
            // The server does not even read its input.
            Err(_) => {
                self.record_call_timeout(call.method, sent);
                return Err(LinkError::Timeout(call.timeout));
            }
        }
        loop {
            match timeout_at(deadline, &mut answer).await {
                Ok(answer) => {
                    entry.answered = true;
                    return match answer {
                        Ok(answer) => answer,
                        Err(_) => Err(LinkError::lost(self.ended().await)),
                    };
                }
                Err(_) => {
                    // Progress restarts the timeout.
                    let last_alive = self.last_alive(id);
                    if last_alive
                        .is_none_or(|last_alive| last_alive + call.timeout <= Instant::now())
                    {
                        if let Some(cancel) = &reason {
                            cancel.give_reason("timeout");
                        }
                        self.record_call_timeout(call.method, sent);
                        return Err(LinkError::Timeout(call.timeout));
                    }
                    deadline = last_alive.unwrap_or(deadline) + call.timeout;
                }
            }
        }
    }

    /// Sends a notification without waiting. If the server does not read, the notification is lost.
    pub(crate) fn notify(&self, method: &str, params: Option<Raw>) {
        if self
            .outgoing
            .try_send(encode_notification(method, params.as_ref()))
            .is_err()
        {
            tracing::debug!(server = %self.server, method, "notification not sent: the server does not read");
        }
    }

    /// Closes the connection gracefully and returns when all its resources are released.
    pub(crate) async fn close(&self) {
        self.abandon();
        self.wait_for_cleanup().await;
    }

    /// Closes the connection without waiting. The reader task releases its resources in the
    /// background.
    pub(crate) fn abandon(&self) {
        self.end(Failure::new(FailureKind::Closed, "closed by the gateway"));
    }

    /// Returns the reason why the link has ended, or `None` if it is open.
    pub(crate) fn end_reason(&self) -> Option<Arc<Failure>> {
        self.ended.borrow().clone()
    }

    /// Waits until the link has ended, and returns the reason.
    pub(crate) async fn ended(&self) -> Arc<Failure> {
        let mut ended = self.ended.subscribe();
        match ended.wait_for(Option::is_some).await {
            Ok(failure) => failure.clone().expect("waited for it"),
            Err(_) => unreachable!("`self` holds the sender"),
        }
    }

    async fn listen(
        self: Arc<Self>,
        mut incoming: BoxStream<'static, ChannelEvent>,
        handler: Arc<dyn NotificationHandler>,
    ) {
        let mut ended = self.ended.subscribe();
        // A server that has stopped reading cannot respond any more, even if it still sends
        // messages. It gets a moment to report why it is ending, because that reason says more.
        let mut stopped_reading = pin!(async {
            self.outgoing.closed().await;
            tokio::time::sleep(END_REASON_TIMEOUT).await;
        });
        let is_own = handler.is_own();
        loop {
            let arrival = tokio::select! {
                biased;
                _ = ended.wait_for(Option::is_some) => break,
                arrival = incoming.next() => arrival,
                () = &mut stopped_reading => {
                    break self.end(Failure::new(FailureKind::Process, "it stopped reading its input"));
                }
            };
            match arrival {
                Some(ChannelEvent::Message(frame)) => {
                    let filled = self.handle(frame, &handler).await;
                    match filled.filter(EventSink::is_full) {
                        // The link serves only this client, so reading may wait for it.
                        Some(sink) if is_own => tokio::select! {
                            biased;
                            _ = ended.wait_for(Option::is_some) => break,
                            () = sink.room() => {}
                        },
                        // Other clients use the link too, so excess events are dropped.
                        Some(sink) => sink.yield_for_room().await,
                        None => {}
                    }
                }
                Some(ChannelEvent::TooLarge(max)) => self.skip_oversized(max),
                Some(ChannelEvent::Unsent {
                    id,
                    error,
                    certain: true,
                }) => self.fail(id, error),
                Some(ChannelEvent::Unsent { id, error, .. }) => self.give_up(id, error),
                Some(ChannelEvent::Ended(failure)) => break self.end(failure),
                None => break self.end(Failure::new(FailureKind::Connect, "the connection ended")),
            }
        }
        // A server that exits unexpectedly can leave child processes behind.
        self.wait_for_cleanup().await;
    }

    /// Waits until the resources of a link that has ended are released.
    pub(crate) async fn wait_for_cleanup(&self) {
        let mut closer = self.closer.lock().await;
        if let Some(closer) = closer.take() {
            closer().await;
        }
    }

    /// Ends the link, unless it has already ended.
    pub(crate) fn end(&self, failure: Failure) {
        let failure = Arc::new(failure);
        let first = self.ended.send_if_modified(|ended| {
            let first = ended.is_none();
            ended.get_or_insert_with(|| failure.clone());
            first
        });
        if first {
            // Done before the calls end, because their event sinks end with them.
            let open_asks = std::mem::take(&mut *self.open_asks.lock());
            for (id, open_asks) in open_asks {
                self.withdraw(id, &open_asks);
            }
            let pending = std::mem::take(&mut *self.pending.lock());
            for entry in pending.into_values() {
                let _ = entry.done.send(Err(LinkError::lost(failure.clone())));
            }
        }
    }

    fn withdraw(&self, id: Id, open_asks: &AskRecipient) {
        let key = AskKey {
            link: self.serial,
            id,
        };
        match open_asks {
            AskRecipient::Call(sink) => drop(sink.send(Event::Withdraw(key))),
            AskRecipient::Handler(handler) => handler.withdraw(key),
        }
    }

    /// Handles a message that was skipped because of its size. It may be a response, but its id is
    /// unknown. If exactly one request is pending, that request fails, so that its caller does not
    /// wait in vain.
    fn skip_oversized(&self, max: usize) {
        let what = format_args!("a message of more than {max} bytes, which was skipped");
        self.violations.report(&self.server, &what);
        let mut pending = self.pending.lock();
        if pending.len() == 1
            && let Some((_, entry)) = pending.drain().next()
        {
            let _ = entry.done.send(Err(LinkError::TooLarge(max)));
        }
    }

    /// Fails a request that the server may already be working on, and cancels it at the server.
    fn give_up(&self, id: u64, error: LinkError) {
        let entry = self.pending.lock().remove(&id);
        if let Some(entry) = entry {
            self.cancel_at_server(id, entry.origin.as_ref(), "connection lost");
            let _ = entry.done.send(Err(error));
        }
    }

    /// Sends `notifications/cancelled`, and remembers the call because the server may still send
    /// messages about it.
    fn cancel_at_server(&self, id: u64, origin: Option<&Origin>, reason: &str) {
        if let Some(origin) = origin {
            let mut abandoned = self.abandoned.lock();
            if abandoned.len() < MAX_ABANDONED {
                abandoned.insert(id, (origin.session, Instant::now() + LATE_MESSAGE_TIMEOUT));
            }
        }
        let params = Raw::empty_object()
            .with_member("requestId", &Raw::number(id))
            .with_member("reason", &Raw::string(reason));
        self.notify("notifications/cancelled", Some(params));
    }

    fn fail(&self, id: u64, error: LinkError) {
        let entry = self.pending.lock().remove(&id);
        if let Some(entry) = entry {
            let _ = entry.done.send(Err(error));
        }
    }

    /// Records that a request was not answered in time.
    fn record_call_timeout(&self, method: &str, sent: Instant) {
        if is_work(method) {
            self.liveness.record_timeout(sent);
        }
    }

    fn last_alive(&self, id: u64) -> Option<Instant> {
        let pending = self.pending.lock();
        pending.get(&id).map(|entry| entry.last_alive)
    }
}

impl AskResponder for Duplex {
    fn answer(&self, id: &Id, body: Result<Raw, Raw>) {
        self.open_asks.lock().remove(id);
        let message = match body {
            Ok(result) => encode_result(id, &result),
            Err(error) => encode_error(Some(id), &error),
        };
        if let Err(mpsc::error::TrySendError::Full(message)) = self.outgoing.try_send(message) {
            // A response must not be lost as long as the server reads at all.
            let runtime = tokio::runtime::Handle::try_current();
            match (self.late_responses.clone().try_acquire_owned(), runtime) {
                (Ok(permit), Ok(runtime)) => {
                    let outgoing = self.outgoing.clone();
                    runtime.spawn(async move {
                        let _ = outgoing.send(message).await;
                        drop(permit);
                    });
                }
                _ => {
                    let detail = "it sends requests but does not read the responses";
                    self.end(Failure::new(FailureKind::Protocol, detail));
                }
            }
        }
    }

    fn notify(&self, method: &str, params: Option<Raw>) {
        Duplex::notify(self, method, params);
    }
}

/// Closes the link when it is dropped before the link is initialised.
struct DuplexOpening<'a>(Option<&'a Duplex>);

impl Drop for DuplexOpening<'_> {
    fn drop(&mut self) {
        if let Some(link) = self.0 {
            link.abandon();
        }
    }
}

/// The entry of a request in the table of pending requests. If it is dropped before the response
/// arrives, it removes the entry and cancels the request at the server.
struct PendingGuard<'a> {
    link: &'a Duplex,
    id: u64,
    sent: bool,
    cancellable: bool,
    answered: bool,
}

impl Drop for PendingGuard<'_> {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        let entry = self.link.pending.lock().remove(&self.id);
        if let Some(entry) = entry
            && self.sent
            && self.cancellable
        {
            let origin = entry.origin.as_ref();
            let reason = origin.map_or("timeout", |origin| origin.cancel.reason());
            self.link.cancel_at_server(self.id, origin, reason);
        }
    }
}
