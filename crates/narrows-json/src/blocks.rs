//! Processes the content of long strings in blocks of 64 bytes: checks escapes, counts characters,
//! and finds the position of the n-th character or the end of the string.
//!
//! Each block is converted into 64-bit masks with one bit per byte, and the remaining work is
//! arithmetic on these masks. Only the conversion depends on the machine (`portable`, `avx2`).

#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;

#[cfg(target_arch = "x86_64")]
use std::sync::OnceLock;

use crate::error::{ParseResult, Reason, fault};

/// The offset of the last byte before the text, which may be the backslash of an escape.
pub(crate) const BEFORE: usize = usize::MAX;

/// The instruction set that builds the masks.
#[derive(Debug, Clone, Copy)]
pub enum Engine {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Detected),
}

impl Engine {
    /// Returns the fastest engine that this machine supports.
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

    /// Returns the position of the first quote, backslash or control character at or after `start`.
    /// Near the end of the text the returned position may be earlier. The flag is true if a byte
    /// before this position, or shortly after it, is not ASCII.
    #[inline]
    pub(crate) fn special(self, text: &[u8], start: usize) -> (usize, bool) {
        match self {
            Engine::Portable => portable::first_special(text, start),
            #[cfg(target_arch = "x86_64")]
            Engine::Avx2(detected) => avx2::special(detected, text, start),
        }
    }

    /// Advances until `target` characters have been passed or the string ends. A cursor that
    /// stopped at its target can continue to a later one.
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

    /// Advances to the end of the string without counting characters.
    pub fn skip(self, cursor: &mut Cursor, text: &[u8], input: Input) -> ParseResult<StringEnd> {
        match self {
            Engine::Portable => portable::skip(cursor, text, input),
            #[cfg(target_arch = "x86_64")]
            Engine::Avx2(detected) => avx2::skip(detected, cursor, text, input),
        }
    }
}

/// Indicates if more of the text may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// The whole text or its last chunk. An unfinished token at its end is an error.
    Complete,
    /// A chunk that may be followed by another one.
    Partial,
}

/// The end of a string, or of the available part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StringEnd {
    /// The position of the closing quote.
    Quote(usize),
    /// The position from which the remaining bytes, fewer than [`EDGE`], cannot be judged without
    /// the next chunk. The cursor continues here.
    Partial(usize),
}

/// The reason why counting stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The position of the character that follows the first `target` characters.
    Target(usize),
    End(StringEnd),
}

/// A position inside a string, always at the start of a block, with the state carried over from
/// earlier blocks. After the end of the string only `chars` and `not_ascii` are valid.
#[derive(Debug, Clone, Copy)]
pub struct Cursor {
    at: usize,
    /// The number of characters that start before `at`.
    chars: usize,
    /// 1 if the first byte of the block is escaped by a backslash in the previous block.
    escaped: u64,
    /// A mask of the bytes that belong to a `\u` escape from the previous block.
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

    /// Returns the number of characters counted so far.
    pub fn chars(&self) -> usize {
        self.chars
    }

    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns the same cursor for a text that was moved in memory.
    #[must_use]
    pub fn moved_to(self, at: usize) -> Cursor {
        Cursor { at, ..self }
    }

    pub(crate) fn not_ascii(&self) -> bool {
        self.not_ascii
    }
}

/// The size of a block in bytes: the number of bits in a mask.
pub const BLOCK: usize = 64;

/// If this many bytes follow the start of a block, every character that starts in the block is
/// complete. The longest character is a pair of `\u` escapes.
pub const EDGE: usize = BLOCK + 2 * ESCAPE;

/// The length of a `\u` escape.
const ESCAPE: usize = 6;

type Block = [u8; BLOCK];

/// The bit masks of a block. Bit 0 belongs to the first byte.
struct Marks {
    backslash: u64,
    /// Quotes and control characters. Unless escaped, they end the string or are errors.
    end: u64,
    /// UTF-8 continuation bytes.
    continuation: u64,
}

/// The functions that examine blocks. They are closures so that they can use the target features of
/// the function into which they are inlined.
struct Tests<P, M, S, H> {
    /// Returns the number of continuation bytes, or `None` if the block has quotes, backslashes or
    /// control characters.
    plain: P,
    /// Returns all masks of a block.
    marks: M,
    /// Returns a mask of the characters that may follow a backslash, except `u`.
    simple: S,
    /// Returns a non-zero value if a byte is not ASCII.
    high: H,
}

/// The main loop. If `COUNT` is false, characters and the target are ignored, and `not_ascii` is
/// updated instead.
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
    // Blocks with escapes tend to follow each other. Near one, the branch on plain blocks is
    // unpredictable for the CPU.
    let mut crowded = 0_u32;
    let mut last_block;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let block = match rest.first_chunk() {
            Some(block) => block,
            None => {
                // Padding zeros are control characters: the string ends at the first of them, if
                // not before.
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
            // The character may turn out to be the second half of a surrogate pair.
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

/// Returns the backslashes that escape the next byte: the first, third, fifth and so on of each
/// run.
#[inline(always)]
fn escaping(backslashes: u64) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let run_starts = backslashes & !(backslashes << 1);
    // Adding its start bit to a run clears the run and sets the bit after it. This clears the runs
    // that start at an odd position.
    let odd_runs = backslashes & !backslashes.wrapping_add(run_starts & !EVEN);
    backslashes & (EVEN ^ odd_runs)
}

/// Checks the escapes whose letter is at one of these positions. Returns masks of the bytes that do
/// not start a character, in this block and in the next one.
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
        // The letter and its digits, and the backslash of a second half. The loop checks the rest
        // of the second half when it reaches its letter.
        let bytes = match is_half(unit, HIGH) && has_low_half(text, letter + 5) {
            true => 0b11_1111_u64,
            false => 0b01_1111,
        };
        not_first[0] |= bytes << place;
        not_first[1] |= bytes >> 1 >> (63 - place);
    }
    Ok(not_first)
}

/// Returns the length of the escape whose letter, after the backslash, is at `letter`.
#[inline]
fn escape(text: &[u8], letter: usize) -> Result<usize, Reason> {
    match text.get(letter) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(2),
        // Lone surrogates are allowed: the JSON grammar does not require pairs.
        Some(b'u') => match code_unit(text, letter + 1) {
            Some(_) => Ok(ESCAPE),
            None => Err(Reason::ShortEscape),
        },
        _ => Err(Reason::UnknownEscape),
    }
}

/// The two halves of a surrogate pair are distinguished by their highest six bits.
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
    // Bytes that are not hex digits map to a value above 15.
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

/// Returns a mask of the bits below the lowest set bit; all bits if none is set.
#[inline(always)]
fn below_lowest(bits: u64) -> u64 {
    bits.wrapping_sub(1) & !bits
}

/// Returns the position of the set bit with `before` set bits below it.
fn nth(bits: u64, before: usize) -> usize {
    let mut bits = bits;
    for _ in 0..before {
        bits &= bits.wrapping_sub(1);
    }
    bits.trailing_zeros() as usize
}

#[cfg(test)]
mod tests;
