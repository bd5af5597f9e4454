//! Which names a call may give at the top level.
//!
//! Here an absent `additionalProperties` counts as `false`, unlike in JSON
//! Schema: nearly every schema that names arguments leaves it out and means it
//! so. A schema that says nothing of names, `{"type": "object"}`, takes any, as
//! the protocol has it.

use std::collections::{BTreeSet, HashSet};

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};

use super::explain::{self, Problem};
use super::schema::{IN_PLACE_LISTS, IN_PLACE_MAPS, REFERENCES, resolve, validator};

/// Keywords by which a schema says which names there are.
const SPEAKING: [&str; 4] = [
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
];

pub(super) enum Names {
    /// The schema allows others than it names, or cannot be seen through.
    Open,
    Known {
        names: BTreeSet<Box<str>>,
        /// What else a name may be.
        patterns: Option<Validator>,
    },
}

impl Names {
    /// Collects `properties` of the schema and of all that it applies to the
    /// same object. One of them that is open opens it.
    pub(super) fn of(root: &Value) -> Names {
        let mut names = BTreeSet::new();
        let mut patterns = Vec::new();
        let mut speaks_of_names = false;
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
            speaks_of_names |= SPEAKING.iter().any(|keyword| schema.contains_key(*keyword));
            if let Some(Value::Object(properties)) = schema.get("properties") {
                names.extend(properties.keys().map(|name| name.as_str().into()));
            }
            if let Some(Value::Object(properties)) = schema.get("patternProperties") {
                patterns.extend(properties.keys().map(|one| json!({ "pattern": one })));
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
        if !speaks_of_names {
            return Names::Open;
        }
        let patterns = match patterns.is_empty() {
            true => None,
            false => match validator(&json!({ "anyOf": patterns }), Draft::Draft202012) {
                Ok(patterns) => Some(patterns),
                Err(_) => return Names::Open,
            },
        };
        Names::Known { names, patterns }
    }

    /// The names that may not be given, with what to write instead.
    pub(super) fn unknown(&self, given: &Map<String, Value>) -> Vec<Problem> {
        let Names::Known { names, patterns } = self else {
            return Vec::new();
        };
        let fits = |name: &str| {
            let patterns = patterns.as_ref();
            patterns.is_some_and(|patterns| patterns.is_valid(&Value::from(name)))
        };
        given
            .keys()
            .filter(|name| !names.contains(name.as_str()) && !fits(name))
            .take(super::MAX_TOLD)
            .map(|name| explain::unknown("", name, names.iter().map(|name| &**name), given))
            .collect()
    }
}

fn allows_others(schema: &Map<String, Value>) -> bool {
    let others = ["additionalProperties", "unevaluatedProperties"];
    let mut others = others.iter().filter_map(|keyword| schema.get(*keyword));
    others.any(|others| !is_never(others))
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
