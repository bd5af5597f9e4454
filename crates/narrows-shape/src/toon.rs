//! Converts JSON to TOON 4 and back. TOON is a notation that costs models fewer tokens for tabular
//! data.
//!
//! TOON has the data model of JSON, but not everything that a JSON text may contain: numbers beyond
//! a double or 64 bits, or duplicate keys. Such a text is rejected rather than changed. Returning
//! 1.0 as 1 is not a loss, because JSON regards both as the same number. Zero loses its sign, as
//! the specification requires. In the other direction, a TOON number that is neither a 64-bit
//! integer nor a double becomes the nearest double, which the specification allows.

mod compact;
mod source;
#[cfg(test)]
mod tests;

use serde_toon::{DecodeOptions, ToonOptions};

use crate::error::NotJson;

/// The reason why a text cannot be converted to TOON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotEncodable {
    /// The text is not JSON.
    #[error(transparent)]
    NotJson(#[from] NotJson),
    /// The text is JSON, but the conversion would lose something.
    #[error("TOON cannot represent {what} at line {line} column {column}")]
    Lossy {
        /// The part that would be lost.
        what: Loss,
        /// The line, counted from 1.
        line: usize,
        /// The column in characters, counted from 1.
        column: usize,
    },
}

/// A part of a text that TOON cannot represent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// A number, as written, that is neither a 64-bit integer nor exactly the shortest form of a
    /// double.
    #[error("the number {0}")]
    Number(String),
    /// A key that occurs twice in one object.
    #[error("a duplicate key")]
    DuplicateKey,
    /// An escape of an unpaired surrogate.
    #[error("an unpaired surrogate")]
    Surrogate,
    /// Nesting beyond the limit of TOON readers.
    #[error("nesting this deep")]
    Depth,
}

/// The error for text that is not TOON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not TOON: {what} at line {line} column {column}")]
pub struct NotToon {
    /// The line, counted from 1.
    pub line: usize,
    /// The column, counted from 1.
    pub column: usize,
    /// The expected or unexpected element.
    pub what: String,
}

/// The notation of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Compact JSON, without white space between the tokens.
    Json,
    /// TOON with the defaults of the specification.
    Toon,
}

/// The shorter of two notations of the same data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortest {
    /// The notation of `text`.
    pub encoding: Encoding,
    /// The data in this notation.
    pub text: String,
}

/// Converts JSON to TOON. Keys keep their order.
pub fn encode(json: &str) -> Result<String, NotEncodable> {
    let value = source::lossless(json)?;
    Ok(
        serde_toon::to_string_with_options(&value, ToonOptions::default())
            .expect("TOON can represent every JSON tree"),
    )
}

/// Converts TOON to compact JSON in strict mode. Keys keep their order.
pub fn decode(toon: &str) -> Result<String, NotToon> {
    serde_toon::from_str_with_options::<source::Finite>(toon, DecodeOptions::strict())
        .map(|source::Finite(value)| value.to_string())
        .map_err(|error| not_toon(&error))
}

/// Returns TOON or compact JSON, whichever has fewer bytes. JSON is used if both are equal, if TOON
/// would lose something, or if TOON would be the empty text (as for `{}`), which looks like a
/// missing answer. Compact JSON keeps every token as written, including escapes, number formats and
/// duplicate keys.
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
            format!("expected {expected} spaces of indentation, found {found}"),
        ),
        Error::UnexpectedEof {
            line,
            col,
            expected,
            ..
        } => (*line, *col, format!("expected {expected}, found the end")),
        other => (1, 1, other.to_string()),
    };
    NotToon {
        line: line.max(1),
        column: column.max(1),
        what,
    }
}
