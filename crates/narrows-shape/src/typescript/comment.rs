//! The contents of a comment: the description and, optionally, the default and the constraints in a
//! short form.

use serde_json::{Map, Value};

use super::TypeScriptOptions;

/// The longest default or pattern shown. Longer ones are no more informative.
const MAX_DETAIL: usize = 80;

/// The largest integer that JavaScript represents exactly. Generators write it as the bound of
/// every integer, where it has no meaning.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

type Schema = Map<String, Value>;

/// Returns the comment for a type that all of `schemas` describe, without delimiters, or an empty
/// string. Constraints come first, because a description may be long or cut.
pub(super) fn comment(schemas: &[&Schema], options: &TypeScriptOptions) -> String {
    let mut said = Vec::new();
    if options.constraints {
        constraints(schemas, &mut said);
    }
    if options.descriptions {
        let description = schemas
            .iter()
            .filter_map(|schema| schema.get("description")?.as_str())
            .map(folded)
            .find(|description| !description.is_empty());
        said.extend(description.map(|text| cut(text, options.max_description_len)));
    }
    said.retain(|text| !text.is_empty());
    // Text from the schema must not end the comment; a space inside `*/` keeps it readable. One
    // pass is enough, because it creates no new pair.
    said.join("; ").replace("*/", "* /")
}

fn constraints(schemas: &[&Schema], said: &mut Vec<String>) {
    let get = |key: &str| schemas.iter().find_map(|schema| schema.get(key));
    let is_true = |key: &str| get(key) == Some(&Value::Bool(true));

    if let Some(default) = get("default") {
        said.push(format!("={}", detail(&beginning(default))));
    }
    values(&get, said);
    for (low, high, before, after) in [
        ("minLength", "maxLength", "len ", ""),
        ("minItems", "maxItems", "", " items"),
        ("minProperties", "maxProperties", "", " keys"),
    ] {
        let count = |key: &str| get(key).and_then(Value::as_u64);
        // A minimum of 0 has no meaning.
        let low = count(low).filter(|&low| low > 0).map(|n| n.to_string());
        let range = range(low, count(high).map(|n| n.to_string()));
        said.extend(range.map(|range| format!("{before}{range}{after}")));
    }
    if is_true("uniqueItems") {
        said.push("unique".to_owned());
    }
    if let Some(pattern) = get("pattern").and_then(Value::as_str) {
        said.push(format!("/{}/", detail(pattern)));
    }
    for key in ["format", "contentEncoding", "contentMediaType"] {
        said.extend(get(key).and_then(Value::as_str).map(detail));
    }
    if is_true("deprecated") {
        said.push("deprecated".to_owned());
    }
}

/// Adds the bounds of a number. An exclusive bound is a number in current drafts, and in draft 4 a
/// flag next to the inclusive bound.
fn values<'a>(get: &impl Fn(&str) -> Option<&'a Value>, said: &mut Vec<String>) {
    let number = |key: &str| {
        get(key).filter(|value| {
            value
                .as_f64()
                .is_some_and(|number| number.abs() < MAX_SAFE_INTEGER)
        })
    };
    let bound = |inclusive: &str, exclusive: &str| match get(exclusive) {
        Some(Value::Bool(true)) => (None, number(inclusive)),
        _ => (number(inclusive), number(exclusive)),
    };
    let (low, above) = bound("minimum", "exclusiveMinimum");
    let (high, below) = bound("maximum", "exclusiveMaximum");
    said.extend(range(low.map(Value::to_string), high.map(Value::to_string)));
    said.extend(above.map(|above| format!(">{above}")));
    said.extend(below.map(|below| format!("<{below}")));
    if let Some(step) = number("multipleOf") {
        said.push(format!("multiple of {step}"));
    }
}

fn range(low: Option<String>, high: Option<String>) -> Option<String> {
    match (low, high) {
        (Some(low), Some(high)) if low == high => Some(format!("exactly {low}")),
        (Some(low), Some(high)) => Some(format!("{low}..{high}")),
        (Some(low), None) => Some(format!(">={low}")),
        (None, Some(high)) => Some(format!("<={high}")),
        (None, None) => None,
    }
}

/// Returns the beginning of a value's JSON, long enough to be cut. Writing stops there, partly
/// because a deeply nested value would need too much stack.
fn beginning(value: &Value) -> String {
    struct Beginning(Vec<u8>);
    impl std::io::Write for Beginning {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let room = (MAX_DETAIL * 5).saturating_sub(self.0.len());
            self.0.extend(bytes.iter().take(room));
            match room {
                0 => Err(std::io::ErrorKind::StorageFull.into()),
                _ => Ok(bytes.len().min(room)),
            }
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut written = Beginning(Vec::new());
    // Writing fails if the value is longer than the part that is shown.
    let _ = serde_json::to_writer(&mut written, value);
    String::from_utf8_lossy(&written.0).into_owned()
}

fn detail(text: &str) -> String {
    cut(folded(text), MAX_DETAIL)
}

/// Puts text on one line: runs of white space become one space. So do control characters, because
/// no terminal should interpret them.
fn folded(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(1024));
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if !word.is_empty() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    line
}

/// Cuts text to at most `max` characters; the last three of them indicate the cut.
fn cut(mut text: String, max: usize) -> String {
    if text.char_indices().nth(max).is_none() {
        return text;
    }
    let keep = max.saturating_sub(3);
    let end = text.char_indices().nth(keep).map_or(0, |(at, _)| at);
    text.truncate(end);
    text.push_str(&"..."[..max.min(3)]);
    text
}
