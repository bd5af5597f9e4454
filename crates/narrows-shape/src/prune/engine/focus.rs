//! Where in a block the goal is spoken of.
//!
//! A function or a section is kept as a whole as long as it fits. Of one that
//! does not, the lines around what was asked for come first, not its beginning.

/// How far what a line says reaches, in lines.
const REACH: usize = 4;
/// How much of a line's worth this may change: enough to put the lines of a block
/// in order, and too little to put one block before another.
pub(in crate::prune) const SHARE: f32 = 0.01;

/// Puts lines of equal worth in the order in which they speak of the goal, by
/// the score of each line.
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
        // Some engines count down from nothing.
        *worth += SHARE * near * worth.abs();
    }
}

#[cfg(test)]
mod tests;
