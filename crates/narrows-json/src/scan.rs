//! Moving through a JSON text token by token, without building anything.

use std::ops::Range;

use crate::Error;
use crate::blocks::{Cursor, Engine, Input, StringEnd};
use crate::error::{ParseResult, Reason, fault};
use crate::grammar::{self, Container, Next, Role, Visitor};
use crate::string::{short, string_end};

/// A place in a text, moved on token by token.
pub struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a [u8]) -> Scanner<'a> {
        Scanner { text, at: 0 }
    }

    /// Moves over the next byte if it is this one.
    pub fn take(&mut self, byte: u8) -> bool {
        let there = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(there);
        there
    }

    pub fn space(&mut self) {
        self.at = grammar::space(self.text, self.at);
    }

    /// Nothing but white space may be left.
    pub fn end(&mut self) -> Result<(), Error> {
        self.at = grammar::end_of_text(self.text, self.at).map_err(|error| *error)?;
        Ok(())
    }

    /// Moves to the value of the next member of the object whose opening brace
    /// (`first`) or last value was just passed, and gives the place of its key
    /// without the quotes; `None` once the closing brace was passed.
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

    /// Moves to the next element of the array whose opening bracket (`first`)
    /// or last element was just passed; false once the closing bracket was.
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

    /// Checks the value that begins here and moves past it.
    pub fn value(&mut self) -> Result<Range<usize>, Error> {
        let start = self.at;
        self.at = grammar::parse_value(self.text, start, &mut Check).map_err(|error| *error)?;
        Ok(start..self.at)
    }

    /// Moves past the value that begins here, in a text known to be valid.
    pub(crate) fn skip(&mut self) -> Range<usize> {
        let start = self.at;
        self.at = skip(self.text, start);
        start..self.at
    }

    /// The place of the next value with that of its key, or the end of the object.
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

/// Strings of a whole text, which is checked for UTF-8 string by string.
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

/// The closing quote of the string whose first character stands at `start`.
#[inline(always)]
fn string(text: &[u8], start: usize) -> ParseResult {
    match short::<1, true>(text, start) {
        Some(end) => Ok(end),
        None => long_string(text, start),
    }
}

/// Most strings have no escapes, so that the first special byte is their closing
/// quote.
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

/// Both ends stand beside an ASCII character, as does every place the scanner
/// gives out: a slice of a checked text is UTF-8 as well.
fn utf8(text: &[u8], start: usize, end: usize) -> ParseResult<()> {
    match simdutf8::compat::from_utf8(&text[start..end]) {
        Ok(_) => Ok(()),
        Err(error) => fault(start + error.valid_up_to(), Reason::NotUtf8),
    }
}

/// Counting brackets is enough in a text known to be valid: they match.
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
            // Between the values of an object or array.
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

/// The end of a number or literal whose first byte was just passed.
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
