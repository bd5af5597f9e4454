//! One schema, made ready: the validator, the known names, and how deep
//! arguments may be so that checking them stays cheap.
//!
//! Nothing is fetched: `jsonschema` is built without its retrievers, and a
//! reference that leaves the schema makes it unusable.

use jsonschema::{Draft, Validator};
use narrows_wire::Raw;
use serde_json::{Map, Value};

use super::effort::{self, Counted, Effort};
use super::names::{self, Names};
use super::validator;

/// Longer schemas are not enforced; the longest seen in the wild have 8 kB.
const MAX_SCHEMA_BYTES: usize = 512 * 1024;

/// Each may take [`MAX_PATTERN_BYTES`](super::validator::MAX_PATTERN_BYTES) when compiled.
const MAX_PATTERNS: usize = 200;

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
