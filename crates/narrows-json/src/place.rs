//! Places in a text as people count them.

/// A place in a text: the bytes before it, its line and its column in
/// characters, both from 1. Lines end at LF.
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
    /// Finds the place of a byte. The text before it must be UTF-8.
    pub fn of(text: &[u8], offset: usize) -> Place {
        let before = text.get(..offset).unwrap_or(text);
        Place {
            offset,
            ..Place::default().after(before)
        }
    }

    /// The place behind a text that begins here.
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

    /// The place of the ASCII character that stands just before.
    pub(crate) fn before(self) -> Place {
        Place {
            offset: self.offset - 1,
            column: self.column - 1,
            ..self
        }
    }
}

/// Counts the characters that begin in a text. Every byte of a text in chunks is
/// counted so, and sums of one byte are fastest with vectors.
fn chars(text: &[u8]) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    let begins = |byte: &u8| u8::from(*byte as i8 >= -64);
    text.chunks(255)
        .map(|some| usize::from(some.iter().map(begins).sum::<u8>()))
        .sum()
}
