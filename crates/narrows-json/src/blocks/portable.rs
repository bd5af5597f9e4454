//! Builds the bit masks of a block on any machine.
//!
//! Bytes are tested in branch-free loops, which compilers vectorise with the baseline instructions
//! of the target. For that reason this module avoids `||`.

use super::{Block, Cursor, ESCAPE, Input, Marks, Stop, StringEnd, Tests, escape};
use crate::error::{ParseResult, Reason, fault};
use crate::string::{WORD, special};

pub(super) fn count(
    cursor: &mut Cursor,
    text: &[u8],
    target: usize,
    input: Input,
) -> ParseResult<Stop> {
    let tests = Tests {
        plain,
        marks,
        simple,
        high: |_: &Block| 0,
    };
    super::advance::<true>(cursor, text, target, input, tests)
}

/// Jumps from one quote, backslash or control character to the next. Building the masks of every
/// block would take several times as long as searching for these bytes.
pub(super) fn skip(cursor: &mut Cursor, text: &[u8], input: Input) -> ParseResult<StringEnd> {
    let mut search = Search::default();
    loop {
        cursor.at = search.next(text, cursor.at);
        cursor.not_ascii |= search.not_ascii;
        let at = cursor.at;
        match text.get(at) {
            Some(b'"') => return Ok(StringEnd::Quote(at)),
            Some(b'\\') => match escape(text, at + 1) {
                Ok(length) => cursor.at = at + length,
                Err(_) if input == Input::Partial && text.len() - at < ESCAPE => {
                    return Ok(StringEnd::Partial(at));
                }
                Err(reason) => return fault(at, reason),
            },
            Some(_) => return fault(at, Reason::ControlCharacter),
            None if input == Input::Partial => return Ok(StringEnd::Partial(at)),
            None => return fault(at, Reason::UnclosedString),
        }
    }
}

/// See [`super::Engine::special`].
#[inline(never)]
pub(super) fn first_special(text: &[u8], start: usize) -> (usize, bool) {
    let mut search = Search::default();
    let at = search.next(text, start);
    (at, search.not_ascii)
}

/// Iterates over the bytes that end or escape a string: quotes, backslashes and control characters.
#[derive(Default)]
struct Search {
    /// Set if a byte before the last returned position, or shortly after it, is not ASCII.
    not_ascii: bool,
    /// Set while escapes are dense, as in JSON nested in JSON. The search then tests two words
    /// before it scans larger chunks.
    crowded: bool,
}

impl Search {
    /// Returns the position of the next such byte at or after `at`, or the length of the text.
    #[inline(always)]
    fn next(&mut self, text: &[u8], at: usize) -> usize {
        let found = match self.crowded {
            true => self.near(text, at),
            false => self.far(text, at),
        };
        self.crowded = found < at + 2 * WORD;
        found
    }

    #[inline(always)]
    fn near(&mut self, text: &[u8], at: usize) -> usize {
        let mut at = at;
        for _ in 0..2 {
            let Some(word) = chunk(text, at) else { break };
            if let Some(place) = self.in_word(word) {
                return at + place;
            }
            at += WORD;
        }
        self.far(text, at)
    }

    #[inline(always)]
    fn far(&mut self, text: &[u8], at: usize) -> usize {
        let mut at = at;
        while let Some(half) = chunk::<HALF>(text, at) {
            let mut special = false;
            let mut high = false;
            for &byte in half {
                special |= (byte == b'\\') | is_end(byte);
                high |= byte >= 0x80;
            }
            self.not_ascii |= high;
            if special {
                break;
            }
            at += HALF;
        }
        while let Some(word) = chunk(text, at) {
            if let Some(place) = self.in_word(word) {
                return at + place;
            }
            at += WORD;
        }
        while let Some(&byte) = text.get(at) {
            self.not_ascii |= byte >= 0x80;
            if (byte == b'\\') | is_end(byte) {
                break;
            }
            at += 1;
        }
        at
    }

    #[inline(always)]
    fn in_word(&mut self, word: &[u8; WORD]) -> Option<usize> {
        self.not_ascii |= !word.is_ascii();
        special(word)
    }
}

/// Half a block. Every supported target has enough vector registers for it.
const HALF: usize = 32;

#[inline(always)]
fn chunk<const N: usize>(text: &[u8], at: usize) -> Option<&[u8; N]> {
    text.get(at..)?.first_chunk()
}

#[inline(always)]
fn plain(block: &Block) -> Option<u32> {
    let mut special = 0_u8;
    let mut continuation = 0_u8;
    for &byte in block {
        special |= u8::from((byte == b'\\') | is_end(byte));
        continuation += u8::from(is_continuation(byte));
    }
    (special == 0).then_some(u32::from(continuation))
}

#[inline(always)]
fn marks(block: &Block) -> Marks {
    Marks {
        backslash: bits(block, |byte| byte == b'\\'),
        end: bits(block, is_end),
        continuation: bits(block, is_continuation),
    }
}

#[inline(always)]
fn simple(block: &Block) -> u64 {
    bits(block, |byte| {
        (byte == b'"')
            | (byte == b'\\')
            | (byte == b'/')
            | (byte == b'b')
            | (byte == b'f')
            | (byte == b'n')
            | (byte == b'r')
            | (byte == b't')
    })
}

#[inline(always)]
fn is_end(byte: u8) -> bool {
    (byte == b'"') | (byte < 0x20)
}

#[inline(always)]
fn is_continuation(byte: u8) -> bool {
    (byte as i8) < -64
}

/// Returns one bit per byte. Bit 0 belongs to the first byte.
///
/// Vector instructions combine bytes that are eight apart more efficiently than adjacent ones. The
/// bits are therefore collected as an 8×8 matrix with rows and columns swapped, which is transposed
/// at the end.
#[inline(always)]
fn bits(block: &Block, test: impl Fn(u8) -> bool) -> u64 {
    let mut passed = [0_u8; 64];
    for ((passed, byte), bit) in passed.iter_mut().zip(block).zip(BIT_OF_ROW) {
        *passed = u8::from(test(*byte)).wrapping_neg() & bit;
    }
    let (rows, _) = passed.as_chunks::<8>();
    turn(
        rows.iter()
            .fold(0, |columns, row| columns | u64::from_le_bytes(*row)),
    )
}

/// Each bit of a byte, repeated eight times.
const BIT_OF_ROW: [u8; 64] = {
    let mut bits = [0; 64];
    let mut place = 0;
    while place < 64 {
        bits[place] = 1 << (place / 8);
        place += 1;
    }
    bits
};

/// Transposes an 8×8 bit matrix by swapping the halves on either side of the diagonal in blocks of
/// 2, 4 and 8.
#[inline(always)]
fn turn(square: u64) -> u64 {
    let swap = |square: u64, distance: u32, upper: u64| {
        let differ = (square ^ square >> distance) & upper;
        square ^ differ ^ differ << distance
    };
    let square = swap(square, 7, 0x00AA_00AA_00AA_00AA);
    let square = swap(square, 14, 0x0000_CCCC_0000_CCCC);
    swap(square, 28, 0x0000_0000_F0F0_F0F0)
}

#[cfg(test)]
mod tests;
