//! Upstreams: the servers we call, the links to them, their health.
//!
//! An [`Upstream`] has one shared link, kept open by its
//! [supervisor](supervisor), which also feeds the catalogue; sessions that can
//! be asked questions open links of their own. A link is a [`Link`], whatever
//! carries it: adding a transport means one file here and one arm in
//! [`connect`].

mod circuit;
mod connect;
mod definitions;
mod probe;
mod starts;
mod subscriptions;
mod supervisor;
mod tenure;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use narrows_wire::Raw;
use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::circuit::Circuit;
use self::connect::Connected;
pub use self::definitions::Definitions;
pub use self::starts::StartSlots;
pub use self::supervisor::{SharedEars, supervise};
use self::tenure::Tenure;
use crate::error::Error;
use crate::exchange::{Asks, ClientHello};
use crate::failure::LinkError;
use crate::guard::LazyGuard;
use crate::handler::Ears;
use crate::handshake::ServerHello;
use crate::health::{self, Work};
use crate::hooks::{BuiltinConnector, UpstreamObserver};
use crate::link::Link;
use crate::offer::{Kinds, ListKind, ListReader, Offer};
use crate::secrets::{Redacted, Secrets};
use crate::settings::{Limits, Sharing, Transport, UpstreamKind, UpstreamSettings};
use crate::state::State;
use crate::stdio::StderrHistory;
use crate::web::HttpClient;

/// One server we call.
pub struct Upstream {
    /// The number of its id: what sessions and views know of a server is kept
    /// by it, whichever instance of the server they meet.
    pub index: usize,
    /// The number of this instance.
    pub serial: u64,
    pub id: Arc<str>,
    pub slug: Arc<str>,
    pub settings: UpstreamSettings,
    surroundings: Arc<Surroundings>,
    secrets: Secrets,
    state: watch::Sender<State>,
    circuit: Circuit,
    /// What all links to it have in flight, where one server is behind them.
    work: Work,
    shared: ArcSwapOption<Link>,
    offer: ArcSwap<Offer>,
    /// What it offers to clients that can be asked, where that has been seen:
    /// some servers have other tools for them.
    variants: Mutex<HashMap<Asks, Arc<Offer>>>,
    /// Held by who is about to see one.
    pub looking: tokio::sync::Mutex<()>,
    /// Items that lead back to this gateway, as last logged.
    led_back: AtomicUsize,
    /// Lists that have to be read again.
    stale: Kinds,
    stale_signal: Notify,
    own_links: Arc<Semaphore>,
    tenure: Tenure,
    /// Stderr of the processes behind the shared link.
    stderr: Arc<StderrHistory>,
    /// Why it was taken for a server of the older transport, if it was.
    older_since: Mutex<Option<String>>,
    /// What it was found to speak instead of what is configured.
    speaks: OnceLock<Transport>,
    observer: Arc<dyn UpstreamObserver>,
}

/// What all upstreams of a gateway have in common.
pub struct Surroundings {
    pub limits: Limits,
    pub http: HttpClient,
    /// The gateways from the outermost to this one, for child processes.
    pub chain: String,
    pub starts: StartSlots,
    /// Started with the first child process.
    pub guard: LazyGuard,
    pub builtins: Arc<dyn BuiltinConnector>,
    /// Serial numbers of links.
    pub links: AtomicU64,
    /// The numbers that ids of servers have, those of removed ones too.
    pub numbers: Numbers,
    /// Ends everything.
    pub stop: CancellationToken,
    pub changes: Changes,
    /// Digests of the tools of all servers, as last seen.
    pub definitions: Definitions,
    /// Everything that runs in the background; the gateway's end waits for it.
    pub tasks: TaskTracker,
}

impl Surroundings {
    /// The context of the servers of one gateway. `chain` is the value of
    /// [`CHAIN`](crate::chain::CHAIN) for child processes; cancelling `stop`
    /// ends every server.
    pub fn new(
        limits: Limits,
        http: HttpClient,
        chain: String,
        guard: LazyGuard,
        builtins: Arc<dyn BuiltinConnector>,
        stop: CancellationToken,
    ) -> Surroundings {
        Surroundings {
            limits,
            http,
            chain,
            starts: StartSlots::default(),
            guard,
            builtins,
            links: AtomicU64::new(1),
            numbers: Numbers::default(),
            stop,
            changes: Changes::default(),
            definitions: Definitions::default(),
            tasks: TaskTracker::new(),
        }
    }
}

/// Counts the changes of anything that views are made of, so that nobody reads
/// a view that is older than what it waited for.
#[derive(Default)]
pub struct Changes {
    count: AtomicU64,
    signal: Notify,
}

impl Changes {
    fn raise(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
        self.signal.notify_one();
    }

    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    pub async fn raised(&self) {
        self.signal.notified().await;
    }
}

/// Gives numbers to servers, by their ids, and to their instances.
#[derive(Default)]
pub struct Numbers {
    ids: Mutex<HashMap<String, usize>>,
    instances: AtomicU64,
}

impl Numbers {
    /// A server that comes back has the number that it had.
    pub fn of(&self, id: &str) -> usize {
        let mut ids = self.ids.lock();
        let next = ids.len();
        *ids.entry(id.to_owned()).or_insert(next)
    }

    fn next_instance(&self) -> u64 {
        self.instances.fetch_add(1, Ordering::Relaxed)
    }
}

impl Upstream {
    pub fn new(
        index: usize,
        slug: &str,
        settings: UpstreamSettings,
        surroundings: Arc<Surroundings>,
        observer: Arc<dyn UpstreamObserver>,
    ) -> Self {
        let state = if settings.enabled {
            State::Starting
        } else {
            State::Disabled
        };
        Upstream {
            index,
            serial: surroundings.numbers.next_instance(),
            id: settings.id.as_str().into(),
            slug: slug.into(),
            tenure: Tenure::new(surroundings.stop.child_token()),
            observer,
            surroundings,
            secrets: Secrets::of(&settings.kind),
            state: watch::Sender::new(state),
            circuit: Circuit::default(),
            work: Work::default(),
            shared: ArcSwapOption::empty(),
            offer: ArcSwap::default(),
            variants: Mutex::default(),
            looking: Default::default(),
            led_back: AtomicUsize::new(0),
            stale: Kinds::default(),
            stale_signal: Notify::new(),
            own_links: Arc::new(Semaphore::new(settings.max_links)),
            stderr: Arc::default(),
            older_since: Mutex::default(),
            speaks: OnceLock::new(),
            settings,
        }
    }

    pub fn observer(&self) -> &dyn UpstreamObserver {
        &*self.observer
    }

    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    pub fn is_settled(&self) -> bool {
        self.state.borrow().settled()
    }

    pub async fn settled(&self) {
        let mut states = self.state.subscribe();
        tokio::select! {
            // The sender lives as long as `self`, so this cannot fail.
            _ = states.wait_for(State::settled) => {}
            // It may end before it ever began.
            () = self.tenure.over() => {}
        }
    }

    /// The last lines that the process behind the shared link wrote to stderr,
    /// without secrets.
    pub fn stderr(&self) -> Vec<String> {
        let lines = self.stderr.lines().into_iter();
        lines.map(|line| self.secrets.blot(line)).collect()
    }

    pub fn offer(&self) -> Arc<Offer> {
        self.offer.load_full()
    }

    /// What it offered to another client that can be asked the same.
    pub fn variant(&self, asks: Asks) -> Option<Arc<Offer>> {
        self.variants.lock().get(&asks).cloned()
    }

    pub fn keep_variant(&self, asks: Asks, offer: Arc<Offer>) {
        self.variants.lock().insert(asks, offer);
    }

    /// Forgets what it offered to such clients if it offers something else now.
    pub fn doubt_variant(&self, asks: Asks, now: &Offer) {
        let mut variants = self.variants.lock();
        if variants
            .get(&asks)
            .is_some_and(|seen| !seen.same_lists(now))
        {
            variants.remove(&asks);
        }
    }

    /// Takes up a new offer; what was seen of the old one's variants counts no more.
    fn store_offer(&self, offer: Offer) {
        self.compare_definitions(Asks::default(), &offer);
        self.warn_of_items_led_back(&offer);
        self.variants.lock().clear();
        self.offer.store(Arc::new(offer));
    }

    /// Returns a message of the server as the log may show it, without secrets.
    pub fn redacted<'a>(&self, message: &'a Raw) -> Redacted<'a> {
        self.secrets.redacted(message)
    }

    /// Logs how many items are left out because they lead back here, whenever
    /// the number changes.
    fn warn_of_items_led_back(&self, offer: &Offer) {
        if offer.hello.is_none() {
            return;
        }
        let count: usize = offer.led_back.iter().sum();
        if self.led_back.swap(count, Ordering::Relaxed) != count && count > 0 {
            tracing::warn!(
                "server \"{}\": {count} items lead back to this gateway and are left out",
                self.settings.id
            );
        }
    }

    /// Returns a reader of the lists behind a link.
    pub fn list_reader<'a>(&'a self, link: &'a Link, timeout: Duration) -> ListReader<'a> {
        ListReader {
            link,
            server: &self.slug,
            limits: &self.surroundings.limits,
            timeout,
            mark: self.surroundings.http.mark(),
            secrets: &self.secrets,
        }
    }

    /// The link that is everybody's.
    pub fn shared_link(&self) -> Result<Arc<Link>, Error> {
        self.shared.load_full().ok_or_else(|| self.down())
    }

    /// Links that are open or being opened.
    pub fn links(&self) -> usize {
        let free = self.own_links.available_permits();
        let own = self.settings.max_links.saturating_sub(free);
        own + usize::from(self.shared.load().is_some())
    }

    /// Has these lists read again soon.
    pub fn refresh(&self, kind: ListKind) {
        self.stale.insert(kind);
        self.stale_signal.notify_one();
    }

    /// A link of a session's own. `make_room` is called where all of them are
    /// taken: it may have one closed that nobody uses.
    pub async fn open_own_link(
        self: &Arc<Self>,
        hello: &ClientHello,
        ears: Arc<dyn Ears>,
        make_room: impl FnOnce() -> bool,
    ) -> Result<OwnLink, Error> {
        let full = || Error::TooManyLinks {
            server: self.settings.id.clone(),
            max: self.settings.max_links,
        };
        if let State::Down { .. } = self.state() {
            return Err(self.down());
        }
        if self.is_retired() {
            return Err(self.retired_error());
        }
        let permit = match self.own_links.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) if make_room() => {
                let freed = self.own_links.clone().acquire_owned();
                let freed = tokio::time::timeout(self.surroundings.limits.grace, freed);
                let freed = tokio::select! {
                    freed = freed => freed,
                    () = self.retired() => return Err(self.retired_error()),
                };
                freed.ok().and_then(Result::ok).ok_or_else(full)?
            }
            Err(_) => return Err(full()),
        };
        let connected = tokio::select! {
            connected = self.connect(hello, ears) => connected,
            () = self.retired() => return Err(self.retired_error()),
        };
        match connected {
            Ok(Connected { link, hello, .. }) => {
                self.watch_over(&link);
                Ok(OwnLink {
                    link: Arc::new(link),
                    hello,
                    _permit: permit,
                })
            }
            Err(failure) => Err(self.refused(self.secrets.blot(failure.detail), None)),
        }
    }

    /// Has a link ended when its server does nothing any more. Servers of our
    /// own are part of us, and need no checks.
    fn watch_over(&self, link: &Link) {
        let health = self.settings.health;
        let local = match &self.settings.kind {
            UpstreamKind::Builtin(_) => return,
            UpstreamKind::Stdio(_) => true,
            UpstreamKind::Remote(_) => false,
        };
        if health.interval.is_none() {
            return;
        }
        // Every link to a program has a process of its own behind it.
        if !local {
            link.vitals().share(&self.work);
        }
        link.vitals().report_to(&self.observer);
        // Not the link itself: it ends when nobody else holds it.
        let watched = link.watched();
        self.surroundings.tasks.spawn(async move {
            let watching = health::watch(watched.vitals(), &health, |limit| watched.ping(limit));
            tokio::select! {
                failure = watching => watched.give_up(failure),
                _ = watched.ended() => {}
            }
        });
    }

    /// Whose link a call takes. A server without sessions has nothing to keep apart.
    pub fn sharing(&self) -> Sharing {
        match self.settings.kind.transport() {
            Transport::Rpc => Sharing::Shared,
            _ => self.settings.sharing,
        }
    }

    /// What a link's trouble means to who called.
    pub fn error(&self, error: LinkError) -> Error {
        let server = self.settings.id.clone();
        match error {
            LinkError::Answered(error) => Error::Answered(error),
            LinkError::Timeout(after) => Error::Timeout { server, after },
            LinkError::Closed { failure, .. } => {
                self.refused(self.secrets.blot(failure.detail.clone()), None)
            }
            LinkError::Invalid(reason) => Error::Invalid { server, reason },
            LinkError::TooLarge(max) => Error::TooLarge { server, max },
        }
    }
}

/// A link of one session, counted against `max_links` while it is held.
pub struct OwnLink {
    pub link: Arc<Link>,
    pub hello: ServerHello,
    _permit: OwnedSemaphorePermit,
}
