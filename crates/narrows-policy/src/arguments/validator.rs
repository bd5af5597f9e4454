//! Builds validators: nothing is fetched, and patterns are bounded.

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

/// What a compiled pattern may take.
pub(super) const MAX_PATTERN_BYTES: usize = 64 * 1024;

/// What a pattern with look-around may try for one string. Others are matched
/// in linear time and have no need of it.
const MAX_BACKTRACKS: usize = 20_000;

/// Builds the validator of a schema; fails with the reason why there is none.
pub(super) fn build(schema: &Value, draft: Draft) -> Result<Validator, String> {
    let options = jsonschema::options()
        .offline()
        .with_draft(draft)
        // Servers and JSON Schema differ in what is a URI or base64. A call
        // that the server would take must not fail here.
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
