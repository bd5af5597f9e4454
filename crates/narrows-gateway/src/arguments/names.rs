//! Which names a call may give at the top level.
//!
//! Here an absent `additionalProperties` counts as `false`, unlike in JSON
//! Schema: nearly every schema leaves it out and means it so.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

use super::explain::{self, Problem};
use super::schema::{IN_PLACE_LISTS, IN_PLACE_MAPS, REFERENCES, resolve};

pub(super) enum Names {
    /// The schema allows others than it names, or cannot be seen through.
    Open,
    Known(BTreeSet<Box<str>>),
}

impl Names {
    /// Collects `properties` of the schema and of all that it applies to the
    /// same object. One of them that is open opens it.
    pub(super) fn of(root: &Value) -> Names {
        let mut known = BTreeSet::new();
        let mut seen = HashSet::new();
        let mut left = vec![root];
        while let Some(schema) = left.pop() {
            let Value::Object(schema) = schema else {
                continue;
            };
            if !seen.insert(std::ptr::from_ref(schema)) {
                continue;
            }
            if allows_others(schema) {
                return Names::Open;
            }
            if let Some(Value::Object(properties)) = schema.get("properties") {
                known.extend(properties.keys().map(|name| name.as_str().into()));
            }
            for keyword in ["if", "then", "else"] {
                left.extend(schema.get(keyword));
            }
            for keyword in IN_PLACE_LISTS {
                left.extend(
                    schema
                        .get(keyword)
                        .and_then(Value::as_array)
                        .into_iter()
                        .flatten(),
                );
            }
            for keyword in IN_PLACE_MAPS {
                let map = schema.get(keyword).and_then(Value::as_object);
                left.extend(map.into_iter().flat_map(Map::values));
            }
            for keyword in REFERENCES {
                match schema
                    .get(keyword)
                    .map(|reference| resolve(root, reference))
                {
                    None => {}
                    Some(Some(target)) => left.push(target),
                    Some(None) => return Names::Open,
                }
            }
        }
        Names::Known(known)
    }

    /// The names that may not be given, with what to write instead.
    pub(super) fn unknown(&self, given: &Map<String, Value>) -> Vec<Problem> {
        let Names::Known(known) = self else {
            return Vec::new();
        };
        given
            .keys()
            .filter(|name| !known.contains(name.as_str()))
            .take(super::MAX_TOLD)
            .map(|name| explain::unknown("", name, known.iter().map(|name| &**name), given))
            .collect()
    }
}

fn allows_others(schema: &Map<String, Value>) -> bool {
    let patterns = schema.get("patternProperties").and_then(Value::as_object);
    patterns.is_some_and(|patterns| !patterns.is_empty())
        || ["additionalProperties", "unevaluatedProperties"]
            .iter()
            .filter_map(|keyword| schema.get(*keyword))
            .any(|others| !is_never(others))
}

/// `false`, also as `{"not": {}}`, the way some generators write it.
fn is_never(schema: &Value) -> bool {
    match schema {
        Value::Bool(allowed) => !allowed,
        Value::Object(schema) => {
            schema.len() == 1
                && schema
                    .get("not")
                    .and_then(Value::as_object)
                    .is_some_and(Map::is_empty)
        }
        _ => false,
    }
}
