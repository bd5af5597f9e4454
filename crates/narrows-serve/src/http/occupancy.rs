//! The open connections of the edge, and the eviction of connections when there are too many.
//!
//! A connection is silent until its first request, busy while it carries a request or a stream, and
//! idle between requests. Silent connections are evicted first, then idle ones, each group oldest
//! first. Busy connections are never evicted.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use narrows_gateway::meter::Evicted;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

#[cfg(test)]
mod tests;

/// Special values of a seat's state, which otherwise holds the time at which the connection
/// became idle, in milliseconds.
const SILENT: u64 = u64::MAX;
const BUSY: u64 = u64::MAX - 1;

/// All connections of one edge.
pub(super) struct Occupancy {
    max: usize,
    max_per_address: usize,
    began: Instant,
    table: Mutex<ConnectionTable>,
}

#[derive(Default)]
struct ConnectionTable {
    last: u64,
    all: HashMap<u64, Arc<SlotState>>,
    /// In order of arrival.
    silent: BTreeSet<u64>,
    /// Only addresses that have a limit.
    addresses: HashMap<IpAddr, Address>,
}

#[derive(Default)]
struct Address {
    open: usize,
    silent: BTreeSet<u64>,
}

/// The place of one connection, freed when it is dropped.
pub(super) struct ConnectionSlot {
    occupancy: Arc<Occupancy>,
    number: u64,
    slot_state: Arc<SlotState>,
}

struct SlotState {
    /// `None` for addresses on this machine, which have no limit.
    address: Option<IpAddr>,
    state: AtomicU64,
    eviction: CancellationToken,
}

impl Occupancy {
    pub(super) fn new(max: usize, max_per_address: usize) -> Arc<Occupancy> {
        Arc::new(Occupancy {
            max: max.max(1),
            max_per_address: max_per_address.max(1),
            began: Instant::now(),
            table: Mutex::default(),
        })
    }

    /// Gives a new connection a place. If there is none, another connection is evicted and reported
    /// to `evicted`. Returns `None` if all others are busy.
    pub(super) fn admit(
        self: &Arc<Self>,
        address: IpAddr,
        mut evicted: impl FnMut(Evicted),
    ) -> Option<ConnectionSlot> {
        let address = address.to_canonical();
        let address = (!address.is_loopback()).then_some(address);
        let mut table = self.table.lock();
        if let Some(address) = &address
            && let Some(own) = table.addresses.get(address)
            && own.open >= self.max_per_address
        {
            // A connection of another address would not help against the limit of this one.
            let (number, what) = match own.silent.first() {
                Some(number) => (*number, Evicted::SilentConnection),
                None => (table.idle_longest(Some(*address))?, Evicted::IdleConnection),
            };
            table.evict(number);
            evicted(what);
        }
        if table.all.len() >= self.max {
            evicted(table.make_room()?);
        }
        table.last += 1;
        let number = table.last;
        let slot_state = Arc::new(SlotState {
            address,
            state: AtomicU64::new(SILENT),
            eviction: CancellationToken::new(),
        });
        table.all.insert(number, slot_state.clone());
        table.silent.insert(number);
        if let Some(address) = address {
            let own = table.addresses.entry(address).or_default();
            own.open += 1;
            own.silent.insert(number);
        }
        drop(table);
        Some(ConnectionSlot {
            occupancy: self.clone(),
            number,
            slot_state,
        })
    }

    /// Evicts a connection that is not busy, if there is one, because the system has no file
    /// descriptors left.
    pub(super) fn make_room(&self) -> Option<Evicted> {
        self.table.lock().make_room()
    }
}

impl ConnectionTable {
    fn make_room(&mut self) -> Option<Evicted> {
        if let Some(number) = self.silent.first().copied() {
            self.evict(number);
            return Some(Evicted::SilentConnection);
        }
        let number = self.idle_longest(None)?;
        self.evict(number);
        Some(Evicted::IdleConnection)
    }

    /// Returns the connection that has been idle the longest, of one address or of all.
    fn idle_longest(&self, of: Option<IpAddr>) -> Option<u64> {
        let since = |slot_state: &SlotState| {
            Some(slot_state.state.load(Ordering::Relaxed)).filter(|at| *at < BUSY)
        };
        let fitting = self.all.iter();
        let fitting = fitting.filter(|(_, slot_state)| of.is_none() || slot_state.address == of);
        let idle = fitting.filter_map(|(number, slot_state)| Some((since(slot_state)?, *number)));
        idle.min().map(|(_, number)| number)
    }

    fn evict(&mut self, number: u64) {
        if let Some(slot_state) = self.remove(number) {
            slot_state.eviction.cancel();
        }
    }

    fn remove(&mut self, number: u64) -> Option<Arc<SlotState>> {
        let slot_state = self.all.remove(&number)?;
        self.mark_active(number, slot_state.address);
        if let Some(address) = slot_state.address
            && let Some(own) = self.addresses.get_mut(&address)
        {
            own.open -= 1;
            if own.open == 0 {
                self.addresses.remove(&address);
            }
        }
        Some(slot_state)
    }

    /// Removes a connection from the silent ones.
    fn mark_active(&mut self, number: u64, address: Option<IpAddr>) {
        self.silent.remove(&number);
        if let Some(own) = address.and_then(|address| self.addresses.get_mut(&address)) {
            own.silent.remove(&number);
        }
    }
}

impl ConnectionSlot {
    /// Marks the connection as busy: a request has started.
    pub(super) fn mark_busy(&self) {
        if self.slot_state.state.swap(BUSY, Ordering::Relaxed) == SILENT {
            let mut table = self.occupancy.table.lock();
            table.mark_active(self.number, self.slot_state.address);
        }
    }

    /// Marks the connection as idle: the response is short enough to count as written. Otherwise
    /// the connection stays busy until its next request.
    pub(super) fn mark_idle(&self) {
        let since = self.occupancy.began.elapsed().as_millis() as u64;
        self.slot_state.state.store(since, Ordering::Relaxed);
    }

    pub(super) fn is_busy(&self) -> bool {
        self.slot_state.state.load(Ordering::Relaxed) == BUSY
    }

    /// Completes when the connection is evicted.
    pub(super) async fn eviction(&self) {
        self.slot_state.eviction.cancelled().await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.occupancy.table.lock().remove(self.number);
    }
}
