//! The grammar (RFC 8259) around the strings: one walk over the text, which
//! says of every string whether it is a key or a value.
//!
//! `narrows-wire` walks JSON, too, to find members in it; neither crate may know
//! the other, and what both need (numbers, words) is short.
//!
//! Places are given and taken by value, so that they stay in registers. Depth
//! costs one bit per level on the heap and never a stack frame.

use super::scan::{Engine, Fault, Found, fault};
use super::string::{Limits, key, value};
use super::{Cuts, Mask};

pub(super) struct Reader<'a> {
    engine: Engine,
    text: &'a [u8],
    limits: Limits,
}

impl<'a> Reader<'a> {
    pub(super) fn new(engine: Engine, text: &'a [u8], mask: &Mask) -> Reader<'a> {
        Reader {
            engine,
            text,
            limits: Limits::new(mask),
        }
    }

    /// Walks over the whole text, which must be one value.
    pub(super) fn read(&self, cuts: &mut Cuts<'_>) -> Result<(), Box<Fault>> {
        let start = space(self.text, 0);
        if self.text.starts_with("\u{FEFF}".as_bytes()) {
            return fault(0, "a byte order mark");
        }
        let end = space(self.text, self.value(start, cuts)?);
        match self.text.get(end) {
            None => Ok(()),
            Some(_) => fault(end, "more text after the value"),
        }
    }

    fn value(&self, start: usize, cuts: &mut Cuts<'_>) -> Found {
        let text = self.text;
        let mut nesting = Nesting::default();
        let mut at = start;
        loop {
            at = match text.get(at) {
                Some(b'"') => value(self.engine, text, at, &self.limits, cuts)?,
                Some(b'{') => match text.get(space(text, at + 1)) {
                    Some(b'}') => space(text, at + 1) + 1,
                    _ => {
                        nesting.push(Container::Object);
                        at = self.key(at + 1)?;
                        continue;
                    }
                },
                Some(b'[') => match text.get(space(text, at + 1)) {
                    Some(b']') => space(text, at + 1) + 1,
                    _ => {
                        nesting.push(Container::Array);
                        at = space(text, at + 1);
                        continue;
                    }
                },
                Some(b'-' | b'0'..=b'9') => number(text, at)?,
                Some(b't') => literal(text, at, b"true")?,
                Some(b'f') => literal(text, at, b"false")?,
                Some(b'n') => literal(text, at, b"null")?,
                Some(_) => return fault(at, "no value where one is expected"),
                None => return fault(at, "the end of the text where a value is expected"),
            };
            // A value has ended, and with it perhaps several that it closes.
            at = loop {
                let Some(container) = nesting.top() else {
                    return Ok(at);
                };
                at = space(text, at);
                match (text.get(at), container) {
                    (Some(b','), Container::Object) => break self.key(at + 1)?,
                    (Some(b','), Container::Array) => break space(text, at + 1),
                    (Some(b'}'), Container::Object) | (Some(b']'), Container::Array) => {
                        nesting.pop();
                        at += 1;
                    }
                    (_, Container::Object) => {
                        return fault(at, "neither a comma nor a closing brace");
                    }
                    (_, Container::Array) => {
                        return fault(at, "neither a comma nor a closing bracket");
                    }
                }
            };
        }
    }

    /// From before a key to the value that it names.
    #[inline(always)]
    fn key(&self, at: usize) -> Found {
        let text = self.text;
        let quote = space(text, at);
        if text.get(quote) != Some(&b'"') {
            return fault(quote, "no key where one is expected");
        }
        let colon = space(text, key(self.engine, text, quote)?);
        match text.get(colon) {
            Some(b':') => Ok(space(text, colon + 1)),
            _ => fault(colon, "no colon after a key"),
        }
    }
}

#[inline(always)]
pub(super) fn space(text: &[u8], at: usize) -> usize {
    let mut at = at;
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

#[inline(always)]
pub(super) fn number(text: &[u8], at: usize) -> Found {
    let mut at = at + usize::from(text.get(at) == Some(&b'-'));
    // A leading zero stands alone: `01` is no JSON number.
    at = match text.get(at) {
        Some(b'0') => at + 1,
        _ => digits(text, at)?,
    };
    if let Some(b'.') = text.get(at) {
        at = digits(text, at + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        at += 1;
        if let Some(b'+' | b'-') = text.get(at) {
            at += 1;
        }
        at = digits(text, at)?;
    }
    Ok(at)
}

#[inline(always)]
fn digits(text: &[u8], start: usize) -> Found {
    let mut at = start;
    while let Some(b'0'..=b'9') = text.get(at) {
        at += 1;
    }
    if at == start {
        return fault(at, "no digit where a number needs one");
    }
    Ok(at)
}

#[inline(always)]
pub(super) fn literal(text: &[u8], at: usize, word: &[u8]) -> Found {
    match text.get(at..at + word.len()) == Some(word) {
        true => Ok(at + word.len()),
        false => fault(at, "a word that is neither true, false nor null"),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    Array,
    Object,
}

/// The containers that are open, innermost last: a stack of bits, set for
/// objects. The newest word is kept apart, so that shallow texts need no heap.
#[derive(Default)]
pub(super) struct Nesting {
    depth: usize,
    newest: u64,
    older: Vec<u64>,
}

impl Nesting {
    #[inline(always)]
    pub(super) fn push(&mut self, container: Container) {
        if self.depth.is_multiple_of(64) && self.depth > 0 {
            self.older.push(self.newest);
        }
        self.newest = self.newest << 1 | u64::from(matches!(container, Container::Object));
        self.depth += 1;
    }

    #[inline(always)]
    pub(super) fn pop(&mut self) {
        self.depth -= 1;
        self.newest >>= 1;
        if self.depth.is_multiple_of(64) && self.depth > 0 {
            self.newest = self.older.pop().expect("one word for every 64 levels");
        }
    }

    #[inline(always)]
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    #[inline(always)]
    pub(super) fn top(&self) -> Option<Container> {
        match (self.depth, self.newest & 1) {
            (0, _) => None,
            (_, 0) => Some(Container::Array),
            _ => Some(Container::Object),
        }
    }
}
