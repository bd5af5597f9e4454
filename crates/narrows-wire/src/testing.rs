//! Strategies that split a stream into pieces, shared by the property tests.

use proptest::collection::vec;
use proptest::prelude::*;

/// Generates the lengths of pieces.
pub(crate) fn cuts() -> impl Strategy<Value = Vec<usize>> {
    vec(1..40_usize, 1..20)
}

/// Splits `bytes` into pieces whose lengths repeat those in `cuts`.
pub(crate) fn pieces<'a>(bytes: &'a [u8], cuts: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = bytes;
    let mut lengths = cuts.iter().cycle();
    std::iter::from_fn(move || {
        let length = rest.len().min(*lengths.next()?);
        let (piece, after) = rest.split_at(length);
        rest = after;
        (length > 0).then_some(piece)
    })
}
