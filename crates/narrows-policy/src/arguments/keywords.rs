//! JSON Schema keywords that apply other schemas to the same value.

use percent_encoding::percent_decode_str;
use serde_json::Value;

/// Keywords that apply a list of schemas to the same value.
pub(super) const IN_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Keywords that apply schemas by name to the same value.
pub(super) const IN_PLACE_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];

/// Keywords that apply a referenced schema to the same value.
pub(super) const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Returns the target of a reference within the schema.
pub(super) fn resolve<'v>(root: &'v Value, reference: &Value) -> Option<&'v Value> {
    let fragment = reference.as_str()?.strip_prefix('#')?;
    // In URIs, the special characters of JSON pointers are percent-encoded.
    root.pointer(&percent_decode_str(fragment).decode_utf8().ok()?)
}
