//! The form of what `inspect`, `exec` and `search_tools` answer: data as the
//! text that costs a model least, and beside it as the JSON it is.

use narrows_shape::toon;
use narrows_wire::{Kind, Raw};
use serde_json::{Value, json};

use super::settings::{Encoding, FacadeSettings};

/// Longer data is written as it is: nobody reads so much, and looking for a
/// shorter form would keep the call waiting.
pub(super) const LONGEST: usize = 1024 * 1024;

/// Data in the form that the settings want, or in a shorter one where that is
/// over `room` characters.
pub(super) fn text(data: &Raw, settings: &FacadeSettings, room: usize) -> String {
    let json = data.as_str();
    if json.len() > LONGEST {
        return json.to_owned();
    }
    if settings.encoding == Encoding::Json || !is_worth_toon(data, settings.toon_min_size) {
        return compact(json);
    }
    match settings.encoding {
        // A number or a nesting that TOON would not keep stays what it is.
        Encoding::Toon => match toon::encode(json) {
            Ok(text) if !text.is_empty() && chars(&text) <= room => text,
            Ok(text) if !text.is_empty() => {
                let json = compact(json);
                match chars(&json) <= room {
                    true => json,
                    false => text,
                }
            }
            _ => compact(json),
        },
        _ => match toon::shortest(json) {
            Ok(shortest) => shortest.text,
            Err(_) => compact(json),
        },
    }
}

/// `{"result": data}`, with the bytes of the data as they are.
pub(super) fn wrapped(data: &Raw) -> Raw {
    Raw::empty_object().with_member("result", data)
}

/// An array of values.
pub(super) fn array(values: &[Raw]) -> Raw {
    let length: usize = values.iter().map(|value| value.len() + 1).sum();
    let mut text = Vec::with_capacity(length + 1);
    for value in values {
        text.push(if text.is_empty() { b'[' } else { b',' });
        text.extend_from_slice(value.as_bytes());
    }
    if values.is_empty() {
        text.push(b'[');
    }
    text.push(b']');
    Raw::parse(text.into()).expect("put together from JSON")
}

/// A tool's result: these texts, and this besides.
pub(super) fn result(texts: &[String], structured: &Raw) -> Raw {
    let items: Vec<Value> = texts
        .iter()
        .map(|text| json!({ "type": "text", "text": text }))
        .collect();
    Raw::empty_object()
        .with_member("content", &Raw::from_serialize(&items))
        .with_member("structuredContent", structured)
}

/// The length that counts against a budget.
pub(super) fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Scalars have neither items nor keys: as JSON they tell a number from a text.
fn is_worth_toon(data: &Raw, least: usize) -> bool {
    match data.kind() {
        Kind::Array => data.elements().take(least).count() >= least,
        Kind::Object => data.members().take(least).count() >= least,
        _ => false,
    }
}

/// JSON without the white space between its tokens.
fn compact(json: &str) -> String {
    let mut compact = String::with_capacity(json.len());
    let mut kept = 0;
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in json.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b' ' | b'\n' | b'\r' | b'\t' if !in_string => {
                compact.push_str(&json[kept..at]);
                kept = at + 1;
            }
            _ => {}
        }
    }
    compact.push_str(&json[kept..]);
    compact
}
