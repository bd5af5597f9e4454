//! Splits an answer into pages.

use std::ops::Range;

/// Returns the byte range of `room` characters of a text from `offset`, or `None` if a page cannot
/// begin there. A page ends at a line end unless that leaves it less than half full. It contains at
/// least one character, so that reading page by page always ends.
pub fn page(text: &str, offset: usize, room: usize) -> Option<Range<usize>> {
    let rest = text.get(offset..)?;
    let Some((end, _)) = rest.char_indices().nth(room.max(1)) else {
        return Some(offset..text.len());
    };
    let line_end = rest[..end].rfind('\n').map(|at| at + 1);
    let end = line_end
        .filter(|line_end| *line_end > end / 2)
        .unwrap_or(end);
    Some(offset..offset + end)
}
