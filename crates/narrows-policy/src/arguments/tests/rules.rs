//! Tests of accepted and refused arguments.

use super::{checker, first, raw};

/// Returns a schema with one property `x` and these keywords.
fn of_x(keywords: &str) -> String {
    format!(r#"{{"type": "object", "properties": {{"x": {{{keywords}}}}}}}"#)
}

fn x(keywords: &str, value: &str, expected: &str) {
    first(&of_x(keywords), &format!(r#"{{"x": {value}}}"#), expected);
}

#[test]
fn types_are_checked() {
    x(r#""type": "string""#, r#""a""#, "ok");
    x(
        r#""type": "string""#,
        "5",
        "'x' must be string, not integer",
    );
    x(r#""type": "integer""#, "1.0", "ok");
    x(r#""type": "integer""#, "1e3", "ok");
    x(
        r#""type": "integer""#,
        "1.5",
        "'x' must be integer, not number",
    );
    x(
        r#""type": "integer""#,
        "123456789012345678901234567890",
        "ok",
    );
    x(
        r#""type": "integer", "maximum": 9"#,
        "123456789012345678901234567890",
        "'x' must be at most 9",
    );
    x(r#""type": "integer""#, "-9223372036854775809", "ok");
    x(
        r#""type": "number""#,
        "\"1\"",
        "'x' must be number, not string",
    );
    x(
        r#""type": "boolean""#,
        "null",
        "'x' must be boolean, not null",
    );
    x(r#""type": "object""#, "[]", "'x' must be object, not array");
    x(r#""type": "array""#, "{}", "'x' must be array, not object");
    x(r#""type": ["string", "null"]"#, "null", "ok");
    x(
        r#""type": ["string", "null"]"#,
        "true",
        "'x' must be null or string, not boolean",
    );
}

#[test]
fn arguments_must_be_an_object() {
    first("{}", "[]", "The arguments must be object, not array");
    first(
        r#"{"type": "object"}"#,
        "null",
        "The arguments must be object, not null",
    );
    first(r#"{"type": "object"}"#, "{}", "ok");
}

#[test]
fn unknown_top_level_names_are_rejected_unless_open() {
    let unknown = "Unknown argument: 'zzz'";
    for (schema, expected) in [
        (r#"{"type": "object"}"#, "ok"),
        (r#"{"type": "object", "properties": {}}"#, unknown),
        (r#"{"properties": {"a": {}}}"#, unknown),
        (
            r#"{"properties": {"a": {}}, "additionalProperties": false}"#,
            unknown,
        ),
        (
            r#"{"properties": {"a": {}}, "additionalProperties": {"not": {}}}"#,
            unknown,
        ),
        (
            r#"{"properties": {"a": {}}, "unevaluatedProperties": false}"#,
            unknown,
        ),
        (r#"{"patternProperties": {}}"#, unknown),
        (r#"{"additionalProperties": true}"#, "ok"),
        (r#"{"additionalProperties": {}}"#, "ok"),
        (r#"{"additionalProperties": {"type": "integer"}}"#, "ok"),
        (
            r#"{"additionalProperties": {"type": "string"}}"#,
            "'zzz' must be string, not integer",
        ),
        (r#"{"unevaluatedProperties": true}"#, "ok"),
        (r#"{"unevaluatedProperties": {"type": "integer"}}"#, "ok"),
        (r#"{"patternProperties": {"^z": {}}}"#, "ok"),
        (r#"{"patternProperties": {"^y": {}}}"#, unknown),
        (r#"{"patternProperties": {"^y": {}, "z+$": {}}}"#, "ok"),
        (
            r#"{"patternProperties": {"^y": {}}, "additionalProperties": false}"#,
            unknown,
        ),
        (r#"{"allOf": [{"additionalProperties": true}]}"#, "ok"),
        (
            r#"{"anyOf": [{"properties": {"a": {}}}, {"additionalProperties": {}}]}"#,
            "ok",
        ),
        (
            r##"{"$ref": "#/$defs/o", "$defs": {"o": {"additionalProperties": true}}}"##,
            "ok",
        ),
        (
            r#"{"properties": {}, "not": {"required": ["y"], "additionalProperties": true}}"#,
            unknown,
        ),
    ] {
        first(schema, r#"{"zzz": 1}"#, expected);
    }
}

#[test]
fn required_name_missing_from_properties_is_allowed() {
    let missing = "Missing required argument: 'kiosk'";
    for schema in [
        r#"{"properties": {"a": {}}, "required": ["kiosk"]}"#,
        r#"{"properties": {"a": {}}, "required": ["kiosk"], "additionalProperties": false}"#,
        r#"{"properties": {"a": {}}, "required": ["kiosk"], "unevaluatedProperties": false}"#,
        r#"{"additionalProperties": false, "required": ["kiosk"]}"#,
        r#"{"properties": {"a": {}}, "allOf": [{"required": ["kiosk"]}]}"#,
        r#"{"properties": {"a": {}}, "allOf": [{"required": ["kiosk"]}], "additionalProperties": false}"#,
        r##"{"$ref": "#/$defs/o", "$defs": {"o": {"properties": {"a": {}}, "required": ["kiosk"], "additionalProperties": false}}}"##,
        r##"{"properties": {"a": {}}, "$ref": "#/definitions/o", "definitions": {"o": {"required": ["kiosk"]}}}"##,
    ] {
        first(schema, r#"{"kiosk": 7}"#, "ok");
        first(schema, r#"{"a": 1}"#, missing);
        first(
            schema,
            r#"{"kiosk": 7, "kisok": 7}"#,
            "Unknown argument: 'kisok'",
        );
    }
    for schema in [
        r#"{"properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"required": ["kiosk"]}]}"#,
        r#"{"properties": {"a": {}}, "dependentRequired": {"a": ["kiosk"]}}"#,
        r#"{"properties": {"a": {}}, "if": {"required": ["kiosk"]}, "then": {"required": ["kiosk"]}}"#,
    ] {
        first(schema, r#"{"kiosk": 7}"#, "ok");
    }
}

#[test]
fn nested_required_name_outside_properties_is_allowed() {
    let closed = r#""properties": {"a": {}}, "required": ["kiosk"], "additionalProperties": false"#;
    x(closed, r#"{"kiosk": 7}"#, "ok");
    x(
        closed,
        r#"{"a": 7}"#,
        "Missing required argument: 'x/kiosk'",
    );
    x(closed, r#"{"kiosk": 7, "b": 1}"#, "Unknown argument: 'x/b'");
    x(
        &format!(r#""type": "array", "items": {{{closed}}}"#),
        r#"[{"kiosk": 7}]"#,
        "ok",
    );
    // Values in the schema that are compared with the arguments are not changed.
    x(
        r#""const": {"additionalProperties": false, "required": ["kiosk"]}"#,
        r#"{"additionalProperties": false, "required": ["kiosk"]}"#,
        "ok",
    );
    // The only matching alternative must stay the only one.
    x(
        r#""oneOf": [{"required": ["kiosk"], "additionalProperties": false}, {"required": ["kiosk"]}]"#,
        r#"{"kiosk": 7}"#,
        "ok",
    );
}

#[test]
fn unknown_nested_names_are_allowed_unless_forbidden() {
    x(r#""type": "object""#, r#"{"zzz": 1}"#, "ok");
    x(r#""properties": {"a": {}}"#, r#"{"zzz": 1}"#, "ok");
    x(
        r#""additionalProperties": false"#,
        r#"{"zzz": 1}"#,
        "Unknown argument: 'x/zzz'",
    );
}

#[test]
fn known_names_include_all_applied_subschemas() {
    for schema in [
        r#"{"allOf": [{"properties": {"zzz": {}}}]}"#,
        r#"{"anyOf": [{"properties": {"a": {}}}, {"properties": {"zzz": {}}}]}"#,
        r#"{"oneOf": [{"required": ["a"]}, {"properties": {"zzz": {}}}]}"#,
        r#"{"if": {"properties": {"zzz": {}}}}"#,
        r#"{"if": {"required": ["a"]}, "then": {"properties": {"zzz": {}}}}"#,
        r#"{"if": {"required": ["a"]}, "else": {"properties": {"zzz": {}}}}"#,
        r#"{"properties": {"a": {}}, "dependentSchemas": {"a": {"properties": {"zzz": {}}}}}"#,
        r##"{"$ref": "#/$defs/o", "$defs": {"o": {"properties": {"zzz": {}}}}}"##,
        r##"{"allOf": [{"$ref": "#/definitions/o"}], "definitions": {"o": {"properties": {"zzz": {}}}}}"##,
        r##"{"$ref": "#/$defs/a%20b", "$defs": {"a b": {"properties": {"zzz": {}}}}}"##,
        r##"{"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"properties": {"zzz": {}}}}}"##,
        r##"{"allOf": [{"$ref": "#"}, {"properties": {"zzz": {}}}]}"##,
        r##"{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}, {"properties": {"zzz": {}}}]}}}"##,
    ] {
        first(schema, r#"{"zzz": 1}"#, "ok");
        first(schema, r#"{"q": 1}"#, "Unknown argument: 'q'");
    }
}

#[test]
fn references_are_followed() {
    let tree = r##"{"properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": {
        "type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}}}"##;
    first(
        tree,
        r#"{"root": {"name": "a", "children": [{"name": "b"}]}}"#,
        "ok",
    );
    first(
        tree,
        r#"{"root": {"name": "a", "children": [{"name": "b", "children": [{}]}]}}"#,
        "Missing required argument: 'root/children/0/children/0/name'",
    );
    let siblings = r##"{"properties": {"x": {"$ref": "#/$defs/s", "maxLength": 2}}, "$defs": {"s": {"type": "string"}}}"##;
    first(
        siblings,
        r#"{"x": "abc"}"#,
        "'x' must not be longer than 2 characters",
    );
    first(siblings, r#"{"x": 1}"#, "'x' must be string, not integer");
}

#[test]
fn ref_siblings_are_ignored_before_2019() {
    let schema = r##"{"$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"x": {"$ref": "#/definitions/s", "maxLength": 2}},
        "definitions": {"s": {"type": "string"}}}"##;
    first(schema, r#"{"x": "abc"}"#, "ok");
    first(schema, r#"{"x": 1}"#, "'x' must be string, not integer");
}

#[test]
fn declared_draft_is_used() {
    let draft_4 = r#"{"$schema": "http://json-schema.org/draft-04/schema#", "properties":
        {"x": {"type": "number", "minimum": 1, "exclusiveMinimum": true}}}"#;
    first(draft_4, r#"{"x": 1}"#, "'x' must be greater than 1");
    first(draft_4, r#"{"x": 2}"#, "ok");
    let tuple =
        r#""properties": {"x": {"items": [{"type": "string"}], "additionalItems": false}}}"#;
    let draft_7 = format!(r#"{{"$schema": "http://json-schema.org/draft-07/schema#", {tuple}"#);
    first(&draft_7, r#"{"x": ["a"]}"#, "ok");
    first(
        &draft_7,
        r#"{"x": [1]}"#,
        "'x/0' must be string, not integer",
    );
    first(
        &draft_7,
        r#"{"x": ["a", 1]}"#,
        "'x' must have at most 1 item",
    );
    x(
        r#""prefixItems": [{"type": "string"}], "items": false"#,
        r#"["a"]"#,
        "ok",
    );
    x(
        r#""prefixItems": [{"type": "string"}]"#,
        "[1]",
        "'x/0' must be string, not integer",
    );
    let unknown = r#"{"$schema": "https://example.com/of-our-own", "required": ["a"]}"#;
    first(unknown, "{}", "Missing required argument: 'a'");
}

#[test]
fn boolean_schemas_are_supported() {
    let schema = r#"{"properties": {"yes": true, "no": false}}"#;
    first(schema, r#"{"yes": [1]}"#, "ok");
    first(schema, r#"{"no": 1}"#, "'no' is not allowed");
    first("true", r#"{"a": 1}"#, "ok");
    first("false", r#"{"a": 1}"#, "ok");
}

#[test]
fn if_then_else_is_enforced() {
    let schema = r#"{"properties": {"mode": {"enum": ["a", "b"]}, "key": {"type": "string"}},
        "if": {"properties": {"mode": {"const": "b"}}, "required": ["mode"]},
        "then": {"required": ["key"]}}"#;
    first(schema, r#"{"mode": "a"}"#, "ok");
    first(
        schema,
        r#"{"mode": "b"}"#,
        "Missing required argument: 'key'",
    );
    let schema = r#"{"properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}}"#;
    first(schema, r#"{"a": 1}"#, "Missing required argument: 'b'");
}

#[test]
fn formats_and_encodings_are_not_checked() {
    for draft in [
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2020-12/schema",
    ] {
        let schema = format!(
            r#"{{"$schema": "{draft}", "properties": {{"x": {{"type": "string", "format": "uri", "contentEncoding": "base64"}}}}}}"#
        );
        first(&schema, r#"{"x": "not a: uri?"}"#, "ok");
    }
}

#[test]
fn duplicate_members_are_rejected() {
    let schema = r#"{"properties": {"a": {}, "b": {}}}"#;
    first(schema, r#"{"a": 1, "b": 2}"#, "ok");
    first(
        schema,
        r#"{"a": 1, "b": 2, "a": 3}"#,
        "Argument 'a' is given twice",
    );
    first(
        schema,
        r#"{"a": 1, "\u0061": 3}"#,
        "Argument 'a' is given twice",
    );
    first(
        schema,
        r#"{"a": [{"c": 1, "c": 1}]}"#,
        "Argument 'c' is given twice",
    );
}

#[test]
fn unusable_schemas_are_not_enforced() {
    let large = format!(
        r#"{{"required": ["a"], "description": "{}"}}"#,
        "x".repeat(600_000)
    );
    for schema in [
        "[]",
        "null",
        "\"object\"",
        r#"{"type": "nonsense", "required": ["a"]}"#,
        r#"{"required": "a"}"#,
        r#"{"properties": [], "required": ["a"]}"#,
        r#"{"properties": {"x": {"pattern": "("}}, "required": ["a"]}"#,
        r##"{"properties": {"x": {"$ref": "#/$defs/nowhere"}}, "required": ["a"]}"##,
        r#"{"properties": {"x": {"$ref": "https://example.com/s.json"}}, "required": ["a"]}"#,
        r#"{"properties": {"x": {"$ref": "file:///etc/passwd"}}, "required": ["a"]}"#,
        r#"{"$ref": "other.json", "required": ["a"]}"#,
        r##"{"properties": {"x": {"$id": "https://example.com/x", "$ref": "#/$defs/y"}}, "required": ["a"]}"##,
        &large,
    ] {
        assert_eq!(
            checker(schema).check(&raw(r#"{"zzz": 1}"#)),
            Ok(()),
            "{schema:.200}"
        );
    }
}
