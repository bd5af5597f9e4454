//! What a gateway counts, for who watches it over time.
//!
//! Counters are plain atomics, and whoever counts holds those that it counts
//! on: a session its endpoint's, an upstream its own. The call path looks
//! nothing up. Labels come from configuration or from fixed lists of words, so
//! that no client and no server can make series; what was called by which name
//! is in the [`feed`](crate::feed).
//!
//! Written here, read as [`Family`]s by [`Gateway::measure`](crate::Gateway::measure);
//! how those are spelled for a scraper is the edge's matter.

mod ended;
mod exposed;
mod family;
mod histogram;
mod process;
mod store;
#[cfg(test)]
pub(crate) mod tests;
mod words;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use narrows_wire::ItemKind;
use parking_lot::Mutex;

pub(crate) use self::ended::Ended;
pub use self::family::{Family, Kind, Label, Sample, Value};
pub(crate) use self::histogram::Histogram;
pub(crate) use self::process::process;
pub(crate) use self::store::CountedStore;
pub(crate) use self::words::Method;
use self::words::Outcome;
pub use self::words::{Evicted, RefusedFor};
use narrows_upstream::{Fault, State};

/// What one gateway counts.
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
    doors: Mutex<HashMap<Arc<str>, Arc<DoorMeter>>>,
    servers: Mutex<HashMap<Arc<str>, Arc<ServerMeter>>>,
}

/// What is counted of one way in.
#[derive(Default)]
pub(crate) struct DoorMeter {
    requests: [[AtomicU64; Outcome::ALL.len()]; Method::ALL.len()],
    open: AtomicU64,
    opened: AtomicU64,
}

/// What is counted of one server.
pub(crate) struct ServerMeter {
    /// Made when a method is first called: most servers are asked one or two.
    calls: [OnceLock<Box<CallMeter>>; Method::ALL.len()],
    connects: AtomicU64,
    failures: AtomicU64,
    health_failures: AtomicU64,
    tool_changes: AtomicU64,
}

/// Calls of one method of one server.
#[derive(Default)]
struct CallMeter {
    outcomes: [AtomicU64; Outcome::ALL.len()],
    latency: Histogram,
}

/// What is counted of the recovery store.
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
    /// A client was turned away before its request was looked at.
    pub fn refused(&self, reason: RefusedFor) {
        count(&self.refusals[reason as usize]);
    }

    /// Something was closed to make room for something new.
    pub fn evicted(&self, what: Evicted) {
        count(&self.evictions[what as usize]);
    }

    /// A changed configuration was taken up, or was not because it is wrong.
    pub fn reloaded(&self, taken: bool) {
        count(&self.reloads[usize::from(!taken)]);
    }

    /// Forgets the servers and ways in that are configured no more. The ways
    /// in of a single server are called `servers/` and its id; that of plain
    /// JSON-RPC always stays.
    pub fn retain(&self, server: impl Fn(&str) -> bool, door: impl Fn(&str) -> bool) {
        self.servers.lock().retain(|id, _| server(id));
        let mut doors = self.doors.lock();
        doors.retain(|name, _| &**name == PLAIN || door(name));
    }

    /// The meter of a server, the same for as long as the id is configured.
    pub(crate) fn server(&self, id: &str) -> Arc<ServerMeter> {
        let mut servers = self.servers.lock();
        if let Some(known) = servers.get(id) {
            return known.clone();
        }
        let new = Arc::new(ServerMeter::new());
        servers.insert(id.into(), new.clone());
        new
    }

    /// The meter of a way in.
    pub(crate) fn door(&self, name: &Arc<str>) -> Arc<DoorMeter> {
        let mut doors = self.doors.lock();
        doors.entry(name.clone()).or_default().clone()
    }

    /// The counter of messages that were dropped because a client's queue is full.
    pub(crate) fn dropped(&self) -> &Arc<AtomicU64> {
        &self.dropped
    }

    /// A request has arrived.
    pub(crate) fn call_began(&self) {
        count(&self.in_flight);
    }

    /// A request has ended. `inside` is the time that was the gateway's own.
    pub(crate) fn call_ended(
        &self,
        door: &DoorMeter,
        method: Method,
        inside: Duration,
        ended: &Ended,
    ) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        door.request(method, ended.outcome);
        if let Some(kind) = ended.denied {
            self.denied(kind);
        }
        self.inside.observe(inside);
    }

    /// A preset refused something of this kind.
    pub(crate) fn denied(&self, kind: ItemKind) {
        count(&self.denials[kind as usize]);
    }
}

impl DoorMeter {
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

    /// The server is in another state than before.
    pub(crate) fn state_changed(&self, state: &State) {
        match state {
            State::Up { .. } => count(&self.connects),
            State::Down { .. } => count(&self.failures),
            State::Starting | State::Disabled => {}
        }
    }

    /// The server was asked for a sign of life and gave none.
    pub(crate) fn health_check_failed(&self) {
        count(&self.health_failures);
    }

    /// The server changed the definition of a tool that was seen before.
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
