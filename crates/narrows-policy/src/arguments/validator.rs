//! Builds validators with limited patterns and without downloads.

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

/// The maximum size of a compiled pattern.
pub(super) const MAX_PATTERN_BYTES: usize = 64 * 1024;

/// The maximum number of backtracking steps of a pattern with look-around for one string. Other
/// patterns are matched in linear time and need no limit.
const MAX_BACKTRACKS: usize = 20_000;

/// Builds the validator of a schema. Fails with the reason why it cannot be built.
pub(super) fn build(schema: &Value, draft: Draft) -> Result<Validator, String> {
    let options = jsonschema::options()
        .offline()
        .with_draft(draft)
        // Servers interpret formats such as URI or base64 differently from JSON Schema. A call that
        // the server would accept must not fail here.
        .should_validate_formats(false)
        .without_content_media_type_support("application/json")
        .without_content_encoding_support("base64");
    let linear = PatternOptions::regex()
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES);
    let backtracking = PatternOptions::fancy_regex()
        .backtrack_limit(MAX_BACKTRACKS)
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES);
    let built = options.clone().with_pattern_options(linear).build(schema);
    built
        .or_else(|_| options.with_pattern_options(backtracking).build(schema))
        .map_err(|error| error.to_string().chars().take(300).collect())
}
