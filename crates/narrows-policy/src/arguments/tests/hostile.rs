//! Malicious schemas. None may hang, overflow the stack or panic. The result of the check matters
//! less.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{checker, first, raw};

#[test]
fn catastrophic_patterns_are_bounded() {
    let long = format!(r#"{{"x": "{}!"}}"#, "a".repeat(50_000));
    let of = |pattern: &str| format!(r#"{{"properties": {{"x": {{"pattern": "{pattern}"}}}}}}"#);
    first(&of("^(a+)+$"), &long, "'x' must match the pattern ^(a+)+$");
    first(
        &of("^(a|aa)+$"),
        &long,
        "'x' must match the pattern ^(a|aa)+$",
    );
    // Look-around needs the backtracking engine, which gives up here. An undecided check does not
    // refuse the call.
    first(&of("^((?=a)a|(?=a)a)*$"), &long, "ok");
    first(&of(r"^(a+)+\\1$"), &long, "ok");
    first(&of("(a{1000}){1000}"), &long, "ok");
}

#[test]
fn look_around_patterns_are_enforced() {
    let schema =
        r#"{"required": ["y"], "properties": {"y": {}, "x": {"pattern": "^(?!-)[a-z-]+$"}}}"#;
    first(schema, r#"{"y": 1, "x": "a-b"}"#, "ok");
    first(
        schema,
        r#"{"y": 1, "x": "-b"}"#,
        "'x' must match the pattern ^(?!-)[a-z-]+$",
    );
    first(schema, r#"{"x": "a"}"#, "Missing required argument: 'y'");
}

#[test]
fn schemas_with_too_many_patterns_are_not_compiled() {
    let patterns: Vec<String> = (0..1_000)
        .map(|n| format!(r#""p{n}": {{"pattern": "[ab]{{{n}}}"}}"#))
        .collect();
    let schema = format!(
        r#"{{"required": ["a"], "properties": {{{}}}}}"#,
        patterns.join(",")
    );
    first(&schema, "{}", "ok");
}

#[test]
fn exponentially_expanding_references_are_not_followed() {
    let mut defs = serde_json::Map::new();
    for n in 0..50 {
        let next = format!("#/$defs/d{}", n + 1);
        defs.insert(
            format!("d{n}"),
            json!({"allOf": [{"$ref": next}, {"$ref": next}]}),
        );
    }
    defs.insert("d50".into(), json!({"type": "object"}));
    let schema = json!({"$ref": "#/$defs/d0", "$defs": defs, "required": ["a"]});
    first(&schema.to_string(), "{}", "ok");
}

#[test]
fn branching_recursion_is_checked_while_cheap() {
    let schema = r##"{"properties": {"n": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "object", "properties": {
        "n": {"allOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}]}}}}}"##;
    let nested = |depth: usize| format!(r#"{}1{}"#, r#"{"n":"#.repeat(depth), "}".repeat(depth));
    first(schema, &nested(3), "'n/n/n' must be object, not integer");
    first(schema, &nested(100), "ok");
}

#[test]
fn linear_recursion_is_checked_at_any_depth() {
    let schema = r##"{"properties": {"n": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "object", "properties": {
        "n": {"$ref": "#/$defs/n"}}}}}"##;
    let nested = format!(r#"{}1{}"#, r#"{"n":"#.repeat(120), "}".repeat(120));
    let rejection = checker(schema).check(&raw(&nested)).unwrap_err();
    assert_eq!(rejection.errors[0].0, "/n".repeat(120));
}

#[test]
fn reference_cycles_and_chains_are_bounded() {
    let chain = |form: fn(String) -> Value, length: usize| {
        let mut defs = serde_json::Map::new();
        for n in 0..length {
            defs.insert(
                format!("d{n}"),
                form(format!("#/$defs/d{}", (n + 1) % length)),
            );
        }
        let schema = json!({"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs});
        checker(&schema.to_string()).check(&raw(r#"{"x": {"x": [1, {"x": 2}]}}"#))
    };
    for length in [1, 2, 50, 5_000] {
        assert_eq!(chain(|next| json!({"$ref": next}), length), Ok(()));
        assert_eq!(
            chain(
                |next| json!({"anyOf": [{"$ref": next}, {"items": {"$ref": next}}]}),
                length
            ),
            Ok(())
        );
        assert_eq!(
            chain(|next| json!({"properties": {"x": {"$ref": next}}}), length),
            Ok(())
        );
        assert_eq!(
            chain(
                |next| json!({"items": {"$ref": next}, "additionalProperties": {"$ref": next}}),
                length
            ),
            Ok(())
        );
    }
    first(r##"{"$ref": "#"}"##, "{}", "ok");
    first(
        r##"{"allOf": [{"$ref": "#"}], "required": ["a"]}"##,
        "{}",
        "Missing required argument: 'a'",
    );
}

#[test]
fn deeply_nested_schemas_are_bounded() {
    for depth in [50, 100, 10_000] {
        for (open, close) in [
            (r#"{"not":"#, "}"),
            (r#"{"items":"#, "}"),
            (r#"{"allOf":["#, "]}"),
            (r#"{"properties":{"x":"#, "}}"),
        ] {
            let schema = format!("{}{{}}{}", open.repeat(depth), close.repeat(depth));
            let _ = checker(&schema).check(&raw(r#"{"x": {"x": [1, {"x": 2}]}}"#));
        }
    }
}

/// Returns `{"x": [0, 0, ...]}`.
fn wide(count: usize) -> String {
    format!(r#"{{"x": [{}0]}}"#, "0,".repeat(count - 1))
}

#[test]
fn only_the_first_of_very_many_errors_is_reported() {
    let of = |items: &str| format!(r#"{{"properties": {{"x": {{"items": {items}}}}}}}"#);
    let reported = |items: &str, count: usize| {
        let rejection = checker(&of(items)).check(&raw(&wide(count))).unwrap_err();
        (rejection.errors.len(), rejection.errors[0].1.clone())
    };
    let string = r#"{"type": "string"}"#;
    let first = "'x/0' must be string, not integer".to_owned();
    assert_eq!(reported(string, 1_000), (20, first.clone()));
    assert_eq!(reported(string, 300_000), (1, first));
    // An unlimited message would describe each alternative for each item.
    let forms = r#"{"anyOf": [{"type": "string"}, {"type": "object", "required": ["a"]}]}"#;
    let unexplained = "The arguments do not match the schema".to_owned();
    assert_eq!(reported(forms, 1_000).0, 20);
    assert_eq!(reported(forms, 300_000), (1, unexplained));
    let patterns = r#"{"anyOf": [{"type": "string", "pattern": "^(?!a)"}, {"type": "null"}]}"#;
    assert_eq!(reported(patterns, 1_000).0, 20);
    super::first(&of(patterns), &wide(300_000), "ok");
}

#[test]
fn expensive_checks_of_many_values_are_skipped() {
    let forms: Vec<String> = (0..2_000)
        .map(|n| format!(r#"{{"const": {}}}"#, n + 1))
        .collect();
    let schema = format!(
        r#"{{"properties": {{"x": {{"items": {{"anyOf": [{}]}}}}}}}}"#,
        forms.join(",")
    );
    first(&schema, &wide(20_000), "ok");
    assert!(checker(&schema).check(&raw(&wide(4_000))).is_err());
    // The number of values is limited even if each is cheap to check.
    let schema = r#"{"properties": {"x": {"items": {"type": "string"}}}}"#;
    first(schema, &wide(6_000_000), "ok");
}

#[test]
fn check_is_quick_after_compilation_for_small_input() {
    let simple = checker(r#"{"properties": {"x": {"type": "string"}}}"#);
    assert!(!simple.is_quick(2));
    assert!(simple.clone().check(&raw("{}")).is_ok());
    assert!(simple.is_quick(64 * 1024));
    assert!(!simple.is_quick(16 * 1024 * 1024));
    let long = format!(r#"{{"description": "{}"}}"#, "d".repeat(100_000));
    let long = checker(&long);
    assert!(long.check(&raw("{}")).is_ok());
    assert!(!long.is_quick(2));
    assert!(super::ArgumentChecker::new(None).is_quick(usize::MAX));
}

/// Generates JSON with many JSON Schema keywords.
fn some_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "if",
        "then",
        "else",
        "$ref",
        "$defs",
        "$dynamicRef",
        "$recursiveRef",
        "$id",
        "$schema",
        "$anchor",
        "pattern",
        "patternProperties",
        "additionalProperties",
        "unevaluatedProperties",
        "unevaluatedItems",
        "prefixItems",
        "contains",
        "minContains",
        "dependentSchemas",
        "dependentRequired",
        "dependencies",
        "propertyNames",
        "minimum",
        "maxLength",
        "minItems",
        "multipleOf",
        "uniqueItems",
        "format",
        "a",
        "b",
    ]);
    let text = prop::sample::select(vec![
        "string",
        "object",
        "array",
        "integer",
        "null",
        "#",
        "#/$defs/a",
        "#/properties/b",
        "#a",
        "",
        "^a+$",
        "(?=a)",
        "[",
        "uri",
        "a",
        "b",
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-04/schema#",
        "https://json-schema.org/draft/2019-09/schema",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..12).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((word.clone(), inner), 0..6).prop_map(|members| members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn arbitrary_schemas_do_not_panic(schema in some_json(), arguments in some_json()) {
        if let Err(rejection) = checker(&schema.to_string()).check(&raw(&arguments.to_string())) {
            prop_assert!(!rejection.errors.is_empty());
            prop_assert!(rejection.errors.len() <= 20);
            prop_assert!(rejection.message.starts_with("Argument validation failed: "));
        }
    }

    /// Generates schemas that usually compile.
    #[test]
    fn well_formed_schemas_do_not_panic(
        inner in prop::collection::vec(some_schema(), 1..4),
        arguments in some_json(),
    ) {
        let members: serde_json::Map<String, Value> =
            ["a", "b", "type", "x"].iter().map(|name| (*name).to_owned()).zip(inner).collect();
        let schema = json!({"properties": members, "$defs": members, "anyOf": [members.get("a"), true]});
        let arguments = json!({"a": arguments, "b": [arguments]});
        if let Err(rejection) = checker(&schema.to_string()).check(&raw(&arguments.to_string())) {
            prop_assert!(!rejection.errors.is_empty());
        }
    }
}

fn some_schema() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec![
        "string", "object", "array", "integer", "null", "number", "boolean",
    ]);
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        kind.prop_map(|kind| json!({"type": kind})),
        (0..9)
            .prop_map(|n| json!({"minimum": n, "maxLength": n, "minItems": n, "maxProperties": n})),
        Just(json!({"$ref": "#/$defs/a"})),
        Just(json!({"$ref": "#"})),
        some_json().prop_map(|value| json!({"const": value})),
        some_json().prop_map(|value| json!({"enum": [value, 1]})),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let several = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            several.clone().prop_map(|schemas| json!({"anyOf": schemas})),
            several.clone().prop_map(|schemas| json!({"oneOf": schemas})),
            several.clone().prop_map(|schemas| json!({"allOf": schemas})),
            several.prop_map(|schemas| json!({"prefixItems": schemas, "items": false})),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"if": a, "then": b, "else": false})),
            (inner.clone(), inner.clone()).prop_map(
                |(a, b)| json!({"properties": {"a": a, "type": b}, "required": ["a"], "unevaluatedProperties": false})
            ),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| json!({"patternProperties": {"^a": a}, "additionalProperties": b})),
            (inner.clone(), inner).prop_map(|(a, b)| json!({"contains": a, "not": b, "unevaluatedItems": false})),
        ]
    })
}
