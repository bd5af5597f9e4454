//! Ids of requests.

use std::hash::{Hash, Hasher};

use bytes::Bytes;

use crate::{Kind, Raw};

/// Ids are kept for as long as a request is open, and no honest peer needs a longer one.
pub(crate) const ID_MAX: usize = 1024;

/// A request id as it was written: a string or a number. Compared by its decoded value for strings and by its text for numbers.
#[derive(Debug, Clone)]
pub struct Id(Raw);

impl Id {
    pub fn number(n: u64) -> Id {
        Id(Raw::number(n))
    }

    pub fn string(text: &str) -> Id {
        Id(Raw::string(text))
    }

    /// An id from a value somewhere in params (`requestId`), if it is one.
    pub fn from_raw(raw: Raw) -> Option<Id> {
        let fits = matches!(raw.kind(), Kind::String | Kind::Number) && raw.len() <= ID_MAX;
        // Copied, not sliced: an id waits in tables for the answer, and a slice
        // would hold on to the whole message it came in.
        fits.then(|| Id(Raw::from_checked(Bytes::copy_from_slice(raw.as_bytes()))))
    }

    pub fn as_raw(&self) -> &Raw {
        &self.0
    }

    pub fn as_u64(&self) -> Option<u64> {
        self.0.as_u64()
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Id) -> bool {
        if self.0 == other.0 {
            return true;
        }
        match (self.0.as_text(), other.0.as_text()) {
            // All lone surrogates decode to U+FFFD. Ids that differ only there
            // are different ids, so such texts count as equal only if they are
            // written alike.
            (Some(one), Some(two)) => one == two && !one.contains(char::REPLACEMENT_CHARACTER),
            _ => false,
        }
    }
}

impl Eq for Id {}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0.as_text() {
            Some(text) => text.hash(state),
            None => self.0.hash(state),
        }
    }
}
