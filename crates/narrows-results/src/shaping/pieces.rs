//! The texts of a result, what each becomes, and what they cost together.

use std::borrow::Cow;
use std::sync::Arc;

use narrows_shape::budget::{self, Place, Stage};

use super::blocks::Block;
use crate::recovery_store::Receipt;

/// An item costs a model so many characters besides its text, from this many
/// items on: a result of very many tiny texts is long, too.
pub(super) const ITEM_COST: usize = 30;
pub(super) const FREE_ITEMS: usize = 100;

/// A block of a result with its text.
pub(super) struct Piece {
    pub(super) block: Block,
    pub(super) text: Arc<str>,
    pub(super) before: usize,
    pub(super) outcome: Option<Outcome>,
}

/// What becomes of a text.
pub(super) struct Outcome {
    pub(super) text: String,
    pub(super) after: usize,
    pub(super) stages: Vec<&'static str>,
    pub(super) cuts: Vec<Place>,
    /// Lines or rows were chosen by the goal.
    pub(super) is_chosen: bool,
    pub(super) receipt: Option<Receipt>,
}

impl Outcome {
    pub(super) fn fitted(fitted: budget::Fitted, receipt: Option<Receipt>) -> Outcome {
        let stages = &fitted.stages;
        Outcome {
            after: fitted.text.chars().count(),
            is_chosen: stages.contains(&Stage::Pruned) || stages.contains(&Stage::Rows),
            stages: stages.iter().map(|stage| stage.word()).collect(),
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

/// The characters of the pieces.
pub(super) fn total(pieces: &[Piece]) -> usize {
    pieces.iter().map(Piece::chars).sum()
}

/// The characters that the pieces cost a model.
pub(super) fn weight(pieces: &[Piece]) -> usize {
    total(pieces) + item_cost(pieces.len())
}

/// The characters that so many items cost besides their texts.
pub(super) fn item_cost(items: usize) -> usize {
    items.saturating_sub(FREE_ITEMS) * ITEM_COST
}

/// Shares a budget out among texts of these sizes: one that needs less than an
/// equal part leaves the rest to the others.
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
