//! JSON as TOON 4, and back: a notation that costs models fewer tokens where
//! data has the form of a table.
//!
//! TOON carries the JSON data model, but not all that a JSON text may say:
//! numbers beyond a double or 64 bits, a key twice. Such a text is refused, not
//! changed. That 1.0 comes back as 1 is no loss: both are one number in JSON. A
//! zero loses its sign, as the specification says. The other way, a number of a TOON text that is neither a
//! 64-bit integer nor a double is read as the nearest double, which is what
//! the specification allows.

mod compact;
mod source;
#[cfg(test)]
mod tests;

use serde_toon::{DecodeOptions, ToonOptions};

use crate::error::NotJson;

/// Why a text cannot be given as TOON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotEncodable {
    /// It is not JSON.
    #[error(transparent)]
    NotJson(#[from] NotJson),
    /// It is JSON, and would not come back as it is.
    #[error("TOON would not keep {what} at line {line} column {column}")]
    Lossy {
        /// What would be lost.
        what: Loss,
        /// From 1.
        line: usize,
        /// In characters, from 1.
        column: usize,
    },
}

/// What TOON would not keep.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// A number that is neither a 64-bit integer nor exactly a double's
    /// shortest form, as it is written.
    #[error("the number {0}")]
    Number(String),
    /// A key that stands twice in one object.
    #[error("a key twice")]
    DuplicateKey,
    /// An escape that is half a character.
    #[error("half of a surrogate pair")]
    Surrogate,
    /// Nesting beyond what readers of TOON take.
    #[error("this nesting")]
    Depth,
}

/// The text is not TOON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not TOON: {what} at line {line} column {column}")]
pub struct NotToon {
    /// From 1.
    pub line: usize,
    /// From 1.
    pub column: usize,
    /// What was expected or found there.
    pub what: String,
}

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Compact: without white space between the tokens.
    Json,
    /// With the defaults of the specification.
    Toon,
}

/// The shorter of two ways to write the same data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortest {
    /// Which one it is.
    pub encoding: Encoding,
    /// The data.
    pub text: String,
}

/// JSON to TOON. Keys keep their order.
pub fn encode(json: &str) -> Result<String, NotEncodable> {
    let value = source::lossless(json)?;
    Ok(
        serde_toon::to_string_with_options(&value, ToonOptions::default())
            .expect("a tree of JSON has nothing that TOON cannot say"),
    )
}

/// TOON, read strictly, to compact JSON. Keys keep their order.
pub fn decode(toon: &str) -> Result<String, NotToon> {
    serde_toon::from_str_with_options::<source::Finite>(toon, DecodeOptions::strict())
        .map(|source::Finite(value)| value.to_string())
        .map_err(|error| not_toon(&error))
}

/// TOON or compact JSON, whichever has fewer bytes; JSON if they are equal, if
/// TOON would lose something, or if it would be the empty text, as it is for
/// `{}`, which a reader takes for no answer. Compact JSON keeps every token as it is
/// written: escapes, number forms, keys that stand twice.
pub fn shortest(json: &str) -> Result<Shortest, NotJson> {
    let compact = compact::compact(json)?;
    Ok(match encode(json) {
        Ok(text) if !text.is_empty() && text.len() < compact.len() => Shortest {
            encoding: Encoding::Toon,
            text,
        },
        _ => Shortest {
            encoding: Encoding::Json,
            text: compact,
        },
    })
}

fn not_toon(error: &serde_toon::Error) -> NotToon {
    use serde_toon::Error;
    let (line, column, what) = match error {
        Error::Syntax { line, col, msg, .. } | Error::InvalidFormat { line, col, msg } => {
            (*line, *col, msg.clone())
        }
        Error::TypeMismatch {
            line,
            col,
            expected,
            found,
        } => (*line, *col, format!("expected {expected}, found {found}")),
        Error::IndentationError {
            line,
            col,
            expected,
            found,
            ..
        } => (
            *line,
            *col,
            format!("{found} spaces of indentation where {expected} belong"),
        ),
        Error::UnexpectedEof {
            line,
            col,
            expected,
            ..
        } => (*line, *col, format!("the end, where {expected} belongs")),
        other => (1, 1, other.to_string()),
    };
    NotToon {
        line: line.max(1),
        column: column.max(1),
        what,
    }
}
