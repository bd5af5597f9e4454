//! Error texts for JSON that cannot be masked.

use narrows_json::Reason;

pub(super) fn text(reason: Reason) -> &'static str {
    match reason {
        Reason::NoValue => "expected a value",
        Reason::ByteOrderMark => "unexpected byte order mark",
        Reason::UnknownWord => "unknown word, expected true, false or null",
        Reason::NoMoreText => "unexpected end of the text, expected a value",
        Reason::TextAfterValue => "unexpected text after the value",
        Reason::NoKey => "expected a key",
        Reason::NoColon => "expected a colon after a key",
        Reason::NoCommaInObject => "expected a comma or a closing brace",
        Reason::NoCommaInArray => "expected a comma or a closing bracket",
        Reason::NoDigit => "expected a digit in the number",
        Reason::UnclosedString => "unexpected end of the text inside a string",
        Reason::NotUtf8 => "invalid UTF-8",
        Reason::ControlCharacter
        | Reason::UnknownEscape
        | Reason::ShortEscape
        | Reason::DuplicateMember => reason.as_str(),
    }
}
