//! Decides whether a goal discriminates, that is, whether it is answered by some blocks of a text
//! and not by the others.
//!
//! Every text shares some words with most goals. A ranking by a word that is in no line, or in
//! nearly all of them, orders lines by chance, and cutting by it leaves random stripes of the text.
//! Therefore the blocks that answer the goal must be a minority of the text.

use super::context::with_context;
use crate::prune::Lines;

/// The lowest score of a block that answers the goal, relative to the best score.
const ANSWERS: f32 = 0.2;
/// The blocks that may be the best answer must have at most 1/n of the lines.
const MINORITY: usize = 2;
/// Texts with fewer blocks are compared by lines, because so few blocks do not show what is usual.
const FEW: usize = 8;

/// The lines of a text, each in one block, and the score of every block.
pub(super) struct Blocks {
    scores: Vec<f32>,
    /// The block of each line.
    owner: Vec<u32>,
    /// Blank lines, which are not counted.
    blank: Vec<bool>,
    /// The largest difference from the best score at which a block counts as equally good.
    margin: f32,
}

impl Blocks {
    /// Creates an empty assignment. A block whose score is lower than the best by more than
    /// `margin` is hardly the answer.
    pub(super) fn new(lines: &Lines<'_>, blocks: usize, margin: f32) -> Blocks {
        Blocks {
            scores: vec![0.0; blocks],
            owner: vec![0; lines.len()],
            blank: lines.iter().map(|line| line.trim().is_empty()).collect(),
            margin,
        }
    }

    /// Makes every line a block.
    pub(super) fn of_lines(lines: &Lines<'_>, scores: Vec<f32>) -> Blocks {
        Blocks {
            owner: (0..scores.len() as u32).collect(),
            scores,
            ..Blocks::new(lines, 0, f32::INFINITY)
        }
    }

    /// Assigns a line to a block.
    pub(super) fn add(&mut self, line: usize, block: usize, score: f32) {
        self.owner[line] = block as u32;
        self.scores[block] = score;
    }

    /// Returns the lines of the blocks that answer the goal. Returns `None` if no block does, or if
    /// the blocks about as good as the best are not a minority.
    pub(super) fn stand_out(&self) -> Option<Vec<bool>> {
        let best = self.scores.iter().copied().fold(0.0, f32::max);
        let least = ANSWERS * best;
        let reach = |least: f32| {
            move |&block: &u32| {
                let score = self.scores[block as usize];
                score > 0.0 && score >= least
            }
        };
        let is_good = reach(least.max(best - self.margin));
        let filled = self.owner.iter().zip(&self.blank);
        let filled = filled.filter(|(_, is_blank)| !**is_blank);
        let (mut all, mut good) = (0, 0);
        for (block, _) in filled {
            all += 1;
            good += usize::from(is_good(block));
        }
        let is_minority = good > 0 && good * MINORITY <= all;
        is_minority.then(|| self.owner.iter().map(reach(least)).collect())
    }
}

/// Returns the lines that stand out, with their context, in a text with too few blocks to compare.
pub(super) fn lines_of_few_blocks(
    lines: &Lines<'_>,
    blocks: &Blocks,
    scores: &[f32],
) -> Option<Vec<bool>> {
    if blocks.scores.len() >= FEW {
        return None;
    }
    let hits = Blocks::of_lines(lines, scores.to_vec()).stand_out()?;
    Some(with_context(&hits))
}

#[cfg(test)]
mod tests;
