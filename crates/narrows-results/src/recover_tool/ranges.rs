//! Parsing of line and row ranges in the forms that markers show and models write.

use serde_json::Value;

use super::argument_error::ArgumentError;
use super::convert::whole;

const MAX_RANGES: usize = 1_000;

const WANTED: &str = "ranges such as \"201-5012\" or \"5,9-12\"";

/// Parses `"201-5012"`, `"5,9-12"`, `{"start_line": 5, "end_line": 9}`, `[5, 9]`, `7`, and lists of
/// these.
pub(super) fn read(value: &Value) -> Result<Vec<(i64, i64)>, ArgumentError> {
    let entries = match value {
        Value::Array(entries) if !is_pair(entries) => entries.as_slice(),
        value => std::slice::from_ref(value),
    };
    let mut ranges = Vec::new();
    for entry in entries {
        let read = match entry {
            Value::String(text) => written(text),
            Value::Array(ends) if is_pair(ends) => whole(&ends[0])
                .zip(whole(&ends[1]))
                .map(|range| vec![range]),
            Value::Object(_) => object(entry).map(|range| vec![range]),
            entry => whole(entry).map(|line| vec![(line, line)]),
        };
        ranges.extend(read.ok_or_else(|| ArgumentError::of_value("ranges", WANTED, entry))?);
        if ranges.len() > MAX_RANGES {
            let message = format!("Argument 'ranges' must have at most {MAX_RANGES} entries");
            return Err(message.into());
        }
    }
    Ok(ranges)
}

/// Returns true for a list of two numbers, which is a single range.
fn is_pair(entries: &[Value]) -> bool {
    entries.len() == 2 && entries.iter().all(Value::is_number)
}

/// Parses a range object. Without a start it begins at line 1, without an end it extends to the
/// last line.
fn object(range: &Value) -> Option<(i64, i64)> {
    let named = |names: &[&str], default: i64| {
        let value = names.iter().find_map(|name| range.get(*name));
        value
            .filter(|value| !value.is_null())
            .map_or(Some(default), whole)
    };
    let start = named(
        &["start_line", "start", "from", "startLine", "first", "begin"],
        1,
    );
    let end = named(&["end_line", "end", "to", "endLine", "last"], i64::MAX);
    let is_range = range.as_object().is_some_and(|range| !range.is_empty());
    start.zip(end).filter(|_| is_range)
}

/// Parses `201-5012`, `7`, `12-`, `lines 5-9`, `L5-L9`, `5:9`, `5..9`, or a list of these.
fn written(text: &str) -> Option<Vec<(i64, i64)>> {
    let parts = text.split([',', ';']).take(MAX_RANGES + 1);
    parts.map(one).collect()
}

fn one(part: &str) -> Option<(i64, i64)> {
    let part = part.trim();
    let part = part
        .strip_prefix("lines")
        .or(part.strip_prefix("rows"))
        .unwrap_or(part);
    let digits = |text: &str| {
        let text = text.trim().trim_start_matches(['L', 'l']);
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // Numbers out of range become the largest number.
        is_number.then(|| text.parse().unwrap_or(i64::MAX))
    };
    for separator in ["..", "-", "–", ":", " to "] {
        if let Some((start, end)) = part.split_once(separator) {
            let end = match end.trim() {
                "" | "end" => i64::MAX,
                end => digits(end)?,
            };
            return Some((digits(start)?, end));
        }
    }
    digits(part).map(|line| (line, line))
}
