//! The lines around a hit, which an answer needs to be understood.

/// How far the context of a hit reaches, in lines.
pub(super) const REACH: usize = 3;

/// Marks the lines near a hit, too.
pub(super) fn with_context(hits: &[bool]) -> Vec<bool> {
    let mut near = vec![false; hits.len()];
    for at in (0..hits.len()).filter(|&at| hits[at]) {
        let end = (at + REACH + 1).min(hits.len());
        near[at.saturating_sub(REACH)..end].fill(true);
    }
    near
}

/// Raises the worth of the lines near a line to at least a value, by their
/// distance.
pub(super) fn raise_around(worth: &mut [f32], at: usize, value: impl Fn(usize) -> f32) {
    let begin = at.saturating_sub(REACH);
    let end = (at + REACH + 1).min(worth.len());
    for (place, worth) in (begin..).zip(&mut worth[begin..end]) {
        *worth = worth.max(value(place.abs_diff(at)));
    }
}
