//! Reads the members of a JSON row, including those of nested objects.
//!
//! Rows of JSON Lines have not been validated: reading stops at the first syntax error.

use std::ops::Range;

use crate::json::string_end;

/// The deepest level of nested objects that is read.
const DEPTH: usize = 3;
/// The maximum number of members that are read from a row.
const MOST_MEMBERS: usize = 512;

/// The JSON type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Text,
    Number,
    Null,
    Boolean,
    Array,
    Object,
}

/// Calls `visit` with the enclosing field, the key and the value of each member. `visit` returns
/// the number of the member's field.
pub(super) fn each(
    text: &str,
    row: &Range<usize>,
    visit: &mut impl FnMut(Option<u32>, Range<usize>, Range<usize>, Sort) -> Option<u32>,
) {
    let mut left = MOST_MEMBERS;
    members(text.as_bytes(), row, None, DEPTH, &mut left, visit);
}

fn members(
    bytes: &[u8],
    object: &Range<usize>,
    around: Option<u32>,
    depth: usize,
    left: &mut usize,
    visit: &mut impl FnMut(Option<u32>, Range<usize>, Range<usize>, Sort) -> Option<u32>,
) {
    let bytes = &bytes[..object.end];
    let mut at = skip_space(bytes, object.start);
    if bytes.get(at) != Some(&b'{') {
        return;
    }
    at += 1;
    while *left > 0 {
        let start = skip_space(bytes, at);
        if bytes.get(start) != Some(&b'"') {
            return;
        }
        let end = string_end(bytes, start).min(bytes.len());
        let colon = skip_space(bytes, end);
        if bytes.get(colon) != Some(&b':') || end < start + 2 {
            return;
        }
        let value = skip_space(bytes, colon + 1);
        let value_end = value_end(bytes, value);
        if value_end == value {
            return;
        }
        *left -= 1;
        let sort = match bytes[value] {
            b'"' => Sort::Text,
            b'n' => Sort::Null,
            b't' | b'f' => Sort::Boolean,
            b'[' => Sort::Array,
            b'{' => Sort::Object,
            _ => Sort::Number,
        };
        let field = visit(around, start + 1..end - 1, value..value_end, sort);
        if sort == Sort::Object && depth > 0 && field.is_some() {
            members(bytes, &(value..value_end), field, depth - 1, left, visit);
        }
        at = skip_space(bytes, value_end);
        match bytes.get(at) {
            Some(b',') => at += 1,
            _ => return,
        }
    }
}

fn skip_space(bytes: &[u8], at: usize) -> usize {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| is_space(byte)).count()
}

/// Returns the end of the value that begins at `start`, or `start` if there is no value.
fn value_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    let mut depth = 0_usize;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at).min(bytes.len()),
            b'[' | b'{' => {
                depth += 1;
                at += 1;
            }
            b']' | b'}' if depth == 0 => return at,
            b']' | b'}' => {
                depth -= 1;
                at += 1;
            }
            b',' | b' ' | b'\t' | b'\r' | b'\n' if depth == 0 => return at,
            _ => {
                at += 1;
                continue;
            }
        }
        if depth == 0 {
            return at;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(row: &str, expected: &str) {
        let mut names: Vec<String> = Vec::new();
        let mut shown = Vec::new();
        each(row, &(0..row.len()), &mut |around, key, value, sort| {
            let around = around.map_or(String::new(), |at| format!("{}.", names[at as usize]));
            names.push(around + &row[key]);
            let name = names.last().cloned().unwrap_or_default();
            if sort != Sort::Object {
                shown.push(format!("{name}={}", &row[value]));
            }
            Some(names.len() as u32 - 1)
        });
        assert_eq!(shown.join(" "), expected);
    }

    #[test]
    fn members_are_found_at_every_depth() {
        check(
            r#" {"a": 1, "b" : {"c":"x,}","d":[1,{"e":2}]} ,"f":null}"#,
            r#"a=1 b.c="x,}" b.d=[1,{"e":2}] f=null"#,
        );
        check("{}", "");
        check("[1]", "");
    }

    #[test]
    fn broken_rows_are_read_up_to_the_error() {
        for row in [
            "{",
            "{\"",
            "{\"a",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":}",
            "{\"a\":\"",
            "{x",
            "{\"a\":1",
            "{\"a\":[1",
            "{\"é\\",
        ] {
            each(row, &(0..row.len()), &mut |_, _, _, _| Some(0));
        }
        check(r#"{"a":1,"b":2 "c":3}"#, "a=1 b=2");
    }
}
