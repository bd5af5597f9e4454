//! Reasons why a query cannot be read or applied.

/// An argument that cannot be read. The message says what was expected, so that
/// a model can write the corrected call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Argument '{argument}' {}{message}", at_character(*.position))]
pub struct Invalid {
    /// The argument, as `recover_text` names it.
    pub argument: &'static str,
    /// The character of the argument, counted from 1, where reading stopped.
    pub position: Option<usize>,
    pub message: String,
    /// The argument as it was probably meant, if that can be read.
    pub corrected: Option<String>,
}

impl Invalid {
    pub(super) fn new(argument: &'static str, message: impl Into<String>) -> Invalid {
        Invalid {
            argument,
            position: None,
            message: message.into(),
            corrected: None,
        }
    }
}

fn at_character(position: Option<usize>) -> String {
    position.map_or_else(String::new, |at| format!("at character {at}: "))
}

/// A query that does not fit the text it is applied to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("Lines are counted from 1 to {max_line}, and a range ends where it starts or later")]
    Lines { max_line: usize },
    #[error("Rows are counted from 1 to {max_row}, and a range ends where it starts or later")]
    RowRange { max_row: usize },
    #[error(
        "Characters are counted from 1 to {max_char}, and the last does not come before the first"
    )]
    Chars { max_char: usize },
    #[error("The selection has more than 64 MiB; ask for less at once")]
    TooMuch,
    #[error("The query makes too many groups; group by another field, or narrow it by where")]
    TooManyGroups,
    #[error("The text has no rows: {0}. Use query, ranges, head or tail, which select lines")]
    NoRows(String),
    #[error("The query takes too long on this text; use plain words or a smaller range")]
    OutOfTime,
}

impl Refused {
    /// The code of the failure, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Refused::Lines { .. }
            | Refused::RowRange { .. }
            | Refused::Chars { .. }
            | Refused::TooMuch
            | Refused::TooManyGroups => "invalid_range",
            Refused::NoRows(_) => "no_rows",
            Refused::OutOfTime => "timeout",
        }
    }
}

impl From<crate::prune::OutOfTime> for Refused {
    fn from(_: crate::prune::OutOfTime) -> Refused {
        Refused::OutOfTime
    }
}
