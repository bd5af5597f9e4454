//! Ways to cut a stream into pieces, for the property tests of several modules.

use proptest::collection::vec;
use proptest::prelude::*;

/// A way to cut `length` bytes into pieces.
pub(crate) fn cuts() -> impl Strategy<Value = Vec<usize>> {
    vec(1..40_usize, 1..20)
}

/// The pieces of `bytes`, their lengths taken from `cuts` over and over.
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
