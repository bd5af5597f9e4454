//! The counters of a gateway.
//!
//! Counters are plain atomics. Every object holds the counters that it updates: a session holds
//! those of its endpoint, an upstream its own. So the call path needs no lookup. Label values come
//! from the configuration or from fixed lists, so that neither clients nor servers can create new
//! series. The names of called items are in the [`event_bus`](crate::event_bus).
//!
//! [`Gateway::measure`](crate::Gateway::measure) returns the counters as [`MetricFamily`]s; the edge
//! formats them for a scraper.

mod ended;
mod exposed;
mod family;
mod histogram;
mod labels;
mod process;
mod store;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use narrows_wire::ItemKind;
use parking_lot::Mutex;

pub(crate) use self::ended::RequestEnd;
pub use self::family::{MetricFamily, MetricKind, MetricLabel, MetricSample, MetricValue};
pub(crate) use self::histogram::Histogram;
pub(crate) use self::labels::Method;
use self::labels::Outcome;
pub use self::labels::{Evicted, RefusedFor};
pub(crate) use self::process::process;
pub(crate) use self::store::CountedStore;
use narrows_upstream::{Fault, State};

/// The counters of one gateway.
#[derive(Default)]
pub struct Meter {
    in_flight: AtomicU64,
    inside: Histogram,
    dropped: Arc<AtomicU64>,
    denials: [AtomicU64; ItemKind::ALL.len()],
    refusals: [AtomicU64; RefusedFor::ALL.len()],
    evictions: [AtomicU64; Evicted::ALL.len()],
    reloads: [AtomicU64; 2],
    recovery: RecoveryMeter,
    entrypoints: Mutex<HashMap<Arc<str>, Arc<EntrypointMeter>>>,
    servers: Mutex<HashMap<Arc<str>, Arc<ServerMeter>>>,
}

/// The counters of one endpoint or of plain JSON-RPC.
#[derive(Default)]
pub(crate) struct EntrypointMeter {
    requests: [[AtomicU64; Outcome::ALL.len()]; Method::ALL.len()],
    open: AtomicU64,
    opened: AtomicU64,
}

/// The counters of one server.
pub(crate) struct ServerMeter {
    /// Created on the first call to a method, because most servers are called with only one or two.
    calls: [OnceLock<Box<CallMeter>>; Method::ALL.len()],
    connects: AtomicU64,
    failures: AtomicU64,
    health_failures: AtomicU64,
    tool_changes: AtomicU64,
}

/// The counters for one method of one server.
#[derive(Default)]
struct CallMeter {
    outcomes: [AtomicU64; Outcome::ALL.len()],
    latency: Histogram,
}

/// The counters of the recovery store.
#[derive(Default)]
struct RecoveryMeter {
    kept: AtomicU64,
    refused: AtomicU64,
    found: AtomicU64,
    missed: AtomicU64,
}

/// The label of plain JSON-RPC, which has no endpoint.
pub(crate) const PLAIN: &str = "api/mcp-gateway";

impl Meter {
    /// Counts a client that was refused before its request was processed.
    pub fn refused(&self, reason: RefusedFor) {
        count(&self.refusals[reason as usize]);
    }

    /// Counts an object that was closed to make room for a new one.
    pub fn evicted(&self, what: Evicted) {
        count(&self.evictions[what as usize]);
    }

    /// Counts a changed configuration, either applied or rejected as invalid.
    pub fn reloaded(&self, taken: bool) {
        count(&self.reloads[usize::from(!taken)]);
    }

    /// Removes the counters of servers and endpoints that are no longer configured. The endpoint of
    /// a single server is named `servers/` followed by its id. The counters of plain JSON-RPC
    /// always stay.
    pub fn retain(&self, server: impl Fn(&str) -> bool, entrypoint: impl Fn(&str) -> bool) {
        self.servers.lock().retain(|id, _| server(id));
        let mut entrypoints = self.entrypoints.lock();
        entrypoints.retain(|name, _| &**name == PLAIN || entrypoint(name));
    }

    /// Returns the counters of a server, which stay the same as long as the id is configured.
    pub(crate) fn server(&self, id: &str) -> Arc<ServerMeter> {
        let mut servers = self.servers.lock();
        if let Some(known) = servers.get(id) {
            return known.clone();
        }
        let new = Arc::new(ServerMeter::new());
        servers.insert(id.into(), new.clone());
        new
    }

    /// Returns the counters of an endpoint or of plain JSON-RPC.
    pub(crate) fn entrypoint(&self, name: &Arc<str>) -> Arc<EntrypointMeter> {
        let mut entrypoints = self.entrypoints.lock();
        entrypoints.entry(name.clone()).or_default().clone()
    }

    /// Returns the counter of messages that were dropped because a client's queue was full.
    pub(crate) fn dropped(&self) -> &Arc<AtomicU64> {
        &self.dropped
    }

    /// Counts a request that has arrived.
    pub(crate) fn call_began(&self) {
        count(&self.in_flight);
    }

    /// Counts a request that has ended. `inside` is the time spent in the gateway itself.
    pub(crate) fn call_ended(
        &self,
        entrypoint: &EntrypointMeter,
        method: Method,
        inside: Duration,
        ended: &RequestEnd,
    ) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        entrypoint.request(method, ended.outcome);
        if let Some(kind) = ended.denied {
            self.denied(kind);
        }
        self.inside.observe(inside);
    }

    /// Counts an item of this kind that a preset refused.
    pub(crate) fn denied(&self, kind: ItemKind) {
        count(&self.denials[kind as usize]);
    }
}

impl EntrypointMeter {
    pub(crate) fn session_opened(&self) {
        count(&self.open);
        count(&self.opened);
    }

    pub(crate) fn session_closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    fn request(&self, method: Method, outcome: Outcome) {
        count(&self.requests[method as usize][outcome as usize]);
    }
}

impl ServerMeter {
    fn new() -> ServerMeter {
        ServerMeter {
            calls: Default::default(),
            connects: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            health_failures: AtomicU64::new(0),
            tool_changes: AtomicU64::new(0),
        }
    }

    pub(crate) fn call_ended(&self, method: &str, fault: Option<Fault>, took: Duration) {
        let meter = self.calls[Method::of(method) as usize].get_or_init(Box::default);
        let outcome = fault.map_or(Outcome::Ok, Outcome::from);
        count(&meter.outcomes[outcome as usize]);
        meter.latency.observe(took);
    }

    /// Counts a change in the server's state.
    pub(crate) fn state_changed(&self, state: &State) {
        match state {
            State::Up { .. } => count(&self.connects),
            State::Down { .. } => count(&self.failures),
            State::Starting | State::Disabled => {}
        }
    }

    /// Counts a health check that the server did not answer.
    pub(crate) fn health_check_failed(&self) {
        count(&self.health_failures);
    }

    /// Counts a changed definition of a known tool.
    pub(crate) fn tool_changed(&self) {
        count(&self.tool_changes);
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
