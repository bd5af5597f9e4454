//! Escapes in JSON strings, which a cut must not split.

use std::ops::Range;

/// Returns the smallest span around `span` that splits neither an escape nor a surrogate pair of
/// escapes.
pub(super) fn whole_escapes(string: &str, span: Range<usize>) -> Range<usize> {
    let Range { mut start, mut end } = span;
    let bytes = string.as_bytes();
    let mut at = 0;
    while let Some(next) = memchr::memchr(b'\\', &bytes[at..]) {
        let escape = at + next;
        if escape >= end {
            break;
        }
        at = escape + escape_length(&bytes[escape..]);
        if (escape + 1..at).contains(&start) {
            start = escape;
        }
        if (escape + 1..at).contains(&end) {
            end = at;
        }
    }
    start..end
}

fn escape_length(bytes: &[u8]) -> usize {
    let is_half = |at: usize, first: &[u8]| {
        let half = bytes.get(at..at + 4);
        half.is_some_and(|it| {
            it.starts_with(b"\\u") && b"dD".contains(&it[2]) && first.contains(&it[3])
        })
    };
    let length = match bytes.get(1) {
        Some(b'u') if is_half(0, b"89abAB") && is_half(6, b"cdefCDEF") => 12,
        Some(b'u') => 6,
        _ => 2,
    };
    length.min(bytes.len())
}
