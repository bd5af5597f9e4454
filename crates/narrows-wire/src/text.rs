//! Text forms of bytes and names: hexadecimal and percent-encoded.

use std::borrow::Cow;
use std::fmt::Write;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Returns the bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// All bytes except the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Percent-encodes everything except the unreserved characters of RFC 3986.
pub fn percent_encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Decodes percent-encoded text. A `%` without two hex digits is kept, and invalid UTF-8 is
/// replaced.
pub fn percent_decoded(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_names_are_formatted_as_text() {
        assert_eq!(hex(&[0, 10, 255]), "000aff");
        assert_eq!(percent_encoded("a-Z_0.~"), "a-Z_0.~");
        assert_eq!(percent_encoded("a b/\u{e4}%"), "a%20b%2F%C3%A4%25");
        assert_eq!(percent_decoded("a%20b%2f%C3%A4%25"), "a b/\u{e4}%");
        assert_eq!(percent_decoded("%zz%4%ff%"), "%zz%4\u{fffd}%");
    }
}
