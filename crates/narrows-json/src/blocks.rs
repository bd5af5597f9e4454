//! The loop over the inside of a long string, 64 bytes at a time: checks its
//! escapes, counts its characters, and finds where a given one of them begins
//! or where the string ends.
//!
//! Each block is turned into words of 64 bits, one bit per byte, and all
//! questions are answered by arithmetic on those. How the words are made
//! differs by machine (`portable`, `avx2`); everything else is here, once.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;

#[cfg(target_arch = "x86_64")]
use std::sync::OnceLock;

use crate::error::{ParseResult, Reason, fault};

/// The offset of the last byte before the text, where an escape may have begun.
pub(crate) const BEFORE: usize = usize::MAX;

/// The instructions that make the words.
#[derive(Debug, Clone, Copy)]
pub enum Engine {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Detected),
}

impl Engine {
    /// The fastest one of this machine.
    #[inline]
    pub fn best() -> Engine {
        #[cfg(target_arch = "x86_64")]
        {
            static DETECTED: OnceLock<Option<avx2::Detected>> = OnceLock::new();
            if let Some(detected) = *DETECTED.get_or_init(avx2::Detected::new) {
                return Engine::Avx2(detected);
            }
        }
        Engine::Portable
    }

    /// The first quote, backslash or control character at or behind a place, or a
    /// place before it that is near the end of the text; and whether a byte
    /// before it, or shortly after it, is not ASCII.
    #[inline]
    pub(crate) fn special(self, text: &[u8], start: usize) -> (usize, bool) {
        match self {
            Engine::Portable => portable::first_special(text, start),
            #[cfg(target_arch = "x86_64")]
            Engine::Avx2(detected) => avx2::special(detected, text, start),
        }
    }

    /// Moves on until as many characters as `target` are passed or the string
    /// ends. A cursor that stopped for its target can go on to a further one.
    pub fn count(
        self,
        cursor: &mut Cursor,
        text: &[u8],
        target: usize,
        input: Input,
    ) -> ParseResult<Stop> {
        match self {
            Engine::Portable => portable::count(cursor, text, target, input),
            #[cfg(target_arch = "x86_64")]
            Engine::Avx2(detected) => avx2::count(detected, cursor, text, target, input),
        }
    }

    /// Moves on to the end of the string without counting characters.
    pub fn skip(self, cursor: &mut Cursor, text: &[u8], input: Input) -> ParseResult<StringEnd> {
        match self {
            Engine::Portable => portable::skip(cursor, text, input),
            #[cfg(target_arch = "x86_64")]
            Engine::Avx2(detected) => avx2::skip(detected, cursor, text, input),
        }
    }
}

/// The part of a text that is at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// All of it, or its last chunk: an unfinished token at its end is an error.
    Complete,
    /// A chunk that another one may follow.
    Partial,
}

/// The end of a string, or of what is at hand of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StringEnd {
    /// The closing quote.
    Quote(usize),
    /// The bytes behind this place, fewer than [`EDGE`], cannot be judged without
    /// the next chunk; the cursor goes on from here.
    Partial(usize),
}

/// The reason for which counting stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The target: so many characters stand before this place, where another one
    /// begins.
    Target(usize),
    End(StringEnd),
}

/// A place inside a string, always at the beginning of a block, with what the
/// blocks before it mean for it. After the end of the string only the number of
/// characters and `not_ascii` mean anything.
#[derive(Debug, Clone, Copy)]
pub struct Cursor {
    at: usize,
    /// Characters that began before `at`.
    chars: usize,
    /// 1 if the first byte of the block is escaped by a backslash before it.
    escaped: u64,
    /// Bytes of the block that belong to a `\u` escape begun before it.
    inside: u64,
    /// Set by `skip` if a byte of the string, or shortly after it, is not ASCII.
    not_ascii: bool,
}

impl Cursor {
    pub fn new(start: usize) -> Cursor {
        Cursor {
            at: start,
            chars: 0,
            escaped: 0,
            inside: 0,
            not_ascii: false,
        }
    }

    /// The characters that were counted.
    pub fn chars(&self) -> usize {
        self.chars
    }

    pub fn at(&self) -> usize {
        self.at
    }

    /// The same place, of a text that has moved.
    #[must_use]
    pub fn moved_to(self, at: usize) -> Cursor {
        Cursor { at, ..self }
    }

    pub(crate) fn not_ascii(&self) -> bool {
        self.not_ascii
    }
}

/// As many bytes as a word has bits.
pub const BLOCK: usize = 64;

/// A block that has so many bytes is followed by all of any character that
/// begins in it: the longest is a pair of escapes.
pub const EDGE: usize = BLOCK + 2 * ESCAPE;

/// The length of a `\u` escape.
const ESCAPE: usize = 6;

type Block = [u8; BLOCK];

/// What a block is made of; bit 0 stands for its first byte.
struct Marks {
    backslash: u64,
    /// Quotes and control characters, which end a string in one way or another
    /// unless they are escaped.
    end: u64,
    /// Bytes of a UTF-8 sequence after its first.
    continuation: u64,
}

/// The functions that look at blocks. They are closures so that they can use what
/// instructions their caller may, into which all of this is inlined.
struct Tests<P, M, S, H> {
    /// The number of continuation bytes of a block without quotes, backslashes
    /// and control characters.
    plain: P,
    /// All marks of a block.
    marks: M,
    /// The characters that may stand after a backslash, but for `u`.
    simple: S,
    /// Not 0 if a byte is not ASCII.
    high: H,
}

/// The loop itself. Without `COUNT`, characters are not counted and there is no
/// target; instead bytes are noted that are not ASCII.
#[inline(always)]
fn advance<const COUNT: bool>(
    cursor: &mut Cursor,
    text: &[u8],
    target: usize,
    input: Input,
    tests: Tests<
        impl Fn(&Block) -> Option<u32>,
        impl Fn(&Block) -> Marks,
        impl Fn(&Block) -> u64,
        impl Fn(&Block) -> u32,
    >,
) -> ParseResult<Stop> {
    let Cursor {
        mut at,
        mut chars,
        mut escaped,
        mut inside,
        not_ascii,
    } = *cursor;
    let mut high = u32::from(not_ascii);
    // Blocks with escapes come in swarms. Near one, the question whether a block
    // is plain has no answer that a processor could foresee.
    let mut crowded = 0_u32;
    let mut last_block;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let block = match rest.first_chunk() {
            Some(block) => block,
            None => {
                // Zeros are control characters: the string ends at the first of
                // them, if not before.
                last_block = [0; BLOCK];
                last_block[..rest.len()].copy_from_slice(rest);
                &last_block
            }
        };
        if !COUNT {
            high |= (tests.high)(block);
        }
        if crowded == 0
            && escaped == 0
            && let Some(continuation) = (tests.plain)(block)
        {
            let after = match COUNT {
                true => chars + (64 - continuation - inside.count_ones()) as usize,
                false => 0,
            };
            if !COUNT || after <= target {
                chars = after;
                inside = 0;
                at += BLOCK;
                continue;
            }
        }
        let found = (tests.marks)(block);
        let escaping = escaping(found.backslash & !escaped);
        let after_backslash = escaping << 1 | escaped;
        let ends = found.end & !after_backslash;
        let within = below_lowest(ends);
        let mut not_first = found.continuation | after_backslash | inside;
        let mut inside_next = 0;
        let unusual = after_backslash & !(tests.simple)(block) & within;
        let here = Cursor {
            at,
            chars,
            escaped,
            inside,
            not_ascii: high != 0,
        };
        let at_edge = input == Input::Partial && rest.len() < EDGE;
        if unusual != 0 {
            match unicode_escapes(text, at, unusual) {
                Ok([here, next]) => {
                    not_first |= here;
                    inside_next = next;
                }
                Err(_) if at_edge => return pause(cursor, here),
                Err(fault) => return Err(fault),
            }
        }
        let first = !not_first & within;
        let after = match COUNT {
            true => chars + first.count_ones() as usize,
            false => 0,
        };
        if COUNT && after > target {
            let place = at + nth(first, target - chars);
            // It may yet turn out to be the second half of a pair.
            if at_edge && place + ESCAPE > text.len() {
                return pause(cursor, here);
            }
            *cursor = here;
            return Ok(Stop::Target(place));
        }
        if ends != 0 {
            let end = at + ends.trailing_zeros() as usize;
            return match text.get(end) {
                Some(b'"') => {
                    cursor.chars = after;
                    cursor.not_ascii = high != 0;
                    Ok(Stop::End(StringEnd::Quote(end)))
                }
                Some(_) => fault(end, Reason::ControlCharacter),
                None if at_edge => pause(cursor, here),
                None => fault(text.len(), Reason::UnclosedString),
            };
        }
        if at_edge {
            return pause(cursor, here);
        }
        chars = after;
        crowded = match found.backslash {
            0 => crowded.saturating_sub(1),
            _ => 8,
        };
        escaped = escaping >> 63;
        inside = inside_next;
        at += BLOCK;
    }
}

#[cold]
fn pause(cursor: &mut Cursor, here: Cursor) -> ParseResult<Stop> {
    *cursor = here;
    Ok(Stop::End(StringEnd::Partial(here.at)))
}

/// Which of these backslashes escape what follows them: of every run the
/// first, the third and so on.
#[inline(always)]
fn escaping(backslashes: u64) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let run_starts = backslashes & !(backslashes << 1);
    // Adding its start to a run clears it and sets the bit after it: what is
    // cleared are the runs that begin at an odd place.
    let odd_runs = backslashes & !backslashes.wrapping_add(run_starts & !EVEN);
    backslashes & (EVEN ^ odd_runs)
}

/// Checks what stands in these places of a block, after backslashes, and finds
/// the bytes that do not begin a character: here, and in the block after it.
#[inline(never)]
fn unicode_escapes(text: &[u8], at: usize, places: u64) -> ParseResult<[u64; 2]> {
    let mut not_first = [0; 2];
    let mut places = places;
    while places != 0 {
        let place = places.trailing_zeros();
        places &= places - 1;
        let letter = at + place as usize;
        let backslash = letter.checked_sub(1).unwrap_or(BEFORE);
        let unit = match text.get(letter..).and_then(|rest| rest.first_chunk()) {
            Some([b'u', a, b, c, d]) => unit_of([*a, *b, *c, *d]),
            _ => None,
        };
        let Some(unit) = unit else {
            let reason = escape(text, letter).err().unwrap_or(Reason::UnknownEscape);
            return fault(backslash, reason);
        };
        // The letter and its digits; of a second half also the backslash. What
        // follows that is seen to when its letter has its turn.
        let bytes = match is_half(unit, HIGH) && has_low_half(text, letter + 5) {
            true => 0b11_1111_u64,
            false => 0b01_1111,
        };
        not_first[0] |= bytes << place;
        not_first[1] |= bytes >> 1 >> (63 - place);
    }
    Ok(not_first)
}

/// The length of the escape whose letter, behind the backslash, stands at a place.
#[inline]
fn escape(text: &[u8], letter: usize) -> Result<usize, Reason> {
    match text.get(letter) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(2),
        // Lone surrogates are allowed: the grammar knows nothing of pairs.
        Some(b'u') => match code_unit(text, letter + 1) {
            Some(_) => Ok(ESCAPE),
            None => Err(Reason::ShortEscape),
        },
        _ => Err(Reason::UnknownEscape),
    }
}

/// The halves of a surrogate pair differ in their highest six bits.
const HIGH: u32 = 0xD800;
const LOW: u32 = 0xDC00;

#[inline(always)]
fn is_half(unit: u32, half: u32) -> bool {
    unit & 0xFC00 == half
}

fn has_low_half(text: &[u8], at: usize) -> bool {
    text.get(at..at + 2) == Some(br"\u")
        && code_unit(text, at + 2).is_some_and(|unit| is_half(unit, LOW))
}

#[inline(always)]
pub fn code_unit(text: &[u8], at: usize) -> Option<u32> {
    text.get(at..)?
        .first_chunk()
        .and_then(|digits| unit_of(*digits))
}

#[inline(always)]
fn unit_of(digits: [u8; 4]) -> Option<u32> {
    let [a, b, c, d] = digits.map(|digit| u32::from(HEX[usize::from(digit)]));
    // What is no digit has bits above the lowest four.
    ((a | b | c | d) < 16).then_some(a << 12 | b << 8 | c << 4 | d)
}

const HEX: [u8; 256] = {
    let mut table = [0xFF; 256];
    let mut value = 0;
    while value < 16 {
        table[b"0123456789abcdef"[value as usize] as usize] = value;
        table[b"0123456789ABCDEF"[value as usize] as usize] = value;
        value += 1;
    }
    table
};

/// The bits below the lowest that is set; all if none is.
#[inline(always)]
fn below_lowest(bits: u64) -> u64 {
    bits.wrapping_sub(1) & !bits
}

/// Where the set bit stands that has `before` others below it.
fn nth(bits: u64, before: usize) -> usize {
    let mut bits = bits;
    for _ in 0..before {
        bits &= bits.wrapping_sub(1);
    }
    bits.trailing_zeros() as usize
}

#[cfg(test)]
mod tests;
