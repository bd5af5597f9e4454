//! Decoding of the content of JSON strings.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::string::backslash;

/// Decodes the content of a validated JSON string, without its quotes. A lone surrogate escape,
/// which a Rust string cannot hold, becomes U+FFFD.
pub fn decode(inner: &[u8]) -> Cow<'_, str> {
    if !has_escape(inner) {
        return Cow::Borrowed(utf8(inner));
    }
    let mut text = Vec::with_capacity(inner.len());
    let mut at = 0;
    while let Some(plain) = backslash(&inner[at..]) {
        let escape = at + plain;
        text.extend_from_slice(&inner[at..escape]);
        let (decoded, length) = unescape(&inner[escape..]);
        text.extend_from_slice(decoded.encode_utf8(&mut [0; 4]).as_bytes());
        at = escape + length;
    }
    text.extend_from_slice(&inner[at..]);
    Cow::Owned(String::from_utf8(text).expect("checked when parsed"))
}

/// Returns true if the string contains an escape.
pub fn has_escape(inner: &[u8]) -> bool {
    memchr::memchr(b'\\', inner).is_some()
}

/// Returns true if the decoded string equals `name`.
pub(crate) fn equals(inner: &[u8], name: &str) -> bool {
    // An escape is longer than its character, so comparing length and bytes is enough for most
    // keys.
    match inner.len().cmp(&name.len()) {
        Ordering::Less => false,
        Ordering::Equal => inner == name.as_bytes() && !has_escape(inner),
        Ordering::Greater => has_escape(inner) && decode(inner) == name,
    }
}

/// Returns the character of the escape at the start of `text`, and the length of the escape.
fn unescape(text: &[u8]) -> (char, usize) {
    let short = match text[1] {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unescape_unicode(text),
        other => char::from(other),
    };
    (short, 2)
}

fn unescape_unicode(text: &[u8]) -> (char, usize) {
    let unit = hex(&text[2..6]);
    if let Some(plain) = char::from_u32(unit) {
        return (plain, 6);
    }
    if let (0xD800..=0xDBFF, Some([b'\\', b'u', digits @ ..])) = (unit, text.get(6..12)) {
        let low = hex(digits);
        if let 0xDC00..=0xDFFF = low {
            let paired = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
            return (
                char::from_u32(paired).unwrap_or(char::REPLACEMENT_CHARACTER),
                12,
            );
        }
    }
    (char::REPLACEMENT_CHARACTER, 6)
}

fn hex(digits: &[u8]) -> u32 {
    digits.iter().fold(0, |value, &digit| {
        value << 4 | char::from(digit).to_digit(16).unwrap_or(0)
    })
}

/// Returns validated bytes as a string. UTF-8 is checked again, because only `blocks` may use
/// unsafe code.
pub(crate) fn utf8(bytes: &[u8]) -> &str {
    simdutf8::basic::from_utf8(bytes).expect("checked when parsed")
}

#[cfg(test)]
mod tests;
