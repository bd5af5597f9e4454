//! Finds the ends of keys and values, and the positions at which to cut a value.

use std::fmt::Display;
use std::ops::Range;

use narrows_json::ParseResult;
use narrows_json::blocks::{BLOCK, Cursor, Engine, Input, Stop, StringEnd};
use narrows_json::string::short;

use super::{Cuts, Mask};

/// [`Mask`] in a form without special cases: if masking is off, no string is long enough.
#[derive(Clone, Copy)]
pub(super) struct MaskLimits {
    pub(super) max: usize,
    head: usize,
    tail: usize,
}

impl MaskLimits {
    pub(super) const OFF: MaskLimits = MaskLimits {
        max: usize::MAX,
        head: usize::MAX,
        tail: 0,
    };

    pub(super) fn new(mask: &Mask) -> MaskLimits {
        match *mask {
            Mask::Off => MaskLimits::OFF,
            Mask::Beyond {
                max_chars,
                head_chars,
                tail_chars,
            } => MaskLimits {
                max: max_chars.get(),
                head: head_chars,
                tail: tail_chars,
            },
        }
    }
}

/// The positions at which a string that is too long is cut.
pub(super) struct StringCut {
    /// The length of the whole string, in characters.
    pub(super) chars: usize,
    /// The number of characters kept at the beginning, and the position where they end.
    pub(super) head: usize,
    pub(super) head_end: usize,
    /// The number of characters kept at the end, and the position where they begin.
    pub(super) tail: usize,
    pub(super) tail_start: usize,
}

impl StringCut {
    /// Returns the text that replaces the removed part.
    pub(super) fn marker(&self) -> impl Display {
        let StringCut {
            chars, head, tail, ..
        } = *self;
        // The newlines are escaped, because the marker is inside a JSON string.
        std::fmt::from_fn(move |out| {
            write!(
                out,
                "\\n... [KIMI_PROXY_OBSERVATION_MASKED original_chars={chars} head={head} tail={tail}] ...\\n"
            )
        })
    }

    /// Returns the number of removed characters.
    pub(super) fn lost(&self) -> usize {
        self.chars
            .saturating_sub(self.head.saturating_add(self.tail))
    }
}

/// Returns the position of the closing quote of the key whose first character is at `start`.
#[inline(always)]
pub(super) fn key(engine: Engine, text: &[u8], start: usize) -> ParseResult {
    match short::<4, false>(text, start) {
        Some(end) => Ok(end),
        None => long_key(engine, text, start),
    }
}

/// Returns the position of the closing quote of the value whose first character is at `start`, and
/// cuts the value if it is too long.
#[inline(always)]
pub(super) fn value(
    engine: Engine,
    text: &[u8],
    start: usize,
    limits: &MaskLimits,
    cuts: &mut Cuts<'_>,
) -> ParseResult {
    match short::<4, false>(text, start) {
        // A string never has more characters than bytes.
        Some(end) if end - start <= limits.max => Ok(end),
        _ => long_value(engine, text, start, limits, cuts),
    }
}

#[inline(never)]
fn long_key(engine: Engine, text: &[u8], start: usize) -> ParseResult {
    let end = engine.skip(&mut Cursor::new(start), text, Input::Complete)?;
    let (StringEnd::Quote(end) | StringEnd::Partial(end)) = end;
    Ok(end)
}

#[inline(never)]
fn long_value(
    engine: Engine,
    text: &[u8],
    start: usize,
    limits: &MaskLimits,
    cuts: &mut Cuts<'_>,
) -> ParseResult {
    let mut measure = Measure::new(start, start, limits);
    let end = measure.advance(engine, limits, text, Input::Complete, 0)?;
    let (StringEnd::Quote(end) | StringEnd::Partial(end)) = end;
    if let Some(cut) = measure.cut(engine, limits, text, end)? {
        cuts.cut(&cut);
    }
    Ok(end)
}

/// The part of a long value that has been read, and the positions needed to cut the value at its
/// end.
///
/// The positions may refer to a different text than the one that is read, if the value is copied
/// there at the same time. They are shifted when they are recorded.
pub(super) struct Measure {
    cursor: Cursor,
    target: usize,
    head_end: Option<usize>,
    /// The start of the tail is unknown until the string ends. Two of the positions passed are
    /// kept, further apart than a tail is long (a cursor stops up to one block before its target).
    /// The older one is therefore before the tail wherever the string ends.
    passed: [Cursor; 2],
}

impl Measure {
    /// Starts a string whose first character is at `start`, and at `noted` in the text that
    /// recorded positions refer to.
    pub(super) fn new(start: usize, noted: usize, limits: &MaskLimits) -> Measure {
        Measure {
            cursor: Cursor::new(start),
            target: limits.head,
            head_end: None,
            passed: [Cursor::new(noted); 2],
        }
    }

    /// Reads to the end of the string, or of the part that has arrived.
    pub(super) fn advance(
        &mut self,
        engine: Engine,
        limits: &MaskLimits,
        text: &[u8],
        input: Input,
        shift: usize,
    ) -> ParseResult<StringEnd> {
        let step = limits.tail.max(SMALLEST_STEP).saturating_add(BLOCK);
        loop {
            match engine.count(&mut self.cursor, text, self.target, input)? {
                Stop::Target(place) => {
                    self.head_end.get_or_insert(place.wrapping_add(shift));
                    let noted = self.cursor.moved_to(self.cursor.at().wrapping_add(shift));
                    self.passed = [self.passed[1], noted];
                    self.target = self.cursor.chars().saturating_add(step);
                }
                Stop::End(end) => return Ok(end),
            }
        }
    }

    pub(super) fn is_longer(&self, limits: &MaskLimits) -> bool {
        self.cursor.chars() > limits.max
    }

    /// Continues at the beginning of the next text; the previous one is gone.
    pub(super) fn begin_text(&mut self) {
        self.cursor = self.cursor.moved_to(0);
    }

    /// Returns the span that will be removed wherever the string ends: from the end of its head to
    /// a position before any possible tail.
    pub(super) fn middle(&self, limits: &MaskLimits) -> Option<Range<usize>> {
        let head_end = self.head_end.filter(|_| self.is_longer(limits))?;
        let end = self.before_tail(limits).at();
        (end > head_end).then_some(head_end..end)
    }

    /// Adjusts the recorded positions after the middle has been removed.
    pub(super) fn forget(&mut self, middle: Range<usize>) {
        // A position inside the middle is no more useful than the one at its end.
        self.passed = self
            .passed
            .map(|cursor| match cursor.at() < middle.end {
                true => self.passed[1],
                false => cursor,
            })
            .map(|cursor| cursor.moved_to(cursor.at() - middle.len()));
    }

    /// Returns the cut of a string whose closing quote is at `end`, or `None` if the string is
    /// short enough.
    pub(super) fn cut(
        &self,
        engine: Engine,
        limits: &MaskLimits,
        text: &[u8],
        end: usize,
    ) -> ParseResult<Option<StringCut>> {
        if !self.is_longer(limits) {
            return Ok(None);
        }
        let chars = self.cursor.chars();
        let tail = limits.tail.min(chars);
        let mut back = self.before_tail(limits);
        let stop = engine.count(&mut back, text, chars - tail, Input::Complete)?;
        let (Stop::Target(tail_start)
        | Stop::End(StringEnd::Quote(tail_start) | StringEnd::Partial(tail_start))) = stop;
        Ok(Some(StringCut {
            chars,
            head: limits.head.min(chars),
            head_end: self.head_end.unwrap_or(end),
            tail,
            tail_start,
        }))
    }

    /// Returns the last recorded position before the tail, if the string ended now.
    fn before_tail(&self, limits: &MaskLimits) -> Cursor {
        let skipped = self.cursor.chars().saturating_sub(limits.tail);
        let [older, newer] = self.passed;
        match newer.chars() <= skipped {
            true => newer,
            false => older,
        }
    }
}

/// Shorter steps would cost more than reading back from them.
const SMALLEST_STEP: usize = 1024;
