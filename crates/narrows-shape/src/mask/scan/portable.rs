//! The words of a block, made for any machine.
//!
//! Bytes are tested by loops without branches, which compilers turn into
//! whatever vector instructions all machines of a kind have. That is why there
//! is no `||` in here.

use super::{Block, Found, Marks, Stop, Then, Walk};

pub(super) fn advance(walk: &mut Walk, text: &[u8], target: usize, then: Then) -> Found<Stop> {
    super::advance(walk, text, target, then, plain, marks, simple)
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

/// One bit for each byte, the first byte's lowest.
///
/// Vectors are good at putting the bits of bytes that stand apart into one
/// byte, here every eighth, but not of those side by side. So the bits come
/// out as a square with its rows for columns, and are turned at the end.
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

/// Eight times each bit of a byte.
const BIT_OF_ROW: [u8; 64] = {
    let mut bits = [0; 64];
    let mut place = 0;
    while place < 64 {
        bits[place] = 1 << (place / 8);
        place += 1;
    }
    bits
};

/// Makes the rows of a square of 8 bits by 8 its columns: swaps what lies on
/// either side of the diagonal, in squares of 2, of 4 and of 8.
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
