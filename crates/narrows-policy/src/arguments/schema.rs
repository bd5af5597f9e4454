//! One schema, made ready: the validator, the known names, and how deep
//! arguments may be so that checking them stays cheap.
//!
//! Nothing is fetched: `jsonschema` is built without its retrievers, and a
//! reference that leaves the schema makes it unusable.

use jsonschema::{Draft, PatternOptions, Validator};
use narrows_wire::Raw;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::effort::{self, Counted, Effort};
use super::names::{self, Names};

/// Longer schemas are not enforced; the longest seen in the wild have 8 kB.
const MAX_SCHEMA_BYTES: usize = 512 * 1024;

/// Each may take [`MAX_PATTERN_BYTES`] when compiled.
const MAX_PATTERNS: usize = 200;

const MAX_PATTERN_BYTES: usize = 64 * 1024;

/// What a pattern with look-around may try for one string. Others are matched
/// in linear time and have no need of it.
const MAX_BACKTRACKS: usize = 20_000;

/// Keywords that apply several schemas to the same value, as a list ...
pub(super) const IN_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// ... and by name.
pub(super) const IN_PLACE_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];

/// Keywords that apply a schema from elsewhere to the same value.
pub(super) const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

pub(super) struct Compiled {
    validator: Validator,
    names: Names,
    effort: Effort,
    counted: Counted,
}

impl Compiled {
    /// Fails with the reason why the schema cannot be enforced.
    pub(super) fn new(raw: &Raw) -> Result<Compiled, String> {
        if raw.len() > MAX_SCHEMA_BYTES {
            return Err(format!("it has {} bytes", raw.len()));
        }
        let mut schema: Value = raw.decode().map_err(|error| error.to_string())?;
        let Value::Object(root) = &mut schema else {
            return Err("it is not an object".into());
        };
        let draft = draft(root);
        names::allow_required(&mut schema);
        let effort = effort::reckoned(&schema, draft)?;
        let counted = effort::count(&schema);
        if counted.patterns > MAX_PATTERNS {
            return Err(format!("it has more than {MAX_PATTERNS} patterns"));
        }
        Ok(Compiled {
            validator: validator(&schema, draft)?,
            names: Names::of(&schema),
            effort,
            counted,
        })
    }

    pub(super) fn validator(&self) -> &Validator {
        &self.validator
    }

    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    /// The deepest arguments that are checked.
    pub(super) fn deepest(&self) -> usize {
        self.effort.deepest
    }

    /// The most schemas that are applied on the way to one value of such
    /// arguments, at least one.
    pub(super) fn visits(&self) -> u64 {
        self.effort.visits.max(1)
    }

    /// Returns true if a value may have one of several forms anywhere.
    pub(super) fn has_choices(&self) -> bool {
        self.counted.choices > 0
    }

    /// Returns true if a text may have to match a pattern anywhere.
    pub(super) fn has_patterns(&self) -> bool {
        self.counted.patterns > 0
    }
}

/// What a reference within the schema points to.
pub(super) fn resolve<'v>(root: &'v Value, reference: &Value) -> Option<&'v Value> {
    let fragment = reference.as_str()?.strip_prefix('#')?;
    // Pointers in URIs have their special characters escaped.
    root.pointer(&percent_decode_str(fragment).decode_utf8().ok()?)
}

/// The draft that `$schema` names. One that nobody knows is taken away: it
/// would have to be fetched, and nearly all schemas mean the same in each.
fn draft(root: &mut Map<String, Value>) -> Draft {
    let named = root.get("$schema").and_then(Value::as_str);
    match named.map(Draft::from_schema_uri) {
        Some(draft) if draft != Draft::Unknown => draft,
        _ => {
            root.shift_remove("$schema");
            Draft::Draft202012
        }
    }
}

pub(super) fn validator(schema: &Value, draft: Draft) -> Result<Validator, String> {
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
