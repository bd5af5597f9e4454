//! JSON without the white space between its tokens.

use crate::error::NotJson;
use crate::json::string_end;
use crate::mask;

/// Returns JSON without white space, with every token unchanged. Accepts any depth, because no tree
/// is built.
pub(super) fn compact(json: &str) -> Result<String, NotJson> {
    mask::check(json)?;
    let bytes = json.as_bytes();
    let mut compact = String::with_capacity(json.len());
    // The start of the part that is not copied yet, and the current position.
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
