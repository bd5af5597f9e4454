//! Splits a document into passages (headings, paragraphs, fenced blocks) and groups them into
//! pieces, which are sections or parts of long sections.

use std::ops::Range;

use crate::prune::Span;
use crate::prune::markdown::{LineKind, Structure};

/// The maximum number of lines of a piece. A longer piece ends with the current passage.
const PIECE_LINES: usize = 40;
/// The maximum number of lines of a paragraph. Longer paragraphs, as in text without blank lines,
/// are split.
const PASSAGE_LINES: usize = 20;

pub(super) struct Passages {
    /// The passages, which cover all lines. Blank lines belong to the passage before them.
    pub(super) passages: Vec<Span>,
    pub(super) pieces: Vec<Piece>,
}

/// Passages that are ranked as a unit.
pub(super) struct Piece {
    /// The range of passages, by their indices.
    pub(super) passages: Range<usize>,
    /// The number of lines that are neither blank nor a heading.
    pub(super) lines: usize,
    /// The heading of the section, as a passage.
    pub(super) heading: Option<usize>,
    /// The headings of the enclosing sections, outermost first.
    pub(super) above: Vec<usize>,
}

pub(super) fn find(structure: &Structure) -> Passages {
    let mut found = Passages {
        passages: Vec::new(),
        pieces: Vec::new(),
    };
    // The open headings, each with its level and passage.
    let mut open: Vec<(u8, usize)> = Vec::new();
    for passage in passages(structure) {
        let index = found.passages.len();
        let level = heading(structure, &passage);
        if let Some(level) = level {
            while open.last().is_some_and(|&(above, _)| above >= level) {
                open.pop();
            }
        }
        let is_full = found
            .pieces
            .last()
            .is_none_or(|piece| piece.lines >= PIECE_LINES);
        if level.is_some() || is_full {
            let above = open.iter().map(|&(_, above)| above);
            let mut above: Vec<usize> = above.collect();
            let heading = match level {
                Some(level) => {
                    open.push((level, index));
                    Some(index)
                }
                None => above.pop(),
            };
            found.pieces.push(Piece {
                passages: index..index,
                lines: 0,
                heading,
                above,
            });
        }
        let piece = found
            .pieces
            .last_mut()
            .expect("the first passage opens a piece");
        piece.passages.end = index + 1;
        if level.is_none() {
            let kinds = &structure.kinds[passage.clone()];
            piece.lines += kinds
                .iter()
                .filter(|&&kind| kind != LineKind::Blank)
                .count();
        }
        found.passages.push(passage);
    }
    found
}

/// Returns the level of a passage that is a heading.
fn heading(structure: &Structure, passage: &Span) -> Option<u8> {
    structure.kinds[passage.clone()]
        .iter()
        .find_map(|kind| match kind {
            LineKind::Heading(level) => Some(*level),
            _ => None,
        })
}

fn passages(structure: &Structure) -> Vec<Span> {
    let kinds = &structure.kinds;
    let mut passages: Vec<Span> = Vec::new();
    let mut fences = structure.fences.iter().peekable();
    let mut at = 0;
    while at < kinds.len() {
        let begin = at;
        let limit;
        if let Some(fence) = fences.next_if(|fence| fence.start <= at) {
            at = fence.end;
            limit = fences.peek().map_or(kinds.len(), |fence| fence.start);
        } else {
            limit = fences.peek().map_or(kinds.len(), |fence| fence.start);
            at = match kinds[at] {
                LineKind::Heading(_) | LineKind::Underline => end_of_title(kinds, at),
                _ => end_of_paragraph(kinds, at, limit.min(at + PASSAGE_LINES)),
            };
        }
        while at < limit && kinds[at] == LineKind::Blank {
            at += 1;
        }
        passages.push(begin..at);
    }
    passages
}

/// Returns the end of a heading, which may have an overline and an underline.
fn end_of_title(kinds: &[LineKind], begin: usize) -> usize {
    let mut end = begin + 1;
    if kinds[begin] == LineKind::Underline && matches!(kinds.get(end), Some(LineKind::Heading(_))) {
        end += 1;
    }
    if kinds.get(end) == Some(&LineKind::Underline) {
        end += 1;
    }
    end
}

fn end_of_paragraph(kinds: &[LineKind], begin: usize, limit: usize) -> usize {
    if kinds[begin] == LineKind::Blank {
        return begin;
    }
    let rest = kinds[begin + 1..limit].iter();
    begin + 1 + rest.take_while(|&&kind| kind == LineKind::Text).count()
}
