//! Builds the bit masks of a block with AVX2 instructions, which most x86-64 machines of the last
//! ten years support.
//!
//! This is the only module of the project with `unsafe` code. It calls functions that require these
//! instructions.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::{Block, Cursor, Input, Marks, Stop, StringEnd, Tests};
use crate::error::ParseResult;

/// Proof that the CPU supports the required instructions. Only `new` creates it.
#[derive(Debug, Clone, Copy)]
pub struct Detected(());

impl Detected {
    #[inline]
    pub(super) fn new() -> Option<Detected> {
        let detected = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt");
        detected.then_some(Detected(()))
    }
}

pub(super) fn count(
    _detected: Detected,
    cursor: &mut Cursor,
    text: &[u8],
    target: usize,
    input: Input,
) -> ParseResult<Stop> {
    // SAFETY: `advance` requires only the CPU features named in its attribute. A `Detected` exists
    // only if all of them were detected.
    unsafe { advance::<true>(cursor, text, target, input) }
}

pub(super) fn skip(
    _detected: Detected,
    cursor: &mut Cursor,
    text: &[u8],
    input: Input,
) -> ParseResult<StringEnd> {
    // SAFETY: as for `count`.
    match unsafe { advance::<false>(cursor, text, usize::MAX, input)? } {
        Stop::End(end) => Ok(end),
        Stop::Target(_) => unreachable!("there is no target"),
    }
}

/// See [`super::Engine::special`].
#[inline]
pub(super) fn special(_detected: Detected, text: &[u8], start: usize) -> (usize, bool) {
    // SAFETY: as for `count`.
    unsafe { special_with_vectors(text, start) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn special_with_vectors(text: &[u8], start: usize) -> (usize, bool) {
    let mut at = start;
    let mut not_ascii = 0;
    while let Some(block) = text.get(at..).and_then(|rest| rest.first_chunk()) {
        let halves = load(block);
        not_ascii |= high(halves);
        let special = bits(halves.map(|half| _mm256_or_si256(equal(half, b'\\'), end(half))));
        if special != 0 {
            at += special.trailing_zeros() as usize;
            break;
        }
        at += block.len();
    }
    (at, not_ascii != 0)
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn advance<const COUNT: bool>(
    cursor: &mut Cursor,
    text: &[u8],
    target: usize,
    input: Input,
) -> ParseResult<Stop> {
    // Closures inherit the target features of the enclosing function.
    let tests = Tests {
        plain: |block: &Block| plain::<COUNT>(load(block)),
        marks: |block: &Block| marks::<COUNT>(load(block)),
        simple: |block: &Block| simple(load(block)),
        high: |block: &Block| high(load(block)),
    };
    super::advance::<COUNT>(cursor, text, target, input, tests)
}

type Halves = [__m256i; 2];

#[inline]
#[target_feature(enable = "avx2")]
fn plain<const COUNT: bool>(halves: Halves) -> Option<u32> {
    let [low, high] = halves.map(|half| _mm256_or_si256(equal(half, b'\\'), end(half)));
    let special = _mm256_or_si256(low, high);
    match _mm256_testz_si256(special, special) {
        1 if !COUNT => Some(0),
        1 => Some(bits(halves.map(|half| continuation(half))).count_ones()),
        _ => None,
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn marks<const COUNT: bool>(halves: Halves) -> Marks {
    Marks {
        backslash: bits(halves.map(|half| equal(half, b'\\'))),
        end: bits(halves.map(|half| end(half))),
        continuation: match COUNT {
            true => bits(halves.map(|half| continuation(half))),
            false => 0,
        },
    }
}

/// Classifies a byte by its two hex digits: each high digit has its own bit, and each low digit has
/// the bits of the high digits that it may be combined with.
#[inline]
#[target_feature(enable = "avx2")]
fn simple(halves: Halves) -> u64 {
    const X2: i8 = 1;
    const X5: i8 = 2;
    const X6: i8 = 4;
    const X7: i8 = 8;
    let by_high = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, 0, X2, 0, 0, X5, X6, X7, 0, 0, 0, 0, 0, 0, 0, 0,
    ));
    #[rustfmt::skip]
    let by_low = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, 0,
        X2 | X6 | X7, // " b r
        0,
        X7, // t
        0,
        X6, // f
        0, 0, 0, 0, 0,
        X5, // \
        0,
        X6, // n
        X2, // /
    ));
    let low_digits = _mm256_set1_epi8(0x0F);
    !bits(halves.map(|half| {
        let low = _mm256_and_si256(half, low_digits);
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(half), low_digits);
        let both = _mm256_and_si256(
            _mm256_shuffle_epi8(by_low, low),
            _mm256_shuffle_epi8(by_high, high),
        );
        _mm256_cmpeq_epi8(both, _mm256_setzero_si256())
    }))
}

#[inline]
#[target_feature(enable = "avx2")]
fn high([low, high]: Halves) -> u32 {
    _mm256_movemask_epi8(_mm256_or_si256(low, high)) as u32
}

#[inline]
#[target_feature(enable = "avx2")]
fn equal(half: __m256i, byte: u8) -> __m256i {
    _mm256_cmpeq_epi8(half, _mm256_set1_epi8(byte as i8))
}

/// Matches quotes and bytes below 0x20.
#[inline]
#[target_feature(enable = "avx2")]
fn end(half: __m256i) -> __m256i {
    let highest = _mm256_set1_epi8(0x1F);
    let control = _mm256_cmpeq_epi8(_mm256_max_epu8(half, highest), highest);
    _mm256_or_si256(equal(half, b'"'), control)
}

/// Matches bytes from 0x80 to 0xBF, which are below -64 as signed numbers.
#[inline]
#[target_feature(enable = "avx2")]
fn continuation(half: __m256i) -> __m256i {
    _mm256_cmpgt_epi8(_mm256_set1_epi8(-64), half)
}

/// Collects the high bit of each byte. Bit 0 belongs to the first byte.
#[inline]
#[target_feature(enable = "avx2")]
fn bits(halves: Halves) -> u64 {
    let [low, high] = halves.map(|half| u64::from(_mm256_movemask_epi8(half) as u32));
    low | high << 32
}

/// Loads a block without raw pointers. Compilers reduce this to two load instructions.
#[inline]
#[target_feature(enable = "avx2")]
fn load(block: &Block) -> Halves {
    let word = |index: usize| {
        let bytes = block.as_chunks::<8>().0[index];
        i64::from_le_bytes(bytes)
    };
    [0, 4].map(|first| {
        _mm256_setr_epi64x(
            word(first),
            word(first + 1),
            word(first + 2),
            word(first + 3),
        )
    })
}
