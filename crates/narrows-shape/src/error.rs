//! What can be wrong with a text that is to be shaped.

use std::borrow::Cow;

use narrows_json::Place;

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
    /// is refused pays for them.
    pub(crate) fn at(text: &[u8], offset: usize, what: impl Into<Cow<'static, str>>) -> NotJson {
        let place = Place::of(text, offset);
        NotJson {
            offset,
            line: place.line,
            column: place.column,
            what: what.into(),
        }
    }

    /// What the parser of trees says, whose columns are in bytes.
    pub(crate) fn new(error: &serde_json::Error, text: &str) -> NotJson {
        let (line, column) = (error.line().max(1), error.column().max(1));
        let start = match line {
            1 => 0,
            _ => memchr::memchr_iter(b'\n', text.as_bytes())
                .nth(line - 2)
                .map_or(text.len(), |at| at + 1),
        };
        let offset = (start + column - 1).min(text.len());
        // The place is told in fields of its own.
        let mut what = error.to_string();
        if let Some(end) = what.rfind(" at line ") {
            what.truncate(end);
        }
        NotJson::at(text.as_bytes(), offset, what)
    }
}

#[cfg(test)]
mod tests {
    use super::NotJson;

    #[test]
    fn the_place_is_found_in_all_three_forms() {
        for (text, offset, line, column) in [
            ("", 0, 1, 1),
            ("{\n  \"a\": x}", 9, 2, 8),
            ("{\"é\": x}", 7, 1, 7),
            ("[1,\n\n  2", 7, 3, 3),
        ] {
            let error = serde_json::from_str::<serde_json::Value>(text).unwrap_err();
            let found = NotJson::new(&error, text);
            let place = (found.offset, found.line, found.column);
            assert_eq!(place, (offset, line, column), "{text:?}: {}", found.what);
            assert!(!found.what.contains(" at line "));
        }
    }
}
