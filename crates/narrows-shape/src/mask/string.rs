//! Strings: where a key ends, where a value ends, and where to cut one.

use std::fmt::Display;
use std::ops::Range;

use narrows_json::ParseResult;
use narrows_json::blocks::{BLOCK, Cursor, Engine, Input, Stop, StringEnd};
use narrows_json::string::short;

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

/// The closing quote of the key whose first character stands at `start`.
#[inline(always)]
pub(super) fn key(engine: Engine, text: &[u8], start: usize) -> ParseResult {
    match short::<4, false>(text, start) {
        Some(end) => Ok(end),
        None => long_key(engine, text, start),
    }
}

/// The closing quote of the value whose first character stands at `start`, after
/// it was cut if it is too long.
#[inline(always)]
pub(super) fn value(
    engine: Engine,
    text: &[u8],
    start: usize,
    limits: &Limits,
    cuts: &mut Cuts<'_>,
) -> ParseResult {
    match short::<4, false>(text, start) {
        // It cannot have more characters than bytes.
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
    limits: &Limits,
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

/// A value that may be too long, as far as it was read, with what has to be
/// remembered for cutting it once its end is found.
///
/// Its places may be those of another text than the one that is read, to which
/// that is copied on the way: they are shifted as they are noted.
pub(super) struct Measure {
    cursor: Cursor,
    target: usize,
    head_end: Option<usize>,
    /// Nobody knows yet where the tail will begin. Of the places passed, two
    /// are remembered, further apart than a tail is long (a cursor stops up to a
    /// block before its target), so that the older of them is before it
    /// wherever the string ends.
    passed: [Cursor; 2],
}

impl Measure {
    /// A string whose first character stands at `start`; in the text in which
    /// places are noted, at `noted`.
    pub(super) fn new(start: usize, noted: usize, limits: &Limits) -> Measure {
        Measure {
            cursor: Cursor::new(start),
            target: limits.head,
            head_end: None,
            passed: [Cursor::new(noted); 2],
        }
    }

    /// Reads to the end of the string, or of what has arrived of it.
    pub(super) fn advance(
        &mut self,
        engine: Engine,
        limits: &Limits,
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

    pub(super) fn is_longer(&self, limits: &Limits) -> bool {
        self.cursor.chars() > limits.max
    }

    /// What was read is gone, and the text begins where the cursor is.
    pub(super) fn begin_text(&mut self) {
        self.cursor = self.cursor.moved_to(0);
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
            .map(|cursor| match cursor.at() < middle.end {
                true => self.passed[1],
                false => cursor,
            })
            .map(|cursor| cursor.moved_to(cursor.at() - middle.len()));
    }

    /// How to cut a string whose closing quote is noted as standing at `end` of
    /// this text, unless it is short enough.
    pub(super) fn cut(
        &self,
        engine: Engine,
        limits: &Limits,
        text: &[u8],
        end: usize,
    ) -> ParseResult<Option<Cut>> {
        if !self.is_longer(limits) {
            return Ok(None);
        }
        let chars = self.cursor.chars();
        let tail = limits.tail.min(chars);
        let mut back = self.before_tail(limits);
        let stop = engine.count(&mut back, text, chars - tail, Input::Complete)?;
        let (Stop::Target(tail_start)
        | Stop::End(StringEnd::Quote(tail_start) | StringEnd::Partial(tail_start))) = stop;
        Ok(Some(Cut {
            chars,
            head: limits.head.min(chars),
            head_end: self.head_end.unwrap_or(end),
            tail,
            tail_start,
        }))
    }

    /// The last remembered place before any tail, if the string ended now.
    fn before_tail(&self, limits: &Limits) -> Cursor {
        let skipped = self.cursor.chars().saturating_sub(limits.tail);
        let [older, newer] = self.passed;
        match newer.chars() <= skipped {
            true => newer,
            false => older,
        }
    }
}

/// Shorter steps than this would cost more than the way back from them.
const SMALLEST_STEP: usize = 1024;
