//! Errors for queries that cannot be parsed or applied.

/// An invalid argument. The message states what was expected, so that a model can write the
/// corrected call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Argument '{argument}' {}{message}", at_character(*.position))]
pub struct Invalid {
    /// The name of the argument of `recover_text`.
    pub argument: &'static str,
    /// The character at which parsing stopped, counted from 1.
    pub position: Option<usize>,
    pub message: String,
    /// The argument as it was probably meant, if it can be corrected.
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

/// An error for a query that does not fit the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("Lines are numbered from 1 to {max_line}, and a range must not end before it starts")]
    Lines { max_line: usize },
    #[error("Rows are numbered from 1 to {max_row}, and a range must not end before it starts")]
    RowRange { max_row: usize },
    #[error(
        "Characters are numbered from 1 to {max_char}, and a range must not end before it starts"
    )]
    Chars { max_char: usize },
    #[error("The selection exceeds 64 MiB; select less at once")]
    TooMuch,
    #[error("The query produces too many groups; group by another field, or add a where condition")]
    TooManyGroups,
    #[error("The text has no rows: {0}. Use query, ranges, head or tail, which select lines")]
    NoRows(String),
    #[error("The query takes too long on this text; use plain words or a smaller range")]
    OutOfTime,
}

impl Refused {
    /// Returns the error code for programs.
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
