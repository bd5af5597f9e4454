//! The recovery store: keeps the full text of shortened results for as long as clients may request
//! it.
//!
//! A text is stored before it is cut, and the client gets its [`Receipt`]. The store is a trait, so
//! that receipts can outlive the process if configured.

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

/// A store for texts.
pub trait RecoveryStore: Send + Sync {
    /// Stores a text under a new receipt.
    fn keep(&self, owner: &Owner, text: Arc<str>) -> Result<Receipt, StoreUnavailable>;

    /// Returns the text of a receipt; `None` if the receipt is unknown, expired or belongs to
    /// another owner. The caller cannot distinguish these cases.
    fn fetch(&self, owner: &Owner, receipt: &str) -> Option<Arc<str>>;

    /// Restarts the lifetime of a text that its owner has just fetched.
    fn renew(&self, _owner: &Owner, _receipt: &str) {}

    /// Returns true if the store may hold a text of this owner.
    fn has_any(&self, _owner: &Owner) -> bool {
        true
    }

    /// Returns the name of the tool that produced the text of an expired receipt, if the store
    /// remembers it. Must not reveal the receipts of other owners.
    fn source(&self, _owner: &Owner, _receipt: &str) -> Option<String> {
        None
    }

    /// Removes expired texts.
    fn purge(&self);

    /// Returns the amount of stored data, if known. May wait for a writer.
    fn usage(&self) -> StoreUsage {
        StoreUsage::default()
    }

    /// Returns true if storing or fetching a text of this many bytes may take too long for an async
    /// thread.
    fn may_block(&self, _text: usize) -> bool {
        false
    }
}

/// Opens the store that the settings select.
///
/// If the folder cannot be used, texts are kept in memory instead and a warning is logged.
pub fn open(settings: &RecoverySettings) -> Arc<dyn RecoveryStore> {
    let Some(folder) = &settings.path else {
        return Arc::new(MemoryStore::new(settings));
    };
    match DiskStore::open(folder, settings) {
        Ok(store) => Arc::new(store),
        Err(error) => {
            tracing::warn!(
                "cannot use the folder {}, keeping recoverable texts in memory instead: {error}",
                folder.display()
            );
            Arc::new(MemoryStore::new(settings))
        }
    }
}

/// The owner of a text: only the client that received the receipt, on the same endpoint and with
/// the same permissions, may fetch the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner(Arc<str>);

impl Owner {
    /// Returns the owner of texts that the pruner receives from this client. Clients without a name
    /// share one owner.
    pub fn pruner(client: Option<&str>) -> Owner {
        match client {
            Some(name) => Owner(serde_json::json!(["pruner", name]).to_string().into()),
            None => Owner("pruner".into()),
        }
    }

    /// Returns the owner for a client on an endpoint under the preset in force. Clients without a
    /// token have no name.
    pub fn client(name: Option<&str>, endpoint: &str, preset: Option<&str>) -> Owner {
        // Client names are never empty.
        let principal = name.unwrap_or_default();
        // Encode as JSON, so that different owners never have the same text.
        let parts = serde_json::json!([principal, endpoint, preset]);
        Owner(parts.to_string().into())
    }

    /// Returns the form in which stores save the owner.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The amount of data in a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreUsage {
    pub texts: usize,
    /// The size that counts toward the store's limit.
    pub bytes: u64,
}

/// The error that the store cannot hold a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreUnavailable;

/// The key of a stored text: `prn_` and a ULID.
///
/// Models pay for every marker that names a receipt, so receipts are ULIDs that take few tokens.
/// The time is rounded down to about nine hours, so that it ends in zeros, and the random part has
/// only digits, of which tokenizers encode three per token (o200k: 12 tokens per receipt instead of
/// 21). A number of sixteen digits cannot be guessed within the lifetime of a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Receipt(Arc<str>);

impl Receipt {
    /// A placeholder with the length of a receipt.
    pub const PLACEHOLDER: &str = "prn_00000000000000000000000000";

    pub fn new() -> Receipt {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let random = getrandom::u64().expect("the operating system provides random numbers");
        Receipt::at(since.unwrap_or_default().as_millis() as u64, random)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if a text has the form of a receipt. Other texts must not become part of a
    /// path.
    fn is_one(text: &str) -> bool {
        let letter = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
        let ulid = text.strip_prefix("prn_");
        ulid.is_some_and(|ulid| ulid.len() == 26 && ulid.bytes().all(letter))
    }

    /// Encodes 48 bits of time in Crockford's base 32, five bits per character, followed by as many
    /// characters as 80 bits would take.
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
