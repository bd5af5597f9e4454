//! JSON without the white space between its tokens.

use serde::de::IgnoredAny;

use crate::error::NotJson;
use crate::json::string_end;

/// Every token as it is written. Takes any depth: there is no tree.
pub(super) fn compact(json: &str) -> Result<String, NotJson> {
    serde_json::from_str::<IgnoredAny>(json).map_err(|error| NotJson::new(&error, json))?;
    let bytes = json.as_bytes();
    let mut compact = String::with_capacity(json.len());
    // The start of what is not yet copied, and the place at hand.
    let (mut from, mut at) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at),
            b' ' | b'\t' | b'\r' | b'\n' => {
                compact.push_str(&json[from..at]);
                at += 1;
                from = at;
            }
            _ => at += 1,
        }
    }
    compact.push_str(&json[from..]);
    Ok(compact)
}
