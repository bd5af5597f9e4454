//! The grammar around the strings, as a machine that stops where a text ends
//! and goes on with the next one.
//!
//! `read` walks over whole texts in the same order and with the same words for
//! what is wrong; what both need is there. This one is a state for every place
//! at which a text may end.

use super::super::read::{Container, Nesting, literal, number, space};
use super::super::scan::{Engine, Found, Stop, Then, fault};
use super::super::string::{Limits, Measure, short};
use super::super::{Mask, mask_on};
use super::MaskedAnswer;
use super::members::Members;
use super::output::Output;

pub(super) struct Grammar {
    engine: Engine,
    mask: Mask,
    limits: Limits,
    state: State,
    nesting: Nesting,
    members: Members,
    /// Where in the output the key begins that is being read.
    key: usize,
    /// The string that is being read, if it is not a short one.
    string: Measure,
    pub(super) output: Output,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The answer.
    Start,
    Value,
    /// What an array begins with: a value, or its end.
    FirstElement,
    /// What an object begins with: a key, or its end.
    FirstKey,
    Key,
    /// The rest of a key.
    InKey,
    Colon,
    /// The rest of a string.
    InString,
    /// The rest of a number, of which this was the last.
    InNumber(Digit),
    /// A comma or the end of what is open.
    Comma,
}

impl Grammar {
    pub(super) fn new(engine: Engine, mask: Mask) -> Grammar {
        Grammar {
            engine,
            mask,
            limits: Limits::new(&mask),
            state: State::Start,
            nesting: Nesting::default(),
            members: Members::default(),
            key: 0,
            string: Measure::new(0, 0, &Limits::OFF),
            output: Output::default(),
        }
    }

    /// Reads a text as far as it can be judged; says how far.
    pub(super) fn read(&mut self, text: &[u8], then: Then) -> Found {
        let read = self.walk(text, then)?;
        self.output.copy(text, read);
        self.output.begin_text();
        self.string.begin_text();
        Ok(read)
    }

    /// The answer, after all of it was read.
    pub(super) fn finish(self) -> MaskedAnswer {
        let is_answer = self.members.is_answer();
        let (mut cut_strings, mut cut_chars) = (self.output.cut_strings, self.output.cut_chars);
        let mut body = self.output.into_bytes();
        let unmasked = self.members.unmasked();
        if let Some(first) = unmasked.first().map(|data| data.start) {
            let rest = body.split_off(first);
            let mut copied = 0;
            for data in unmasked {
                let (start, end) = (data.start - first, data.end - first);
                body.extend_from_slice(&rest[copied..start]);
                let masked = mask_on(self.engine, &rest[start..end], &self.mask)
                    .expect("a value that was read is JSON");
                body.extend_from_slice(masked.text.as_bytes());
                cut_strings += masked.cut_strings;
                cut_chars += masked.cut_chars;
                copied = end;
            }
            body.extend_from_slice(&rest[copied..]);
        }
        MaskedAnswer {
            body,
            is_answer,
            cut_strings,
            cut_chars,
        }
    }

    fn walk(&mut self, text: &[u8], then: Then) -> Found {
        let mut at = 0;
        // The states stand in the order in which they mostly follow each other,
        // so that each is left for the one below it.
        let mut state = self.state;
        loop {
            if state == State::Start {
                if text.starts_with("\u{FEFF}".as_bytes()) {
                    return fault(0, "a byte order mark");
                }
                if text.is_empty() {
                    return self.wait(state, at, then);
                }
                state = State::Value;
            }
            if state == State::FirstKey {
                at = space(text, at);
                match text.get(at) {
                    Some(b'}') => {
                        self.nesting.pop();
                        at += 1;
                        state = State::Comma;
                    }
                    Some(_) => state = State::Key,
                    None => return self.wait(state, at, then),
                }
            }
            if state == State::Key {
                at = space(text, at);
                match text.get(at) {
                    Some(b'"') => {}
                    Some(_) => return fault(at, NO_KEY),
                    None => return self.wait(state, at, then),
                }
                self.key = self.output.shift().wrapping_add(at + 1);
                match short(text, at + 1) {
                    Some(end) => {
                        at = end + 1;
                        self.name(text, at);
                        state = State::Colon;
                    }
                    None => {
                        at += 1;
                        self.string = Measure::new(at, 0, &Limits::OFF);
                        state = State::InKey;
                    }
                }
            }
            if state == State::InKey {
                match self.string(text, then, Limits::OFF)? {
                    Stop::End(end) | Stop::At(end) => at = end + 1,
                    Stop::More(place) => return self.wait(state, place, then),
                }
                self.name(text, at);
                state = State::Colon;
            }
            if state == State::Colon {
                at = space(text, at);
                match text.get(at) {
                    Some(b':') => at += 1,
                    Some(_) => return fault(at, NO_COLON),
                    None => return self.wait(state, at, then),
                }
                let depth = self.nesting.depth();
                if depth <= Members::DEEPEST {
                    let place = self.output.shift().wrapping_add(at);
                    self.members.value_begins(depth, place);
                }
                state = State::Value;
            }
            if state == State::FirstElement {
                at = space(text, at);
                match text.get(at) {
                    Some(b']') => {
                        self.nesting.pop();
                        at += 1;
                        state = State::Comma;
                    }
                    Some(_) => state = State::Value,
                    None => return self.wait(state, at, then),
                }
            }
            if state == State::Value {
                at = space(text, at);
                match text.get(at) {
                    Some(b'"') => {
                        let limits = self.limits_here();
                        match short(text, at + 1) {
                            // It cannot have more characters than bytes.
                            Some(end) if end - at - 1 <= limits.max => {
                                at = end + 1;
                                state = State::Comma;
                            }
                            _ => {
                                at += 1;
                                let noted = self.output.shift().wrapping_add(at);
                                self.string = Measure::new(at, noted, &limits);
                                state = State::InString;
                            }
                        }
                    }
                    Some(b'{') => {
                        self.nesting.push(Container::Object);
                        at += 1;
                        state = State::FirstKey;
                        continue;
                    }
                    Some(b'[') => {
                        self.nesting.push(Container::Array);
                        at += 1;
                        state = State::FirstElement;
                        continue;
                    }
                    Some(&byte @ (b'-' | b'0'..=b'9')) => match number(text, at) {
                        Ok(end) if end < text.len() => {
                            at = end;
                            state = State::Comma;
                        }
                        _ => {
                            at += 1;
                            state = State::InNumber(Digit::first(byte));
                        }
                    },
                    Some(&byte @ (b't' | b'f' | b'n')) => {
                        let word: &[u8] = match byte {
                            b't' => b"true",
                            b'f' => b"false",
                            _ => b"null",
                        };
                        if then == Then::More && text.len() - at < word.len() {
                            return self.wait(state, at, then);
                        }
                        at = literal(text, at, word)?;
                        state = State::Comma;
                    }
                    Some(_) => return fault(at, "no value where one is expected"),
                    None => return self.wait(state, at, then),
                }
            }
            if state == State::InString {
                let limits = self.limits_here();
                match self.string(text, then, limits)? {
                    Stop::End(end) | Stop::At(end) => at = end + 1,
                    Stop::More(place) => return self.wait(state, place, then),
                }
                state = State::Comma;
            }
            if let State::InNumber(digit) = state {
                let mut digit = digit;
                loop {
                    let next = text.get(at).map(|byte| digit.next(*byte));
                    match next {
                        Some(Some(next)) => digit = next,
                        None if then == Then::More => {
                            return self.wait(State::InNumber(digit), at, then);
                        }
                        _ if !digit.may_be_last() => return fault(at, NO_DIGIT),
                        _ => break,
                    }
                    at += 1;
                }
                state = State::Comma;
            }
            while state == State::Comma {
                at = space(text, at);
                let Some(&byte) = text.get(at) else {
                    return self.wait(state, at, then);
                };
                let depth = self.nesting.depth();
                if depth <= Members::DEEPEST {
                    let place = self.output.shift().wrapping_add(at);
                    self.members.value_ended(depth, place, self.limits.max);
                }
                match (byte, self.nesting.top()) {
                    (b',', Some(Container::Object)) => state = State::Key,
                    (b',', Some(Container::Array)) => state = State::Value,
                    (b'}', Some(Container::Object)) | (b']', Some(Container::Array)) => {
                        self.nesting.pop();
                    }
                    (_, top) => return fault(at, no_comma(top)),
                }
                at += 1;
            }
        }
    }

    /// The text has ended, as far as it can be judged.
    fn wait(&mut self, state: State, at: usize, then: Then) -> Found {
        self.state = state;
        if then == Then::More {
            return Ok(at);
        }
        match (state, self.nesting.top()) {
            (State::Comma, None) => Ok(at),
            (State::Comma, top) => fault(at, no_comma(top)),
            (State::FirstKey | State::Key | State::InKey, _) => fault(at, NO_KEY),
            (State::Colon, _) => fault(at, NO_COLON),
            (State::InNumber(_), _) => fault(at, NO_DIGIT),
            (State::Start | State::Value | State::FirstElement | State::InString, _) => {
                fault(at, "the end of the text where a value is expected")
            }
        }
    }

    /// Reads on in a long string, and cuts it at its end.
    fn string(&mut self, text: &[u8], then: Then, limits: Limits) -> Found<Stop> {
        let (engine, output) = (self.engine, &mut self.output);
        let stop = self
            .string
            .advance(engine, &limits, text, then, output.shift())?;
        if let Some(middle) = self.string.middle(&limits) {
            output.take_out(text, middle.clone());
            self.string.forget(middle);
        }
        if let Stop::End(end) = stop
            && self.string.is_longer(&limits)
        {
            output.copy(text, end + 1);
            let quote = output.bytes().len() - 1;
            if let Some(cut) = self.string.cut(engine, &limits, output.bytes(), quote)? {
                output.cut(&cut);
            }
        }
        Ok(stop)
    }

    /// A key has ended before this place.
    #[inline(always)]
    fn name(&mut self, text: &[u8], end: usize) {
        let depth = self.nesting.depth();
        if depth <= Members::DEEPEST {
            self.output.copy(text, end);
            let bytes = self.output.bytes();
            self.members.key(depth, &bytes[self.key..bytes.len() - 1]);
        }
    }

    #[inline(always)]
    fn limits_here(&self) -> Limits {
        match self.members.in_result() {
            true => self.limits,
            false => Limits::OFF,
        }
    }
}

const NO_KEY: &str = "no key where one is expected";
const NO_COLON: &str = "no colon after a key";
const NO_DIGIT: &str = "no digit where a number needs one";

fn no_comma(open: Option<Container>) -> &'static str {
    match open {
        Some(Container::Object) => "neither a comma nor a closing brace",
        Some(Container::Array) => "neither a comma nor a closing bracket",
        None => "more text after the value",
    }
}

/// A byte of a number, by what may follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Digit {
    Minus,
    /// A zero at the beginning, which stands alone.
    Zero,
    Whole,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

impl Digit {
    fn first(byte: u8) -> Digit {
        match byte {
            b'-' => Digit::Minus,
            b'0' => Digit::Zero,
            _ => Digit::Whole,
        }
    }

    fn next(self, byte: u8) -> Option<Digit> {
        match (self, byte) {
            (Digit::Minus, b'0') => Some(Digit::Zero),
            (Digit::Minus | Digit::Whole, b'0'..=b'9') => Some(Digit::Whole),
            (Digit::Zero | Digit::Whole, b'.') => Some(Digit::Point),
            (Digit::Point | Digit::Fraction, b'0'..=b'9') => Some(Digit::Fraction),
            (Digit::Zero | Digit::Whole | Digit::Fraction, b'e' | b'E') => Some(Digit::E),
            (Digit::E, b'+' | b'-') => Some(Digit::Sign),
            (Digit::E | Digit::Sign | Digit::Exponent, b'0'..=b'9') => Some(Digit::Exponent),
            _ => None,
        }
    }

    fn may_be_last(self) -> bool {
        match self {
            Digit::Zero | Digit::Whole | Digit::Fraction | Digit::Exponent => true,
            Digit::Minus | Digit::Point | Digit::E | Digit::Sign => false,
        }
    }
}
