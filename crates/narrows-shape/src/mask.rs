//! Masking: returns the same JSON with the middle of its longest strings removed.
//!
//! The text is never parsed into a tree. `narrows-json` provides the grammar and the loop over long
//! strings; `string` measures the strings. Parts that are not cut are copied unchanged, and if
//! nothing is cut, nothing is copied.

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
use string::{MaskLimits, StringCut, key, value};

/// The limit above which strings are cut, and the parts that are kept. Lengths are in characters
/// (Unicode scalar values) of the decoded string: an escape counts as one, and so do a surrogate
/// pair of escapes and an unpaired surrogate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mask {
    /// No string is cut, but the text is still checked.
    Off,
    /// Strings of more than `max_chars` characters keep their first `head_chars` and their last
    /// `tail_chars` characters. The two parts may overlap.
    Beyond {
        max_chars: NonZeroUsize,
        head_chars: usize,
        tail_chars: usize,
    },
}

impl Mask {
    /// Creates a mask from configured limits. A `max_chars` of zero or less turns masking off.
    pub fn new(max_chars: i64, head_chars: usize, tail_chars: usize) -> Mask {
        // No string reaches a limit beyond the address space.
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
    /// The number of strings that were cut.
    pub cut_strings: usize,
    /// The number of characters that were removed, markers not counted.
    pub cut_chars: usize,
}

/// Removes the middle of every string value that is too long, at any depth. Keys are never changed.
/// The text may be any one JSON value with white space around it, such as the part of a message
/// that holds its result.
pub fn mask<'a>(json: &'a [u8], limits: &Mask) -> Result<Masked<'a>, NotJson> {
    mask_on(Engine::best(), json, limits)
}

/// Checks that a text is JSON, at any depth and with any numbers. The error contains the position
/// at which the text stops being JSON.
pub(crate) fn check(json: &str) -> Result<(), NotJson> {
    mask(json.as_bytes(), &Mask::Off).map(drop)
}

/// Does the same as [`mask`] without machine-specific instructions. The output is the same; benches
/// and fuzzers compare the two.
#[doc(hidden)]
pub fn mask_portably<'a>(json: &'a [u8], limits: &Mask) -> Result<Masked<'a>, NotJson> {
    mask_on(Engine::Portable, json, limits)
}

fn mask_on<'a>(engine: Engine, json: &'a [u8], limits: &Mask) -> Result<Masked<'a>, NotJson> {
    let strings = |text| Strings {
        engine,
        limits: MaskLimits::new(limits),
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
    limits: MaskLimits,
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
        unreachable!("the whole text is given at once")
    }
}

/// The output, which is created at the first cut.
struct Cuts<'a> {
    text: &'a str,
    out: String,
    /// Everything before this position is in `out`, as far as it was kept.
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

    fn cut(&mut self, cut: &StringCut) {
        self.out.push_str(&self.text[self.copied..cut.head_end]);
        write!(self.out, "{}", cut.marker()).expect("writing to a String cannot fail");
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
