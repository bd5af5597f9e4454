//! What never goes, and what goes only as a whole.

use super::{Lines, SourceType, Span};

/// What protection says about the lines of a text.
pub(super) struct Protected {
    /// Lines that stay, whatever they are worth.
    pub(super) lines: Vec<bool>,
    /// Blocks that stay or go as one, in order and disjoint.
    pub(super) units: Vec<Span>,
}

impl Protected {
    /// The lines that stay if this one does.
    pub(super) fn unit(&self, at: usize) -> Span {
        let after = self.units.partition_point(|unit| unit.end <= at);
        match self.units.get(after) {
            Some(unit) if unit.contains(&at) => unit.clone(),
            _ => at..at + 1,
        }
    }
}

pub(super) fn find(lines: &Lines<'_>, _source: SourceType) -> Protected {
    let mut inside = false;
    let guarded = lines.iter().map(|line| {
        inside |= line.contains("⟦NO_PRUNE_BEGIN⟧");
        let ends = line.contains("⟦NO_PRUNE_END⟧");
        let stays = inside || ends;
        inside &= !ends;
        stays
    });
    Protected {
        lines: guarded.collect(),
        units: Vec::new(),
    }
}
