//! Protects headings and front matter of documents, and finds the blocks that must stay whole.

use crate::prune::markdown::{self, LineKind};
use crate::prune::{Lines, Span};

/// Protects headings, front matter, and fenced blocks with a protected line. Returns the fenced
/// blocks, which are kept or removed as a whole.
pub(super) fn protect(lines: &Lines<'_>, protected: &mut [bool]) -> Vec<Span> {
    let structure = markdown::read(lines);
    for (is_protected, kind) in protected.iter_mut().zip(&structure.kinds) {
        *is_protected |= matches!(kind, LineKind::Heading(_) | LineKind::Underline);
    }
    for at in structure.doubtful_headings {
        protected[at] = true;
    }
    if let Some(matter) = structure.front_matter {
        protected[matter].fill(true);
    }
    for fence in &structure.fences {
        let block = &mut protected[fence.clone()];
        if block.contains(&true) {
            block.fill(true);
        }
    }
    structure.fences
}
