//! JSON values that preserve the notation of numbers, and scans of JSON text.
//!
//! All functions expect text that a parser has accepted. Scans are iterative and linear; the depth
//! of trees is limited, so that recursion cannot overflow the stack.

use std::borrow::Cow;

use crate::json::{replace_lone_surrogates, string_end};

/// The deepest level of a tree. Containers below it are `Null`.
const MAX_DEPTH: usize = 128;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json<'a> {
    Null,
    Bool(bool),
    /// A number in its original notation, so that sums stay exact.
    Number(&'a str),
    Text(Cow<'a, str>),
    Array(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    pub(super) fn member(&self, name: &str) -> Option<&Json<'a>> {
        match self {
            Json::Object(members) => {
                let (_, value) = members.iter().rev().find(|(key, _)| key == name)?;
                Some(value)
            }
            _ => None,
        }
    }

    pub(super) fn element(&self, index: usize) -> Option<&Json<'a>> {
        match self {
            Json::Array(elements) => elements.get(index),
            _ => None,
        }
    }

    /// Returns the name of the type in JSON Schema.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(_) => "number",
            Json::Text(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        }
    }

    /// Writes the value as compact JSON.
    pub(super) fn write(&self, into: &mut String) {
        match self {
            Json::Null => into.push_str("null"),
            Json::Bool(value) => into.push_str(if *value { "true" } else { "false" }),
            Json::Number(text) => into.push_str(text),
            Json::Text(text) => write_text(text, into),
            Json::Array(elements) => {
                into.push('[');
                for (at, element) in elements.iter().enumerate() {
                    if at > 0 {
                        into.push(',');
                    }
                    element.write(into);
                }
                into.push(']');
            }
            Json::Object(members) => {
                into.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    if at > 0 {
                        into.push(',');
                    }
                    write_text(key, into);
                    into.push(':');
                    value.write(into);
                }
                into.push('}');
            }
        }
    }
}

pub(super) fn write_text(text: &str, into: &mut String) {
    into.push_str(&serde_json::to_string(text).expect("a string can always be serialised"));
}

/// Checks that the whole text is one JSON value.
pub(super) fn is_valid(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<serde::de::IgnoredAny>(text).map(|_| ())
}

/// Builds the tree of a valid JSON text.
pub(super) fn tree(text: &str) -> Json<'_> {
    let mut reader = JsonReader {
        text,
        at: space(text.as_bytes(), 0),
    };
    reader.value(0).unwrap_or(Json::Null)
}

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> JsonReader<'a> {
    fn value(&mut self, depth: usize) -> Option<Json<'a>> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let first = *bytes.get(start)?;
        if depth >= MAX_DEPTH || !matches!(first, b'{' | b'[') {
            self.at = value_end(bytes, start);
            let text = self.text.get(start..self.at)?;
            return Some(match first {
                b'"' => Json::Text(decode(text)),
                b't' => Json::Bool(true),
                b'f' => Json::Bool(false),
                b'-' | b'0'..=b'9' => Json::Number(text),
                _ => Json::Null,
            });
        }
        self.at = space(bytes, start + 1);
        let mut elements = Vec::new();
        let mut members = Vec::new();
        while !matches!(bytes.get(self.at)?, b'}' | b']') {
            if first == b'{' {
                let end = string_end(bytes, self.at);
                let key = decode(self.text.get(self.at..end)?);
                self.at = space(bytes, space(bytes, end) + 1);
                let value = self.value(depth + 1)?;
                members.push((key, value));
            } else {
                let value = self.value(depth + 1)?;
                elements.push(value);
            }
            self.at = space(bytes, self.at);
            if bytes.get(self.at) == Some(&b',') {
                self.at = space(bytes, self.at + 1);
            }
        }
        self.at += 1;
        Some(match first {
            b'{' => Json::Object(members),
            _ => Json::Array(elements),
        })
    }
}

/// Decodes a JSON string.
pub(super) fn decode(string: &str) -> Cow<'_, str> {
    let inner = string.get(1..string.len().saturating_sub(1)).unwrap_or("");
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    let decoded = serde_json::from_str::<String>(string);
    let decoded = decoded.or_else(|_| serde_json::from_str(&replace_lone_surrogates(string)));
    Cow::Owned(decoded.unwrap_or_else(|_| inner.to_owned()))
}

/// Returns the position after the white space at `at`.
pub(super) fn space(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let is_space = |byte: &&u8| matches!(**byte, b' ' | b'\t' | b'\n' | b'\r');
    at + rest.iter().take_while(is_space).count()
}

/// Returns the position after the value that begins at `at`.
pub(super) fn value_end(bytes: &[u8], at: usize) -> usize {
    let (mut at, mut depth) = (at, 0_usize);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at),
            b'{' | b'[' => {
                depth += 1;
                at += 1;
                continue;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => {
                at += 1;
                continue;
            }
            _ => {
                let is_word = |byte: &&u8| {
                    !matches!(
                        **byte,
                        b',' | b':' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r'
                    )
                };
                at += bytes[at..].iter().take_while(is_word).count();
            }
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// Returns the elements of the array that begins at `at`, in their original notation.
pub(super) fn elements(text: &str, at: usize) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut elements = Vec::new();
    let mut at = space(bytes, at + 1);
    while bytes.get(at).is_some_and(|byte| *byte != b']') {
        let end = value_end(bytes, at);
        elements.push(&text[at..end]);
        at = space(bytes, end);
        if bytes.get(at) == Some(&b',') {
            at = space(bytes, at + 1);
        }
    }
    elements
}

/// Returns JSON without the white space between its tokens.
pub(super) fn compact(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut compact = String::with_capacity(text.len());
    let mut at = space(bytes, 0);
    while at < bytes.len() {
        let end = match bytes[at] {
            b'"' => string_end(bytes, at),
            b'{' | b'[' | b'}' | b']' | b',' | b':' => at + 1,
            _ => value_end(bytes, at),
        };
        compact.push_str(&text[at..end]);
        at = space(bytes, end);
    }
    compact
}
