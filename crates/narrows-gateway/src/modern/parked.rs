//! Calls that wait for a client's answers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::seal::{BadState, Binding, Sealer};

/// The time for which a call waits for its client.
pub(crate) const LIFETIME: Duration = Duration::from_secs(300);

/// The maximum number of parked calls, for all clients together and for one principal. Beyond it,
/// the oldest is given up.
const MAX_PARKED: usize = 512;
const MAX_PER_OWNER: usize = 128;

/// The parked calls.
pub(crate) struct ParkedCalls<T> {
    sealer: Sealer,
    calls: Mutex<ParkedTable<T>>,
}

struct ParkedTable<T> {
    by_id: HashMap<u128, Entry<T>>,
    last: u64,
}

struct Entry<T> {
    /// The number of the entry in the order of arrival.
    number: u64,
    owner: [u8; 32],
    place: Arc<ParkingPlace<T>>,
}

/// The place of a parked call. The task that runs the call meanwhile holds it as well.
pub(crate) struct ParkingPlace<T> {
    pub(crate) call: Mutex<Option<T>>,
    /// Cancelled when the call has left its place, or must leave it.
    pub(crate) left: CancellationToken,
}

impl<T> ParkedCalls<T> {
    pub(crate) fn new() -> ParkedCalls<T> {
        ParkedCalls {
            sealer: Sealer::new(),
            calls: Mutex::new(ParkedTable {
                by_id: HashMap::new(),
                last: 0,
            }),
        }
    }

    /// Parks a call. Returns its id, its state and its place.
    pub(crate) fn park(&self, call: T, binding: &Binding) -> (u128, String, Arc<ParkingPlace<T>>) {
        let mut id = [0; 16];
        getrandom::fill(&mut id).expect("the operating system provides random numbers");
        let id = u128::from_be_bytes(id);
        let place = Arc::new(ParkingPlace {
            call: Mutex::new(Some(call)),
            left: CancellationToken::new(),
        });
        let mut calls = self.calls.lock();
        calls.last += 1;
        let number = calls.last;
        let entry = Entry {
            number,
            owner: binding.owner,
            place: place.clone(),
        };
        calls.by_id.insert(id, entry);
        calls.make_room(&binding.owner);
        drop(calls);
        (id, self.sealer.seal(id, binding, LIFETIME), place)
    }

    /// Takes the call that a state names.
    pub(crate) fn take(&self, state: &str, binding: &Binding) -> Result<T, BadState> {
        let id = self.sealer.open(state, binding)?;
        let entry = self.calls.lock().by_id.remove(&id);
        let place = entry.ok_or(BadState::Expired)?.place;
        let call = place.call.lock().take();
        place.left.cancel();
        call.ok_or(BadState::Expired)
    }

    /// Forgets a call that was not taken.
    pub(crate) fn forget(&self, id: u128) {
        self.calls.lock().by_id.remove(&id);
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.calls.lock().by_id.len()
    }
}

impl<T> ParkedTable<T> {
    /// Gives up the oldest calls if there are too many.
    fn make_room(&mut self, owner: &[u8; 32]) {
        let of_owner = self.by_id.values().filter(|entry| entry.owner == *owner);
        if of_owner.count() > MAX_PER_OWNER {
            self.give_up_oldest(|entry| entry.owner == *owner);
        }
        if self.by_id.len() > MAX_PARKED {
            self.give_up_oldest(|_| true);
        }
    }

    fn give_up_oldest(&mut self, fits: impl Fn(&Entry<T>) -> bool) {
        let fitting = self.by_id.iter().filter(|(_, entry)| fits(entry));
        let oldest = fitting.min_by_key(|(_, entry)| entry.number);
        if let Some(id) = oldest.map(|(id, _)| *id)
            && let Some(entry) = self.by_id.remove(&id)
        {
            entry.place.left.cancel();
        }
    }
}
