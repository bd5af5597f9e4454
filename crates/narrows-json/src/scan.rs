//! Token-by-token traversal of a JSON text that builds no data structure.

use std::ops::Range;

use crate::Error;
use crate::blocks::{Cursor, Engine, Input, StringEnd};
use crate::error::{ParseResult, Reason, fault};
use crate::grammar::{self, Container, Next, Role, Visitor};
use crate::string::{short, string_end};

/// A position in a text that moves from token to token.
pub struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a [u8]) -> Scanner<'a> {
        Scanner { text, at: 0 }
    }

    /// Skips the next byte if it equals `byte`. Returns true if it did.
    pub fn take(&mut self, byte: u8) -> bool {
        let there = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(there);
        there
    }

    pub fn space(&mut self) {
        self.at = grammar::space(self.text, self.at);
    }

    /// Checks that only white space is left.
    pub fn end(&mut self) -> Result<(), Error> {
        self.at = grammar::end_of_text(self.text, self.at).map_err(|error| *error)?;
        Ok(())
    }

    /// Moves to the value of the next member of an object and returns the range of its key without
    /// the quotes, or `None` after the closing brace. The scanner must be just after the opening
    /// brace (`first`) or the previous value.
    pub fn next_key(&mut self, first: bool) -> Result<Option<Range<usize>>, Error> {
        match self.key(first).map_err(|error| *error)? {
            (end, None) => {
                self.at = end;
                Ok(None)
            }
            (value, Some(key)) => {
                self.at = value;
                Ok(Some(key))
            }
        }
    }

    /// Moves to the next element of an array; returns false after the closing bracket. The scanner
    /// must be just after the opening bracket (`first`) or the previous element.
    pub fn next_element(&mut self, first: bool) -> Result<bool, Error> {
        let next = match first {
            true => grammar::first_element(self.text, self.at),
            false => grammar::comma(self.text, self.at, Container::Array),
        };
        match next.map_err(|error| *error)? {
            Next::Closed(end) => {
                self.at = end;
                Ok(false)
            }
            Next::At(at) => {
                self.at = grammar::space(self.text, at);
                Ok(true)
            }
        }
    }

    /// Validates the value at the current position and moves past it.
    pub fn value(&mut self) -> Result<Range<usize>, Error> {
        let start = self.at;
        self.at = grammar::parse_value(self.text, start, &mut Check).map_err(|error| *error)?;
        Ok(start..self.at)
    }

    /// Moves past the value at the current position of a text known to be valid.
    pub(crate) fn skip(&mut self) -> Range<usize> {
        let start = self.at;
        self.at = skip(self.text, start);
        start..self.at
    }

    /// Returns the position of the next value with the range of its key, or the end of the object.
    #[inline(always)]
    fn key(&self, first: bool) -> ParseResult<(usize, Option<Range<usize>>)> {
        let text = self.text;
        let next = match first {
            true => grammar::first_key(text, self.at)?,
            false => match grammar::comma(text, self.at, Container::Object)? {
                Next::At(behind) => Next::At(grammar::key(text, behind)?),
                closed => closed,
            },
        };
        match next {
            Next::Closed(end) => Ok((end, None)),
            Next::At(quote) => {
                let end = string(text, quote + 1)?;
                let behind = grammar::colon(text, end + 1)?;
                Ok((grammar::space(text, behind), Some(quote + 1..end)))
            }
        }
    }
}

/// The visitor of a scanner, which checks UTF-8 string by string.
struct Check;

impl Visitor for Check {
    #[inline(always)]
    fn string(
        &mut self,
        _role: Role,
        text: &[u8],
        start: usize,
        _input: Input,
    ) -> ParseResult<StringEnd> {
        string(text, start).map(StringEnd::Quote)
    }

    fn rest_of_string(&mut self, _: Role, _: &[u8], _: Input) -> ParseResult<StringEnd> {
        unreachable!("a scanner reads whole texts")
    }
}

/// Returns the position of the closing quote of the string whose first character is at `start`.
#[inline(always)]
fn string(text: &[u8], start: usize) -> ParseResult {
    match short::<1, true>(text, start) {
        Some(end) => Ok(end),
        None => long_string(text, start),
    }
}

/// Searches for the first special byte. In most strings it is the closing quote, because they
/// contain no escapes.
#[inline(never)]
fn long_string(text: &[u8], start: usize) -> ParseResult {
    let engine = Engine::best();
    let (at, not_ascii) = engine.special(text, start);
    let (end, not_ascii) = match text.get(at) {
        Some(b'"') => (at, not_ascii),
        _ => {
            let mut cursor = Cursor::new(at);
            let end = engine.skip(&mut cursor, text, Input::Complete)?;
            let (StringEnd::Quote(end) | StringEnd::Partial(end)) = end;
            (end, not_ascii || cursor.not_ascii())
        }
    };
    if not_ascii {
        utf8(text, start, end)?;
    }
    Ok(end)
}

/// Checks that a range is UTF-8. Both of its ends are next to an ASCII character, like every
/// position that the scanner returns, so slices of a validated text are UTF-8 as well.
fn utf8(text: &[u8], start: usize, end: usize) -> ParseResult<()> {
    match simdutf8::compat::from_utf8(&text[start..end]) {
        Ok(_) => Ok(()),
        Err(error) => fault(start + error.valid_up_to(), Reason::NotUtf8),
    }
}

/// Finds the end of a value by counting brackets, which always match in a valid text.
fn skip(text: &[u8], start: usize) -> usize {
    let mut at = start;
    let mut depth = 0_usize;
    while let Some(byte) = text.get(at) {
        at = match byte {
            b'"' => string_end(text, at),
            b'{' | b'[' => {
                depth += 1;
                at + 1
            }
            b'}' | b']' if depth > 0 => {
                depth -= 1;
                at + 1
            }
            // Separators between the values of an object or array.
            b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' if depth > 0 => {
                at += 1;
                continue;
            }
            _ => scalar(text, at + 1),
        };
        if depth == 0 {
            break;
        }
    }
    at
}

/// Returns the end of a number or literal. `start` is the position after its first byte.
#[inline(always)]
fn scalar(text: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(b'0'..=b'9' | b'a'..=b'z' | b'E' | b'.' | b'-' | b'+') = text.get(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests;
