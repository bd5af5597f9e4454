//! The keywords by which one schema applies others to the same value.

use percent_encoding::percent_decode_str;
use serde_json::Value;

/// Keywords that apply several schemas to the same value, as a list ...
pub(super) const IN_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// ... and by name.
pub(super) const IN_PLACE_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];

/// Keywords that apply a schema from elsewhere to the same value.
pub(super) const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// What a reference within the schema points to.
pub(super) fn resolve<'v>(root: &'v Value, reference: &Value) -> Option<&'v Value> {
    let fragment = reference.as_str()?.strip_prefix('#')?;
    // Pointers in URIs have their special characters escaped.
    root.pointer(&percent_decode_str(fragment).decode_utf8().ok()?)
}
