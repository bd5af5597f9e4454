//! The parts that all upstreams of a gateway share.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::definitions::Definitions;
use super::starts::StartSlots;
use crate::guard::LazyGuard;
use crate::hooks::BuiltinConnector;
use crate::settings::Limits;
use crate::web::HttpClient;

/// The environment of the upstreams of one gateway.
pub struct UpstreamContext {
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
    /// Numbers of server ids, those of removed servers included.
    pub numbers: Numbers,
    /// Ends everything.
    pub stop: CancellationToken,
    pub changes: Changes,
    /// Digests of the tools of all servers, as last seen.
    pub definitions: Definitions,
    /// All background tasks; the gateway waits for them when it ends.
    pub tasks: TaskTracker,
}

impl UpstreamContext {
    /// Returns the context of the servers of one gateway. `chain` is the value of
    /// [`CHAIN`](crate::chain::CHAIN) for child processes; cancelling `stop`
    /// ends every server.
    pub fn new(
        limits: Limits,
        http: HttpClient,
        chain: String,
        guard: LazyGuard,
        builtins: Arc<dyn BuiltinConnector>,
        stop: CancellationToken,
    ) -> UpstreamContext {
        UpstreamContext {
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

/// A counter of the changes that views depend on. A reader compares counts to
/// notice a view that is older than the change it waited for.
#[derive(Default)]
pub struct Changes {
    count: AtomicU64,
    signal: Notify,
}

impl Changes {
    pub(super) fn raise(&self) {
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

/// The numbers of servers, by their ids, and of their instances.
#[derive(Default)]
pub struct Numbers {
    ids: Mutex<HashMap<String, usize>>,
    instances: AtomicU64,
}

impl Numbers {
    /// Returns the number of a server. An id keeps its number after the server
    /// was removed.
    pub fn of(&self, id: &str) -> usize {
        let mut ids = self.ids.lock();
        let next = ids.len();
        *ids.entry(id.to_owned()).or_insert(next)
    }

    pub(super) fn next_instance(&self) -> u64 {
        self.instances.fetch_add(1, Ordering::Relaxed)
    }
}
