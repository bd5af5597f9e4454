//! A legacy client's session: the adapter between JSON-RPC messages of the
//! initialise era and the exchange inside.
//!
//! It owns what belongs to one client and to nobody else: calls in flight,
//! questions put to it, links of its own, subscriptions, its log level.

mod asks;
mod handed_out;
mod links;
mod log_level;
mod subscriptions;
mod variants;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use futures_util::future::join_all;
use narrows_policy::Principal;
use narrows_wire::{Id, Notification, Raw, Request, Response, Revision, token};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use self::asks::OpenAsks;
use self::handed_out::HandedOut;
use self::links::OwnLinks;
pub(crate) use self::log_level::LogLevel;
use self::subscriptions::Subscriptions;
use self::variants::{Survey, Variants};
use crate::call::{self, Call, Params};
use crate::caller::Caller;
use crate::catalogue::{Scope, Starting, View};
use crate::clients::{ClientPermit, ClientSeat};
use crate::endpoint::{Endpoint, PresetView};
use crate::error::Error;
use crate::events::Tag;
use crate::gateway::{Inner, Lifetime, Span};
use crate::gateway_client::GatewayClient;
use crate::known_clients::{self, ResultTraits};
use crate::meter::Watch;
use narrows_results::recovery_store::Owner;
use narrows_results::shaping::WorkerShare;
use narrows_upstream::chain::via;
use narrows_upstream::exchange::{AskKey, Asks, Cancel, Event, EventSink, Notice};
use narrows_upstream::memory::ClientMemory;
use narrows_upstream::offload;
use narrows_upstream::{Link, ListKind, Upstream};

/// How long the calls of a session that has ended may take to end as well.
const FAREWELL: Duration = Duration::from_secs(2);

pub struct Session {
    serial: u64,
    id: String,
    caller: Caller,
    asks: Asks,
    /// Set if the client is a gateway itself.
    gateway_client: Option<GatewayClient>,
    lifetime: Lifetime,
    endpoint: Arc<Endpoint>,
    /// What it sees of the endpoint under the presets that bind it.
    preset_view: ArcSwap<PresetView>,
    /// The preset that was chosen for it in place of the endpoint's.
    own_preset: Mutex<Option<String>>,
    gateway: Weak<Inner>,
    outbox: EventSink,
    /// The memory shares of the client; shared by all sessions of its token.
    memory: ClientMemory,
    workers: WorkerShare,
    /// Given back when the session ends.
    seat: Mutex<Option<ClientSeat>>,
    /// How its client treats the results of tools.
    results: ResultTraits,
    calls: Mutex<HashMap<Id, Arc<Cancel>>>,
    /// Tells who waits for the end of a closed session's calls.
    call_ended: Notify,
    requests: AtomicU64,
    open_asks: OpenAsks,
    links: OwnLinks,
    variants: Variants,
    /// Differs from the endpoint's where a link of its own offers something else.
    own_view: ArcSwapOption<View>,
    /// Held while `own_view` is built and stored, so that the newest stays.
    building: Mutex<()>,
    survey: Survey,
    subscriptions: Subscriptions,
    handed_out: HandedOut,
    level: AtomicU8,
    closed: CancellationToken,
    closing: AtomicBool,
    /// True once the gateway is shutting down.
    refuses_calls: AtomicBool,
    stays: AtomicUsize,
    /// Milliseconds after `born`.
    last_sign: AtomicU64,
    born: Instant,
    /// Until when its lists wait for servers that are still starting.
    lists_by: Instant,
    watch: Watch,
}

impl Session {
    #[expect(clippy::too_many_arguments, reason = "the gateway is the only caller")]
    pub(crate) fn new(
        serial: u64,
        caller: Caller,
        lifetime: Lifetime,
        endpoint: Arc<Endpoint>,
        preset_view: Arc<PresetView>,
        gateway: &Arc<Inner>,
        outbox: EventSink,
        span: Span,
    ) -> Session {
        let (meter, feed) = (gateway.meter(), &gateway.feed);
        let watch = Watch::open(meter, feed, serial, endpoint.label(), &caller.principal);
        let results = known_clients::results(&gateway.config().settings, &caller.client);
        Session {
            serial,
            id: token::random_id(),
            asks: caller.client.asks(),
            gateway_client: GatewayClient::of(&caller.client, gateway.mark()),
            caller,
            lifetime,
            endpoint,
            preset_view: ArcSwap::new(preset_view),
            own_preset: Mutex::default(),
            gateway: Arc::downgrade(gateway),
            outbox: outbox.counted(meter.dropped()),
            memory: gateway.memory.client(),
            workers: WorkerShare::default(),
            seat: Mutex::default(),
            results,
            calls: Mutex::default(),
            call_ended: Notify::new(),
            requests: AtomicU64::new(0),
            open_asks: OpenAsks::default(),
            links: OwnLinks::default(),
            variants: Variants::default(),
            own_view: ArcSwapOption::empty(),
            building: Mutex::default(),
            survey: Survey::default(),
            subscriptions: Subscriptions::default(),
            handed_out: HandedOut::default(),
            level: AtomicU8::new(LogLevel::UNSET),
            closed: CancellationToken::new(),
            closing: AtomicBool::new(false),
            refuses_calls: AtomicBool::new(false),
            stays: AtomicUsize::new(0),
            last_sign: AtomicU64::new(0),
            born: span.began,
            lists_by: span.lists_by,
            watch,
        }
    }

    /// With what it takes of its client's sessions.
    pub(crate) fn seated(mut self, seat: ClientSeat) -> Session {
        self.seat = Mutex::new(Some(seat));
        self
    }

    /// With what is counted of the memory that its client holds.
    pub(crate) fn charged_to(mut self, memory: ClientMemory) -> Session {
        self.memory = memory;
        self
    }

    /// Returns how the client's program treats the results of tools.
    pub fn result_traits(&self) -> ResultTraits {
        self.results
    }

    pub fn memory(&self) -> &ClientMemory {
        &self.memory
    }

    /// The workers on long texts that it may occupy.
    pub(crate) fn workers(&self) -> &WorkerShare {
        &self.workers
    }

    /// Returns true if the client has not answered a request of a server yet.
    pub fn owes_an_answer(&self) -> bool {
        !self.open_asks.is_empty()
    }

    /// Random, unguessable; what travels as `mcp-session-id`.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn revision(&self) -> Revision {
        self.caller.revision
    }

    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Carries one request (any but `initialize`) to its end. Events that
    /// belong to it go to `sink` meanwhile; all of them have been sent when the
    /// future is ready. Dropping the future cancels the call upstream.
    pub fn request(
        self: &Arc<Self>,
        request: Request,
        sink: EventSink,
    ) -> impl Future<Output = Result<Raw, Error>> {
        self.request_permitted(request, sink, None)
    }

    /// The same with the client's permit, where it was taken already.
    pub async fn request_permitted(
        self: &Arc<Self>,
        request: Request,
        sink: EventSink,
        permit: Option<ClientPermit>,
    ) -> Result<Raw, Error> {
        let Request { id, method, params } = request;
        let bytes = params.as_ref().map_or(0, Raw::len);
        offload::large(bytes).await;
        let watched = self.watch.begin(&method, bytes);
        let _permit = match permit.map_or_else(|| self.permit(), Ok) {
            Ok(permit) => permit,
            Err(error) => {
                watched.end(&error);
                return Err(error);
            }
        };
        let cancel = Arc::new(Cancel::default());
        let _call = match self.admit(id, cancel.clone()) {
            Ok(call) => call,
            Err(error) => {
                watched.end(&error);
                return Err(error);
            }
        };
        let tag = self.tag(&method);
        let call = Call {
            session: self,
            tag,
            method: &method,
            params: Params::new(params),
            sink: sink.counted(self.watch.meter().dropped()),
            cancel: cancel.clone(),
            trace: &watched.trace,
        };
        let outcome = tokio::select! {
            biased;
            outcome = call::perform(call) => outcome,
            () = cancel.raised() => Err(match cancel.is_interrupted() {
                true => Error::Interrupted {
                    sent: watched.trace.was_sent(),
                },
                false => Error::Cancelled,
            }),
        };
        // One that was not even reached is to blame all the same.
        if let Err(error) = &outcome
            && let Some(server) = error.server()
        {
            watched.trace.went_to(&server.into());
        }
        watched.end(&outcome);
        outcome
    }

    /// The answer to a request that needs nobody else: a list that is rendered
    /// already, or a `ping`. `None` for all others, and while lists are still
    /// waited for; those are for [`Session::request`].
    pub fn at_once(&self, request: &Request) -> Option<Result<Raw, Error>> {
        let kind = ListKind::of_method(&request.method);
        if kind.is_none() && &*request.method != "ping" {
            return None;
        }
        if request.params.as_ref().map_or(0, Raw::len) >= offload::LARGE {
            return None;
        }
        let ready = self.survey.is_done()
            && (self.gateway.upgrade())
                .is_some_and(|gateway| gateway.is_ready(&self.endpoint, self.lists_by));
        if self.is_closed() || self.refuses_calls() || !ready {
            return None;
        }
        if kind.is_some_and(|kind| self.unrendered(kind) >= offload::LARGE) {
            return None;
        }
        self.sign_of_life();
        let tag = self.tag(&request.method);
        let params = request.params.as_ref();
        let watched = self
            .watch
            .begin(&request.method, params.map_or(0, Raw::len));
        let answer = call::observed(tag, self, &request.method, params, &watched.trace, || {
            self.pass()?;
            match kind {
                Some(kind) => self.list(kind, params),
                None => Ok(Raw::empty_object()),
            }
        });
        watched.end(&answer);
        Some(answer)
    }

    /// Returns a page of a list.
    pub(crate) fn list(&self, kind: ListKind, params: Option<&Raw>) -> Result<Raw, Error> {
        let view = self.view();
        let listing = view.listing(kind);
        match &self.gateway_client {
            Some(gateway) => listing.passed_on(gateway.mark()).page(params),
            None => listing.page(params),
        }
    }

    pub(crate) fn upstream(&self, id: &str) -> Option<Arc<Upstream>> {
        let gateway = self.gateway.upgrade()?;
        gateway.config().upstream(id).cloned()
    }

    /// Returns the bytes of a list that have to be rendered for this client.
    pub(crate) fn unrendered(&self, kind: ListKind) -> usize {
        match self.gateway_client {
            Some(_) => self.view().listing(kind).unrendered(),
            None => 0,
        }
    }

    /// Returns the params of a request or notification to pass on.
    pub(crate) fn mark_params(&self, params: Option<Raw>) -> Result<Option<Raw>, Error> {
        match &self.gateway_client {
            Some(gateway) => gateway.mark_params(params),
            None => Ok(params),
        }
    }

    fn has_come_round(&self) -> bool {
        let gateway = self.gateway_client.as_ref();
        gateway.is_some_and(GatewayClient::has_come_round)
    }

    fn has_notice_come_round(&self, notice: &Notice) -> bool {
        let gateway = self.gateway.upgrade();
        gateway.is_some_and(|gateway| via::has_notice_come_round(notice, gateway.mark()))
    }

    /// A notification of the client. Never waits.
    pub fn notify(self: &Arc<Self>, notification: Notification) {
        self.sign_of_life();
        let Notification { method, params } = notification;
        // What is passed on to servers is as good as a request.
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
                if let Some(id) = id.and_then(Id::from_raw)
                    && let Some(cancel) = self.calls.lock().get(&id)
                {
                    let reason = reason.as_ref().and_then(Raw::as_text);
                    let reason: Option<String> =
                        reason.map(|reason| reason.chars().take(500).collect());
                    cancel.raise(reason.as_deref());
                }
            }
            "notifications/progress" => self.open_asks.progress(params),
            // Only links of its own know anything of this client's roots.
            "notifications/roots/list_changed" => self.links.notify(&method, params),
            method if method.starts_with("notifications/") => match self.mark_params(params) {
                Ok(params) => self.tell_all(method, params),
                Err(error) => tracing::debug!(method, "a notification is dropped: {error}"),
            },
            method => tracing::debug!(method, "a notification of no known kind"),
        }
    }

    /// The client's answer to a question. Unknown or repeated ones are ignored.
    pub fn answer(&self, response: Response) {
        self.sign_of_life();
        if let Some(id) = response.id {
            self.open_asks.answer(&id, response.body);
        }
    }

    /// An event as the JSON-RPC message this client reads; `None` if there is
    /// nothing to send: a question withdrawn that was never put, a log message
    /// below the level that the client wants.
    pub fn encode(&self, event: Event) -> Option<Bytes> {
        match event {
            Event::Notice(notice) => {
                if &*notice.method == "notifications/message"
                    && !self.wants_log(notice.params.as_ref())
                {
                    return None;
                }
                let notice = self.preset_view().signed(notice);
                let message = match &self.gateway_client {
                    Some(gateway) => gateway.mark_notice(notice).encode(),
                    None => notice.encode(),
                };
                Some(self.memory.responses.hold(message))
            }
            Event::Ask(ask) if self.is_closed() => {
                drop(ask);
                None
            }
            Event::Ask(ask) => Some(self.open_asks.put(ask)),
            Event::Withdraw(key) => self.open_asks.withdraw(&key),
        }
    }

    /// Keeps the session from counting as idle while it is held.
    pub fn stay(self: &Arc<Self>) -> Stay {
        self.stays.fetch_add(1, Ordering::Relaxed);
        Stay(self.clone())
    }

    /// Ends the session: calls are cancelled, links of its own closed.
    pub fn close(self: &Arc<Self>) {
        if self.closing.swap(true, Ordering::AcqRel) {
            return;
        }
        self.closed.cancel();
        self.watch.close();
        for cancel in self.calls.lock().values() {
            cancel.raise(Some("the client has gone"));
        }
        self.open_asks.drop_all();
        drop(self.seat.lock().take());
        let Some(gateway) = self.gateway.upgrade() else {
            return;
        };
        gateway.forget_session(self.serial);
        let links = self.links.take();
        if !links.is_empty() {
            let session = self.clone();
            gateway.tasks.spawn(async move {
                // What was just cancelled tells its server so over these links.
                let _ = timeout(FAREWELL, session.calls_ended()).await;
                join_all(links.iter().map(|link| link.close())).await;
            });
        }
        for (upstream, uri) in self.subscriptions.take() {
            if let Some(upstream) = gateway.config().numbered(upstream).cloned()
                && gateway
                    .subscribers
                    .remove(upstream.index, &uri, self.serial)
            {
                gateway
                    .tasks
                    .spawn(async move { upstream.unsubscribe(&uri).await });
            }
        }
    }

    /// Ready once the session has ended, by whomever.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }

    pub fn is_closed(&self) -> bool {
        // Read on every request; the token's own answer would take its lock.
        self.closing.load(Ordering::Acquire)
    }

    pub(crate) fn serial(&self) -> u64 {
        self.serial
    }

    pub(crate) fn asks(&self) -> Asks {
        self.asks
    }

    pub(crate) fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    /// Returns what all clients under the same presets see.
    pub(crate) fn preset_view(&self) -> Arc<PresetView> {
        self.preset_view.load_full()
    }

    /// Replaces what the client sees. The caller notifies the client.
    pub(crate) fn turn_to(&self, view: Arc<PresetView>) {
        self.preset_view.store(view);
    }

    /// The preset that was chosen for just this session.
    pub(crate) fn own_preset(&self) -> Option<String> {
        self.own_preset.lock().clone()
    }

    pub(crate) fn choose_preset(&self, id: Option<&str>) {
        *self.own_preset.lock() = id.map(str::to_owned);
    }

    pub(crate) fn calls_in_flight(&self) -> usize {
        self.calls.lock().len()
    }

    /// Requests since it was opened.
    pub(crate) fn request_count(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub(crate) fn age(&self) -> Duration {
        self.born.elapsed()
    }

    /// Gives up its own link to an instance of a server that ends.
    pub(crate) fn give_up_link(&self, upstream: &Upstream) -> Option<Arc<Link>> {
        self.links.take_one(upstream.serial)
    }

    /// To whom texts belong that are kept for this client.
    pub(crate) fn owner(&self) -> Owner {
        let Caller {
            endpoint,
            principal,
            ..
        } = &self.caller;
        let face = self.preset_view();
        let plan = face.plan();
        let preset = plan.preset.as_ref().map(|preset| preset.fingerprint());
        let preset = preset.as_deref();
        match plan.scope {
            Scope::Joined(_) => Owner::client(principal.name(), endpoint, preset),
            // No name of an endpoint holds a slash.
            Scope::Single(_) => {
                Owner::client(principal.name(), &format!("servers/{endpoint}"), preset)
            }
        }
    }

    pub(crate) fn view(&self) -> Arc<View> {
        self.own_view
            .load_full()
            .unwrap_or_else(|| self.preset_view.load().view())
    }

    /// Withdraws a question that was put outside of any call.
    pub(crate) fn withdraw(&self, key: AskKey) {
        self.outbox.send(Event::Withdraw(key));
    }

    /// Sends a notice that belongs to no call.
    pub(crate) fn tell(&self, notice: Notice) {
        // No call waits for this notice, so it is dropped instead of held
        // while memory is short.
        if !self.outbox.send_notice(notice, &self.memory.responses) {
            tracing::debug!(
                session = self.serial,
                "a notice was dropped: its queue or the memory for clients is full"
            );
        }
    }

    pub(crate) fn tell_changed(&self, kinds: &[ListKind]) {
        let mut told: Vec<&str> = Vec::new();
        for kind in kinds {
            // Resources and templates share one notice.
            if !told.contains(&kind.changed()) {
                told.push(kind.changed());
                self.tell(Notice::new(kind.changed(), None));
            }
        }
    }

    pub(crate) async fn wait_until_ready(&self) {
        if let Some(gateway) = self.gateway.upgrade() {
            gateway
                .wait_until_ready(&self.endpoint, self.lists_by)
                .await;
            if !self.survey.is_done() {
                // What comes later is announced.
                let _ = timeout_at(self.lists_by, self.survey.done()).await;
            }
        }
    }

    /// Waits for a server that is still starting and that `name` may mean, and
    /// returns the view after that; `None` if there is none to wait for.
    pub(crate) async fn view_after_start(&self, view: &Arc<View>, name: &str) -> Option<Arc<View>> {
        // It may have come since the view was built.
        self.gateway.upgrade()?.refresh_views();
        let newer = self.view();
        if !Arc::ptr_eq(&newer, view) {
            return Some(newer);
        }
        match view.starting(name)? {
            Starting::Server(upstream) => self.view_after(&upstream).await,
            // Any of them may have it, so that it is waited for like a list.
            Starting::Unknown if Instant::now() < self.lists_by => {
                self.wait_until_ready().await;
                Some(self.view())
            }
            Starting::Unknown => None,
        }
    }

    /// The view once a server has started, or has failed to.
    pub(crate) async fn view_after(&self, upstream: &Upstream) -> Option<Arc<View>> {
        self.gateway.upgrade()?.wait_for_start(upstream).await;
        Some(self.view())
    }

    /// Ends the session once the answer that is on its way has gone out.
    pub(crate) fn close_soon(self: &Arc<Self>) {
        let session = self.clone();
        tokio::spawn(async move { session.close() });
    }

    /// Returns true if nothing has been heard for longer than `limit`.
    pub(crate) fn idle(&self, limit: Duration) -> bool {
        self.lifetime == Lifetime::Idle
            && self.stays.load(Ordering::Relaxed) == 0
            && self.calls.lock().is_empty()
            && self.silence() > limit
    }

    /// Events that wait for its client.
    pub(crate) fn waiting(&self) -> usize {
        self.outbox.waiting()
    }

    /// How long nothing has been heard.
    pub(crate) fn silence(&self) -> Duration {
        let last = self.born + Duration::from_millis(self.last_sign.load(Ordering::Relaxed));
        last.elapsed()
    }

    fn tag(&self, method: &str) -> Tag {
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        match method {
            "ping" => Tag::unlogged(self.serial, request),
            _ => Tag::of(self.serial, request),
        }
    }

    /// Leave for one request, within the limits of the client.
    fn permit(&self) -> Result<ClientPermit, Error> {
        if !matches!(self.caller.principal, Principal::Client(_)) {
            return Ok(ClientPermit::free());
        }
        let gateway = self.gateway.upgrade().ok_or(Error::SessionClosed)?;
        gateway.clients.permit(&self.caller.principal)
    }

    /// The same for one that is answered at once.
    fn pass(&self) -> Result<(), Error> {
        if !matches!(self.caller.principal, Principal::Client(_)) {
            return Ok(());
        }
        let gateway = self.gateway.upgrade().ok_or(Error::SessionClosed)?;
        gateway.clients.pass(&self.caller.principal)
    }

    fn admit(self: &Arc<Self>, id: Id, cancel: Arc<Cancel>) -> Result<Admitted, Error> {
        self.sign_of_life();
        let max = self
            .gateway
            .upgrade()
            .map_or(0, |gateway| gateway.limits.calls_per_session);
        let mut calls = self.calls.lock();
        // Under the lock: the end of the session cancels what is in the table.
        if self.is_closed() {
            return Err(Error::SessionClosed);
        }
        if self.refuses_calls() {
            return Err(Error::ShuttingDown);
        }
        if calls.len() >= max {
            return Err(Error::TooManyCalls(max));
        }
        if calls.contains_key(&id) {
            return Err(Error::DuplicateId(id.as_raw().as_str().to_owned()));
        }
        calls.insert(id.clone(), cancel);
        Ok(Admitted {
            session: self.clone(),
            id,
        })
    }

    /// Takes no further call; those in flight go on.
    pub(crate) fn refuse_calls(&self) {
        // Under the lock: a call that is let in meanwhile is in the table.
        let _calls = self.calls.lock();
        self.refuses_calls.store(true, Ordering::Release);
    }

    fn refuses_calls(&self) -> bool {
        self.refuses_calls.load(Ordering::Acquire)
    }

    /// Ends the calls in flight because the gateway ends.
    pub(crate) fn interrupt(&self) {
        for cancel in self.calls.lock().values() {
            cancel.interrupt("the gateway is shutting down");
        }
    }

    /// Ready when no call is in flight, in a session that takes no further one.
    pub(crate) async fn calls_ended(&self) {
        loop {
            let ended = self.call_ended.notified();
            if self.calls.lock().is_empty() {
                return;
            }
            ended.await;
        }
    }

    fn sign_of_life(&self) {
        self.last_sign
            .store(self.born.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// Notifications that we do not know go to every upstream; one that is down does not stop the others.
    fn tell_all(&self, method: &str, params: Option<Raw>) {
        for upstream in self.view().upstreams() {
            if let Some(link) = self.links.get(upstream.serial) {
                link.notify(method, params.clone());
            } else if let Ok(link) = upstream.shared_link() {
                link.notify(method, params.clone());
            }
        }
    }
}

/// See [`Session::stay`].
pub struct Stay(Arc<Session>);

impl Drop for Stay {
    fn drop(&mut self) {
        self.0.sign_of_life();
        self.0.stays.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A call in the session's table, for as long as it runs.
struct Admitted {
    session: Arc<Session>,
    id: Id,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.session.calls.lock().remove(&self.id);
        self.session.sign_of_life();
        if self.session.is_closed() || self.session.refuses_calls() {
            self.session.call_ended.notify_waiters();
        }
    }
}
