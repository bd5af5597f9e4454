//! The interface of the gateway for the edges: endpoints, sessions, health and shutdown.

mod active_config;
mod clients;
mod control;
mod drain;
mod measure;
mod modern;
mod refused;
mod report;
mod sessions;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::future::BoxFuture;
use http::HeaderValue;
use narrows_policy::Principal;
use narrows_shape::prune::Lexical;
use narrows_wire::Raw;
use parking_lot::Mutex;
use tokio::sync::broadcast;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use self::active_config::ActiveConfig;
pub(crate) use self::active_config::ConfigContext;
pub use self::control::{EndpointReport, SessionReport, SwitchError};
use self::drain::Drain;
pub use self::report::{Health, ListedTool, ToolReport, UpstreamReport};
pub use crate::applied::Applied;
use crate::builtin::{Builtins, Pruner};
use crate::call::ViewSource;
use crate::catalogue::{View, ViewPart, changes};
use crate::clients::{ClientPermit, Clients};
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::event_bus::{CallRecord, EventBus, GatewayEvent};
use crate::meter::{CountedStore, Meter};
use crate::observer::RequestObserver;
use crate::plain::{ForwardError, PlainRequest, PlainServices, Reply};
use crate::session::{LogLevel, Session, SessionHost, SessionServices};
use crate::settings::Settings;
use crate::subscribers::Subscribers;
use narrows_results::recovery_store::{self, RecoveryStore, totals::write_totals};
use narrows_results::shaping::Shaping;
use narrows_upstream::chain;
use narrows_upstream::exchange::{Ask, AskKey, EventStream, Notice, Refusal};
use narrows_upstream::guard::LazyGuard;
use narrows_upstream::memory::{ClientMemory, Memory, MemoryBudget};
use narrows_upstream::{
    HttpClient, ListKind, SharedNotificationHandler, State, Upstream, UpstreamContext,
};

/// A running gateway. Cheap to clone.
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

/// The entry point that a client uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entrypoint<'a> {
    /// `/mcp`, `/mcp/{name}` or stdio: all upstreams, joined.
    Endpoint(&'a str),
    /// `/servers/{id}/mcp`: one upstream with its own names. The name is an id or a slug.
    Server(&'a str),
}

/// The result of opening a session.
pub struct Opened {
    pub session: Arc<Session>,
    /// The result of `initialize`.
    pub result: Raw,
    /// Events outside calls: list changes, updated resources, and requests from servers.
    pub outbox: EventStream,
}

pub(crate) struct Inner {
    config: ArcSwap<ActiveConfig>,
    context: ConfigContext,
    upstream_context: Arc<UpstreamContext>,
    shaping: Arc<Shaping>,
    pub(crate) meter: Arc<Meter>,
    pruner: Arc<Pruner>,
    /// The folder for data that outlives the process.
    folder: Option<PathBuf>,
    services: Arc<SessionServices>,
    pub(crate) memory: Memory,
    pub(crate) event_bus: Arc<EventBus>,
    sessions: Mutex<HashMap<u64, Arc<Session>>>,
    last_session: AtomicU64,
    modern: modern::ModernClients,
    /// The number of the change that the views include. Locked while views or their inputs change.
    built: Mutex<u64>,
    started: Instant,
    /// The time from which the gateway counts as ready, even if servers are still starting.
    ready_at: Instant,
    pub(crate) drain: Drain,
}

impl Gateway {
    /// Starts all upstreams, in parallel and in the background. Must be called inside a tokio
    /// runtime.
    pub fn start(settings: Settings) -> Gateway {
        let inner = Arc::new(Inner::new(settings));
        for upstream in &inner.config().upstreams {
            inner.begin(upstream);
        }
        inner.services.tasks.spawn(maintain_views(inner.clone()));
        inner
            .services
            .tasks
            .spawn(close_idle_sessions(inner.clone()));
        Gateway(inner)
    }

    /// Returns the pruner, which exists even if no server is configured for it.
    pub fn pruner(&self) -> &Pruner {
        &self.0.pruner
    }

    pub fn has_entrypoint(&self, entrypoint: Entrypoint<'_>) -> bool {
        self.0.config().endpoint(entrypoint).is_some()
    }

    /// Returns the memory account of a client with a token, which covers all its sessions and
    /// connections. Returns `None` for clients without a token.
    pub fn memory_of(&self, principal: &Principal) -> Option<ClientMemory> {
        self.0.services.clients.memory(principal, &self.0.memory)
    }

    /// Returns a new memory account for a client.
    pub fn memory(&self) -> ClientMemory {
        self.0.memory.client()
    }

    /// Returns the memory budget for responses that wait to be written to clients.
    pub fn response_memory(&self) -> &Arc<MemoryBudget> {
        &self.0.memory.responses
    }

    /// Forwards an object of plain JSON-RPC to the server of this name and returns the masked
    /// response. Waits at most for the time limit of the server. The edge must have checked
    /// [`Gateway::may_forward`] before. For large requests it has already taken the client's
    /// permit.
    pub async fn forward(
        &self,
        principal: &Principal,
        server: &str,
        request: &PlainRequest,
        permit: Option<ClientPermit>,
    ) -> Result<Reply, ForwardError> {
        // Checked again because rights may have changed while the request was read.
        if !self.may_forward(principal, server) {
            return Err(Error::SessionClosed.into());
        }
        let _permit = match permit {
            Some(permit) => permit,
            None => self.0.services.clients.permit(principal)?,
        };
        let config = self.0.config();
        let additional = config.preset_of(principal);
        let plain_routes = &config.plain_routes;
        let forwarded = plain_routes.forward(server, principal, additional, request);
        let reply = self.0.drain.carry(forwarded).await;
        reply.map_err(|error| error.redacted_for(|id| self.may_forward(principal, id)))
    }

    /// Subscribes to events, except for calls.
    pub fn listen(&self) -> broadcast::Receiver<Arc<GatewayEvent>> {
        self.0.event_bus.listen()
    }

    /// Subscribes to completed calls.
    pub fn listen_to_calls(&self) -> broadcast::Receiver<Arc<GatewayEvent>> {
        self.0.event_bus.listen_to_calls()
    }

    /// Returns the mark that identifies this gateway in the `narrows-gateway` header of every
    /// request that it, or a gateway below it, sends.
    pub fn mark(&self) -> &str {
        self.0.mark()
    }

    /// Returns true if a request with this `narrows-gateway` header came from this gateway or from
    /// one that it started.
    pub fn is_own(&self, marks: &HeaderValue) -> bool {
        chain::lists(marks, self.mark())
    }

    /// Returns the header for forwarding a plain request with this header, or `None` if the request
    /// must not be forwarded.
    pub fn passed_on(&self, came_with: &HeaderValue) -> Option<HeaderValue> {
        let http = &self.0.upstream_context.http;
        chain::passed_on(came_with, http.mark(), http.marks())
    }

    /// Returns the recent calls, the newest first.
    pub fn calls(&self) -> Vec<Arc<CallRecord>> {
        self.0.event_bus.calls()
    }

    /// Waits until every enabled upstream is up or has failed once.
    pub async fn settled(&self) {
        for upstream in &self.0.config().upstreams {
            upstream.settled().await;
        }
        self.0.refresh_views();
    }

    /// Ends every session, link and child process, and waits until all have ended.
    pub async fn shutdown(&self) {
        self.0.services.stop.cancel();
        let sessions: Vec<Arc<Session>> = self.0.sessions.lock().values().cloned().collect();
        sessions.iter().for_each(|session| session.close());
        self.0.services.tasks.close();
        // Every task has its own time limit. This is a safeguard.
        let limit = self.0.services.limits.grace + Duration::from_secs(5);
        if tokio::time::timeout(limit, self.0.services.tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!("some background tasks did not end in time");
        }
        self.0.run_maintenance().await;
    }
}

impl Inner {
    pub(crate) fn mark(&self) -> &str {
        self.upstream_context.http.mark()
    }

    fn new(settings: Settings) -> Inner {
        let memory = Memory::new(
            settings.limits.max_request_bytes_total,
            settings.limits.max_response_bytes_total,
        );
        let meter = Arc::<Meter>::default();
        let store = CountedStore::new(recovery_store::open(&settings.recovery), &meter);
        let store: Arc<dyn RecoveryStore> = Arc::new(store);
        let stop = CancellationToken::new();
        let pruner = Arc::new(Pruner::new(
            Arc::new(Lexical),
            store.clone(),
            settings.pruner,
        ));
        let upstream_context = upstream_context(&settings, &pruner, stop.clone());
        let event_bus = Arc::<EventBus>::default();
        let subscribers = Arc::<Subscribers>::default();
        let shaping = Arc::new(Shaping::new(store, Arc::new(Lexical)));
        let context = ConfigContext {
            upstream_context: upstream_context.clone(),
            meter: meter.clone(),
            event_bus: event_bus.clone(),
            shaping: shaping.clone(),
            plain: Arc::new(PlainServices {
                http: upstream_context.http.clone(),
                max_message_bytes: settings.limits.max_message_bytes,
                subscribers: subscribers.clone(),
                observer: RequestObserver::plain(&meter, &event_bus),
            }),
        };
        let services = Arc::new(SessionServices {
            limits: settings.limits.clone(),
            clients: Clients::new(&settings.clients, &meter),
            subscribers,
            tasks: upstream_context.tasks.clone(),
            stop,
            mark: upstream_context.http.mark().into(),
        });
        let started = Instant::now();
        Inner {
            memory,
            folder: settings.recovery.path.clone(),
            services,
            ready_at: started + settings.list_wait,
            config: ArcSwap::from_pointee(ActiveConfig::first(settings, &context)),
            context,
            event_bus,
            upstream_context,
            shaping,
            meter,
            pruner,
            sessions: Mutex::default(),
            last_session: AtomicU64::new(0),
            modern: modern::ModernClients::default(),
            built: Mutex::new(0),
            started,
            drain: Drain::default(),
        }
    }

    pub(crate) fn config(&self) -> Arc<ActiveConfig> {
        self.config.load_full()
    }

    /// Returns every session with its current view.
    fn seen(&self) -> Vec<(Arc<Session>, Arc<View>)> {
        let sessions = self.sessions.lock();
        let all = sessions.values();
        all.map(|session| (session.clone(), session.view()))
            .collect()
    }

    /// Notifies the sessions whose view differs from the old one.
    fn notify_changed_sessions(&self, seen: Vec<(Arc<Session>, Arc<View>)>, parts: &[ViewPart]) {
        // Many sessions share the same pair of views.
        let mut known: HashMap<(*const View, *const View), Vec<ListKind>> = HashMap::new();
        for (session, old) in &seen {
            // The session may be building its own view at this moment, so this waits for it.
            if session.rebuild_view(parts) {
                continue;
            }
            let new = session.preset_view().view();
            let pair = (Arc::as_ptr(old), Arc::as_ptr(&new));
            let kinds = known.entry(pair).or_insert_with(|| changes(old, &new));
            session.notify_lists_changed(kinds);
        }
    }
}

impl SessionHost for Inner {
    fn upstream(&self, number: usize) -> Option<Arc<Upstream>> {
        self.config().numbered(number).cloned()
    }

    fn parts(&self) -> Vec<ViewPart> {
        self.config().parts()
    }

    fn is_ready(&self, endpoint: &Endpoint, limit: Instant) -> bool {
        let config = self.config.load();
        let settled = (config.behind(endpoint)).all(|upstream| upstream.is_settled());
        (settled || Instant::now() >= limit)
            && *self.built.lock() == self.upstream_context.changes.count()
    }

    fn wait_until_ready<'a>(&'a self, endpoint: &'a Endpoint, limit: Instant) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if Instant::now() < limit {
                let config = self.config();
                let all = async {
                    for upstream in config.behind(endpoint) {
                        upstream.settled().await;
                    }
                };
                let _ = timeout_at(limit, all).await;
            }
            self.refresh_views();
        })
    }

    fn wait_for_start<'a>(&'a self, upstream: &'a Upstream) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let limit = upstream.settings.request_timeout;
            let _ = tokio::time::timeout(limit, upstream.settled()).await;
            self.refresh_views();
        })
    }

    /// Rebuilds every view if anything has changed since the last build, and notifies exactly the
    /// sessions whose lists differ.
    fn refresh_views(&self) {
        let mut built = self.built.lock();
        let count = self.upstream_context.changes.count();
        if *built == count {
            return;
        }
        let config = self.config();
        let parts = config.parts();
        let seen = self.seen();
        for endpoint in config.entrypoints() {
            if endpoint.rebuild(&parts) {
                self.event_bus.emit(|| GatewayEvent::ListsChanged {
                    endpoint: endpoint.label(),
                });
            }
        }
        *built = count;
        self.notify_changed_sessions(seen, &parts);
    }

    fn lowest_level(&self) -> Option<LogLevel> {
        let sessions = self.sessions.lock();
        let levels = sessions.values().filter_map(|session| session.level());
        levels.min()
    }

    fn forget_session(&self, serial: u64) {
        self.sessions.lock().remove(&serial);
    }

    fn longest_silent(&self, fits: &dyn Fn(&Arc<Session>) -> bool) -> Option<Arc<Session>> {
        let sessions = self.sessions.lock();
        let fitting = sessions.values().filter(|session| fits(session));
        fitting.max_by_key(|session| session.silence()).cloned()
    }
}

/// Handles the messages on shared links that belong to no call.
struct SharedLinkHandler(Weak<Inner>);

impl SharedNotificationHandler for SharedLinkHandler {
    fn notice(&self, upstream: &Arc<Upstream>, notice: Notice) {
        match &*notice.method {
            "notifications/resources/updated" => {
                let uri = notice
                    .params
                    .as_ref()
                    .and_then(|params| params.member("uri"));
                let Some(uri) = uri.as_ref().and_then(Raw::as_text) else {
                    return;
                };
                let Some(inner) = self.0.upgrade() else {
                    return;
                };
                for serial in inner.services.subscribers.of(upstream.index, &uri) {
                    let session = inner.sessions.lock().get(&serial).cloned();
                    if let Some(session) = session {
                        session.notify_resource_updated(upstream, &notice);
                    }
                }
            }
            method => match self.only_sharer(upstream) {
                Some(session) => session.emit(notice),
                None => {
                    tracing::debug!(server = %upstream.settings.id, method, "dropping a notification without a recipient")
                }
            },
        }
    }

    fn ask(&self, upstream: &Arc<Upstream>, ask: Ask) {
        match self.only_sharer(upstream) {
            Some(session) => session.put(ask),
            None => ask.reply.answer(Err(Refusal::NoOwner.error())),
        }
    }

    fn withdraw(&self, upstream: &Arc<Upstream>, key: AskKey) {
        if let Some(session) = self.only_sharer(upstream) {
            session.withdraw(key);
        }
    }

    fn level(&self) -> Option<&'static str> {
        let lowest = self.0.upgrade()?.lowest_level()?;
        Some(lowest.as_str())
    }

    fn subscribed(&self, upstream: &Upstream) -> Vec<String> {
        let inner = self.0.upgrade();
        inner.map_or_else(Vec::new, |inner| {
            inner.services.subscribers.uris(upstream.index)
        })
    }
}

impl SharedLinkHandler {
    /// Returns the session that uses the shared link, if there is exactly one. Messages without a
    /// recipient must be meant for it.
    fn only_sharer(&self, upstream: &Upstream) -> Option<Arc<Session>> {
        let inner = self.0.upgrade()?;
        let sessions = inner.sessions.lock();
        let mut sharers = sessions.values().filter(|session| session.shares(upstream));
        let first = sharers.next()?;
        sharers.next().is_none().then(|| first.clone())
    }
}

fn upstream_context(
    settings: &Settings,
    pruner: &Arc<Pruner>,
    stop: CancellationToken,
) -> Arc<UpstreamContext> {
    let connect = settings
        .upstreams
        .iter()
        .map(|server| server.upstream.connect_timeout)
        .max();
    let connect = connect.unwrap_or(Duration::from_secs(5));
    let http = HttpClient::new(&settings.proxy, connect).below(&settings.ancestry);
    let chain = settings.ancestry.for_children(http.mark());
    let guard = LazyGuard::new(settings.guard.clone(), settings.subreaper.clone());
    let builtins = Arc::new(Builtins::new(pruner.clone()));
    let limits = settings.limits.upstream();
    Arc::new(UpstreamContext::new(
        limits, http, chain, guard, builtins, stop,
    ))
}

async fn maintain_views(inner: Arc<Inner>) {
    loop {
        tokio::select! {
            () = inner.upstream_context.changes.raised() => inner.refresh_views(),
            () = inner.services.stop.cancelled() => return,
        }
    }
}

async fn close_idle_sessions(inner: Arc<Inner>) {
    let limit = inner.services.limits.session_idle;
    let step = (limit / 10).clamp(Duration::from_millis(100), Duration::from_secs(30));
    loop {
        tokio::select! {
            () = tokio::time::sleep(step) => {}
            () = inner.services.stop.cancelled() => return,
        }
        let sessions: Vec<Arc<Session>> = inner.sessions.lock().values().cloned().collect();
        for session in sessions.into_iter().filter(|session| session.idle(limit)) {
            tracing::debug!(session = session.serial(), "ending an idle session");
            session.close();
        }
        inner.modern.sweep();
        inner.run_maintenance().await;
    }
}

impl Inner {
    /// Removes expired texts and writes the savings totals to disk.
    async fn run_maintenance(&self) {
        let (shaping, folder) = (self.shaping.clone(), self.folder.clone());
        let work = tokio::task::spawn_blocking(move || {
            shaping.store().purge();
            if let Some(folder) = folder
                && let Some(report) = shaping.account().report()
                && let Err(error) = write_totals(&folder, &report)
            {
                shaping.account().mark_unsaved();
                tracing::debug!(%error, "could not write the savings totals to disk");
            }
        });
        // A panic in the task has already been logged.
        let _ = tokio::time::timeout(self.services.limits.grace.max(Duration::from_secs(1)), work)
            .await;
    }

    fn all_settled(&self) -> bool {
        Instant::now() >= self.ready_at
            || (self.config.load().upstreams.iter()).all(|upstream| upstream.is_settled())
    }

    fn count(&self, wanted: fn(&State) -> bool) -> usize {
        let config = self.config();
        (config.upstreams.iter())
            .filter(|upstream| wanted(&upstream.state()))
            .count()
    }
}
