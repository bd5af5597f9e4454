//! Masking: JSON in, the same JSON out with the middle of its longest strings
//! cut out.
//!
//! The text is never made into a tree. The grammar and the loop over long
//! strings are those of `narrows-json`; `string` measures the strings that they
//! lead to. What is not cut is copied as it came, and if nothing is cut, nothing
//! is copied at all.

mod answer;
mod reason;
mod string;

use std::borrow::Cow;
use std::fmt::Write;
use std::num::NonZeroUsize;

use narrows_json::ParseResult;
use narrows_json::blocks::{Engine, Input, StringEnd};
use narrows_json::grammar::{Role, Visitor, parse};

use crate::NotJson;
pub use answer::{AnswerMask, MaskedAnswer};
use string::{Cut, Limits, key, value};

/// Which strings are too long, and what is left of them. Lengths are in
/// characters (Unicode scalar values) as the string means them: an escape is
/// one, and so are a surrogate pair of escapes and a surrogate that stands
/// alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mask {
    /// Nothing is cut; the text is checked all the same.
    Off,
    /// Strings of more than `max_chars` characters keep their first
    /// `head_chars` and their last `tail_chars`. These may overlap.
    Beyond {
        max_chars: NonZeroUsize,
        head_chars: usize,
        tail_chars: usize,
    },
}

impl Mask {
    /// The limits as people write them: `max_chars` of zero or less means off.
    pub fn new(max_chars: i64, head_chars: usize, tail_chars: usize) -> Mask {
        // A limit beyond the address space is one that no string reaches.
        let max_chars = match max_chars {
            ..=0 => 0,
            more => usize::try_from(more).unwrap_or(usize::MAX),
        };
        match NonZeroUsize::new(max_chars) {
            None => Mask::Off,
            Some(max_chars) => Mask::Beyond {
                max_chars,
                head_chars,
                tail_chars,
            },
        }
    }
}

impl Default for Mask {
    fn default() -> Mask {
        Mask::new(4000, 2000, 2000)
    }
}

/// A text after masking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked<'a> {
    /// The JSON text; borrowed if nothing was cut.
    pub text: Cow<'a, str>,
    /// How many strings were cut.
    pub cut_strings: usize,
    /// How many characters are no longer there, markers not counted.
    pub cut_chars: usize,
}

/// Cuts the middle out of every string value that is too long, at any depth;
/// keys are never touched. The text may be any one JSON value with white space
/// around it, such as the slice of a message that holds its result.
pub fn mask<'a>(json: &'a [u8], limits: &Mask) -> Result<Masked<'a>, NotJson> {
    mask_on(Engine::best(), json, limits)
}

/// Whether a text is JSON, at any depth and whatever its numbers; if not, where
/// it stops being so.
pub(crate) fn check(json: &str) -> Result<(), NotJson> {
    mask(json.as_bytes(), &Mask::Off).map(drop)
}

/// [`mask`] without the instructions that only some machines have. The output
/// is the same; benches and fuzzers hold the two against each other.
#[doc(hidden)]
pub fn mask_portably<'a>(json: &'a [u8], limits: &Mask) -> Result<Masked<'a>, NotJson> {
    mask_on(Engine::Portable, json, limits)
}

fn mask_on<'a>(engine: Engine, json: &'a [u8], limits: &Mask) -> Result<Masked<'a>, NotJson> {
    let strings = |text| Strings {
        engine,
        limits: Limits::new(limits),
        cuts: Cuts::new(text),
    };
    match parse(json, strings) {
        Ok(strings) => Ok(strings.cuts.finish()),
        Err(error) => Err(NotJson::at(json, error.offset, reason::text(error.reason))),
    }
}

/// Cuts the strings of a whole text.
struct Strings<'a> {
    engine: Engine,
    limits: Limits,
    cuts: Cuts<'a>,
}

impl Visitor for Strings<'_> {
    #[inline(always)]
    fn string(
        &mut self,
        role: Role,
        text: &[u8],
        start: usize,
        _input: Input,
    ) -> ParseResult<StringEnd> {
        let end = match role {
            Role::Key => key(self.engine, text, start),
            Role::Value => value(self.engine, text, start, &self.limits, &mut self.cuts),
        };
        end.map(StringEnd::Quote)
    }

    fn rest_of_string(&mut self, _: Role, _: &[u8], _: Input) -> ParseResult<StringEnd> {
        unreachable!("the text is whole")
    }
}

/// The output, which begins to exist with the first cut.
struct Cuts<'a> {
    text: &'a str,
    out: String,
    /// What stands before this is in `out`, as far as it was kept.
    copied: usize,
    strings: usize,
    chars: usize,
}

impl<'a> Cuts<'a> {
    fn new(text: &'a str) -> Cuts<'a> {
        Cuts {
            text,
            out: String::new(),
            copied: 0,
            strings: 0,
            chars: 0,
        }
    }

    fn cut(&mut self, cut: &Cut) {
        self.out.push_str(&self.text[self.copied..cut.head_end]);
        write!(self.out, "{}", cut.marker()).expect("a String takes all that is written to it");
        self.copied = cut.tail_start;
        self.strings += 1;
        self.chars += cut.lost();
    }

    fn finish(mut self) -> Masked<'a> {
        let text = if self.strings == 0 {
            Cow::Borrowed(self.text)
        } else {
            self.out.push_str(&self.text[self.copied..]);
            Cow::Owned(self.out)
        };
        Masked {
            text,
            cut_strings: self.strings,
            cut_chars: self.chars,
        }
    }
}

#[cfg(test)]
mod tests;
