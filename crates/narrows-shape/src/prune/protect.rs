//! Protection: lines that are never removed, and blocks that are removed only as a whole.
//!
//! In every text, the lines between `⟦NO_PRUNE_BEGIN⟧` and `⟦NO_PRUNE_END⟧` are protected. In code,
//! these are the lines that show the structure of a file ([`code`]); in logs, errors and the lines
//! around them ([`logs`]); in documents, headings and whole blocks ([`docs`]).

mod code;
mod docs;
mod logs;

use super::{Lines, SourceType, Span};

/// The protection of the lines of a text.
pub(super) struct Protected {
    /// Lines that are kept regardless of their worth.
    pub(super) lines: Vec<bool>,
    /// Blocks that are kept or removed as a unit, in order and disjoint.
    pub(super) units: Vec<Span>,
}

impl Protected {
    /// Returns the lines that are kept together with this one.
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

/// Protects the lines that the author marked, including the lines with the marks. A block without
/// an end mark extends to the end of the text. Blocks do not nest; the first end mark closes a
/// block.
fn guarded(lines: &Lines<'_>, protected: &mut [bool]) {
    // Both marks begin alike, so that one search rules out most texts.
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
