//! URIs in results to a client that no list contains, each with the server that sent it, so that
//! the client can read them.

use std::collections::HashMap;

use parking_lot::Mutex;

/// The maximum number of URIs per session.
const MAX_URIS: usize = 1_024;

/// The maximum total size of these URIs in bytes.
const MAX_BYTES: usize = 256 * 1024;

/// The URIs of one session. Allocates no memory until the first one.
#[derive(Default)]
pub(super) struct ReturnedUris(Mutex<UriTable>);

#[derive(Default)]
struct UriTable {
    owners: HashMap<Box<str>, UriOwner>,
    bytes: usize,
    /// Counts uses. Entries with the lowest numbers are removed first.
    clock: u64,
}

struct UriOwner {
    /// The number of the server.
    upstream: usize,
    used: u64,
}

impl ReturnedUris {
    /// Records that a server returned a URI in a result. Returns false if the URI already belongs
    /// to another server.
    pub(super) fn remember(&self, uri: &str, upstream: usize) -> bool {
        self.0.lock().remember(uri, upstream)
    }

    /// Returns the number of the server that returned a URI in a result.
    pub(super) fn owner(&self, uri: &str) -> Option<usize> {
        self.0.lock().owner(uri)
    }
}

impl UriTable {
    fn remember(&mut self, uri: &str, upstream: usize) -> bool {
        if let Some(owner) = self.owner(uri) {
            return owner == upstream;
        }
        // Not recorded. A client can read such a URI only if a list contains it.
        if uri.len() > MAX_BYTES {
            return true;
        }
        // One round may not be enough if the old URIs are short and the new ones long.
        while self.owners.len() >= MAX_URIS || self.bytes + uri.len() > MAX_BYTES {
            self.make_room();
        }
        self.bytes += uri.len();
        let owner = UriOwner {
            upstream,
            used: self.clock,
        };
        self.owners.insert(uri.into(), owner);
        true
    }

    fn owner(&mut self, uri: &str) -> Option<usize> {
        self.clock += 1;
        let owner = self.owners.get_mut(uri)?;
        owner.used = self.clock;
        Some(owner.upstream)
    }

    /// Removes the least recently used half in a single pass, because one result may contain a
    /// thousand URIs.
    fn make_room(&mut self) {
        let mut uses: Vec<u64> = self.owners.values().map(|owner| owner.used).collect();
        uses.sort_unstable();
        let Some(middle) = uses.get(uses.len() / 2).copied() else {
            return;
        };
        self.owners.retain(|_, owner| owner.used > middle);
        self.bytes = self.owners.keys().map(|uri| uri.len()).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_server_to_return_a_uri_keeps_it() {
        let mut uris = UriTable::default();
        assert!(uris.remember("x://a", 1));
        assert!(uris.remember("x://a", 1));
        assert!(!uris.remember("x://a", 2));
        assert_eq!(uris.owner("x://a"), Some(1));
        assert_eq!(uris.owner("x://b"), None);
    }

    #[test]
    fn uri_table_is_bounded_and_keeps_used_entries() {
        for length in [10, 4_000] {
            let mut uris = UriTable::default();
            for number in 0..10_000 {
                let uri = format!("x://{number:0length$}");
                assert!(uris.remember(&uri, 1));
                assert!(uris.owners.len() <= MAX_URIS);
                assert!(uris.bytes <= MAX_BYTES);
                assert_eq!(uris.owner(&uri), Some(1), "the newest is there");
                let first = format!("x://{:0length$}", 0);
                assert_eq!(uris.owner(&first), Some(1), "the one in use is there");
            }
            let bytes: usize = uris.owners.keys().map(|uri| uri.len()).sum();
            assert_eq!(uris.bytes, bytes);
        }
    }

    #[test]
    fn long_uris_after_short_ones_respect_the_byte_limit() {
        let mut uris = UriTable::default();
        for number in 0..MAX_URIS - 2 {
            uris.remember(&format!("x://{number}"), 1);
        }
        for number in 0..100 {
            let uri = format!("x://{number}{}", "0".repeat(MAX_BYTES / 2 - 100));
            assert!(uris.remember(&uri, 1));
            assert!(uris.bytes <= MAX_BYTES, "{}", uris.bytes);
            assert_eq!(uris.owner(&uri), Some(1), "the newest is there");
        }
        assert!(uris.remember(&"x".repeat(MAX_BYTES + 1), 1));
        assert!(uris.bytes <= MAX_BYTES);
    }
}
