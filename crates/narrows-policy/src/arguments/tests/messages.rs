//! Tests of error messages.

use super::{check, first};
use expect_test::expect;

fn x(keywords: &str, value: &str, expected: &str) {
    let schema = format!(r#"{{"properties": {{"x": {{{keywords}}}}}}}"#);
    first(&schema, &format!(r#"{{"x": {value}}}"#), expected);
}

#[test]
fn bound_violations_are_described() {
    x(r#""minimum": 1"#, "0", "'x' must be at least 1");
    x(r#""maximum": 1.5"#, "2", "'x' must be at most 1.5");
    x(
        r#""exclusiveMinimum": 0"#,
        "0",
        "'x' must be greater than 0",
    );
    x(
        r#""exclusiveMaximum": 10"#,
        "10",
        "'x' must be less than 10",
    );
    x(r#""multipleOf": 5"#, "7", "'x' must be a multiple of 5");
    x(
        r#""minLength": 1"#,
        "\"\"",
        "'x' must not be shorter than 1 character",
    );
    x(
        r#""maxLength": 3"#,
        "\"abcd\"",
        "'x' must not be longer than 3 characters",
    );
    x(r#""maxLength": 3"#, "\"äöü\"", "ok");
    x(r#""minItems": 2"#, "[1]", "'x' must have at least 2 items");
    x(
        r#""maxItems": 5"#,
        "[1,2,3,4,5,6]",
        "'x' must have at most 5 items",
    );
    x(
        r#""uniqueItems": true"#,
        "[1,1]",
        "'x' must not have the same item twice",
    );
    x(
        r#""contains": {"const": 1}"#,
        "[2]",
        "'x' does not contain the required items",
    );
    x(
        r#""minProperties": 1"#,
        "{}",
        "'x' must have at least 1 member",
    );
    x(
        r#""maxProperties": 1"#,
        r#"{"a": 1, "b": 2}"#,
        "'x' must have at most 1 member",
    );
    x(
        r#""prefixItems": [{}], "unevaluatedItems": false"#,
        "[1, 2]",
        "'x' has more items than are allowed",
    );
    x(
        r#""pattern": "^a+$""#,
        "\"b\"",
        "'x' must match the pattern ^a+$",
    );
    x(
        r#""not": {"type": "string"}"#,
        "\"b\"",
        "'x' has a form that is not allowed",
    );
    x(
        r#""propertyNames": {"pattern": "^a"}"#,
        r#"{"b": 1}"#,
        "'x/b' is not an allowed name",
    );
}

#[test]
fn enum_and_const_violations_list_the_choices() {
    x(
        r#""enum": ["a", "b", "c"]"#,
        "\"d\"",
        r#"'x' must be one of "a", "b", "c""#,
    );
    x(r#""enum": ["a"]"#, "\"d\"", r#"'x' must be "a""#);
    x(r#""const": {"a": 1}"#, "\"d\"", r#"'x' must be {"a":1}"#);
    x(
        r#""enum": [1,2,3,4,5,6,7,8,9,10,11,12]"#,
        "0",
        "'x' must be one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more",
    );
}

#[test]
fn error_describes_the_closest_alternative() {
    let optional = r#""anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]"#;
    x(optional, "null", "ok");
    x(optional, "0", "'x' must be at least 1");
    x(optional, "\"1\"", "'x' must be integer or null, not string");
    let choice = r#""anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]"#;
    x(choice, "\"c\"", r#"'x' must be one of "a", "b""#);
    x(
        r#""oneOf": [{"const": "a"}, {"const": "b"}, {"enum": ["c"]}]"#,
        "\"d\"",
        r#"'x' must be one of "a", "b", "c""#,
    );
    let shapes = r#""oneOf": [
        {"type": "object", "required": ["r"], "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}},
        {"type": "object", "required": ["w"], "properties": {"kind": {"const": "square"}, "w": {"type": "number"}}}]"#;
    x(shapes, r#"{"kind": "circle", "r": 1}"#, "ok");
    x(
        shapes,
        r#"{"kind": "square", "r": 1}"#,
        "Missing required argument: 'x/w'",
    );
    x(
        shapes,
        r#"{"kind": "circle", "r": "1"}"#,
        "'x/r' must be number, not string",
    );
    x(
        shapes,
        r#"{"kind": "line"}"#,
        r#"'x/kind' must be one of "circle", "square""#,
    );
    x(shapes, "1", "'x' must be object, not integer");
    x(
        r#""anyOf": [{"type": "string", "minLength": 2}, {"type": "string", "pattern": "^a$"}]"#,
        "\"b\"",
        "'x' fits none of the allowed forms",
    );
    x(r#""anyOf": [false, false]"#, "1", "'x' is not allowed");
    x(
        r#""oneOf": [{"type": "integer"}, {"minimum": 1}]"#,
        "2",
        "'x' fits more than one of the allowed forms, and must fit exactly one",
    );
}

#[test]
fn messages_about_all_arguments_are_plural() {
    first(
        r#"{"oneOf": [{"minProperties": 1}, {"maxProperties": 2}]}"#,
        r#"{"a": 1}"#,
        "The arguments fit more than one of the allowed forms, and must fit exactly one",
    );
    first(
        r#"{"not": {"minProperties": 1}}"#,
        r#"{"a": 1}"#,
        "The arguments have a form that is not allowed",
    );
}

#[test]
fn missing_alternative_names_are_listed() {
    let schema = r#"{"properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}"#;
    first(schema, r#"{"b": 1}"#, "ok");
    first(schema, "{}", "Missing required argument: one of 'a', 'b'");
}

#[test]
fn similar_name_is_suggested_unless_present() {
    let schema = r#"{"properties": {"file_path": {}, "limit": {}}}"#;
    first(
        schema,
        r#"{"filepath": 1}"#,
        "Unknown argument: 'filepath' (did you mean 'file_path'?)",
    );
    first(
        schema,
        r#"{"filepath": 1, "file_path": 1}"#,
        "Unknown argument: 'filepath'",
    );
    first(schema, r#"{"zzz": 1}"#, "Unknown argument: 'zzz'");
}

#[test]
fn error_paths_are_ordered_and_escaped() {
    check(
        r#"{"properties": {"a/b": {"items": {"type": "string"}}, "c~d": {"type": "string"}}}"#,
        r#"{"c~d": 1, "a/b": ["", "", 1, "", "", "", "", "", "", "", 1]}"#,
        expect![[r#"
            Argument validation failed: 'a/b/2' must be string, not integer
            /a~1b/2: 'a/b/2' must be string, not integer
            /a~1b/10: 'a/b/10' must be string, not integer
            /c~0d: 'c~d' must be string, not integer"#]],
    );
}

#[test]
fn long_values_are_not_repeated_in_messages() {
    let long = "y".repeat(5_000);
    let schema = format!(
        r#"{{"properties": {{"x": {{"enum": ["{long}", ["{long}"], 3]}}, "{long}": {{}}}}}}"#
    );
    for arguments in [
        r#"{"x": 1}"#.to_owned(),
        format!(r#"{{"{long}z": 1}}"#),
        format!(r#"{{"{long}": 1, "{long}": 2}}"#),
    ] {
        let outcome = super::outcome(&schema, &arguments);
        assert!(
            outcome.starts_with("Argument validation failed: "),
            "{outcome}"
        );
        assert!(outcome.chars().count() < 1_000, "{outcome}");
    }
}

#[test]
fn unreadable_values_are_left_to_the_server() {
    for arguments in [
        r#"{"x": "\ud800"}"#.to_owned(),
        r#"{"x": 1e999}"#.to_owned(),
        format!(r#"{{"x": {}{}}}"#, "[".repeat(200), "]".repeat(200)),
        format!(r#"{{"x": {}{}}}"#, "[".repeat(100_000), "]".repeat(100_000)),
    ] {
        first(
            r#"{"properties": {"x": {"type": "null"}}}"#,
            &arguments,
            "ok",
        );
    }
    let deep = format!(r#"{{"x": {}{}}}"#, "[".repeat(120), "]".repeat(120));
    first(r#"{"properties": {"x": {}}}"#, &deep, "ok");
}
