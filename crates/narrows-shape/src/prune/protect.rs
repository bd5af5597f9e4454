//! What never goes, and what goes only as a whole.
//!
//! Every text: what its author put between `⟦NO_PRUNE_BEGIN⟧` and
//! `⟦NO_PRUNE_END⟧`. Code: what tells the shape of a file ([`code`]). Logs:
//! errors and what stands beside them ([`logs`]). Documents: headings, and
//! blocks as wholes ([`docs`]).

mod code;
mod docs;
mod logs;

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

pub(super) fn find(lines: &Lines<'_>, source: SourceType) -> Protected {
    let mut protected = vec![false; lines.len()];
    guarded(lines, &mut protected);
    let units = match source {
        SourceType::Code => {
            code::protect(lines, &mut protected);
            Vec::new()
        }
        SourceType::Logs => {
            logs::protect(lines, &mut protected);
            Vec::new()
        }
        SourceType::Docs => docs::protect(lines, &mut protected),
    };
    Protected {
        lines: protected,
        units,
    }
}

/// What the author of the text protects, with the lines that say so. A block
/// that is not closed reaches to the end; blocks do not nest, the first end
/// closes.
fn guarded(lines: &Lines<'_>, protected: &mut [bool]) {
    // Both begin alike, so that most texts are through with one search.
    if memchr::memmem::find(lines.text().as_bytes(), "⟦NO_PRUNE_".as_bytes()).is_none() {
        return;
    }
    let mut inside = false;
    for (line, is_protected) in lines.iter().zip(protected) {
        *is_protected |= inside;
        for mark in line.match_indices("⟦NO_PRUNE_").map(|(at, _)| &line[at..]) {
            let begins = mark.starts_with("⟦NO_PRUNE_BEGIN⟧");
            let ends = mark.starts_with("⟦NO_PRUNE_END⟧");
            *is_protected |= begins || ends;
            inside = (inside || begins) && !ends;
        }
    }
}

#[cfg(test)]
mod tests;
