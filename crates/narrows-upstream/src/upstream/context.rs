//! State that all upstreams of a gateway share.

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

/// The context shared by all upstreams of one gateway.
pub struct UpstreamContext {
    pub limits: Limits,
    pub http: HttpClient,
    /// The chain of gateways, from the outermost to this one, for child processes.
    pub chain: String,
    pub starts: StartSlots,
    /// The guard, which is started with the first child process.
    pub guard: LazyGuard,
    pub builtins: Arc<dyn BuiltinConnector>,
    /// The next serial number for a link.
    pub links: AtomicU64,
    /// The numbers of server ids, including those of removed servers.
    pub numbers: ServerNumbers,
    /// Cancelled to end all servers.
    pub stop: CancellationToken,
    pub changes: ChangeCounter,
    /// Digests of all servers' tools.
    pub definitions: Definitions,
    /// All background tasks. The gateway waits for them at shutdown.
    pub tasks: TaskTracker,
}

impl UpstreamContext {
    /// Creates the context for the servers of one gateway. `chain` is the value of
    /// [`CHAIN`](crate::chain::CHAIN) for child processes. Cancelling `stop` ends all servers.
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
            numbers: ServerNumbers::default(),
            stop,
            changes: ChangeCounter::default(),
            definitions: Definitions::default(),
            tasks: TaskTracker::new(),
        }
    }
}

/// A counter of the changes that affect views. Readers compare counts to detect a view that is
/// older than the change they waited for.
#[derive(Default)]
pub struct ChangeCounter {
    count: AtomicU64,
    signal: Notify,
}

impl ChangeCounter {
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

/// Assigns numbers to server ids and to instances of servers.
#[derive(Default)]
pub struct ServerNumbers {
    ids: Mutex<HashMap<String, usize>>,
    instances: AtomicU64,
}

impl ServerNumbers {
    /// Returns the number of a server id. An id keeps its number after its server has been removed.
    pub fn of(&self, id: &str) -> usize {
        let mut ids = self.ids.lock();
        let next = ids.len();
        *ids.entry(id.to_owned()).or_insert(next)
    }

    pub(super) fn next_instance(&self) -> u64 {
        self.instances.fetch_add(1, Ordering::Relaxed)
    }
}
