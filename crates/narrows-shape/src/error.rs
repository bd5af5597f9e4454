//! The error for text that is not valid JSON.

use std::borrow::Cow;

use narrows_json::Place;

/// The position and the reason at which a text stops being JSON. Shaping leaves such a text
/// unchanged; the position helps a person to find the mistake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not JSON: {what} at line {line}, column {column} (byte {offset})")]
pub struct NotJson {
    /// The byte offset of the error.
    pub offset: usize,
    /// The line of the error, counted from 1. Lines end at LF.
    pub line: usize,
    /// The column of the error in characters, counted from 1.
    pub column: usize,
    /// The unexpected or missing element.
    pub what: Cow<'static, str>,
}

impl NotJson {
    /// Creates an error and computes its line and column. They are not tracked while parsing, so
    /// that only rejected texts pay for them.
    pub(crate) fn at(text: &[u8], offset: usize, what: impl Into<Cow<'static, str>>) -> NotJson {
        let place = Place::of(text, offset);
        NotJson {
            offset,
            line: place.line,
            column: place.column,
            what: what.into(),
        }
    }

    /// Converts an error of `serde_json`, whose columns are in bytes.
    pub(crate) fn new(error: &serde_json::Error, text: &str) -> NotJson {
        let (line, column) = (error.line().max(1), error.column().max(1));
        let start = match line {
            1 => 0,
            _ => memchr::memchr_iter(b'\n', text.as_bytes())
                .nth(line - 2)
                .map_or(text.len(), |at| at + 1),
        };
        let offset = (start + column - 1).min(text.len());
        // Fields of their own contain the position.
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
    fn error_position_is_parsed_in_all_three_forms() {
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
