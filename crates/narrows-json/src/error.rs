use std::fmt;

/// A syntax error: its position and reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {offset}")]
pub struct Error {
    pub offset: usize,
    pub reason: Reason,
}

/// The grammar rule that a text violates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A byte that cannot start a value.
    NoValue,
    /// A byte order mark at the start of the text.
    ByteOrderMark,
    /// A word other than `true`, `false` and `null`.
    UnknownWord,
    /// The end of the text where a value is expected.
    NoMoreText,
    /// A byte other than white space after the value.
    TextAfterValue,
    NoKey,
    NoColon,
    NoCommaInObject,
    NoCommaInArray,
    /// A number without a required digit.
    NoDigit,
    ControlCharacter,
    UnclosedString,
    UnknownEscape,
    /// A `\u` escape without four hexadecimal digits.
    ShortEscape,
    NotUtf8,
    /// A duplicate of a member that must be unique.
    DuplicateMember,
}

impl Reason {
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::NoValue | Reason::ByteOrderMark | Reason::UnknownWord => "expected a value",
            Reason::NoMoreText => "unexpected end of the text",
            Reason::TextAfterValue => "text after the value",
            Reason::NoKey => "expected a key",
            Reason::NoColon => "expected a colon",
            Reason::NoCommaInObject => "expected a comma or a closing brace",
            Reason::NoCommaInArray => "expected a comma or a closing bracket",
            Reason::NoDigit => "expected a digit",
            Reason::ControlCharacter => "a control character in a string",
            Reason::UnclosedString => "the text ends inside a string",
            Reason::UnknownEscape => "an unknown escape",
            Reason::ShortEscape => "a \\u escape without four hex digits",
            Reason::NotUtf8 => "not UTF-8",
            Reason::DuplicateMember => "a member occurs twice",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The result of reading a token. Boxing the error keeps the result small enough for two registers.
pub type ParseResult<T = usize> = Result<T, Box<Error>>;

/// Creates an error. It is inlined so that the caller need not pass the result through memory.
#[inline(always)]
pub(crate) fn fault<T>(offset: usize, reason: Reason) -> ParseResult<T> {
    Err(boxed(offset, reason))
}

#[cold]
#[inline(never)]
fn boxed(offset: usize, reason: Reason) -> Box<Error> {
    Box::new(Error { offset, reason })
}
