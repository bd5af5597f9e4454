//! Ranks the lines within a block.
//!
//! A function or a section is kept as a whole as long as it fits. If it does not fit, the lines
//! around a match are kept first rather than its beginning.

/// The number of lines on each side that a match influences.
const REACH: usize = 4;
/// The largest share of a line's worth that may be added: enough to order the lines of a block, but
/// too little to move one block before another.
pub(in crate::prune) const SHARE: f32 = 0.01;

/// Orders lines of equal worth by the scores of the lines near them.
pub(super) fn sharpen(worth: &mut [f32], scores: &[f32]) {
    let most = scores.iter().copied().fold(0.0, f32::max);
    if most <= 0.0 {
        return;
    }
    let mut near = vec![0.0f32; worth.len()];
    for (at, score) in scores.iter().enumerate().filter(|(_, score)| **score > 0.0) {
        let begin = at.saturating_sub(REACH);
        let end = (at + REACH + 1).min(near.len());
        for (place, near) in (begin..).zip(&mut near[begin..end]) {
            let distance = place.abs_diff(at) as f32 / (REACH + 1) as f32;
            *near = near.max(score / most * (1.0 - distance));
        }
    }
    for (worth, near) in worth.iter_mut().zip(near) {
        // Some engines use negative values.
        *worth += SHARE * near * worth.abs();
    }
}

#[cfg(test)]
mod tests;
