//! The recovery store: the whole of what was shortened, for as long as it may
//! be asked for.
//!
//! Whoever cuts a text keeps it here first and hands out the [`Receipt`]. The
//! store is behind a trait, so that receipts can outlive the process where
//! that is wanted.

mod block;
mod disk;
mod files;
mod memory;
#[cfg(test)]
mod tests;
pub mod totals;

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

pub use self::disk::DiskStore;
pub use self::memory::MemoryStore;
use crate::settings::RecoverySettings;

/// Keeps texts and gives them back.
pub trait Store: Send + Sync {
    /// Keeps a text under a new receipt.
    fn keep(&self, owner: &Owner, text: Arc<str>) -> Result<Receipt, Unavailable>;

    /// The text of a receipt, `None` if it is unknown, another's, or its time
    /// is over: who asks cannot tell which.
    fn fetch(&self, owner: &Owner, receipt: &str) -> Option<Arc<str>>;

    /// Keeps a text for its full time from now on, because its owner has just
    /// fetched it.
    fn renew(&self, _owner: &Owner, _receipt: &str) {}

    /// Returns true if a text of this owner may be kept.
    fn has_any(&self, _owner: &Owner) -> bool {
        true
    }

    /// Returns the tool that returned a text, for a receipt that has expired, if
    /// the store remembers it. Must not tell one owner about another's receipts.
    fn source(&self, _owner: &Owner, _receipt: &str) -> Option<String> {
        None
    }

    /// Lets go of what nobody can ask for any more.
    fn purge(&self);

    /// How much it holds, where that is known. May wait for who is writing.
    fn fill(&self) -> Fill {
        Fill::default()
    }

    /// Returns true if keeping or fetching a text of this many bytes may take
    /// so long that it belongs off the async threads.
    fn blocks_on(&self, _text: usize) -> bool {
        false
    }
}

/// The store that the settings ask for.
///
/// A folder that cannot be used is no reason to be without a store: texts are
/// then kept in memory, and the log says so.
pub fn open(settings: &RecoverySettings) -> Arc<dyn Store> {
    let Some(folder) = &settings.path else {
        return Arc::new(MemoryStore::new(settings));
    };
    match DiskStore::open(folder, settings) {
        Ok(store) => Arc::new(store),
        Err(error) => {
            tracing::warn!(
                "what is shortened is kept in memory, since the folder {} cannot be used: {error}",
                folder.display()
            );
            Arc::new(MemoryStore::new(settings))
        }
    }
}

/// Who may have a text back: nobody but who was given its receipt, by the same
/// door and under the same rights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner(Arc<str>);

impl Owner {
    /// The owner of texts that the pruner gets from this client; clients
    /// without a name share one owner.
    pub fn pruner(client: Option<&str>) -> Owner {
        match client {
            Some(name) => Owner(serde_json::json!(["pruner", name]).to_string().into()),
            None => Owner("pruner".into()),
        }
    }

    /// A client on an endpoint, under the preset in force there. Clients without
    /// a token have no name.
    pub fn client(name: Option<&str>, endpoint: &str, preset: Option<&str>) -> Owner {
        // No name of a client is empty.
        let principal = name.unwrap_or_default();
        // Each part in JSON, so that no two owners can be written alike.
        let parts = serde_json::json!([principal, endpoint, preset]);
        Owner(parts.to_string().into())
    }

    /// As a store writes it down.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How much a store holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fill {
    pub texts: usize,
    /// As they count against the store's bound.
    pub bytes: u64,
}

/// The store cannot hold this text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unavailable;

/// What a text is asked for by: `prn_` and a ULID.
///
/// Models pay for every marker that names a receipt, so it is one of the ULIDs
/// that cost few tokens: its time is that of the last nine hours or so, which
/// ends in zeros, and its random part is written in digits alone, of which a
/// tokenizer makes a token for three (o200k: 12 tokens a receipt instead of
/// 21). One in ten to the sixteenth cannot be guessed within its time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Receipt(Arc<str>);

impl Receipt {
    /// As long as any receipt.
    pub const PLACEHOLDER: &str = "prn_00000000000000000000000000";

    pub fn new() -> Receipt {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let random = getrandom::u64().expect("the operating system gives randomness");
        Receipt::at(since.unwrap_or_default().as_millis() as u64, random)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a text could be a receipt; nothing else becomes part of a path.
    fn is_one(text: &str) -> bool {
        let letter = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
        let ulid = text.strip_prefix("prn_");
        ulid.is_some_and(|ulid| ulid.len() == 26 && ulid.bytes().all(letter))
    }

    /// 48 bits of time, five to a letter, in the alphabet of Crockford; then as
    /// many letters as 80 bits take.
    fn at(unix_ms: u64, random: u64) -> Receipt {
        const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        let time = unix_ms & 0xFFFF_FFFF_FFFF & !((1 << 25) - 1);
        let letter = |place: u32| ALPHABET[(time >> (5 * place) & 31) as usize] as char;
        let time: String = (0..10).rev().map(letter).collect();
        let random = random % 10_u64.pow(16);
        Receipt(format!("prn_{time}{random:016}").into())
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
