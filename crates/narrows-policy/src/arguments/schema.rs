//! A compiled schema: the validator, the known names, and the depth up to which arguments can be
//! checked cheaply.
//!
//! Nothing is downloaded: `jsonschema` is built without its retrievers, and a schema with an
//! external reference is not enforced.

use jsonschema::{Draft, Validator};
use narrows_wire::Raw;
use serde_json::{Map, Value};

use super::effort::{self, Effort, SchemaCounts};
use super::names::{self, Names};
use super::validator;

/// The maximum length of a schema. Longer ones are not enforced. The longest seen in practice has 8
/// kB.
const MAX_SCHEMA_BYTES: usize = 512 * 1024;

/// The maximum number of patterns. Each may take
/// [`MAX_PATTERN_BYTES`](super::validator::MAX_PATTERN_BYTES) when compiled.
const MAX_PATTERNS: usize = 200;

pub(super) struct CompiledSchema {
    validator: Validator,
    names: Names,
    effort: Effort,
    counted: SchemaCounts,
}

impl CompiledSchema {
    /// Compiles a schema. Fails with the reason why it cannot be enforced.
    pub(super) fn new(raw: &Raw) -> Result<CompiledSchema, String> {
        if raw.len() > MAX_SCHEMA_BYTES {
            return Err(format!("it has {} bytes", raw.len()));
        }
        let mut schema: Value = raw.decode().map_err(|error| error.to_string())?;
        let Value::Object(root) = &mut schema else {
            return Err("it is not an object".into());
        };
        let draft = draft(root);
        names::allow_required(&mut schema);
        let effort = effort::estimate(&schema, draft)?;
        let counted = effort::count(&schema);
        if counted.patterns > MAX_PATTERNS {
            return Err(format!("it has more than {MAX_PATTERNS} patterns"));
        }
        Ok(CompiledSchema {
            validator: validator::build(&schema, draft)?,
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

    /// Returns the maximum depth of arguments that are checked.
    pub(super) fn deepest(&self) -> usize {
        self.effort.deepest
    }

    /// Returns the maximum number of schemas applied on the path to one value of such arguments; at
    /// least 1.
    pub(super) fn visits(&self) -> u64 {
        self.effort.visits.max(1)
    }

    /// Returns true if the schema has `anyOf` or `oneOf` anywhere.
    pub(super) fn has_choices(&self) -> bool {
        self.counted.choices > 0
    }

    /// Returns true if the schema has patterns anywhere.
    pub(super) fn has_patterns(&self) -> bool {
        self.counted.patterns > 0
    }
}

/// Returns the draft that `$schema` names. An unknown `$schema` is removed, because it would have
/// to be downloaded, and nearly all schemas have the same meaning in every draft.
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
