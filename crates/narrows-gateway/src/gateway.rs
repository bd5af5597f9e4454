//! The gateway as the edges see it: endpoints, sessions, health, an end.

mod applied;
mod control;
mod report;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use narrows_shape::prune::Lexical;
use narrows_wire::{Raw, Revision};
use tokio::sync::broadcast;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use self::applied::Applied;
pub use self::control::{EndpointReport, SessionReport, SwitchError};
pub use self::report::{Health, ToolReport, UpstreamReport};
use crate::builtin::Pruner;
use crate::catalogue::{Part, Plan, Scope, View, changes};
use crate::error::{Error, ItemKind};
use crate::exchange::{
    Ask, AskKey, Caller, ClientHello, EventSink, EventStream, Notice, Principal, Refusal,
};
use crate::feed::{CallRecord, Feed, Happening};
use crate::forward::{ForwardError, Forwarding, PlainRequest, Reply};
use crate::lock::Mutex;
use crate::preset::Presets;
use crate::recovery::{self, totals::write_totals};
use crate::session::{LogLevel, Session};
use crate::settings::{EndpointSettings, Limits, Settings, UpstreamKind, Uris};
use crate::shaping::{Policies, Shaping};
use crate::upstream::guard::Guard;
use crate::upstream::{HttpClient, ListKind, SharedEars, State, Surroundings, Upstream, supervise};
use crate::{names, permit};

/// What a client says of itself is kept as long as its session.
const MAX_HELLO: usize = 64 * 1024;

/// A running gateway. Cheap to clone.
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

/// Which door a client came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door<'a> {
    /// `/mcp`, `/mcp/{name}`, stdio: all upstreams joined.
    Endpoint(&'a str),
    /// `/servers/{id}/mcp`: one upstream, its own names. By id or slug.
    Server(&'a str),
}

/// What `open` gives to an edge.
pub struct Opened {
    pub session: Arc<Session>,
    /// The result of `initialize`.
    pub result: Raw,
    /// Events that belong to no call: list changes, updated resources, questions outside calls.
    pub outbox: EventStream,
}

/// Whether an idle session may be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// As long as the connection: stdio, WebSocket, SSE.
    Connection,
    /// Until `Limits::session_idle` has passed without a sign of life.
    Idle,
}

pub(crate) struct Inner {
    pub(crate) upstreams: Vec<Arc<Upstream>>,
    /// Those that join all upstreams.
    endpoints: Vec<Arc<Endpoint>>,
    /// Those of a single upstream, by its index.
    singles: Vec<Arc<Endpoint>>,
    surroundings: Arc<Surroundings>,
    shaping: Arc<Shaping>,
    /// The folder for what outlives the process.
    folder: Option<PathBuf>,
    forwarding: Forwarding,
    pub(crate) limits: Limits,
    pub(crate) list_wait: Duration,
    pub(crate) feed: Feed,
    sessions: Mutex<HashMap<u64, Arc<Session>>>,
    last_session: AtomicU64,
    /// The change up to which views are built.
    built: Mutex<u64>,
    started: Instant,
    /// Until when the first clients wait for upstreams.
    patience: Instant,
    pub(crate) stop: CancellationToken,
    /// Everything that runs in the background; the end waits for it.
    pub(crate) tasks: TaskTracker,
}

/// A way in, with what is seen through it.
pub(crate) struct Endpoint {
    name: Arc<str>,
    plan: Plan,
    shaping: Arc<Shaping>,
    view: ArcSwap<View>,
}

impl Gateway {
    /// Starts all upstreams, in parallel and in the background. Needs a tokio runtime.
    pub fn start(settings: Settings) -> Gateway {
        let inner = Arc::new(Inner::new(settings));
        let ears: Arc<dyn SharedEars> = Arc::new(Hearing(Arc::downgrade(&inner)));
        for upstream in inner
            .upstreams
            .iter()
            .filter(|upstream| upstream.settings.enabled)
        {
            inner.tasks.spawn(supervise(
                upstream.clone(),
                inner.stop.clone(),
                ears.clone(),
            ));
        }
        inner.tasks.spawn(keep_views(inner.clone()));
        inner.tasks.spawn(end_what_is_idle(inner.clone()));
        Gateway(inner)
    }

    /// The pruner, whether it is configured as a server or not.
    pub fn pruner(&self) -> &Pruner {
        &self.0.surroundings.pruner
    }

    pub fn has_door(&self, door: Door<'_>) -> bool {
        self.0.endpoint(door).is_some()
    }

    /// Opens a session for `initialize`. Waits for upstreams that are still
    /// starting, at most `list_wait`. An unknown door is `None`.
    pub async fn open(
        &self,
        door: Door<'_>,
        principal: Principal,
        lifetime: Lifetime,
        revision: Revision,
        client: ClientHello,
    ) -> Option<Result<Opened, Error>> {
        let endpoint = self.0.endpoint(door)?.clone();
        if client.capabilities.len() + client.client_info.len() > MAX_HELLO {
            let told = format!("capabilities and clientInfo are longer than {MAX_HELLO} bytes");
            return Some(Err(Error::BadParams(told)));
        }
        let client = ClientHello {
            capabilities: client.capabilities.detached(),
            client_info: client.client_info.detached(),
        };
        self.0.wait_until_ready(&endpoint).await;
        let view = endpoint.view();
        if let Some(only) = view.only() {
            let preset = endpoint.plan.preset.as_deref();
            let (server, offer) = (only.names(), only.offer());
            let denial = permit::named(preset, ItemKind::Server, server, &offer, server.id);
            if let Some(denial) = denial {
                let refused = permit::not_allowed(ItemKind::Server, server.id, &denial);
                return Some(Err(refused));
            }
            // There is nothing to mirror of a server that is not there.
            if let Err(error) = only.shared_link() {
                return Some(Err(error));
            }
        }
        let caller = Caller {
            endpoint: endpoint.name.clone(),
            principal,
            revision,
            client,
        };
        Some(
            self.0
                .admit(caller, lifetime, endpoint)
                .map(|(session, outbox)| Opened {
                    session,
                    result: hello(&view, revision),
                    outbox,
                }),
        )
    }

    /// Carries one object of plain JSON-RPC to the server of this name and its
    /// answer back, masked. Waits no longer than the server's own limit.
    pub async fn forward(
        &self,
        server: &str,
        request: &PlainRequest,
    ) -> Result<Reply, ForwardError> {
        self.0.forwarding.forward(server, request).await
    }

    /// What happens from now on.
    pub fn listen(&self) -> broadcast::Receiver<Arc<Happening>> {
        self.0.feed.listen()
    }

    /// The last calls, the newest first.
    pub fn calls(&self) -> Vec<Arc<CallRecord>> {
        self.0.feed.calls()
    }

    /// Waits until every enabled upstream is up or has failed once.
    pub async fn settled(&self) {
        for upstream in &self.0.upstreams {
            upstream.settled().await;
        }
        self.0.refresh_views();
    }

    /// Ends every session, link and child process; returns when nothing is left.
    pub async fn shutdown(&self) {
        self.0.stop.cancel();
        let sessions: Vec<Arc<Session>> = self.0.sessions.lock().values().cloned().collect();
        sessions.iter().for_each(|session| session.close());
        self.0.tasks.close();
        // Every task is bounded by itself; this is for what we did not think of.
        let limit = self.0.limits.grace + Duration::from_secs(5);
        if tokio::time::timeout(limit, self.0.tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!("some background work did not end in time");
        }
        self.0.keep_house().await;
    }
}

impl Inner {
    fn new(settings: Settings) -> Inner {
        let stdio = |kind: &UpstreamKind| matches!(kind, UpstreamKind::Stdio(_));
        let children = settings
            .upstreams
            .iter()
            .any(|upstream| stdio(&upstream.kind));
        let guard = settings.guard.filter(|_| children).and_then(|command| {
            let started = Guard::start(&command);
            started
                .inspect_err(|error| tracing::warn!("no guard process: {error}"))
                .ok()
        });
        let connect = settings
            .upstreams
            .iter()
            .map(|upstream| upstream.connect_timeout)
            .max();
        let store = recovery::open(&settings.recovery);
        let surroundings = Arc::new(Surroundings {
            limits: settings.limits.clone(),
            http: HttpClient::new(&settings.proxy, connect.unwrap_or(Duration::from_secs(5))),
            guard,
            pruner: Arc::new(Pruner::new(
                Arc::new(Lexical),
                store.clone(),
                settings.pruner,
            )),
            links: AtomicU64::new(1),
            changes: Default::default(),
            tasks: TaskTracker::new(),
        });
        let ids: Vec<&str> = settings
            .upstreams
            .iter()
            .map(|upstream| upstream.id.as_str())
            .collect();
        let slugs = names::slugs(&ids);
        let upstreams: Vec<Arc<Upstream>> = (settings.upstreams.into_iter().zip(slugs).enumerate())
            .map(|(index, (upstream, slug))| {
                Arc::new(Upstream::new(index, &slug, upstream, surroundings.clone()))
            })
            .collect();
        let presets = Presets::new(&settings.presets, &settings.endpoints);
        let forwarding = Forwarding::new(&upstreams, settings.rpc_servers, &presets, &surroundings);
        let parts = parts(&upstreams);
        let shaping = Arc::new(Shaping::new(store, Arc::new(Lexical)));
        let servers = || upstreams.iter().map(|upstream| &upstream.settings);
        let endpoint = |name: &str, scope: Scope| {
            let (policies, preset) = match &scope {
                Scope::Joined(endpoint) => (
                    Policies::joined(settings.shape, endpoint.shape, servers()),
                    endpoint.preset.as_deref().map(|id| presets.get(id)),
                ),
                Scope::Single(index) => {
                    let own = &upstreams[*index].settings;
                    let policies = Policies::single(settings.shape, own.shape, servers());
                    (policies, presets.direct(&own.preset))
                }
            };
            let plan = Plan {
                scope,
                preset,
                policies,
                instructions_max_chars: settings.instructions_max_chars,
            };
            Arc::new(Endpoint {
                name: name.into(),
                view: ArcSwap::from_pointee(View::build(&plan, &parts)),
                plan,
                shaping: shaping.clone(),
            })
        };
        let joined =
            |settings: &EndpointSettings| endpoint(&settings.name, Scope::Joined(settings.clone()));
        let single = |upstream: &Arc<Upstream>| {
            endpoint(&upstream.settings.id, Scope::Single(upstream.index))
        };
        let started = Instant::now();
        let tasks = surroundings.tasks.clone();
        Inner {
            endpoints: settings.endpoints.iter().map(joined).collect(),
            singles: upstreams.iter().map(single).collect(),
            upstreams,
            surroundings,
            shaping,
            folder: settings.recovery.path,
            forwarding,
            limits: settings.limits,
            list_wait: settings.list_wait,
            feed: Feed::default(),
            sessions: Mutex::default(),
            last_session: AtomicU64::new(0),
            built: Mutex::new(0),
            started,
            patience: started + settings.list_wait,
            stop: CancellationToken::new(),
            tasks,
        }
    }

    fn endpoint(&self, door: Door<'_>) -> Option<&Arc<Endpoint>> {
        match door {
            Door::Endpoint(name) => self
                .endpoints
                .iter()
                .find(|endpoint| &*endpoint.name == name),
            Door::Server(id) => {
                let upstream = self
                    .upstreams
                    .iter()
                    .find(|upstream| upstream.settings.id == id);
                let upstream = upstream
                    .or_else(|| self.upstreams.iter().find(|upstream| &*upstream.slug == id))?;
                self.singles.get(upstream.index)
            }
        }
    }

    fn admit(
        self: &Arc<Self>,
        caller: Caller,
        lifetime: Lifetime,
        endpoint: Arc<Endpoint>,
    ) -> Result<(Arc<Session>, EventStream), Error> {
        let mut sessions = self.sessions.lock();
        if self.stop.is_cancelled() {
            return Err(Error::SessionClosed);
        }
        if sessions.len() >= self.limits.max_sessions {
            return Err(Error::TooManySessions(self.limits.max_sessions));
        }
        let (outbox, stream) = EventSink::channel(self.limits.client_queue);
        let serial = self.last_session.fetch_add(1, Ordering::Relaxed) + 1;
        let session = Arc::new(Session::new(
            serial, caller, lifetime, endpoint, self, outbox,
        ));
        sessions.insert(serial, session.clone());
        drop(sessions);
        session.survey();
        Ok((session, stream))
    }

    pub(crate) fn forget_session(&self, serial: u64) {
        self.sessions.lock().remove(&serial);
    }

    /// The session of these that has been silent for longest.
    pub(crate) fn longest_silent(
        &self,
        fits: impl Fn(&Arc<Session>) -> bool,
    ) -> Option<Arc<Session>> {
        let sessions = self.sessions.lock();
        let fitting = sessions.values().filter(|session| fits(session));
        fitting.max_by_key(|session| session.silence()).cloned()
    }

    /// Waits for the upstreams behind an endpoint that are still starting, and
    /// then sees to it that its view holds what they offer.
    pub(crate) async fn wait_until_ready(&self, endpoint: &Endpoint) {
        match endpoint.plan.scope {
            // It has nothing without its one upstream, whose start is limited by itself.
            Scope::Single(index) => self.upstreams[index].settled().await,
            Scope::Joined(_) => {
                let all = async {
                    for upstream in &self.upstreams {
                        upstream.settled().await;
                    }
                };
                // Late ones are announced when they come.
                let _ = timeout_at(self.patience, all).await;
            }
        }
        self.refresh_views();
    }

    /// Whether there is nothing to wait for, and the view is of today.
    pub(crate) fn is_ready(&self, endpoint: &Endpoint) -> bool {
        let waiting = match endpoint.plan.scope {
            Scope::Single(index) => !self.upstreams[index].is_settled(),
            Scope::Joined(_) => !self.all_settled(),
        };
        !waiting && *self.built.lock() == self.surroundings.changes.count()
    }

    pub(crate) fn parts(&self) -> Vec<Part> {
        parts(&self.upstreams)
    }

    /// The most talkative level that any session asked for.
    pub(crate) fn lowest_level(&self) -> Option<LogLevel> {
        self.sessions
            .lock()
            .values()
            .filter_map(|session| session.level())
            .min()
    }

    /// Builds every view anew if anything has changed since they were built,
    /// and tells exactly the sessions that see a difference.
    fn refresh_views(&self) {
        let mut built = self.built.lock();
        let count = self.surroundings.changes.count();
        if *built == count {
            return;
        }
        let parts = self.parts();
        let mut changed: Vec<(&Arc<Endpoint>, Vec<ListKind>)> = Vec::new();
        for endpoint in self.endpoints.iter().chain(&self.singles) {
            let new = View::build(&endpoint.plan, &parts);
            let kinds = changes(&endpoint.view.load(), &new);
            endpoint.view.store(Arc::new(new));
            changed.push((endpoint, kinds));
        }
        *built = count;
        let sessions: Vec<Arc<Session>> = self.sessions.lock().values().cloned().collect();
        for session in sessions {
            if session.has_own_view() {
                session.rebuild_view(&parts);
            } else if let Some((_, kinds)) = changed
                .iter()
                .find(|(endpoint, _)| Arc::ptr_eq(endpoint, session.endpoint()))
            {
                session.tell_changed(kinds);
            }
        }
    }
}

impl Endpoint {
    pub(crate) fn view(&self) -> Arc<View> {
        self.view.load_full()
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn policies(&self) -> &Policies {
        &self.plan.policies
    }

    pub(crate) fn shaping(&self) -> &Arc<Shaping> {
        &self.shaping
    }

    /// A notice of an upstream with the upstream's name on it, where the
    /// endpoint shows more than one.
    pub(crate) fn signed(&self, notice: Notice) -> Notice {
        let (Scope::Joined(settings), Some(server)) = (&self.plan.scope, &notice.server) else {
            return notice;
        };
        let server = Raw::string(server);
        let params = notice.params.clone().unwrap_or_else(Raw::empty_object);
        let meta = params.member("_meta").unwrap_or_else(Raw::empty_object);
        let mut params = params.with_member("_meta", &meta.with_member("narrows/server", &server));
        if settings.uris == Uris::Wrapped {
            params =
                params.with_member("proxy", &Raw::empty_object().with_member("server", &server));
        }
        Notice {
            params: Some(params),
            ..notice
        }
    }
}

/// Hears what the shared links say outside of calls.
struct Hearing(Weak<Inner>);

impl SharedEars for Hearing {
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
                for session in upstream.subscribers.of(&uri) {
                    session.tell_updated(upstream, &notice);
                }
            }
            method => match self.only_sharer(upstream) {
                Some(session) => session.tell(notice),
                None => {
                    tracing::debug!(server = %upstream.settings.id, method, "a notice without an owner")
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
        Some(lowest.word())
    }
}

impl Hearing {
    /// The session that uses the shared link, if there is just one: what the
    /// server says to nobody in particular cannot be meant for another.
    fn only_sharer(&self, upstream: &Upstream) -> Option<Arc<Session>> {
        let inner = self.0.upgrade()?;
        let sessions = inner.sessions.lock();
        let mut sharers = sessions.values().filter(|session| session.shares(upstream));
        let first = sharers.next()?;
        sharers.next().is_none().then(|| first.clone())
    }
}

fn parts(upstreams: &[Arc<Upstream>]) -> Vec<Part> {
    let part = |upstream: &Arc<Upstream>| Part {
        upstream: upstream.clone(),
        offer: upstream.offer(),
    };
    upstreams.iter().map(part).collect()
}

fn hello(view: &View, revision: Revision) -> Raw {
    let hello = Raw::empty_object()
        .with_member("protocolVersion", &Raw::string(revision.as_str()))
        .with_member("capabilities", &view.capabilities)
        .with_member("serverInfo", &view.server_info);
    match &view.instructions {
        Some(instructions) => hello.with_member("instructions", &Raw::string(instructions)),
        None => hello,
    }
}

async fn keep_views(inner: Arc<Inner>) {
    loop {
        tokio::select! {
            () = inner.surroundings.changes.raised() => inner.refresh_views(),
            () = inner.stop.cancelled() => return,
        }
    }
}

async fn end_what_is_idle(inner: Arc<Inner>) {
    let limit = inner.limits.session_idle;
    let step = (limit / 10).clamp(Duration::from_millis(100), Duration::from_secs(30));
    loop {
        tokio::select! {
            () = tokio::time::sleep(step) => {}
            () = inner.stop.cancelled() => return,
        }
        let sessions: Vec<Arc<Session>> = inner.sessions.lock().values().cloned().collect();
        for session in sessions.into_iter().filter(|session| session.idle(limit)) {
            tracing::debug!(session = session.serial(), "ending an idle session");
            session.close();
        }
        inner.keep_house().await;
    }
}

impl Inner {
    /// Lets go of texts whose time is over, and writes down what was saved.
    async fn keep_house(&self) {
        let (shaping, folder) = (self.shaping.clone(), self.folder.clone());
        let work = tokio::task::spawn_blocking(move || {
            shaping.store().purge();
            if let Some(folder) = folder
                && let Some(report) = shaping.account().report()
                && let Err(error) = write_totals(&folder, &report)
            {
                shaping.account().report_again();
                tracing::debug!(%error, "what was saved could not be written down");
            }
        });
        // A fault in there has told of itself.
        let _ = tokio::time::timeout(self.limits.grace.max(Duration::from_secs(1)), work).await;
    }

    fn all_settled(&self) -> bool {
        Instant::now() >= self.patience
            || self.upstreams.iter().all(|upstream| upstream.is_settled())
    }

    fn count(&self, wanted: fn(&State) -> bool) -> usize {
        self.upstreams
            .iter()
            .filter(|upstream| wanted(&upstream.state()))
            .count()
    }
}
