//! Transforms schemas into a form from which calls can be generated: resolves references, merges
//! `allOf`, and selects one of several alternatives.

use serde_json::{Map, Value, json};

pub(super) type Keywords = Map<String, Value>;

const WITHOUT_MEANING: [&str; 6] = [
    "description",
    "title",
    "default",
    "examples",
    "$schema",
    "$defs",
];

/// The types of JSON values, each with a sample that no choice in a schema contains.
pub(super) fn samples() -> [(&'static str, Value); 6] {
    [
        ("string", json!("no such choice")),
        ("number", json!(987_654.25)),
        ("boolean", json!(true)),
        ("null", json!(null)),
        ("array", json!([])),
        ("object", json!({})),
    ]
}

/// Returns the keywords of a schema, merged with those of its reference target and of all `allOf`
/// schemas; `None` if they cannot be merged.
pub(super) fn flat(root: &Value, schema: &Value) -> Option<Keywords> {
    let mut keywords = match schema {
        Value::Bool(true) => Map::new(),
        Value::Object(keywords) => keywords.clone(),
        _ => return None,
    };
    if let Some(reference) = keywords.remove("$ref") {
        let target = root.pointer(reference.as_str()?.strip_prefix('#')?)?;
        keywords = merged(keywords, flat(root, target)?)?;
    }
    if let Some(Value::Array(all)) = keywords.remove("allOf") {
        for part in &all {
            keywords = merged(keywords, flat(root, part)?)?;
        }
    }
    Some(keywords)
}

/// Returns the alternatives, one of which must match.
pub(super) fn forms(keywords: &Keywords) -> Option<&Vec<Value>> {
    ["anyOf", "oneOf"]
        .iter()
        .find_map(|keyword| keywords.get(*keyword)?.as_array())
}

/// Merges keywords with those of one of their alternatives.
pub(super) fn in_form(root: &Value, keywords: &Keywords, form: &Value) -> Option<Keywords> {
    let mut keywords = keywords.clone();
    keywords.shift_remove("anyOf");
    keywords.shift_remove("oneOf");
    merged(keywords, flat(root, form)?)
}

/// Returns true if a value of this type may match. Undecided cases count as true.
pub(super) fn may_be(root: &Value, schema: &Value, kind: &str) -> bool {
    match flat(root, schema) {
        Some(keywords) => keywords_may_be(root, &keywords, kind),
        None => schema != &json!(false),
    }
}

pub(super) fn keywords_may_be(root: &Value, keywords: &Keywords, kind: &str) -> bool {
    let is_kind = |name: &Value| name == kind || name == "integer" && kind == "number";
    let by_type = match keywords.get("type") {
        None => true,
        Some(Value::Array(kinds)) => kinds.iter().any(is_kind),
        Some(name) => is_kind(name),
    };
    let by_choice =
        choices(keywords).is_none_or(|choices| choices.iter().any(|value| kind_of(value) == kind));
    let by_form =
        forms(keywords).is_none_or(|forms| forms.iter().any(|form| may_be(root, form, kind)));
    by_type && by_choice && by_form
}

/// Returns the values of `enum` or `const`.
pub(super) fn choices(keywords: &Keywords) -> Option<Vec<Value>> {
    match (keywords.get("enum"), keywords.get("const")) {
        (Some(Value::Array(choices)), _) => Some(choices.clone()),
        (_, Some(only)) => Some(vec![only.clone()]),
        _ => None,
    }
}

pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn merged(mut one: Keywords, other: Keywords) -> Option<Keywords> {
    for (keyword, value) in other {
        let Some(there) = one.get_mut(&keyword) else {
            one.insert(keyword, value);
            continue;
        };
        match (keyword.as_str(), there, value) {
            (_, there, value) if *there == value => {}
            (word, _, _) if WITHOUT_MEANING.contains(&word) => {}
            ("required", Value::Array(there), Value::Array(more)) => there.extend(more),
            ("properties", Value::Object(there), Value::Object(more)) => {
                for (name, schema) in more {
                    let both = match there.get(&name) {
                        Some(first) => json!({"allOf": [first, schema]}),
                        None => schema,
                    };
                    there.insert(name, both);
                }
            }
            _ => return None,
        }
    }
    Some(one)
}
