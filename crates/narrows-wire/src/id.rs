//! Request ids.

use std::hash::{Hash, Hasher};

use bytes::Bytes;

use crate::{Kind, Raw};

/// The maximum length of an id. Ids are stored while their request is open, and legitimate ids are
/// far shorter.
pub(crate) const ID_MAX: usize = 1024;

/// A request id as it was written: a string or a number. Strings are compared by their decoded
/// value, numbers by their text.
#[derive(Debug, Clone)]
pub struct Id(Raw);

impl Id {
    pub fn number(n: u64) -> Id {
        Id(Raw::number(n))
    }

    pub fn string(text: &str) -> Id {
        Id(Raw::string(text))
    }

    /// Returns the id in a value from params (`requestId`); `None` if the value is not an id.
    pub fn from_raw(raw: Raw) -> Option<Id> {
        let fits = matches!(raw.kind(), Kind::String | Kind::Number) && raw.len() <= ID_MAX;
        // The id is copied: it is stored until the response arrives, and a slice would keep the
        // whole message in memory.
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
            // All lone surrogates decode to U+FFFD. Ids that differ only in these must stay
            // different, so such ids are equal only if their texts are.
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
