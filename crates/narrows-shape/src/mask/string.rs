//! Strings: where a key ends, where a value ends, and where to cut one.
//!
//! Most strings are short and end within their first few bytes; those are
//! passed here, by words of 8 bytes. All others are left to the walk over
//! blocks in `scan`.

use super::scan::{BLOCK, Engine, Found, Stop, Walk};
use super::{Cuts, Mask};

/// [`Mask`] in the form that needs no more questions: when masking is off, no
/// string is long enough.
pub(super) struct Limits {
    max: usize,
    head: usize,
    tail: usize,
}

impl Limits {
    pub(super) fn new(mask: &Mask) -> Limits {
        match *mask {
            Mask::Off => Limits {
                max: usize::MAX,
                head: 0,
                tail: 0,
            },
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
    let (Stop::End(end) | Stop::At(end)) = engine.advance(&mut Walk::new(start), text, most)?;
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
    let first = Walk::new(start);
    let mut walk = first;
    let mut target = limits.head;
    let mut head_end = None;
    // Nobody knows yet where the tail will begin. Of the places passed, two
    // are remembered, further apart than a tail is long (a walk stops up to a
    // block before its target), so that one of them is before it wherever the
    // string ends.
    let step = limits.tail.max(SMALLEST_STEP).saturating_add(BLOCK);
    let mut passed = [first, first];
    let end = loop {
        match engine.advance(&mut walk, text, target)? {
            Stop::End(end) => break end,
            Stop::At(place) => {
                head_end.get_or_insert(place);
                passed = [passed[1], walk];
            }
        }
        target = walk.chars().saturating_add(step);
    };
    let chars = walk.chars();
    if chars > limits.max {
        let tail = limits.tail.min(chars);
        let skipped = chars - tail;
        let [older, newer] = passed;
        let mut back = [newer, older]
            .into_iter()
            .find(|walk| walk.chars() <= skipped)
            .unwrap_or(first);
        let (Stop::At(tail_start) | Stop::End(tail_start)) =
            engine.advance(&mut back, text, skipped)?;
        cuts.cut(&Cut {
            chars,
            head: limits.head.min(chars),
            head_end: head_end.unwrap_or(end),
            tail,
            tail_start,
        });
    }
    Ok(end + 1)
}

/// Shorter steps than this would cost more than the way back from them.
const SMALLEST_STEP: usize = 1024;
const WORD: usize = 8;

/// The closing quote of a string without escapes that ends soon.
#[inline(always)]
fn short(text: &[u8], start: usize) -> Option<usize> {
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
