//! The JSON grammar (RFC 8259), implemented once for the whole project: a state machine that reads
//! a text as a whole or in chunks.
//!
//! A [`Visitor`] reads the strings and receives the positions of keys and values. Everything is
//! generic over the visitor and inlined, so that a caller pays only for its own visitor. Nesting
//! costs one bit per level on the heap and no stack frames.
//!
//! The functions at the end of this module read one token each. They take and return positions by
//! value, so that these stay in registers. [`crate::Scanner`] uses the same functions.

mod chunks;
mod nesting;
mod number;

use crate::blocks::{Input, StringEnd};
use crate::error::{Error, ParseResult, Reason, fault};
pub use chunks::{ChunkParser, LocatedError};
pub(crate) use nesting::Container;
use nesting::Nesting;
use number::{Digit, number};

/// Reads strings and follows the structure of the text.
///
/// A depth is the number of open containers: a member of the outermost object has depth 1.
pub trait Visitor {
    /// Reads the string whose first character is at `start` up to its closing quote, or as far as
    /// the text can be judged.
    fn string(
        &mut self,
        role: Role,
        text: &[u8],
        start: usize,
        input: Input,
    ) -> ParseResult<StringEnd>;

    /// Continues the string in which the last chunk ended. Not called for whole texts.
    fn rest_of_string(&mut self, role: Role, text: &[u8], input: Input) -> ParseResult<StringEnd>;

    /// Called after a key. `end` is the position after it.
    #[inline(always)]
    fn key_ended(&mut self, _depth: usize, _text: &[u8], _end: usize) {}

    /// Called after the colon of a member. The value starts after `place`.
    #[inline(always)]
    fn value_begins(&mut self, _depth: usize, _place: usize) {}

    /// Called after a value in a container. `end` is the position after it.
    #[inline(always)]
    fn value_ended(&mut self, _depth: usize, _end: usize) {}

    /// Called after a text was read up to `end`. The next text starts with the remaining bytes.
    #[inline(always)]
    fn text_ended(&mut self, _text: &[u8], _end: usize) {}
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Key,
    Value,
}

/// Reads a text that must be UTF-8 and exactly one value, possibly surrounded by white space, and
/// returns the visitor created for it.
pub fn parse<'a, V: Visitor>(
    json: &'a [u8],
    visitor: impl FnOnce(&'a str) -> V,
) -> Result<V, Error> {
    let Ok(text) = simdutf8::basic::from_utf8(json) else {
        return Err(not_utf8(json, visitor));
    };
    let mut visitor = visitor(text);
    let whole = parse_whole(json, &mut visitor);
    whole.map_err(|error| at_start(*error, json))?;
    Ok(visitor)
}

#[inline(always)]
fn parse_whole<V: Visitor>(text: &[u8], visitor: &mut V) -> ParseResult<()> {
    let end = parse_value(text, space(text, 0), visitor)?;
    end_of_text(text, end).map(drop)
}

/// Returns the error of a text that is not UTF-8. A syntax error before the invalid byte has
/// priority.
#[cold]
fn not_utf8<'a, V: Visitor>(json: &'a [u8], visitor: impl FnOnce(&'a str) -> V) -> Error {
    let valid = match simdutf8::compat::from_utf8(json) {
        Ok(text) => text.len(),
        Err(error) => error.valid_up_to(),
    };
    let before = std::str::from_utf8(&json[..valid]).unwrap_or_default();
    match parse_whole(before.as_bytes(), &mut visitor(before)) {
        Err(error) if error.offset < valid => at_start(*error, json),
        _ => Error {
            offset: valid,
            reason: Reason::NotUtf8,
        },
    }
}

/// Reports a byte order mark as the reason if it caused the error.
fn at_start(error: Error, text: &[u8]) -> Error {
    let is_mark = error.offset == 0 && text.starts_with("\u{FEFF}".as_bytes());
    Error {
        reason: if is_mark {
            Reason::ByteOrderMark
        } else {
            error.reason
        },
        ..error
    }
}

/// Returns the end of the value that starts at `at` in a whole text.
#[inline(always)]
pub(crate) fn parse_value<V: Visitor>(text: &[u8], at: usize, visitor: &mut V) -> ParseResult {
    match Parser::default().values(text, at, Input::Complete, visitor) {
        Ok(end) | Err(Halt::Paused(end)) => Ok(end),
        Err(Halt::Error(error)) => Err(error),
    }
}

/// The state machine. It pauses at the end of a chunk and continues with the next one.
#[derive(Default)]
struct Parser {
    state: State,
    nesting: Nesting,
}

/// The token that is expected next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Value,
    /// A value, or the end of the array that was just opened.
    FirstElement,
    /// A key, or the end of the object that was just opened.
    FirstKey,
    Key,
    /// The rest of a key.
    InKey,
    Colon,
    /// The rest of a string.
    InString,
    /// The rest of a number.
    InNumber(Digit),
    /// A comma, or the end of the innermost container.
    Comma,
    /// White space after the outermost value.
    End,
}

/// The reason why reading stopped before the end of the outermost value.
enum Halt {
    /// The text cannot be judged from this position on.
    Paused(usize),
    Error(Box<Error>),
}

impl From<Box<Error>> for Halt {
    #[inline(always)]
    fn from(error: Box<Error>) -> Halt {
        Halt::Error(error)
    }
}

impl Parser {
    /// Reads as much of a text as can be judged and returns the position reached.
    fn read<V: Visitor>(&mut self, text: &[u8], input: Input, visitor: &mut V) -> ParseResult {
        let end = match self.resume(text, input, visitor) {
            Ok(Next::At(value)) => self.values(text, value, input, visitor),
            Ok(Next::Closed(end)) => Ok(end),
            Err(halt) => Err(halt),
        };
        match end {
            Ok(end) => end_of_text(text, end),
            Err(Halt::Paused(at)) => Ok(at),
            Err(Halt::Error(error)) => Err(error),
        }
    }

    /// Continues where the last text ended, up to the next value or the end of the outermost one.
    #[inline(never)]
    fn resume<V: Visitor>(
        &mut self,
        text: &[u8],
        input: Input,
        visitor: &mut V,
    ) -> Result<Next, Halt> {
        let end = match self.state {
            State::Value => return Ok(Next::At(space(text, 0))),
            State::End => return Ok(Next::Closed(0)),
            State::FirstElement => {
                let first = first_element(text, 0);
                match self.or_pause(State::FirstElement, text, input, first)? {
                    Next::At(value) => return Ok(Next::At(value)),
                    Next::Closed(end) => self.closed(end),
                }
            }
            State::FirstKey => {
                let first = first_key(text, 0);
                match self.or_pause(State::FirstKey, text, input, first)? {
                    Next::At(quote) => return self.key(text, quote, input, visitor).map(Next::At),
                    Next::Closed(end) => self.closed(end),
                }
            }
            State::Key => {
                let quote = self.or_pause(State::Key, text, input, key(text, 0))?;
                return self.key(text, quote, input, visitor).map(Next::At);
            }
            State::InKey => {
                let end = visitor.rest_of_string(Role::Key, text, input)?;
                let end = self.string_end(State::InKey, end)?;
                return self.key_ended(text, end, input, visitor).map(Next::At);
            }
            State::Colon => return self.colon(text, 0, input, visitor).map(Next::At),
            State::InString => {
                let end = visitor.rest_of_string(Role::Value, text, input)?;
                self.string_end(State::InString, end)?
            }
            State::InNumber(last) => self.number(text, 0, last, input)?,
            State::Comma => return self.comma(text, 0, input, visitor),
        };
        visitor.value_ended(self.nesting.depth(), end);
        self.comma(text, end, input, visitor)
    }

    /// Reads from the start of a value to the end of the outermost one.
    #[inline(always)]
    fn values<V: Visitor>(
        &mut self,
        text: &[u8],
        start: usize,
        input: Input,
        visitor: &mut V,
    ) -> Result<usize, Halt> {
        let mut at = start;
        loop {
            let end = match text.get(at) {
                Some(b'"') => {
                    let end = visitor.string(Role::Value, text, at + 1, input)?;
                    self.string_end(State::InString, end)?
                }
                Some(b'{') => {
                    self.nesting.push(Container::Object);
                    let first = first_key(text, at + 1);
                    match self.or_pause(State::FirstKey, text, input, first)? {
                        Next::At(quote) => {
                            at = self.key(text, quote, input, visitor)?;
                            continue;
                        }
                        Next::Closed(end) => self.closed(end),
                    }
                }
                Some(b'[') => {
                    self.nesting.push(Container::Array);
                    let first = first_element(text, at + 1);
                    match self.or_pause(State::FirstElement, text, input, first)? {
                        Next::At(value) => {
                            at = value;
                            continue;
                        }
                        Next::Closed(end) => self.closed(end),
                    }
                }
                Some(b'-' | b'0'..=b'9') => self.number(text, at, Digit::Start, input)?,
                Some(b't') => self.literal(text, at, b"true", input)?,
                Some(b'f') => self.literal(text, at, b"false", input)?,
                Some(b'n') => self.literal(text, at, b"null", input)?,
                Some(_) => fault(at, Reason::NoValue)?,
                None => {
                    let missing = fault(at, Reason::NoMoreText);
                    self.or_pause(State::Value, text, input, missing)?
                }
            };
            visitor.value_ended(self.nesting.depth(), end);
            match self.comma(text, end, input, visitor)? {
                Next::At(value) => at = value,
                Next::Closed(end) => return Ok(end),
            }
        }
    }

    /// Reads from the end of a value, through the containers that close after it, to the next value
    /// or the end of the outermost one.
    #[inline(always)]
    fn comma<V: Visitor>(
        &mut self,
        text: &[u8],
        at: usize,
        input: Input,
        visitor: &mut V,
    ) -> Result<Next, Halt> {
        let mut at = at;
        loop {
            let Some(container) = self.nesting.top() else {
                self.state = State::End;
                return Ok(Next::Closed(at));
            };
            let next = comma(text, at, container);
            match self.or_pause(State::Comma, text, input, next)? {
                Next::Closed(end) => {
                    at = self.closed(end);
                    visitor.value_ended(self.nesting.depth(), end);
                }
                Next::At(behind) => match container {
                    Container::Array => return Ok(Next::At(space(text, behind))),
                    Container::Object => {
                        let quote = self.or_pause(State::Key, text, input, key(text, behind))?;
                        return self.key(text, quote, input, visitor).map(Next::At);
                    }
                },
            }
        }
    }

    /// Reads from the opening quote of a key to its value.
    #[inline(always)]
    fn key<V: Visitor>(
        &mut self,
        text: &[u8],
        quote: usize,
        input: Input,
        visitor: &mut V,
    ) -> Result<usize, Halt> {
        let end = visitor.string(Role::Key, text, quote + 1, input)?;
        let end = self.string_end(State::InKey, end)?;
        self.key_ended(text, end, input, visitor)
    }

    #[inline(always)]
    fn key_ended<V: Visitor>(
        &mut self,
        text: &[u8],
        end: usize,
        input: Input,
        visitor: &mut V,
    ) -> Result<usize, Halt> {
        visitor.key_ended(self.nesting.depth(), text, end);
        self.colon(text, end, input, visitor)
    }

    #[inline(always)]
    fn colon<V: Visitor>(
        &mut self,
        text: &[u8],
        at: usize,
        input: Input,
        visitor: &mut V,
    ) -> Result<usize, Halt> {
        let behind = self.or_pause(State::Colon, text, input, colon(text, at))?;
        visitor.value_begins(self.nesting.depth(), behind);
        Ok(space(text, behind))
    }

    /// Continues a number from its last state.
    #[inline(always)]
    fn number(
        &mut self,
        text: &[u8],
        start: usize,
        last: Digit,
        input: Input,
    ) -> Result<usize, Halt> {
        let (end, last) = number(text, start, last);
        match last {
            Ok(last) | Err(last) if input == Input::Partial && end == text.len() => {
                self.pause(State::InNumber(last), end)
            }
            Ok(_) => Ok(end),
            Err(_) => fault(end, Reason::NoDigit)?,
        }
    }

    /// Reads a literal. A literal that is cut by the end of the chunk is read again with the next
    /// one.
    #[inline(always)]
    fn literal(
        &mut self,
        text: &[u8],
        at: usize,
        word: &[u8],
        input: Input,
    ) -> Result<usize, Halt> {
        if input == Input::Partial && text.len() - at < word.len() {
            return self.pause(State::Value, at);
        }
        match text[at..].starts_with(word) {
            true => Ok(at + word.len()),
            false => fault(at, Reason::UnknownWord)?,
        }
    }

    /// Returns the position after the closing quote.
    #[inline(always)]
    fn string_end(&mut self, state: State, end: StringEnd) -> Result<usize, Halt> {
        match end {
            StringEnd::Quote(quote) => Ok(quote + 1),
            StringEnd::Partial(at) => self.pause(state, at),
        }
    }

    #[inline(always)]
    fn closed(&mut self, end: usize) -> usize {
        self.nesting.pop();
        end
    }

    #[inline(always)]
    fn pause(&mut self, state: State, at: usize) -> Result<usize, Halt> {
        self.state = state;
        Err(Halt::Paused(at))
    }

    /// Pauses if the token is missing because the chunk ends.
    #[inline(always)]
    fn or_pause<T>(
        &mut self,
        state: State,
        text: &[u8],
        input: Input,
        token: ParseResult<T>,
    ) -> Result<T, Halt> {
        match token {
            Ok(token) => Ok(token),
            Err(error) if input == Input::Partial && error.offset == text.len() => {
                self.state = state;
                Err(Halt::Paused(text.len()))
            }
            Err(error) => Err(Halt::Error(error)),
        }
    }
}

/// The token after an opening bracket, or after a value.
#[derive(Clone, Copy)]
pub(crate) enum Next {
    /// The next key or value, or the position after a comma.
    At(usize),
    /// The position after the closing bracket.
    Closed(usize),
}

/// Finds the opening quote of an object's first key, or the end of the object.
#[inline(always)]
pub(crate) fn first_key(text: &[u8], at: usize) -> ParseResult<Next> {
    let at = space(text, at);
    match text.get(at) {
        Some(b'"') => Ok(Next::At(at)),
        Some(b'}') => Ok(Next::Closed(at + 1)),
        _ => fault(at, Reason::NoKey),
    }
}

/// Finds the opening quote of the key after a comma.
#[inline(always)]
pub(crate) fn key(text: &[u8], at: usize) -> ParseResult {
    let at = space(text, at);
    match text.get(at) {
        Some(b'"') => Ok(at),
        _ => fault(at, Reason::NoKey),
    }
}

#[inline(always)]
pub(crate) fn first_element(text: &[u8], at: usize) -> ParseResult<Next> {
    let at = space(text, at);
    match text.get(at) {
        Some(b']') => Ok(Next::Closed(at + 1)),
        Some(_) => Ok(Next::At(at)),
        None => fault(at, Reason::NoMoreText),
    }
}

/// Reads the comma or closing bracket after a value in a container.
#[inline(always)]
pub(crate) fn comma(text: &[u8], at: usize, container: Container) -> ParseResult<Next> {
    let at = space(text, at);
    match (text.get(at), container) {
        (Some(b','), _) => Ok(Next::At(at + 1)),
        (Some(b'}'), Container::Object) | (Some(b']'), Container::Array) => {
            Ok(Next::Closed(at + 1))
        }
        (_, Container::Object) => fault(at, Reason::NoCommaInObject),
        (_, Container::Array) => fault(at, Reason::NoCommaInArray),
    }
}

#[inline(always)]
pub(crate) fn colon(text: &[u8], at: usize) -> ParseResult {
    let at = space(text, at);
    match text.get(at) {
        Some(b':') => Ok(at + 1),
        _ => fault(at, Reason::NoColon),
    }
}

/// Reads the white space after the outermost value.
#[inline(always)]
pub(crate) fn end_of_text(text: &[u8], at: usize) -> ParseResult {
    let at = space(text, at);
    match text.get(at) {
        None => Ok(at),
        Some(_) => fault(at, Reason::TextAfterValue),
    }
}

#[inline(always)]
pub(crate) fn space(text: &[u8], at: usize) -> usize {
    let mut at = at;
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests;
