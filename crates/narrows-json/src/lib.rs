//! JSON kept as the bytes in which it arrived.
//!
//! A [`Raw`] is one complete JSON value, validated once and never parsed into a tree. Members are
//! found by scanning, and an edit splices new bytes into the old ones, so that number formats, key
//! order, escapes and unknown members are preserved. Nothing here recurses; nesting costs one bit
//! per level.
//!
//! [`grammar`] is the only implementation of the grammar in the project: [`parse`] reads a whole
//! text with a [`Visitor`], a [`ChunkParser`] reads a text that arrives in chunks, and a
//! [`Scanner`] moves through a text token by token.

pub mod blocks;
mod edit;
mod error;
pub mod grammar;
mod place;
mod scan;
#[cfg(any(test, feature = "proptest"))]
pub mod strategy;
pub mod string;
pub mod text;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use bytes::Bytes;

pub use edit::Edit;
pub use error::{Error, ParseResult, Reason};
pub use grammar::{ChunkParser, LocatedError, Visitor, parse};
pub use place::Place;
pub use scan::Scanner;

/// One JSON value as text: valid JSON in UTF-8, without surrounding white space. Cheap to clone and
/// to slice.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Raw(Bytes);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

impl Raw {
    /// Checks that `text` is exactly one JSON value. Surrounding white space is removed.
    pub fn parse(text: Bytes) -> Result<Raw, Error> {
        let mut scanner = Scanner::new(&text);
        scanner.space();
        let place = scanner.value()?;
        scanner.end()?;
        Ok(Raw(text.slice(place)))
    }

    /// Wraps a constant that is known to be valid JSON. Debug builds check it.
    pub fn from_static(text: &'static str) -> Raw {
        let raw = Raw(Bytes::from_static(text.as_bytes()));
        debug_assert_eq!(
            Raw::parse(raw.0.clone()).as_ref(),
            Ok(&raw),
            "not JSON: {text}"
        );
        raw
    }

    /// Serialises any value. Our own types always have a JSON form.
    pub fn from_serialize<T: serde::Serialize + ?Sized>(value: &T) -> Raw {
        let text = serde_json::to_vec(value).expect("our own types have JSON forms");
        Raw(Bytes::from(text))
    }

    /// Returns `text` as a JSON string.
    pub fn string(text: &str) -> Raw {
        Raw::from_serialize(text)
    }

    pub fn number(n: u64) -> Raw {
        Raw(Bytes::from(n.to_string()))
    }

    /// Returns `{}`.
    pub fn empty_object() -> Raw {
        Raw::from_static("{}")
    }

    pub fn kind(&self) -> Kind {
        match self.0.first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the value as text. UTF-8 is checked again, because only `blocks` may use unsafe
    /// code, so avoid this for large values on a hot path.
    pub fn as_str(&self) -> &str {
        text::utf8(&self.0)
    }

    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// Returns a copy with its own bytes, for values that outlive the message they came from: a
    /// slice would keep the whole message in memory.
    pub fn detached(&self) -> Raw {
        Raw(Bytes::copy_from_slice(&self.0))
    }

    /// Returns the same value. `owner` is dropped together with the last slice of it.
    pub fn keeping(self, owner: impl Send + 'static) -> Raw {
        Raw(keeping(self.0, owner))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns false: an empty text is not a JSON value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns the decoded text of a JSON string; `None` for any other kind. A lone surrogate
    /// escape becomes U+FFFD.
    pub fn as_text(&self) -> Option<Cow<'_, str>> {
        (self.kind() == Kind::String).then(|| text::decode(&self.0[1..self.0.len() - 1]))
    }

    /// Returns a whole number. `5.0` counts as 5.
    pub fn as_u64(&self) -> Option<u64> {
        self.integer()?.parse().ok()
    }

    /// Returns a whole number. `-5.0` counts as -5.
    pub fn as_i64(&self) -> Option<i64> {
        self.integer()?.parse().ok()
    }

    pub fn as_bool(&self) -> Option<bool> {
        match &self.0[..] {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    /// Decodes the value with serde, for small values that are interpreted completely.
    pub fn decode<'de, T: serde::Deserialize<'de>>(&'de self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }

    /// Iterates over the members of an object in their order, with decoded keys. Empty for other
    /// kinds.
    pub fn members(&self) -> impl Iterator<Item = (Cow<'_, str>, Raw)> {
        self.entries()
            .map(|(key, value)| (text::decode(&self.0[key]), self.slice(value)))
    }

    /// Iterates over the elements of an array. Empty for other kinds.
    pub fn elements(&self) -> impl Iterator<Item = Raw> {
        let mut scanner = Scanner::new(&self.0);
        let mut first = true;
        let mut open = scanner.take(b'[');
        std::iter::from_fn(move || {
            open = open
                && scanner
                    .next_element(std::mem::take(&mut first))
                    .unwrap_or(false);
            open.then(|| self.slice(scanner.skip()))
        })
    }

    /// Returns the value of the first member with this name.
    pub fn member(&self, name: &str) -> Option<Raw> {
        let (_, value) = self.entries().find(|(key, _)| self.is_key(key, name))?;
        Some(self.slice(value))
    }

    /// Returns several members in one pass. A duplicate name is an error: the gateway and the peer
    /// might read different values, which would bypass every check made on the first one.
    pub fn pick<const N: usize>(&self, names: [&str; N]) -> Result<[Option<Raw>; N], Error> {
        let mut picked = [const { None }; N];
        for (key, value) in self.entries() {
            let Some(slot) = names.iter().position(|name| self.is_key(&key, name)) else {
                continue;
            };
            if picked[slot].replace(self.slice(value)).is_some() {
                return Err(Error {
                    offset: key.start,
                    reason: Reason::DuplicateMember,
                });
            }
        }
        Ok(picked)
    }

    /// Starts an edit, see [`Edit`].
    pub fn edit(&self) -> Edit<'_> {
        Edit::new(self)
    }

    /// Wraps bytes that a [`Scanner`] has validated as one value. With other bytes, the results of
    /// all methods are unspecified.
    pub fn from_checked(bytes: Bytes) -> Raw {
        Raw(bytes)
    }

    /// Iterates over the ranges of an object's keys, without their quotes, and of its values.
    fn entries(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let mut scanner = Scanner::new(&self.0);
        let mut first = true;
        let mut open = scanner.take(b'{');
        std::iter::from_fn(move || {
            let key = match open {
                true => scanner.next_key(std::mem::take(&mut first)).ok().flatten(),
                false => None,
            };
            open = key.is_some();
            key.map(|key| (key, scanner.skip()))
        })
    }

    fn is_key(&self, place: &Range<usize>, name: &str) -> bool {
        text::equals(&self.0[place.clone()], name)
    }

    fn slice(&self, place: Range<usize>) -> Raw {
        Raw(self.0.slice(place))
    }

    /// Returns the digits of a whole number, with its sign.
    fn integer(&self) -> Option<&str> {
        if self.kind() != Kind::Number {
            return None;
        }
        let text = self.as_str();
        match text.split_once('.') {
            Some((whole, fraction)) => fraction.bytes().all(|byte| byte == b'0').then_some(whole),
            None => Some(text),
        }
    }
}

/// Returns the same bytes. `owner` is dropped together with the last slice of them.
pub fn keeping(bytes: Bytes, owner: impl Send + 'static) -> Bytes {
    struct Kept<T>(Bytes, T);
    impl<T> AsRef<[u8]> for Kept<T> {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    Bytes::from_owner(Kept(bytes, owner))
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests;
