//! Texts in memory, compressed.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::{Fill, Owner, Receipt, RecoverySettings, Store, Unavailable, block};
use crate::lock::Mutex;

/// Texts in memory: each for the same time, and all within a number of bytes;
/// the oldest leave first.
///
/// No cache library: those admit by how often something is asked for, and may
/// turn away the newest text, whose receipt was just handed out.
pub struct MemoryStore {
    ttl: Duration,
    max_bytes: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    texts: HashMap<Arc<str>, Entry>,
    /// In the order in which they came, which is also that in which they expire.
    order: VecDeque<(Instant, Arc<str>)>,
    bytes: usize,
}

struct Entry {
    owner: Owner,
    body: Body,
}

/// A text in the shorter of two forms.
#[derive(Clone)]
enum Body {
    Plain(Arc<str>),
    Compressed {
        block: Arc<[u8]>,
        /// The length of the text in bytes.
        length: usize,
    },
}

/// The cost of an entry besides its bytes: receipt, map and queue.
pub(super) const OVERHEAD: usize = 256;

/// Longer texts are compressed and decompressed off the async threads.
const QUICK: usize = 64 * 1024;

impl MemoryStore {
    pub fn new(settings: &RecoverySettings) -> MemoryStore {
        MemoryStore {
            ttl: settings.ttl,
            max_bytes: settings.max_bytes,
            kept: Mutex::default(),
        }
    }
}

impl Store for MemoryStore {
    fn keep(&self, owner: &Owner, text: Arc<str>) -> Result<Receipt, Unavailable> {
        if text.len() > block::MAX_TEXT || self.ttl.is_zero() {
            return Err(Unavailable);
        }
        let body = Body::of(text);
        let size = body.len() + OVERHEAD;
        if size > self.max_bytes {
            return Err(Unavailable);
        }
        let receipt = Receipt::new();
        let now = Instant::now();
        let until = now.checked_add(self.ttl).ok_or(Unavailable)?;
        let owner = owner.clone();
        let mut kept = self.kept.lock();
        kept.purge(now);
        while kept.bytes + size > self.max_bytes {
            kept.drop_oldest();
        }
        kept.bytes += size;
        kept.order.push_back((until, receipt.0.clone()));
        kept.texts.insert(receipt.0.clone(), Entry { owner, body });
        Ok(receipt)
    }

    fn fetch(&self, owner: &Owner, receipt: &str) -> Option<Arc<str>> {
        let body = {
            let mut kept = self.kept.lock();
            kept.purge(Instant::now());
            let entry = kept.texts.get(receipt)?;
            (entry.owner == *owner).then(|| entry.body.clone())?
        };
        body.text()
    }

    fn purge(&self) {
        self.kept.lock().purge(Instant::now());
    }

    fn fill(&self) -> Fill {
        let kept = self.kept.lock();
        Fill {
            texts: kept.texts.len(),
            bytes: kept.bytes as u64,
        }
    }

    fn blocks_on(&self, text: usize) -> bool {
        text > QUICK
    }
}

impl Kept {
    fn purge(&mut self, now: Instant) {
        while self.order.front().is_some_and(|(until, _)| *until <= now) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((_, receipt)) = self.order.pop_front()
            && let Some(entry) = self.texts.remove(&receipt)
        {
            self.bytes -= entry.body.len() + OVERHEAD;
        }
    }
}

impl Body {
    fn of(text: Arc<str>) -> Body {
        let mut block = Vec::new();
        match block::append(&text, &mut block) {
            Some(()) if block.len() < text.len() => Body::Compressed {
                block: block.into(),
                length: text.len(),
            },
            _ => Body::Plain(text),
        }
    }

    fn len(&self) -> usize {
        match self {
            Body::Plain(text) => text.len(),
            Body::Compressed { block, .. } => block.len(),
        }
    }

    fn text(&self) -> Option<Arc<str>> {
        match self {
            Body::Plain(text) => Some(text.clone()),
            Body::Compressed { block, length } => block::read(block, *length),
        }
    }
}
