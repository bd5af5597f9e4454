//! Pages of an answer.

use std::ops::Range;

/// Returns the bytes of a text that take `room` characters, from `offset` on;
/// `None` if no page can begin there. A page ends with a line where that does
/// not leave it half empty. At least one character is taken, so that reading
/// page by page comes to an end.
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
