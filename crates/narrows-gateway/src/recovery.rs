//! The recovery store: the whole of what was shortened, for as long as it may
//! be asked for.
//!
//! Whoever cuts a text keeps it here first and hands out the [`Receipt`]. The
//! store is behind a trait, so that receipts can outlive the process where
//! that is wanted.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use crate::lock::Mutex;
use crate::settings::RecoverySettings;

/// Keeps texts and gives them back.
pub trait Store: Send + Sync {
    /// Keeps a text under a new receipt.
    fn keep(&self, text: Arc<str>) -> Result<Receipt, Unavailable>;

    /// The text of a receipt, `None` if it is unknown or its time is over.
    fn fetch(&self, receipt: &str) -> Option<Arc<str>>;

    /// Lets go of what nobody can ask for any more.
    fn purge(&self);
}

/// The store cannot hold this text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unavailable;

/// What a text is asked for by: `prn_` and a ULID. Its 80 random bits cannot be
/// guessed within its time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Receipt(Arc<str>);

impl Receipt {
    pub fn new() -> Receipt {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut random = [0; 10];
        getrandom::fill(&mut random).expect("the operating system gives randomness");
        Receipt::at(since.unwrap_or_default().as_millis() as u64, random)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// 48 bits of time and 80 of randomness, five to a letter, in the alphabet
    /// of Crockford.
    fn at(unix_ms: u64, random: [u8; 10]) -> Receipt {
        const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        let bits = random
            .iter()
            .fold(u128::from(unix_ms & 0xFFFF_FFFF_FFFF), |bits, byte| {
                bits << 8 | u128::from(*byte)
            });
        let letter = |place: u32| ALPHABET[(bits >> (5 * place) & 31) as usize] as char;
        let text: String = "prn_".chars().chain((0..26).rev().map(letter)).collect();
        Receipt(text.into())
    }
}

impl Default for Receipt {
    fn default() -> Self {
        Receipt::new()
    }
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

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
    texts: HashMap<Arc<str>, Arc<str>>,
    /// In the order in which they came, which is also that in which they expire.
    order: VecDeque<(Instant, Arc<str>)>,
    bytes: usize,
}

/// What a text costs besides its bytes: receipt, map and queue.
const OVERHEAD: usize = 256;

impl MemoryStore {
    pub fn new(settings: RecoverySettings) -> MemoryStore {
        MemoryStore {
            ttl: settings.ttl,
            max_bytes: settings.max_bytes,
            kept: Mutex::default(),
        }
    }
}

impl Store for MemoryStore {
    fn keep(&self, text: Arc<str>) -> Result<Receipt, Unavailable> {
        let size = text.len() + OVERHEAD;
        if size > self.max_bytes || self.ttl.is_zero() {
            return Err(Unavailable);
        }
        let receipt = Receipt::new();
        let now = Instant::now();
        let until = now.checked_add(self.ttl).ok_or(Unavailable)?;
        let mut kept = self.kept.lock();
        kept.purge(now);
        while kept.bytes + size > self.max_bytes {
            kept.drop_oldest();
        }
        kept.bytes += size;
        kept.order.push_back((until, receipt.0.clone()));
        kept.texts.insert(receipt.0.clone(), text);
        Ok(receipt)
    }

    fn fetch(&self, receipt: &str) -> Option<Arc<str>> {
        let mut kept = self.kept.lock();
        kept.purge(Instant::now());
        kept.texts.get(receipt).cloned()
    }

    fn purge(&self) {
        self.kept.lock().purge(Instant::now());
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
            && let Some(text) = self.texts.remove(&receipt)
        {
            self.bytes -= text.len() + OVERHEAD;
        }
    }
}
