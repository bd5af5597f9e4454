//! The session of a legacy client: the adapter between JSON-RPC messages of revisions with
//! `initialize` and the call path.
//!
//! A session owns the state of a single client: its calls in flight, unanswered requests from
//! servers, its own links, subscriptions and log level.

mod asks;
mod calls;
mod host;
mod links;
mod liveness;
mod log_level;
mod returned_uris;
mod subscriptions;
mod variants;

use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use futures_util::future::{BoxFuture, Either, join_all, select};
use narrows_policy::Principal;
use narrows_wire::{Id, Notification, Raw, Request, Response, Revision, token};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use self::asks::OpenAsks;
use self::calls::CallTable;
pub(crate) use self::host::{SessionHost, SessionServices};
use self::links::OwnLinks;
pub use self::liveness::Lifetime;
use self::liveness::Liveness;
pub(crate) use self::liveness::SessionTimes;
pub(crate) use self::log_level::LogLevel;
use self::returned_uris::ReturnedUris;
use self::subscriptions::Subscriptions;
use self::variants::OwnView;
use crate::call::{Call, CallContext, Params, ViewSource, local_answer};
use crate::caller::Caller;
use crate::catalogue::{StartingServer, View};
use crate::clients::{ClientPermit, SessionPermit};
use crate::endpoint::{Endpoint, PresetView};
use crate::error::Error;
use crate::known_clients::ResultTraits;
use crate::observer::{CallObserver, RequestObserver};
use narrows_results::shaping::WorkerShare;
use narrows_upstream::chain::via;
use narrows_upstream::exchange::{AskKey, Cancel, Event, EventSink, Notice};
use narrows_upstream::memory::ClientMemory;
use narrows_upstream::offload;
use narrows_upstream::{Link, ListKind, Upstream};

/// The maximum time for the calls of a closed session to end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The next owner of a modern call. Sessions count from the other end.
static LAST_OWNER: AtomicU64 = AtomicU64::new(u64::MAX);

/// The maximum length of a forwarded cancellation reason, in characters.
const MAX_REASON: usize = 500;

pub struct Session {
    serial: u64,
    id: String,
    caller: Caller,
    endpoint: Arc<Endpoint>,
    /// The view of the endpoint for clients under the same presets.
    preset_view: ArcSwap<PresetView>,
    /// The preset that was chosen for this session, in place of the endpoint's.
    own_preset: Mutex<Option<String>>,
    host: Weak<dyn SessionHost>,
    services: Arc<SessionServices>,
    outbox: EventSink,
    share: ClientShare,
    calls: CallTable,
    liveness: Liveness,
    open_asks: OpenAsks,
    links: OwnLinks,
    own_view: OwnView,
    subscriptions: Subscriptions,
    returned_uris: ReturnedUris,
    level: AtomicU8,
    /// True while the only call of the session waits for answers of a modern client.
    parked: AtomicBool,
    closed: CancellationToken,
    observer: RequestObserver,
}

/// A session's share of the gateway's resources.
pub(crate) struct ClientShare {
    /// The client's memory account, shared by all sessions with its token.
    memory: ClientMemory,
    workers: WorkerShare,
    /// Released when the session ends.
    session_permit: Mutex<Option<SessionPermit>>,
}

/// The parts of a new session.
pub(crate) struct NewSession {
    pub(crate) serial: u64,
    pub(crate) caller: Caller,
    pub(crate) lifetime: Lifetime,
    pub(crate) times: SessionTimes,
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) preset_view: Arc<PresetView>,
    pub(crate) host: Weak<dyn SessionHost>,
    pub(crate) services: Arc<SessionServices>,
    pub(crate) outbox: EventSink,
    pub(crate) memory: ClientMemory,
    pub(crate) session_permit: SessionPermit,
    pub(crate) observer: RequestObserver,
}

impl Session {
    pub(crate) fn new(new: NewSession) -> Session {
        let meter = new.observer.meter();
        Session {
            serial: new.serial,
            id: token::random_id(),
            caller: new.caller,
            endpoint: new.endpoint,
            preset_view: ArcSwap::new(new.preset_view),
            own_preset: Mutex::default(),
            host: new.host,
            services: new.services,
            outbox: new.outbox.counted(meter.dropped()),
            share: ClientShare {
                memory: new.memory,
                workers: WorkerShare::default(),
                session_permit: Mutex::new(Some(new.session_permit)),
            },
            calls: CallTable::default(),
            liveness: Liveness::new(new.lifetime, new.times),
            open_asks: OpenAsks::default(),
            links: OwnLinks::default(),
            own_view: OwnView::default(),
            subscriptions: Subscriptions::default(),
            returned_uris: ReturnedUris::default(),
            level: AtomicU8::new(LogLevel::UNSET),
            parked: AtomicBool::new(false),
            closed: CancellationToken::new(),
            observer: new.observer,
        }
    }

    /// Returns the client program's handling of tool results.
    pub fn result_traits(&self) -> ResultTraits {
        self.caller.result_traits
    }

    pub fn memory(&self) -> &ClientMemory {
        &self.share.memory
    }

    /// Returns true if a server's request to the client is unanswered.
    pub fn owes_an_answer(&self) -> bool {
        !self.open_asks.is_empty()
    }

    /// Returns the random id, which is the value of `mcp-session-id`.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn revision(&self) -> Revision {
        self.caller.revision
    }

    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Handles any request except `initialize`. Takes the client's permit unless the caller already
    /// has it. Events of the request go to `sink`, and all of them have been sent when the future
    /// completes. Dropping the future cancels the call at its server.
    pub async fn request(
        self: Arc<Self>,
        request: Request,
        sink: EventSink,
        permit: Option<ClientPermit>,
    ) -> Result<Raw, Error> {
        let Request { id, method, params } = request;
        let bytes = params.as_ref().map_or(0, Raw::len);
        offload::large(bytes).await;
        let observer = self.observer.begin(&method, bytes);
        let cancel = Arc::new(Cancel::default());
        let admitted = permit.map_or_else(|| self.permit(), Ok).and_then(|permit| {
            let max = self.services.limits.calls_per_session;
            self.liveness.record_message();
            let place = self.calls.insert(id, cancel.clone(), max)?;
            Ok((permit, place))
        });
        let outcome = match admitted {
            Err(error) => Err(error),
            Ok(_in_flight) => {
                observer.accept();
                observer.received(&self.caller.endpoint, params.as_ref());
                let call = self.call(&method, params, sink, &cancel, &observer);
                let work = match call {
                    Err(error) => Either::Left(std::future::ready(Err(error))),
                    Ok(call) => Either::Right(match &*method {
                        // Boxed because these methods are rare.
                        "resources/subscribe"
                        | "resources/unsubscribe"
                        | "logging/setLevel"
                        | "shutdown" => Either::Left(Box::pin(self.own_method(call))),
                        _ => Either::Right(call.run()),
                    }),
                };
                match select(pin!(work), pin!(cancel.raised())).await {
                    Either::Left((outcome, _)) => outcome,
                    Either::Right(_) if cancel.is_interrupted() => Err(Error::Interrupted {
                        sent: observer.was_sent(),
                    }),
                    Either::Right(_) => Err(Error::Cancelled),
                }
            }
        };
        self.liveness.record_message();
        observer.finish(&outcome);
        outcome
    }

    fn call<'a>(
        self: &'a Arc<Self>,
        method: &'a str,
        params: Option<Raw>,
        sink: EventSink,
        cancel: &Arc<Cancel>,
        observer: &'a CallObserver<'a>,
    ) -> Result<Call<'a>, Error> {
        let context = CallContext {
            caller: &self.caller,
            links: self,
            owner: self.owner(),
            memory: Some(&self.share.memory),
            sink: sink.counted(self.observer.meter().dropped()),
            cancel: cancel.clone(),
            observer,
        };
        Ok(Call {
            context,
            views: &**self,
            shaping: self.endpoint.shaping(),
            workers: &self.share.workers,
            method,
            params: Params::new(self.caller.mark_params(params)?),
        })
    }

    /// Handles the methods that change the session.
    async fn own_method(self: &Arc<Self>, call: Call<'_>) -> Result<Raw, Error> {
        match call.method {
            "resources/subscribe" => self.subscribe(call).await,
            "resources/unsubscribe" => self.unsubscribe(call).await,
            "logging/setLevel" => self.set_level(call).await,
            _ => {
                self.close_soon();
                Ok(Raw::empty_object())
            }
        }
    }

    /// Returns the response to a request that needs no waiting: a rendered list, or a `ping`.
    /// Returns `None` for all other requests, and while lists still have to wait; use
    /// [`Session::request`] for those.
    pub fn answer_locally(&self, request: &Request) -> Option<Result<Raw, Error>> {
        let kind = ListKind::of_method(&request.method);
        if kind.is_none() && &*request.method != "ping" {
            return None;
        }
        if request.params.as_ref().map_or(0, Raw::len) >= offload::LARGE {
            return None;
        }
        let ready = self.own_view.is_surveyed()
            && (self.host.upgrade())
                .is_some_and(|host| host.is_ready(&self.endpoint, self.liveness.lists_by()));
        // Lists for gateways are rendered separately.
        let is_rendered = kind.is_none() || self.caller.gateway.is_none();
        if self.is_closed() || self.calls.is_refusing() || !ready || !is_rendered {
            return None;
        }
        self.liveness.record_message();
        let params = request.params.as_ref();
        let observer = self
            .observer
            .begin(&request.method, params.map_or(0, Raw::len));
        observer.accept();
        observer.received(&self.caller.endpoint, params);
        let answer = match self.pass() {
            Ok(()) => local_answer(&self.caller, self, &request.method, params)?,
            Err(error) => Err(error),
        };
        observer.finish(&answer);
        Some(answer)
    }

    /// Returns the owner of messages that arrive over a link without a reference to a call. Modern
    /// clients share sessions, so each of their calls has an owner of its own: what could belong to
    /// another client is delivered to none.
    fn owner(&self) -> u64 {
        match self.caller.revision.is_legacy() {
            true => self.serial,
            false => LAST_OWNER.fetch_sub(1, Ordering::Relaxed),
        }
    }

    /// Answers `server/discover`.
    pub(crate) fn discover(&self) -> Result<Raw, Error> {
        self.liveness.record_message();
        let observer = self.observer.begin("server/discover", 0);
        observer.accept();
        observer.received(&self.caller.endpoint, None);
        let view = self.view();
        let answer = self.pass().map(|()| view.discovery());
        observer.finish(&answer);
        answer
    }

    /// Returns true if the server of a request ties its questions to the request. Otherwise, a
    /// question could belong to any call over the same link.
    pub(crate) fn ties_asks(&self, method: &str, params: Option<&Raw>) -> bool {
        let named = |member| params?.member(member)?.as_text().map(String::from);
        let view = self.view();
        let target = match method {
            "tools/call" => named("name").and_then(|name| view.tool(&name).ok()),
            "prompts/get" => named("name").and_then(|name| view.prompt(&name).ok()),
            "resources/read" => named("uri").and_then(|uri| view.find_resource(&uri).ok()?),
            _ => None,
        };
        let link = target.and_then(|target| target.upstream.shared_link().ok());
        link.is_some_and(|link| link.ties_asks_to_calls())
    }

    /// Runs a task that the shutdown of the gateway waits for.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.services.tasks.spawn(task);
    }

    fn is_looped_notice(&self, notice: &Notice) -> bool {
        via::is_looped_notice(notice, &self.services.mark)
    }

    /// Handles a notification from the client. Never waits.
    pub fn notify(self: &Arc<Self>, notification: Notification) {
        self.liveness.record_message();
        let Notification { method, params } = notification;
        // Notifications that are forwarded to servers count toward the rate limit.
        let is_passed_on = !matches!(
            &*method,
            "notifications/initialized" | "notifications/cancelled" | "notifications/progress"
        );
        if is_passed_on && self.pass().is_err() {
            return;
        }
        match &*method {
            "notifications/initialized" => {}
            "notifications/cancelled" => {
                let Some(params) = params else { return };
                let [id, reason] = params.pick(["requestId", "reason"]).unwrap_or_default();
                if let Some(id) = id.and_then(Id::from_raw) {
                    let reason = reason.as_ref().and_then(Raw::as_text);
                    let reason: Option<String> =
                        reason.map(|reason| reason.chars().take(MAX_REASON).collect());
                    self.calls.cancel(&id, reason.as_deref());
                }
            }
            "notifications/progress" => self.open_asks.progress(params),
            // Only the session's own links use this client's roots.
            "notifications/roots/list_changed" => self.links.notify(&method, params),
            method if method.starts_with("notifications/") => match self.caller.mark_params(params)
            {
                Ok(params) => self.notify_all_servers(method, params),
                Err(error) => tracing::debug!(method, "dropping a notification: {error}"),
            },
            method => tracing::debug!(method, "ignoring an unknown notification"),
        }
    }

    /// Handles the client's response to a server's request. Ignores unknown and repeated responses.
    pub fn answer(&self, response: Response) {
        self.liveness.record_message();
        if let Some(id) = response.id {
            self.open_asks.answer(&id, response.body);
        }
    }

    /// Encodes an event as a JSON-RPC message for this client. Returns `None` if there is nothing
    /// to send: the event cancels a request that the client never received, or is a log message
    /// below the client's level.
    pub fn encode(&self, event: Event) -> Option<Bytes> {
        match event {
            Event::Notice(notice) => {
                if &*notice.method == "notifications/message"
                    && !self.wants_log(notice.params.as_ref())
                {
                    return None;
                }
                let notice = self.preset_view().signed(notice);
                let message = match &self.caller.gateway {
                    Some(gateway) => gateway.mark_notice(notice).encode(),
                    None => notice.encode(),
                };
                Some(self.share.memory.responses.hold(message))
            }
            Event::Ask(ask) if self.is_closed() => {
                drop(ask);
                None
            }
            Event::Ask(ask) => Some(self.open_asks.put(ask)),
            Event::Withdraw(key) => self.open_asks.withdraw(&key),
        }
    }

    /// Prevents the session from becoming idle while the returned value is held.
    pub fn keep_active(self: &Arc<Self>) -> ActivityGuard {
        self.liveness.keep_active();
        ActivityGuard(self.clone())
    }

    /// Ends the session: cancels its calls and closes its own links.
    pub fn close(self: &Arc<Self>) {
        if !self.calls.close() {
            return;
        }
        self.closed.cancel();
        self.observer.close();
        self.calls.cancel_all("the client disconnected");
        self.open_asks.drop_all();
        drop(self.share.session_permit.lock().take());
        let Some(host) = self.host.upgrade() else {
            return;
        };
        host.forget_session(self.serial);
        let SessionServices {
            tasks, subscribers, ..
        } = &*self.services;
        let links = self.links.take();
        if !links.is_empty() {
            let session = self.clone();
            tasks.spawn(async move {
                // Cancellations are sent to the servers over these links, so the calls must end
                // first.
                let _ = timeout(CLOSE_TIMEOUT, session.calls_ended()).await;
                join_all(links.iter().map(|link| link.close())).await;
            });
        }
        for (upstream, uri) in self.subscriptions.take() {
            if let Some(upstream) = host.upstream(upstream)
                && subscribers.remove(upstream.index, &uri, self.serial)
            {
                tasks.spawn(async move { upstream.unsubscribe(&uri).await });
            }
        }
    }

    /// Waits until the session has ended for any reason.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }

    pub fn is_closed(&self) -> bool {
        self.calls.is_closed()
    }

    pub(crate) fn serial(&self) -> u64 {
        self.serial
    }

    pub(crate) fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    /// Returns the view for all clients under the same presets.
    pub(crate) fn preset_view(&self) -> Arc<PresetView> {
        self.preset_view.load_full()
    }

    /// Replaces the view. The caller notifies the client.
    pub(crate) fn set_preset_view(&self, view: Arc<PresetView>) {
        self.preset_view.store(view);
    }

    /// Returns the preset that was chosen for this session.
    pub(crate) fn own_preset(&self) -> Option<String> {
        self.own_preset.lock().clone()
    }

    pub(crate) fn choose_preset(&self, id: Option<&str>) {
        *self.own_preset.lock() = id.map(str::to_owned);
    }

    pub(crate) fn calls_in_flight(&self) -> usize {
        self.calls.len()
    }

    /// Returns the number of requests since the session was opened.
    pub(crate) fn request_count(&self) -> u64 {
        self.observer.count()
    }

    pub(crate) fn age(&self) -> Duration {
        self.liveness.age()
    }

    /// Removes and returns the session's own link to a server instance that is ending.
    pub(crate) fn give_up_link(&self, upstream: &Upstream) -> Option<Arc<Link>> {
        self.links.take_one(upstream.serial)
    }

    /// Withdraws a server's request that was sent to the client outside any call.
    pub(crate) fn withdraw(&self, key: AskKey) {
        self.outbox.send(Event::Withdraw(key));
    }

    /// Sends a notice that belongs to no call.
    pub(crate) fn emit(&self, notice: Notice) {
        // Dropped instead of held when memory is short, because no call waits for this notice.
        if !self
            .outbox
            .send_notice(notice, &self.share.memory.responses)
        {
            tracing::debug!(
                session = self.serial,
                "dropped a notification: the client's queue or the memory for clients is full"
            );
        }
    }

    pub(crate) fn notify_lists_changed(&self, kinds: &[ListKind]) {
        let mut notified: Vec<&str> = Vec::new();
        for kind in kinds {
            // Resources and templates share one notice.
            if !notified.contains(&kind.changed()) {
                notified.push(kind.changed());
                self.emit(Notice::new(kind.changed(), None));
            }
        }
    }

    /// Ends the session after the pending response has been sent.
    pub(crate) fn close_soon(self: &Arc<Self>) {
        let session = self.clone();
        tokio::spawn(async move { session.close() });
    }

    /// Returns true if the session has been idle for longer than `limit`.
    pub(crate) fn idle(&self, limit: Duration) -> bool {
        self.liveness.is_idle(limit) && self.calls.is_empty()
    }

    /// Records whether the only call of the session waits for answers of a modern client.
    pub(crate) fn set_parked(&self, parked: bool) {
        self.parked.store(parked, Ordering::Relaxed);
    }

    pub(crate) fn is_parked(&self) -> bool {
        self.parked.load(Ordering::Relaxed)
    }

    /// Returns the number of events that wait for the client.
    pub(crate) fn waiting(&self) -> usize {
        self.outbox.queued()
    }

    /// Returns the time since the last message from the client.
    pub(crate) fn silence(&self) -> Duration {
        self.liveness.silence()
    }

    /// Permits one request, within the limits of the client.
    fn permit(&self) -> Result<ClientPermit, Error> {
        match &self.caller.principal {
            Principal::Client(_) => self.services.clients.permit(&self.caller.principal),
            Principal::Local | Principal::Anonymous => Ok(ClientPermit::free()),
        }
    }

    /// Permits one request that is answered immediately.
    fn pass(&self) -> Result<(), Error> {
        match &self.caller.principal {
            Principal::Client(_) => self.services.clients.pass(&self.caller.principal),
            Principal::Local | Principal::Anonymous => Ok(()),
        }
    }

    /// Refuses further calls. Calls in flight continue.
    pub(crate) fn refuse_calls(&self) {
        self.calls.refuse();
    }

    /// Interrupts the calls in flight because the gateway is shutting down.
    pub(crate) fn interrupt(&self) {
        self.calls.interrupt();
    }

    /// Waits until no call is in flight. The session must be refusing further calls.
    pub(crate) async fn calls_ended(&self) {
        self.calls.ended().await;
    }

    /// Sends a notification to every upstream that is up.
    fn notify_all_servers(&self, method: &str, params: Option<Raw>) {
        for upstream in self.view().upstreams() {
            if let Some(link) = self.links.get(upstream.serial) {
                link.notify(method, params.clone());
            } else if let Ok(link) = upstream.shared_link() {
                link.notify(method, params.clone());
            }
        }
    }
}

/// Keeps a session from becoming idle. See [`Session::keep_active`].
pub struct ActivityGuard(Arc<Session>);

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        self.0.liveness.release_active();
    }
}

impl ViewSource for Session {
    fn view(&self) -> Arc<View> {
        let own = self.own_view.load();
        own.unwrap_or_else(|| self.preset_view.load().view())
    }

    fn ready(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let Some(host) = self.host.upgrade() else {
                return;
            };
            let limit = self.liveness.lists_by();
            host.wait_until_ready(&self.endpoint, limit).await;
            if !self.own_view.is_surveyed() {
                // Later changes are announced to the client.
                let _ = timeout_at(limit, self.own_view.surveyed()).await;
            }
        })
    }

    fn view_after_start<'a>(
        &'a self,
        view: &'a Arc<View>,
        name: &'a str,
    ) -> BoxFuture<'a, Option<Arc<View>>> {
        Box::pin(async move {
            // The server may have started since the view was built.
            self.host.upgrade()?.refresh_views();
            let newer = self.view();
            if !Arc::ptr_eq(&newer, view) {
                return Some(newer);
            }
            match view.starting(name)? {
                StartingServer::Server(upstream) => self.view_after(&upstream).await,
                // Any starting server may have the name, so the wait is the same as for lists.
                StartingServer::Unknown if Instant::now() < self.liveness.lists_by() => {
                    self.ready().await;
                    Some(self.view())
                }
                StartingServer::Unknown => None,
            }
        })
    }

    fn view_after<'a>(&'a self, upstream: &'a Upstream) -> BoxFuture<'a, Option<Arc<View>>> {
        Box::pin(async move {
            let host = self.host.upgrade()?;
            host.wait_for_start(upstream).await;
            Some(self.view())
        })
    }

    fn remember_link(&self, uri: &str, upstream: usize) -> bool {
        self.returned_uris.remember(uri, upstream)
    }

    fn link_owner(&self, uri: &str) -> Option<usize> {
        self.returned_uris.owner(uri)
    }
}
