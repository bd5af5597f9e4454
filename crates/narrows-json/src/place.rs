//! Positions in a text as line and column.

/// A position in a text: the number of bytes before it, and its line and column, both counted from
/// 1. Columns count characters. Lines end at LF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub offset: usize,
    pub line: usize,
    pub column: usize,
}

impl Default for Place {
    fn default() -> Place {
        Place {
            offset: 0,
            line: 1,
            column: 1,
        }
    }
}

impl Place {
    /// Returns the position of a byte. The text before it must be UTF-8.
    pub fn of(text: &[u8], offset: usize) -> Place {
        let before = text.get(..offset).unwrap_or(text);
        Place {
            offset,
            ..Place::default().after(before)
        }
    }

    /// Returns the position after `text`, which starts at this position.
    pub(crate) fn after(self, text: &[u8]) -> Place {
        let (column, line_start) = match memchr::memrchr(b'\n', text) {
            None => (self.column, 0),
            Some(lf) => (1, lf + 1),
        };
        Place {
            offset: self.offset + text.len(),
            line: self.line + memchr::memchr_iter(b'\n', &text[..line_start]).count(),
            column: column + chars(&text[line_start..]),
        }
    }

    /// Returns the position of the preceding character, which must be ASCII.
    pub(crate) fn before(self) -> Place {
        Place {
            offset: self.offset - 1,
            column: self.column - 1,
            ..self
        }
    }
}

/// Counts the characters that start in a text. This runs on every byte of a text in chunks. Sums
/// that fit into one byte vectorise best.
fn chars(text: &[u8]) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    let begins = |byte: &u8| u8::from(*byte as i8 >= -64);
    text.chunks(255)
        .map(|some| usize::from(some.iter().map(begins).sum::<u8>()))
        .sum()
}
