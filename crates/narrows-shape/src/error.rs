//! What can be wrong with a text that is to be shaped.

use std::borrow::Cow;

/// Where and how a text stops being JSON. Shaping leaves such a text alone;
/// the place is for the person who has to find the mistake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not JSON: {what} at line {line}, column {column} (byte {offset})")]
pub struct NotJson {
    /// Bytes before the place.
    pub offset: usize,
    /// The line of the place, from 1; lines end at LF.
    pub line: usize,
    /// The column of the place in characters, from 1.
    pub column: usize,
    /// What was found there, or missed.
    pub what: Cow<'static, str>,
}

impl NotJson {
    /// Line and column are counted here and not on the way: only a text that
    /// is refused pays for them. What stands before `offset` must be UTF-8
    /// for the column to be right.
    pub(crate) fn at(text: &[u8], offset: usize, what: impl Into<Cow<'static, str>>) -> NotJson {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |lf| lf + 1);
        let continues = |byte: &&u8| **byte & 0xC0 == 0x80;
        NotJson {
            offset,
            line: 1 + memchr::memchr_iter(b'\n', before).count(),
            column: 1 + before.len()
                - line_start
                - before[line_start..].iter().filter(continues).count(),
            what: what.into(),
        }
    }
}
