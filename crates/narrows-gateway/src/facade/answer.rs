//! The format of results of `inspect`, `exec` and `search_tools`: the data as the text with the
//! lowest cost for a model, and also as plain JSON.

use narrows_shape::toon;
use narrows_wire::{Kind, Raw};
use serde_json::{Value, json};

use super::settings::{Encoding, FacadeSettings};

/// The maximum size of data that is reformatted. Longer data is written unchanged, because
/// searching for a shorter form would delay the call.
pub(super) const LONGEST: usize = 1024 * 1024;

/// Returns the data in the configured encoding. Uses a shorter encoding if the text would exceed
/// `room` characters.
pub(super) fn text(data: &Raw, settings: &FacadeSettings, room: usize) -> String {
    let json = data.as_str();
    if json.len() > LONGEST {
        return json.to_owned();
    }
    if settings.encoding == Encoding::Json || !is_worth_toon(data, settings.toon_min_size) {
        return compact(json);
    }
    match settings.encoding {
        // JSON is used if TOON cannot represent a number or the nesting.
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

/// Returns `{"result": data}` with the bytes of the data unchanged.
pub(super) fn wrapped(data: &Raw) -> Raw {
    Raw::empty_object().with_member("result", data)
}

/// Returns a JSON array of the values.
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

/// Returns a tool result with these texts and `structuredContent`.
pub(super) fn result(texts: &[String], structured: &Raw) -> Raw {
    let items: Vec<Value> = texts
        .iter()
        .map(|text| json!({ "type": "text", "text": text }))
        .collect();
    Raw::empty_object()
        .with_member("content", &Raw::from_serialize(&items))
        .with_member("structuredContent", structured)
}

/// Returns the length that counts toward a budget.
pub(super) fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Returns true if the data has enough items or keys for TOON. Scalars stay JSON, which
/// distinguishes numbers from texts.
fn is_worth_toon(data: &Raw, least: usize) -> bool {
    match data.kind() {
        Kind::Array => data.elements().take(least).count() >= least,
        Kind::Object => data.members().take(least).count() >= least,
        _ => false,
    }
}

/// Removes the white space between JSON tokens.
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
