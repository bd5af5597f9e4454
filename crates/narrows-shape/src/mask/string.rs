//! Strings: where a key ends, where a value ends, and where to cut one.
//!
//! Most strings are short and end within their first few bytes; those are
//! passed here, by words of 8 bytes. All others are left to the walk over
//! blocks in `scan`.

use std::fmt::Display;
use std::ops::Range;

use super::scan::{BLOCK, Engine, Found, Stop, Then, Walk};
use super::{Cuts, Mask};

/// [`Mask`] in the form that needs no more questions: when masking is off, no
/// string is long enough.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) max: usize,
    head: usize,
    tail: usize,
}

impl Limits {
    pub(super) const OFF: Limits = Limits {
        max: usize::MAX,
        head: usize::MAX,
        tail: 0,
    };

    pub(super) fn new(mask: &Mask) -> Limits {
        match *mask {
            Mask::Off => Limits::OFF,
            Mask::Beyond {
                max_chars,
                head_chars,
                tail_chars,
            } => Limits {
                max: max_chars.get(),
                head: head_chars,
                tail: tail_chars,
            },
        }
    }
}

/// What is left of a string that was too long.
pub(super) struct Cut {
    /// How long it was, in characters.
    pub(super) chars: usize,
    /// How many characters are kept of its beginning, and where they end.
    pub(super) head: usize,
    pub(super) head_end: usize,
    /// How many characters are kept of its end, and where they begin.
    pub(super) tail: usize,
    pub(super) tail_start: usize,
}

impl Cut {
    /// What stands in place of what was cut out.
    pub(super) fn marker(&self) -> impl Display {
        let Cut {
            chars, head, tail, ..
        } = *self;
        // The newlines are escaped, this being inside a JSON string.
        std::fmt::from_fn(move |out| {
            write!(
                out,
                "\\n... [KIMI_PROXY_OBSERVATION_MASKED original_chars={chars} head={head} tail={tail}] ...\\n"
            )
        })
    }

    /// How many characters are no longer there.
    pub(super) fn lost(&self) -> usize {
        self.chars
            .saturating_sub(self.head.saturating_add(self.tail))
    }
}

/// The end of the key whose opening quote stands at `quote`.
#[inline(always)]
pub(super) fn key(engine: Engine, text: &[u8], quote: usize) -> Found {
    match short(text, quote + 1) {
        Some(end) => Ok(end + 1),
        None => long_key(engine, text, quote + 1),
    }
}

/// The end of the value whose opening quote stands at `quote`, after it was
/// cut if it is too long.
#[inline(always)]
pub(super) fn value(
    engine: Engine,
    text: &[u8],
    quote: usize,
    limits: &Limits,
    cuts: &mut Cuts<'_>,
) -> Found {
    match short(text, quote + 1) {
        // It cannot have more characters than bytes.
        Some(end) if end - quote - 1 <= limits.max => Ok(end + 1),
        _ => long_value(engine, text, quote + 1, limits, cuts),
    }
}

#[inline(never)]
fn long_key(engine: Engine, text: &[u8], start: usize) -> Found {
    // No string has so many characters: this stops at its end.
    let most = usize::MAX;
    let mut walk = Walk::new(start);
    let (Stop::End(end) | Stop::At(end) | Stop::More(end)) =
        engine.advance(&mut walk, text, most, Then::End)?;
    Ok(end + 1)
}

#[inline(never)]
fn long_value(
    engine: Engine,
    text: &[u8],
    start: usize,
    limits: &Limits,
    cuts: &mut Cuts<'_>,
) -> Found {
    let mut measure = Measure::new(start, start, limits);
    let (Stop::End(end) | Stop::At(end) | Stop::More(end)) =
        measure.advance(engine, limits, text, Then::End, 0)?;
    if let Some(cut) = measure.cut(engine, limits, text, end)? {
        cuts.cut(&cut);
    }
    Ok(end + 1)
}

/// The walk over a value that may be too long, with what has to be remembered
/// for cutting it once its end is found.
///
/// Its places may be those of another text than the one walked over, to which
/// that is copied on the way: they are shifted as they are noted.
pub(super) struct Measure {
    walk: Walk,
    target: usize,
    head_end: Option<usize>,
    /// Nobody knows yet where the tail will begin. Of the places passed, two
    /// are remembered, further apart than a tail is long (a walk stops up to a
    /// block before its target), so that the older of them is before it
    /// wherever the string ends.
    passed: [Walk; 2],
}

impl Measure {
    /// A string whose first character stands at `start`; in the text in which
    /// places are noted, at `noted`.
    pub(super) fn new(start: usize, noted: usize, limits: &Limits) -> Measure {
        Measure {
            walk: Walk::new(start),
            target: limits.head,
            head_end: None,
            passed: [Walk::new(noted); 2],
        }
    }

    /// Walks to the end of the string, or of what has arrived of it.
    pub(super) fn advance(
        &mut self,
        engine: Engine,
        limits: &Limits,
        text: &[u8],
        then: Then,
        shift: usize,
    ) -> Found<Stop> {
        let step = limits.tail.max(SMALLEST_STEP).saturating_add(BLOCK);
        loop {
            match engine.advance(&mut self.walk, text, self.target, then)? {
                Stop::At(place) => {
                    self.head_end.get_or_insert(place.wrapping_add(shift));
                    let noted = self.walk.moved_to(self.walk.at().wrapping_add(shift));
                    self.passed = [self.passed[1], noted];
                    self.target = self.walk.chars().saturating_add(step);
                }
                end => return Ok(end),
            }
        }
    }

    pub(super) fn is_longer(&self, limits: &Limits) -> bool {
        self.walk.chars() > limits.max
    }

    /// What was walked over is gone, and the text begins where the walk is.
    pub(super) fn begin_text(&mut self) {
        self.walk = self.walk.moved_to(0);
    }

    /// What will be cut out wherever the string ends: from the end of its head
    /// to a place that no tail reaches back to.
    pub(super) fn middle(&self, limits: &Limits) -> Option<Range<usize>> {
        let head_end = self.head_end.filter(|_| self.is_longer(limits))?;
        let end = self.before_tail(limits).at();
        (end > head_end).then_some(head_end..end)
    }

    /// The middle is no longer there: all that follows it has moved.
    pub(super) fn forget(&mut self, middle: Range<usize>) {
        // A place in the middle is of no more use than the one at its end.
        self.passed = self
            .passed
            .map(|walk| match walk.at() < middle.end {
                true => self.passed[1],
                false => walk,
            })
            .map(|walk| walk.moved_to(walk.at() - middle.len()));
    }

    /// How to cut a string whose closing quote is noted as standing at `end` of
    /// this text, unless it is short enough.
    pub(super) fn cut(
        &self,
        engine: Engine,
        limits: &Limits,
        text: &[u8],
        end: usize,
    ) -> Found<Option<Cut>> {
        if !self.is_longer(limits) {
            return Ok(None);
        }
        let chars = self.walk.chars();
        let tail = limits.tail.min(chars);
        let mut back = self.before_tail(limits);
        let (Stop::At(tail_start) | Stop::End(tail_start) | Stop::More(tail_start)) =
            engine.advance(&mut back, text, chars - tail, Then::End)?;
        Ok(Some(Cut {
            chars,
            head: limits.head.min(chars),
            head_end: self.head_end.unwrap_or(end),
            tail,
            tail_start,
        }))
    }

    /// The last remembered place before any tail, if the string ended now.
    fn before_tail(&self, limits: &Limits) -> Walk {
        let skipped = self.walk.chars().saturating_sub(limits.tail);
        let [older, newer] = self.passed;
        match newer.chars() <= skipped {
            true => newer,
            false => older,
        }
    }
}

/// Shorter steps than this would cost more than the way back from them.
const SMALLEST_STEP: usize = 1024;
const WORD: usize = 8;

/// The closing quote of a string without escapes that ends soon.
#[inline(always)]
pub(super) fn short(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    for _ in 0..4 {
        let word = text.get(at..)?.first_chunk::<WORD>()?;
        if let Some(place) = special(word) {
            at += place;
            return (text.get(at) == Some(&b'"')).then_some(at);
        }
        at += WORD;
    }
    None
}

/// Where in a word the first quote, backslash or control character stands.
#[inline(always)]
fn special(word: &[u8; WORD]) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; WORD]);
    const HIGH_BITS: u64 = ONES << 7;
    let word = u64::from_le_bytes(*word);
    // Subtracting a bound sets the high bit of a byte below it. The borrow may
    // mark bytes after a true match wrongly, but none before it.
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let marks = (quote.wrapping_sub(ONES) & !quote)
        | (backslash.wrapping_sub(ONES) & !backslash)
        | (word.wrapping_sub(ONES * 0x20) & !word);
    let marks = marks & HIGH_BITS;
    (marks != 0).then_some(marks.trailing_zeros() as usize / 8)
}
