//! Conversion of argument values from the forms that models write.

use serde_json::{Map, Value};

use super::argument_error::ArgumentError;

/// Arguments by canonical name.
pub(super) type Arguments = Map<String, Value>;

/// Returns a whole number of at least 0, also from a string or from `5.0`.
pub(super) fn number(given: &Arguments, name: &str) -> Result<Option<u64>, ArgumentError> {
    let Some(value) = given.get(name) else {
        return Ok(None);
    };
    match whole(value).and_then(|number| u64::try_from(number).ok()) {
        Some(number) => Ok(Some(number)),
        None => Err(ArgumentError::of_value(
            name,
            "a whole number of at least 0",
            value,
        )),
    }
}

/// Returns a whole number. Numbers out of range become the largest or smallest one.
pub(super) fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| {
            let number = number.as_f64()?;
            // The conversion saturates.
            (number.fract() == 0.0).then_some(number as i64)
        }),
        Value::String(text) => {
            let text = text.trim().replace([',', '_'], "");
            text.parse().ok()
        }
        _ => None,
    }
}

pub(super) fn flag(given: &Arguments, name: &str) -> Result<Option<bool>, ArgumentError> {
    let Some(value) = given.get(name) else {
        return Ok(None);
    };
    let flag = match value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) => number.as_i64().map(|number| number != 0),
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Some(true),
            "false" | "no" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    };
    flag.map(Some)
        .ok_or_else(|| ArgumentError::of_value(name, "true or false", value))
}

pub(super) fn text(given: &Arguments, name: &str) -> Result<Option<String>, ArgumentError> {
    match given.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(value) => Err(ArgumentError::of_value(name, "a string", value)),
    }
}

/// Returns the query. A list of words is joined; all of them must match.
pub(super) fn query(given: &Arguments) -> Result<Option<String>, ArgumentError> {
    let words = match given.get("query") {
        Some(Value::Array(words)) => {
            let words: Vec<String> = words.iter().map(plain).collect();
            Some(words.join(" "))
        }
        _ => text(given, "query")?,
    };
    let expression = text(given, "expression")?.map(|text| match is_slashed(&text) {
        true => text,
        false => format!("/{text}/"),
    });
    Ok(match (words, expression) {
        (Some(words), Some(expression)) => Some(format!("{words} {expression}")),
        (words, expression) => words.or(expression),
    })
}

fn is_slashed(text: &str) -> bool {
    text.len() > 2 && text.starts_with('/') && text.trim_end_matches('i').ends_with('/')
}

/// Returns a list of columns as text, from `"a, b"` or `["a", "b"]`.
pub(super) fn list(given: &Arguments, name: &str) -> Result<Option<String>, ArgumentError> {
    match given.get(name) {
        Some(Value::Array(entries)) => {
            let entries: Vec<String> = entries.iter().map(plain).collect();
            Ok(Some(entries.join(", ")))
        }
        _ => text(given, name),
    }
}

/// Returns the aggregates as text. Accepts `"sum(total)"`, `["count", "sum(total)"]`,
/// `{"sum": "total"}`, or a list of `{"function": "sum", "field": "total"}`.
pub(super) fn aggregate(given: &Arguments) -> Result<Option<String>, ArgumentError> {
    let entries = match given.get("aggregate") {
        Some(Value::Array(entries)) => entries.as_slice(),
        Some(value @ Value::Object(_)) => std::slice::from_ref(value),
        _ => return text(given, "aggregate"),
    };
    let mut columns = Vec::new();
    for entry in entries {
        let Value::Object(entry) = entry else {
            columns.push(plain(entry));
            continue;
        };
        let named = |names: &[&str]| names.iter().find_map(|name| entry.get(*name)).map(plain);
        let function = named(&["function", "fn", "op", "func", "type"]);
        match (function, named(&["field", "path", "column", "of"])) {
            (Some(function), Some(field)) => columns.push(format!("{function}({field})")),
            (Some(function), None) => columns.push(function),
            (None, _) => columns.extend(
                (entry.iter()).map(|(function, field)| format!("{function}({})", plain(field))),
            ),
        }
    }
    Ok(Some(columns.join(", ")))
}

/// Returns the path of the rows. `true` selects the rows that are found automatically.
pub(super) fn rows(given: &Arguments) -> Result<Option<String>, ArgumentError> {
    match given.get("rows") {
        Some(Value::Bool(wanted)) => Ok(wanted.then(String::new)),
        _ => text(given, "rows"),
    }
}

/// Returns a condition as text, from text, a list of conditions that must all hold, or an object of
/// fields and their required values.
pub(super) fn condition(given: &Arguments) -> Result<Option<String>, ArgumentError> {
    let value = match given.get("where") {
        Some(Value::Array(parts)) => {
            let parts: Vec<String> = parts
                .iter()
                .map(|part| format!("({})", plain(part)))
                .collect();
            return Ok(Some(parts.join(" and ")));
        }
        Some(Value::Object(fields)) => fields,
        _ => return text(given, "where"),
    };
    let mut parts = Vec::new();
    for (field, wanted) in value {
        let field = format!("`{}`", field.replace('`', "``"));
        match wanted {
            Value::Array(wanted) if !wanted.is_empty() => {
                let wanted: Vec<String> = wanted.iter().map(Value::to_string).collect();
                parts.push(format!("{field} in ({})", wanted.join(", ")));
            }
            Value::Object(_) | Value::Array(_) => {
                let example = "a text such as \"total > 5 and status = 'open'\"";
                return Err(ArgumentError::of_value(
                    "where",
                    example,
                    &Value::Object(value.clone()),
                ));
            }
            wanted => parts.push(format!("{field} = {wanted}")),
        }
    }
    Ok(Some(parts.join(" and ")))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
