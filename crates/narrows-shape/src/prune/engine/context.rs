//! The lines around a hit, which give the context of an answer.

/// The number of context lines before and after a hit.
pub(super) const REACH: usize = 3;

/// Marks the hits and the lines near them.
pub(super) fn with_context(hits: &[bool]) -> Vec<bool> {
    let mut near = vec![false; hits.len()];
    for at in (0..hits.len()).filter(|&at| hits[at]) {
        let end = (at + REACH + 1).min(hits.len());
        near[at.saturating_sub(REACH)..end].fill(true);
    }
    near
}

/// Raises the worth of the lines around `at` to at least `value`, which depends on the distance.
pub(super) fn raise_around(worth: &mut [f32], at: usize, value: impl Fn(usize) -> f32) {
    let begin = at.saturating_sub(REACH);
    let end = (at + REACH + 1).min(worth.len());
    for (place, worth) in (begin..).zip(&mut worth[begin..end]) {
        *worth = worth.max(value(place.abs_diff(at)));
    }
}
