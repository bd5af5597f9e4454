use std::fmt;

/// The place and the reason at which a text stops being JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {offset}")]
pub struct Error {
    pub offset: usize,
    pub reason: Reason,
}

/// The rule of the grammar that a text breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A byte that begins no value.
    NoValue,
    /// The byte order mark before a whole text.
    ByteOrderMark,
    /// A word other than `true`, `false` and `null`.
    UnknownWord,
    /// The end of the text in place of a value.
    NoMoreText,
    /// A byte other than white space behind the value.
    TextAfterValue,
    NoKey,
    NoColon,
    NoCommaInObject,
    NoCommaInArray,
    /// A number that ends before a digit that it needs.
    NoDigit,
    ControlCharacter,
    UnclosedString,
    UnknownEscape,
    /// A `\u` escape without four hexadecimal digits.
    ShortEscape,
    NotUtf8,
    /// A member that must occur only once.
    DuplicateMember,
}

impl Reason {
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::NoValue | Reason::ByteOrderMark | Reason::UnknownWord => "expected a value",
            Reason::NoMoreText => "the text ends early",
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

/// The result of reading a token. The box keeps it as small as two registers.
pub type ParseResult<T = usize> = Result<T, Box<Error>>;

/// The result is made by the caller, where it need not go through memory.
#[inline(always)]
pub(crate) fn fault<T>(offset: usize, reason: Reason) -> ParseResult<T> {
    Err(boxed(offset, reason))
}

#[cold]
#[inline(never)]
fn boxed(offset: usize, reason: Reason) -> Box<Error> {
    Box::new(Error { offset, reason })
}
