//! The words for what is wrong with a text that is to be masked.

use narrows_json::Reason;

pub(super) fn text(reason: Reason) -> &'static str {
    match reason {
        Reason::NoValue => "no value where one is expected",
        Reason::ByteOrderMark => "a byte order mark",
        Reason::UnknownWord => "a word that is neither true, false nor null",
        Reason::NoMoreText => "the end of the text where a value is expected",
        Reason::TextAfterValue => "more text after the value",
        Reason::NoKey => "no key where one is expected",
        Reason::NoColon => "no colon after a key",
        Reason::NoCommaInObject => "neither a comma nor a closing brace",
        Reason::NoCommaInArray => "neither a comma nor a closing bracket",
        Reason::NoDigit => "no digit where a number needs one",
        Reason::UnclosedString => "the end of the text inside a string",
        Reason::NotUtf8 => "bytes that are not UTF-8",
        Reason::ControlCharacter
        | Reason::UnknownEscape
        | Reason::ShortEscape
        | Reason::DuplicateMember => reason.as_str(),
    }
}
