//! Edits of a value by splicing. All other bytes stay unchanged.

use bytes::{BufMut, BytesMut};

use super::{Kind, Raw, text};

/// A list of replacements inside one value. A position is given as a slice returned by `member`,
/// `pick`, `members` or `elements`. Such a slice shares the bytes of the edited value, so its
/// address identifies the position at any depth.
pub struct Edit<'a> {
    whole: &'a Raw,
    splices: Vec<Splice>,
}

/// New bytes that replace `cut` old bytes.
struct Splice {
    at: usize,
    cut: usize,
    /// The text before a new member's value: comma, key and colon.
    lead: Vec<u8>,
    value: Raw,
}

impl<'a> Edit<'a> {
    pub(super) fn new(whole: &'a Raw) -> Edit<'a> {
        Edit {
            whole,
            splices: Vec::new(),
        }
    }

    /// Replaces the value at `place` (a slice of the edited value).
    ///
    /// # Panics
    /// If `place` is not a slice of the edited value.
    pub fn replace(mut self, place: &Raw, with: Raw) -> Self {
        let at = self.offset(place);
        self.splices.push(Splice {
            at,
            cut: place.len(),
            lead: Vec::new(),
            value: with,
        });
        self
    }

    /// Appends a member to the object at `place` (the value itself or a slice of it).
    ///
    /// # Panics
    /// If `place` is not a slice of the edited value or is not an object.
    pub fn insert(mut self, place: &Raw, name: &str, value: Raw) -> Self {
        assert_eq!(place.kind(), Kind::Object, "only objects have members");
        let brace = self.offset(place) + place.len() - 1;
        // Two objects never share a closing brace, so an earlier splice at this position is an
        // earlier member of the same object.
        let follows = place.entries().next().is_some()
            || self.splices.iter().any(|splice| splice.at == brace);
        let key = Raw::string(name);
        let mut lead = Vec::with_capacity(key.len() + 2);
        if follows {
            lead.push(b',');
        }
        lead.extend_from_slice(key.as_bytes());
        lead.push(b':');
        self.splices.push(Splice {
            at: brace,
            cut: 0,
            lead,
            value,
        });
        self
    }

    /// Applies all edits and returns the new value.
    ///
    /// # Panics
    /// If two edits overlap.
    pub fn finish(mut self) -> Raw {
        if self.splices.is_empty() {
            return self.whole.clone();
        }
        // The sort is stable: members added at the same position keep their order.
        self.splices.sort_by_key(|splice| splice.at);
        let old = self.whole.as_bytes();
        let added: usize = self
            .splices
            .iter()
            .map(|s| s.lead.len() + s.value.len())
            .sum();
        let mut new = BytesMut::with_capacity(old.len() + added);
        let mut done = 0;
        for splice in &self.splices {
            assert!(splice.at >= done, "edits must not overlap");
            new.put_slice(&old[done..splice.at]);
            new.put_slice(&splice.lead);
            new.put_slice(splice.value.as_bytes());
            done = splice.at + splice.cut;
        }
        new.put_slice(&old[done..]);
        Raw::from_checked(new.freeze())
    }

    /// Returns the offset of `place` in the whole value. Both are slices of the same bytes, so the
    /// difference of their addresses is the offset.
    fn offset(&self, place: &Raw) -> usize {
        let whole = self.whole.as_bytes();
        (place.as_bytes().as_ptr() as usize)
            .checked_sub(whole.as_ptr() as usize)
            .filter(|at| at + place.len() <= whole.len())
            .expect("an edited place must be a slice of the edited value")
    }
}

impl Raw {
    /// Returns a copy of this object with `name` set to `value`. An existing member is replaced, a
    /// new one is appended. If the name occurs twice, one member remains: a reader that takes the
    /// last one must not find the old value there. Other kinds of values are returned unchanged.
    pub fn with_member(&self, name: &str, value: &Raw) -> Raw {
        if self.kind() != Kind::Object {
            return self.clone();
        }
        let mut named = self.entries().filter(|(key, _)| self.is_key(key, name));
        match (named.next(), named.next()) {
            (None, _) => self.edit().insert(self, name, value.clone()).finish(),
            (Some((_, place)), None) => self
                .edit()
                .replace(&self.slice(place), value.clone())
                .finish(),
            (Some(_), Some(_)) => self.rewritten(name, Some(value)),
        }
    }

    /// Returns a copy of this object without any member of this name.
    pub fn without_member(&self, name: &str) -> Raw {
        if self.entries().any(|(key, _)| self.is_key(&key, name)) {
            self.rewritten(name, None)
        } else {
            self.clone()
        }
    }

    /// Rebuilds the object from its members. The first member called `name` gets the new value, and
    /// the others of that name are omitted.
    fn rewritten(&self, name: &str, value: Option<&Raw>) -> Raw {
        let old = self.as_bytes();
        let mut value = value;
        let mut new = BytesMut::with_capacity(old.len() + value.map_or(0, Raw::len));
        new.put_u8(b'{');
        for (key, place) in self.entries() {
            // The range of the key excludes its quotes.
            let written = key.start - 1;
            let (kept, with) = if !text::equals(&old[key], name) {
                (&old[written..place.end], None)
            } else if let Some(value) = value.take() {
                (&old[written..place.start], Some(value))
            } else {
                continue;
            };
            if new.len() > 1 {
                new.put_u8(b',');
            }
            new.put_slice(kept);
            new.put_slice(with.map_or(&[], Raw::as_bytes));
        }
        new.put_u8(b'}');
        Raw::from_checked(new.freeze())
    }
}

#[cfg(test)]
mod tests;
