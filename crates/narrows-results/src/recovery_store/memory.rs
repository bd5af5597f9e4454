//! A store in memory with compressed texts.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{Owner, Receipt, RecoverySettings, RecoveryStore, StoreUnavailable, StoreUsage, block};

/// A store in memory. All texts have the same lifetime, counted from when they were stored or last
/// renewed, and share a size limit; those that expire first are removed first.
///
/// Cache libraries are unsuitable: they admit entries by access frequency and may reject the newest
/// text, whose receipt was just issued.
pub struct MemoryStore {
    ttl: Duration,
    max_bytes: usize,
    state: Mutex<MemoryState>,
}

#[derive(Default)]
struct MemoryState {
    texts: HashMap<Arc<str>, StoredText>,
    /// The texts in the order of their expiry. The number distinguishes those with the same time.
    order: BTreeMap<(Instant, u64), Arc<str>>,
    last: u64,
    bytes: usize,
}

struct StoredText {
    owner: Owner,
    body: StoredBody,
    place: (Instant, u64),
}

/// A text in the shorter of two forms.
#[derive(Clone)]
enum StoredBody {
    Plain(Arc<str>),
    Compressed {
        block: Arc<[u8]>,
        /// The length of the text in bytes.
        length: usize,
    },
}

/// The memory used per entry in addition to its text: receipt, map and queue.
pub(super) const OVERHEAD: usize = 256;

/// The maximum length of texts that are compressed and decompressed on async threads.
const QUICK: usize = 64 * 1024;

impl MemoryStore {
    pub fn new(settings: &RecoverySettings) -> MemoryStore {
        MemoryStore {
            ttl: settings.ttl,
            max_bytes: settings.max_bytes,
            state: Mutex::default(),
        }
    }
}

impl RecoveryStore for MemoryStore {
    fn keep(&self, owner: &Owner, text: Arc<str>) -> Result<Receipt, StoreUnavailable> {
        if text.len() > block::MAX_TEXT || self.ttl.is_zero() {
            return Err(StoreUnavailable);
        }
        let body = StoredBody::of(text);
        let size = body.len() + OVERHEAD;
        if size > self.max_bytes {
            return Err(StoreUnavailable);
        }
        let receipt = Receipt::new();
        let now = Instant::now();
        let until = now.checked_add(self.ttl).ok_or(StoreUnavailable)?;
        let owner = owner.clone();
        let mut state = self.state.lock();
        state.purge(now);
        while state.bytes + size > self.max_bytes {
            state.drop_oldest();
        }
        state.bytes += size;
        let place = state.queue(until, &receipt.0);
        let entry = StoredText { owner, body, place };
        state.texts.insert(receipt.0.clone(), entry);
        Ok(receipt)
    }

    fn has_any(&self, owner: &Owner) -> bool {
        let mut state = self.state.lock();
        state.purge(Instant::now());
        state.texts.values().any(|entry| entry.owner == *owner)
    }

    fn fetch(&self, owner: &Owner, receipt: &str) -> Option<Arc<str>> {
        let body = {
            let mut state = self.state.lock();
            state.purge(Instant::now());
            let entry = state.texts.get(receipt)?;
            (entry.owner == *owner).then(|| entry.body.clone())?
        };
        body.text()
    }

    fn renew(&self, owner: &Owner, receipt: &str) {
        let mut state = self.state.lock();
        let Some(until) = Instant::now().checked_add(self.ttl) else {
            return;
        };
        let found = state.texts.get(receipt);
        let Some(entry) = found.filter(|entry| entry.owner == *owner) else {
            return;
        };
        let place = entry.place;
        if let Some(receipt) = state.order.remove(&place) {
            let place = state.queue(until, &receipt);
            if let Some(entry) = state.texts.get_mut(&receipt) {
                entry.place = place;
            }
        }
    }

    fn purge(&self) {
        self.state.lock().purge(Instant::now());
    }

    fn usage(&self) -> StoreUsage {
        let state = self.state.lock();
        StoreUsage {
            texts: state.texts.len(),
            bytes: state.bytes as u64,
        }
    }

    fn may_block(&self, text: usize) -> bool {
        text > QUICK
    }
}

impl MemoryState {
    fn purge(&mut self, now: Instant) {
        let expires = |state: &MemoryState| state.order.keys().next().map(|(until, _)| *until);
        while expires(self).is_some_and(|until| until <= now) {
            self.drop_oldest();
        }
    }

    fn queue(&mut self, until: Instant, receipt: &Arc<str>) -> (Instant, u64) {
        self.last += 1;
        let place = (until, self.last);
        self.order.insert(place, receipt.clone());
        place
    }

    fn drop_oldest(&mut self) {
        if let Some((_, receipt)) = self.order.pop_first()
            && let Some(entry) = self.texts.remove(&receipt)
        {
            self.bytes -= entry.body.len() + OVERHEAD;
        }
    }
}

impl StoredBody {
    fn of(text: Arc<str>) -> StoredBody {
        let mut block = Vec::new();
        match block::append(&text, &mut block) {
            Some(()) if block.len() < text.len() => StoredBody::Compressed {
                block: block.into(),
                length: text.len(),
            },
            _ => StoredBody::Plain(text),
        }
    }

    fn len(&self) -> usize {
        match self {
            StoredBody::Plain(text) => text.len(),
            StoredBody::Compressed { block, .. } => block.len(),
        }
    }

    fn text(&self) -> Option<Arc<str>> {
        match self {
            StoredBody::Plain(text) => Some(text.clone()),
            StoredBody::Compressed { block, length } => block::read(block, *length),
        }
    }
}
