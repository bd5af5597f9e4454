//! Values of HTTP headers that repeat parts of a request.
//!
//! A header cannot carry every text. Other texts are sent as `=?base64?…?=`, with the standard
//! alphabet (MCP 2026-07-28, Streamable HTTP, value encoding).

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The method of the request.
pub const METHOD: &str = "mcp-method";
/// The tool, prompt, resource or task of the request.
pub const NAME: &str = "mcp-name";
/// The start of the names of headers that repeat tool arguments.
pub const PARAM_PREFIX: &str = "mcp-param-";

const START: &str = "=?base64?";
const END: &str = "?=";

/// Encodes a text as a header value.
pub fn encode(text: &str) -> Cow<'_, str> {
    let is_plain = text.bytes().all(is_value_byte)
        && text.trim_matches([' ', '\t']).len() == text.len()
        && sentinel(text).is_none();
    match is_plain {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("{START}{}{END}", STANDARD.encode(text))),
    }
}

/// Decodes a header value. Returns `None` if it has bytes that a header must not have, or an
/// invalid encoding.
pub fn decode(value: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(value).ok()?;
    if !text.bytes().all(is_value_byte) {
        return None;
    }
    let Some(encoded) = sentinel(text) else {
        return Some(Cow::Borrowed(text));
    };
    let bytes = STANDARD.decode(encoded).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// Returns the encoded part of a value with the markers of an encoded one.
fn sentinel(text: &str) -> Option<&str> {
    text.strip_prefix(START)?.strip_suffix(END)
}

fn is_value_byte(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~')
}
