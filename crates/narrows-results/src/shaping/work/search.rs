//! Searches the texts of a result instead of cutting them, if the caller requested it. Every text
//! is stored first.

use narrows_shape::budget::{self, Order};
use narrows_shape::prune::Fallback;

use super::{LEAST_SHARE, ShapedResult, ShapingRun};
use crate::recover_tool::Find;
use crate::recovery_store::Receipt;
use crate::shaping::blocks::BlockKind;
use crate::shaping::pieces::{Outcome, Piece};

/// The maximum length of the digest of a text without matches.
const NOT_FOUND_CHARS: usize = 4_000;

impl ShapingRun<'_> {
    /// Applies a query to every text, whatever its size.
    pub(super) fn search(&self, find: &Find) -> Result<ShapedResult, Fallback> {
        let mut pieces = self.pieces();
        pieces.retain(|piece| matches!(piece.block.kind, BlockKind::Text { .. }));
        let room = self.job.policy.max_chars / pieces.len().max(1);
        for piece in &mut pieces {
            let receipt = self.keep(&piece.text)?;
            let text = self.found(find, piece, &receipt, room.max(LEAST_SHARE))?;
            piece.outcome = Some(Outcome {
                after: text.chars().count(),
                text,
                stages: vec!["searched"],
                cuts: Vec::new(),
                is_chosen: false,
                receipt: Some(receipt),
            });
        }
        Ok(self.finish(&pieces, None))
    }

    /// Returns the lines or rows of a text that match a query, after one line of metadata. Without
    /// matches, returns a digest.
    fn found(
        &self,
        find: &Find,
        piece: &Piece,
        receipt: &Receipt,
        room: usize,
    ) -> Result<String, Fallback> {
        // The instructions explain the use of a receipt, so naming it is enough.
        let name = format!("; prune_id={receipt}⟧");
        let left = room.saturating_sub(name.chars().count());
        let other = find.diff_with();
        let other = other.and_then(|other| self.store.fetch(&self.job.owner, other));
        let found = find.apply(&piece.text, other.as_deref(), receipt.as_str(), left);
        let said = match found {
            Ok(found) if found.matched != Some(0) || find.is_count() => {
                return Ok(found.text.replacen('⟧', &name, 1));
            }
            Ok(found) => found.text,
            Err(refused) => format!("⟦find: {refused}⟧"),
        };
        let taken = said.chars().count() + 1;
        let left = room.min(NOT_FOUND_CHARS).saturating_sub(taken);
        Ok(match piece.before > left {
            true => {
                let share = left.max(self.least_share(piece.before));
                // Words without a common line still describe the goal.
                let order = self.order(share, self.source(&piece.block), receipt.as_str());
                let order = Order {
                    goal: order.goal.or(find.words()),
                    ..order
                };
                let fitted = budget::fit(&piece.text, &order, self.engine, self.deadline)?;
                format!("{said}\n{}", fitted.text)
            }
            false => format!("{}\n{}", said.replacen('⟧', &name, 1), piece.text),
        })
    }
}
