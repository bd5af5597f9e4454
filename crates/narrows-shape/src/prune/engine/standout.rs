//! Whether a goal discriminates: whether some blocks of a text answer it and the
//! others do not.
//!
//! Every text has words in common with most goals. A ranking by a word that is in
//! no line, or in nearly all of them, orders lines by chance: a text that is cut
//! by it falls into stripes. So the blocks that answer the goal must be a
//! minority of the text.

use super::context::with_context;
use crate::prune::Lines;

/// A block answers the goal if its score is at least this part of the best.
const ANSWERS: f32 = 0.2;
/// The blocks that may be the best answer have at most one line of so many.
const MINORITY: usize = 2;
/// Fewer blocks than this say little about what is usual in a text; there lines
/// are compared.
const FEW: usize = 8;

/// The lines of a text, each in one block, and the score of every block.
pub(super) struct Blocks {
    scores: Vec<f32>,
    /// The block of each line.
    owner: Vec<u32>,
    /// Lines without a word belong to no side.
    blank: Vec<bool>,
    /// How far below the best a score may be for a block to be as good.
    margin: f32,
}

impl Blocks {
    /// No line has a block yet. A score that is less than the best by `margin`
    /// means that the block is hardly the answer.
    pub(super) fn new(lines: &Lines<'_>, blocks: usize, margin: f32) -> Blocks {
        Blocks {
            scores: vec![0.0; blocks],
            owner: vec![0; lines.len()],
            blank: lines.iter().map(|line| line.trim().is_empty()).collect(),
            margin,
        }
    }

    /// Every line is a block.
    pub(super) fn of_lines(lines: &Lines<'_>, scores: Vec<f32>) -> Blocks {
        Blocks {
            owner: (0..scores.len() as u32).collect(),
            scores,
            ..Blocks::new(lines, 0, f32::INFINITY)
        }
    }

    /// Puts a line into a block.
    pub(super) fn add(&mut self, line: usize, block: usize, score: f32) {
        self.owner[line] = block as u32;
        self.scores[block] = score;
    }

    /// The lines of the blocks that answer the goal; `None` if no block does, or
    /// if those that are about as good as the best are no minority.
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

/// The lines that stand out, with their context, in a text that has too few
/// blocks to compare.
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
