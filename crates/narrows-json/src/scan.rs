//! The one reader of JSON syntax (RFC 8259): walks over a text and says where
//! each piece ends, without building anything.
//!
//! It knows nothing of what the pieces mean. Enter at [`Scanner`]; the
//! functions below it take a place and give the next one, all by value, so
//! that on the way through a large text the place never leaves its register.

mod string;

use std::ops::Range;

use crate::Error;
use string::string;

pub(crate) use string::Search;

/// A place in a text, moved on piece by piece.
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
        self.at = space(self.text, self.at);
    }

    /// Nothing but white space may be left.
    pub fn end(&mut self) -> Result<(), Error> {
        self.space();
        match self.text.get(self.at) {
            None => Ok(()),
            Some(_) => Err(Error {
                offset: self.at,
                reason: "text after the value",
            }),
        }
    }

    /// Moves to the value of the next member of the object whose opening brace
    /// (`first`) or last value was just passed, and gives the place of its key
    /// without the quotes; `None` once the closing brace was passed.
    pub fn next_key(&mut self, first: bool) -> Result<Option<Range<usize>>, Error> {
        match next_key(self.text, self.at, first).map_err(|fault| *fault)? {
            Next::Closed(at) => {
                self.at = at;
                Ok(None)
            }
            Next::At(quote) => {
                let end = string(self.text, quote).map_err(|fault| *fault)?;
                self.at = colon(self.text, end).map_err(|fault| *fault)?;
                Ok(Some(quote + 1..end - 1))
            }
        }
    }

    /// Moves to the next element of the array whose opening bracket (`first`)
    /// or last element was just passed; false once the closing bracket was.
    pub fn next_element(&mut self, first: bool) -> Result<bool, Error> {
        let next = next_element(self.text, self.at, first).map_err(|fault| *fault)?;
        let (Next::At(at) | Next::Closed(at)) = next;
        self.at = at;
        Ok(matches!(next, Next::At(_)))
    }

    /// Checks the value that begins here and moves past it.
    pub fn value(&mut self) -> Result<Range<usize>, Error> {
        let start = self.at;
        self.at = value(self.text, start).map_err(|fault| *fault)?;
        Ok(start..self.at)
    }

    /// Moves past the value that begins here, in a text known to be valid.
    pub(crate) fn skip(&mut self) -> Range<usize> {
        let start = self.at;
        self.at = skip(self.text, start);
        start..self.at
    }
}

/// Where a piece ends, or what is wrong with it. The box keeps the answer as
/// small as two registers; most pieces are a few bytes long.
type Found<T = usize> = Result<T, Box<Error>>;

/// What follows a value inside an object or array.
#[derive(Clone, Copy)]
enum Next {
    /// Another key or value begins here.
    At(usize),
    /// The closing bracket stands before this.
    Closed(usize),
}

/// Depth costs one bit per level on the heap, never a stack frame.
fn value(text: &[u8], start: usize) -> Found {
    let mut nesting = Nesting::default();
    let mut at = start;
    loop {
        at = match text.get(at) {
            Some(b'"') => string(text, at)?,
            Some(bracket @ (b'{' | b'[')) => {
                let in_object = *bracket == b'{';
                match next_value(text, at + 1, in_object, true)? {
                    Next::Closed(end) => end,
                    Next::At(inner) => {
                        nesting.push(in_object);
                        at = inner;
                        continue;
                    }
                }
            }
            Some(b'-' | b'0'..=b'9') => number(text, at)?,
            Some(b't') => literal(text, at, b"true")?,
            Some(b'f') => literal(text, at, b"false")?,
            Some(b'n') => literal(text, at, b"null")?,
            Some(_) => return fault(at, "expected a value"),
            None => return fault(at, "the text ends early"),
        };
        // A value has ended, and with it perhaps several that it closes.
        loop {
            let Some(in_object) = nesting.top() else {
                return Ok(at);
            };
            match next_value(text, at, in_object, false)? {
                Next::At(next) => {
                    at = next;
                    break;
                }
                Next::Closed(end) => {
                    at = end;
                    nesting.pop();
                }
            }
        }
    }
}

/// Counting brackets is enough in a text known to be valid: they match.
fn skip(text: &[u8], start: usize) -> usize {
    let mut at = start;
    let mut depth = 0_usize;
    while let Some(byte) = text.get(at) {
        at = match byte {
            b'"' => string::skip(text, at),
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

#[inline(always)]
fn next_value(text: &[u8], at: usize, in_object: bool, first: bool) -> Found<Next> {
    if !in_object {
        return next_element(text, at, first);
    }
    match next_key(text, at, first)? {
        Next::At(quote) => Ok(Next::At(colon(text, string(text, quote)?)?)),
        closed => Ok(closed),
    }
}

#[inline(always)]
fn next_key(text: &[u8], at: usize, first: bool) -> Found<Next> {
    let mut at = space(text, at);
    match text.get(at) {
        Some(b'}') => return Ok(Next::Closed(at + 1)),
        Some(b',') if !first => at = space(text, at + 1),
        _ if !first => return fault(at, "expected a comma or a closing brace"),
        _ => {}
    }
    match text.get(at) {
        Some(b'"') => Ok(Next::At(at)),
        _ => fault(at, "expected a key"),
    }
}

#[inline(always)]
fn next_element(text: &[u8], at: usize, first: bool) -> Found<Next> {
    let at = space(text, at);
    match text.get(at) {
        Some(b']') => Ok(Next::Closed(at + 1)),
        _ if first => Ok(Next::At(at)),
        Some(b',') => Ok(Next::At(space(text, at + 1))),
        _ => fault(at, "expected a comma or a closing bracket"),
    }
}

#[inline(always)]
fn colon(text: &[u8], at: usize) -> Found {
    let at = space(text, at);
    match text.get(at) {
        Some(b':') => Ok(space(text, at + 1)),
        _ => fault(at, "expected a colon"),
    }
}

#[inline(always)]
fn space(text: &[u8], at: usize) -> usize {
    let mut at = at;
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

fn number(text: &[u8], at: usize) -> Found {
    let mut at = at + usize::from(text.get(at) == Some(&b'-'));
    // A leading zero stands alone: `01` is no JSON number.
    at = if text.get(at) == Some(&b'0') {
        at + 1
    } else {
        digits(text, at)?
    };
    if text.get(at) == Some(&b'.') {
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
    if at > start {
        Ok(at)
    } else {
        fault(at, "expected a digit")
    }
}

#[inline(always)]
fn literal(text: &[u8], at: usize, word: &[u8]) -> Found {
    match text[at..].starts_with(word) {
        true => Ok(at + word.len()),
        false => fault(at, "expected a value"),
    }
}

#[cold]
fn fault<T>(offset: usize, reason: &'static str) -> Found<T> {
    Err(Box::new(Error { offset, reason }))
}

/// Which of the open brackets are braces: a stack of bits. The newest word is
/// kept outside the vector, so that shallow texts allocate nothing.
#[derive(Default)]
struct Nesting {
    depth: usize,
    word: u64,
    older: Vec<u64>,
}

impl Nesting {
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.older.push(self.word);
        }
        self.word = self.word << 1 | u64::from(object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.depth -= 1;
        self.word >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.word = self
                .older
                .pop()
                .expect("a word was put by for every 64 levels");
        }
    }

    fn top(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.word & 1 == 1)
    }
}

#[cfg(test)]
mod tests;
