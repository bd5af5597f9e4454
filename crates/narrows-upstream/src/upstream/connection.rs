//! The links to one server: the shared link and those of single sessions.

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Upstream;
use super::connect::Connected;
use super::era::KnownEra;
use crate::error::Error;
use crate::exchange::ClientHello;
use crate::handler::NotificationHandler;
use crate::handshake::ServerHello;
use crate::health::{self, ActiveRequests};
use crate::link::Link;
use crate::modern::ParamHeaders;
use crate::settings::{Transport, UpstreamKind};
use crate::state::State;
use crate::stdio::StderrHistory;

/// The links to one server, and the properties detected while connecting.
pub(super) struct Connection {
    pub(super) shared: ArcSwapOption<Link>,
    /// Limits the links of single sessions.
    own_links: Arc<Semaphore>,
    /// Requests in flight on all links, if they lead to the same server process.
    active_requests: ActiveRequests,
    /// The stderr of the processes behind the shared link.
    pub(super) stderr: Arc<StderrHistory>,
    /// The reason why HTTP+SSE is used, if the server was found to speak it.
    pub(super) sse_reason: Mutex<Option<String>>,
    /// The era that was detected.
    pub(super) era: Mutex<Option<KnownEra>>,
    /// The tool arguments that HTTP headers repeat, for servers of the modern era.
    pub(super) param_headers: Arc<ParamHeaders>,
    /// The transport that was detected instead of the configured one.
    pub(super) detected: OnceLock<Transport>,
}

/// A link of a single session, which counts toward `max_links`.
pub struct OwnLink {
    pub link: Arc<Link>,
    pub hello: ServerHello,
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    pub(super) fn new(max_links: usize) -> Connection {
        Connection {
            shared: ArcSwapOption::empty(),
            own_links: Arc::new(Semaphore::new(max_links)),
            active_requests: ActiveRequests::default(),
            stderr: Arc::default(),
            sse_reason: Mutex::default(),
            era: Mutex::default(),
            param_headers: Arc::default(),
            detected: OnceLock::new(),
        }
    }
}

impl Upstream {
    /// Returns the link that sessions share, or an error if the server is down.
    pub fn shared_link(&self) -> Result<Arc<Link>, Error> {
        let shared = self.connection.shared.load_full();
        shared.ok_or_else(|| self.down())
    }

    /// Returns the number of links that are open or being opened.
    pub fn links(&self) -> usize {
        let free = self.connection.own_links.available_permits();
        let own = self.settings.max_links.saturating_sub(free);
        own + usize::from(self.connection.shared.load().is_some())
    }

    /// Returns the last stderr lines of the process behind the shared link, without secrets.
    pub fn stderr(&self) -> Vec<String> {
        let lines = self.connection.stderr.lines().into_iter();
        lines.map(|line| self.secrets.redact(line)).collect()
    }

    /// Opens a link for a single session. If `max_links` are open, `make_room` may close an unused
    /// one, and returns true if it did.
    pub async fn open_own_link(
        self: &Arc<Self>,
        hello: &ClientHello,
        handler: Arc<dyn NotificationHandler>,
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
        let own_links = &self.connection.own_links;
        let permit = match own_links.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) if make_room() => {
                let freed = own_links.clone().acquire_owned();
                let freed = tokio::time::timeout(self.context.limits.grace, freed);
                let freed = tokio::select! {
                    freed = freed => freed,
                    () = self.retired() => return Err(self.retired_error()),
                };
                freed.ok().and_then(Result::ok).ok_or_else(full)?
            }
            Err(_) => return Err(full()),
        };
        let connected = tokio::select! {
            connected = self.connect(hello, handler) => connected,
            () = self.retired() => return Err(self.retired_error()),
        };
        match connected {
            Ok(Connected { link, hello, .. }) => {
                self.monitor(&link);
                Ok(OwnLink {
                    link: Arc::new(link),
                    hello,
                    _permit: permit,
                })
            }
            Err(failure) => Err(self.refused(self.secrets.redact(failure.detail), None)),
        }
    }

    /// Starts the health checks of a link, which close it if its server stops responding. Built-in
    /// servers are part of the gateway and need no checks.
    pub(super) fn monitor(&self, link: &Link) {
        let health = self.settings.health;
        let local = match &self.settings.kind {
            UpstreamKind::Builtin(_) => return,
            UpstreamKind::Stdio(_) => true,
            UpstreamKind::Remote(_) => false,
        };
        if health.interval.is_none() {
            return;
        }
        // Every link to a stdio server has its own process, so only links to remote servers share
        // the counter.
        if !local {
            link.liveness().share(&self.connection.active_requests);
        }
        link.liveness().set_observer(&self.observer);
        // The task must not hold the `Link`, because the link ends when its last owner drops it.
        let transport = link.transport();
        self.context.tasks.spawn(async move {
            let watching =
                health::watch(transport.liveness(), &health, |limit| transport.ping(limit));
            tokio::select! {
                failure = watching => transport.give_up(failure),
                _ = transport.ended() => {}
            }
        });
    }
}
