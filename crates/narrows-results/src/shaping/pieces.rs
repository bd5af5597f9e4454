//! The texts of a result, their outcomes, and their total cost.

use std::borrow::Cow;
use std::sync::Arc;

use narrows_shape::budget::{self, CutRange, Stage};

use super::blocks::Block;
use crate::recovery_store::Receipt;

/// The number of characters that an item costs in addition to its text, for items after the first
/// `FREE_ITEMS`. A result with very many short texts is long, too.
pub(super) const ITEM_COST: usize = 30;
pub(super) const FREE_ITEMS: usize = 100;

/// A block of a result with its text.
pub(super) struct Piece {
    pub(super) block: Block,
    pub(super) text: Arc<str>,
    pub(super) before: usize,
    pub(super) outcome: Option<Outcome>,
}

/// The shortened form of a text.
pub(super) struct Outcome {
    pub(super) text: String,
    pub(super) after: usize,
    pub(super) stages: Vec<&'static str>,
    pub(super) cuts: Vec<CutRange>,
    /// True if the lines or rows were selected by the goal.
    pub(super) is_chosen: bool,
    pub(super) receipt: Option<Receipt>,
}

impl Outcome {
    pub(super) fn fitted(fitted: budget::Fitted, receipt: Option<Receipt>) -> Outcome {
        let stages = &fitted.stages;
        Outcome {
            after: fitted.text.chars().count(),
            is_chosen: stages.contains(&Stage::Pruned) || stages.contains(&Stage::Rows),
            stages: stages.iter().map(|stage| stage.as_str()).collect(),
            text: fitted.text,
            cuts: fitted.cuts,
            receipt,
        }
    }
}

impl Piece {
    pub(super) fn of(block: Block) -> Piece {
        let text: Arc<str> = block.place.as_text().unwrap_or(Cow::Borrowed("")).into();
        Piece {
            before: text.chars().count(),
            text,
            block,
            outcome: None,
        }
    }

    pub(super) fn chars(&self) -> usize {
        self.outcome.as_ref().map_or(self.before, |o| o.after)
    }
}

/// Returns the total number of characters.
pub(super) fn total(pieces: &[Piece]) -> usize {
    pieces.iter().map(Piece::chars).sum()
}

/// Returns the number of characters that the pieces cost a model.
pub(super) fn weight(pieces: &[Piece]) -> usize {
    total(pieces) + item_cost(pieces.len())
}

/// Returns the cost of this many items in addition to their texts.
pub(super) fn item_cost(items: usize) -> usize {
    items.saturating_sub(FREE_ITEMS) * ITEM_COST
}

/// Divides a budget among texts of these sizes. Texts that need less than an equal share leave the
/// rest to the others.
pub(super) fn shares(sizes: &[usize], budget: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&at| sizes[at]);
    let mut shares = vec![0; sizes.len()];
    let mut left = budget;
    for (done, &at) in order.iter().enumerate() {
        let equal = left / (sizes.len() - done);
        shares[at] = sizes[at].min(equal);
        left -= shares[at];
    }
    shares
}
