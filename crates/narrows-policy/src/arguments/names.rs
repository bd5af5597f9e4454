//! The argument names that are allowed at the top level.
//!
//! Here an absent `additionalProperties` counts as `false`, unlike in JSON Schema, because nearly
//! every schema with named arguments omits it and means `false`. A schema without any names, such
//! as `{"type": "object"}`, allows any name, as MCP specifies.
//!
//! A name in `required` is allowed even if `properties` omits it. Otherwise the tool could not be
//! called at all ([`allow_required`]).

use std::collections::{BTreeSet, HashSet};

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};

use super::explain::{self, Problem};
use super::keywords::{IN_PLACE_LISTS, IN_PLACE_MAPS, REFERENCES, resolve};
use super::validator;

/// Keywords by which a schema defines the allowed names.
const NAME_KEYWORDS: [&str; 4] = [
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
];

pub(super) enum Names {
    /// The schema allows further names, or its names cannot be determined.
    Open,
    Known {
        names: BTreeSet<Box<str>>,
        /// Patterns of further allowed names.
        patterns: Option<Validator>,
    },
}

impl Names {
    /// Collects the names in `properties` and `required` of the schema and of all schemas that it
    /// applies to the same object. If one of these allows other names, the result is `Open`.
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
            speaks_of_names |= NAME_KEYWORDS
                .iter()
                .any(|keyword| schema.contains_key(*keyword));
            if let Some(Value::Object(properties)) = schema.get("properties") {
                names.extend(properties.keys().map(|name| name.as_str().into()));
            }
            names.extend(required(schema).map(Into::into));
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
            false => match validator::build(&json!({ "anyOf": patterns }), Draft::Draft202012) {
                Ok(patterns) => Some(patterns),
                Err(_) => return Names::Open,
            },
        };
        Names::Known { names, patterns }
    }

    /// Returns a problem for each name that is not allowed, with suggestions.
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
            .take(super::MAX_REPORTED)
            .map(|name| explain::unknown("", name, names.iter().map(|name| &**name), given))
            .collect()
    }
}

/// Adds the names in `required` to `properties` of the same object if the schema allows no other
/// names. Without this, such a schema refuses every call: with the name, because `properties` does
/// not have it, and without the name, because it is required.
///
/// At the top level, the names of all schemas that apply to the arguments count. Below, only the
/// `properties` of the same schema count.
pub(super) fn allow_required(root: &mut Value) {
    let known = match Names::of(root) {
        Names::Known { names, .. } => names,
        Names::Open => BTreeSet::new(),
    };
    if let Value::Object(root) = &mut *root {
        allow(root, known.iter().map(|name| (**name).to_owned()).collect());
    }
    // `oneOf` alternatives stay unchanged: one that never matches may be the reason why exactly one
    // other matches.
    let mut left = vec![(root, true)];
    while let Some((schema, is_free)) = left.pop() {
        let Value::Object(schema) = schema else {
            continue;
        };
        if is_free {
            let names = required(schema).map(str::to_owned).collect();
            allow(schema, names);
        }
        for (keyword, value) in schema {
            let keyword = keyword.as_str();
            if NAMED.contains(&keyword)
                && let Value::Object(map) = value
            {
                left.extend(map.values_mut().map(|schema| (schema, true)));
            } else if LISTED.contains(&keyword)
                && let Value::Array(list) = value
            {
                let is_free = is_free && keyword != "oneOf";
                left.extend(list.iter_mut().map(|schema| (schema, is_free)));
            } else if SINGLE.contains(&keyword) {
                left.push((value, true));
            }
        }
    }
}

/// Keywords that hold schemas by name, in a list, or a single schema. Schemas of conditions (`not`,
/// `if`) are not changed.
const NAMED: [&str; 6] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
    "$defs",
    "definitions",
];
const LISTED: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
const SINGLE: [&str; 8] = [
    "then",
    "else",
    "items",
    "additionalItems",
    "unevaluatedItems",
    "additionalProperties",
    "unevaluatedProperties",
    "contains",
];

/// Adds names to a schema that allows no other names.
fn allow(schema: &mut Map<String, Value>, names: Vec<String>) {
    let is_closed = ["additionalProperties", "unevaluatedProperties"]
        .iter()
        .any(|keyword| schema.get(*keyword).is_some_and(is_never));
    if !is_closed || names.is_empty() {
        return;
    }
    let properties = schema
        .entry("properties")
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(properties) = properties {
        for name in names {
            properties
                .entry(name)
                .or_insert_with(|| Value::Object(Map::new()));
        }
    }
}

/// Returns the names that a schema requires, always or together with others.
fn required(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let beside = ["dependentRequired", "dependencies"].iter();
    let beside = beside.filter_map(|keyword| schema.get(*keyword)?.as_object());
    let lists = schema
        .get("required")
        .into_iter()
        .chain(beside.flat_map(Map::values));
    lists
        .filter_map(Value::as_array)
        .flatten()
        .filter_map(Value::as_str)
}

fn allows_others(schema: &Map<String, Value>) -> bool {
    let others = ["additionalProperties", "unevaluatedProperties"];
    let mut others = others.iter().filter_map(|keyword| schema.get(*keyword));
    others.any(|others| !is_never(others))
}

/// Returns true for `false`, and for `{"not": {}}`, which some generators write instead.
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
