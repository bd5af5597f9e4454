//! Unusual schemas: deep, large, exploding, arbitrary.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{TypeScriptOptions, typescript, typescript_of_text};

fn line(schema: &str) -> String {
    typescript_of_text(schema, &TypeScriptOptions::default())
        .expect("JSON")
        .to_string()
}

#[test]
fn only_invalid_json_is_rejected() {
    let refused = |text| typescript_of_text(text, &TypeScriptOptions::default()).unwrap_err();
    let error = refused("{\"a\":\n  nope}");
    assert_eq!((error.offset, error.line, error.column), (8, 2, 3));
    assert_eq!(refused("").line, 1);
    let deep_and_broken = "[".repeat(10_000);
    assert_eq!(refused(&deep_and_broken).offset, 10_000);
    assert_eq!(line(r#"{"type":"number","maximum":1e400}"#), "number");
    assert_eq!(line(r#"{"const":-1e400}"#), "-1.7976931348623157e+308");
    let big = format!(r#"{{"enum":[{},2]}}"#, "9".repeat(400));
    assert!(line(&big).ends_with(" | 2"));
}

#[test]
fn types_below_the_maximum_depth_are_unknown() {
    let nested = |levels: usize| {
        let (open, close) = (r#"{"properties":{"a":"#, "}}");
        format!(
            "{}{{\"type\":\"string\"}}{}",
            open.repeat(levels),
            close.repeat(levels)
        )
    };
    assert_eq!(line(&nested(2)), "{a?: {a?: string}}");
    assert!(line(&nested(40)).contains("string"));
    for levels in [100, 1_000, 10_000, 100_000] {
        let text = line(&nested(levels));
        assert!(
            text.contains("a?: unknown}") && text.len() < 1_000,
            "{text}"
        );
    }
    let arrays = format!(
        r#"{}{{"type":"string"}}{}"#,
        r#"{"items":"#.repeat(50_000),
        "}".repeat(50_000)
    );
    assert_eq!(line(&arrays), format!("unknown{}", "[]".repeat(63)));
}

#[test]
fn deep_schema_does_not_overflow_the_stack() {
    // The tree is built by hand, because the macro would recurse into its argument.
    let object =
        |key: &str, value: Value| Value::Object([(key.to_owned(), value)].into_iter().collect());
    let mut deep = json!({"type": "string"});
    let mut default = json!(1);
    for _ in 0..20_000 {
        let merged = object("allOf", Value::Array(vec![deep]));
        deep = object("anyOf", Value::Array(vec![merged]));
        default = Value::Array(vec![default]);
    }
    let mut schema = json!({"properties": {"a": {}, "b": {"enum": [[], {}]}}});
    schema["properties"]["a"] = deep;
    schema["properties"]["b"]["default"] = default;
    let options = TypeScriptOptions {
        constraints: true,
        ..TypeScriptOptions::default()
    };
    assert!(
        typescript(&schema, &options)
            .to_string()
            .starts_with("{a?: unknown; b?: unknown /* =[[[")
    );
    // Dropping such a tree recurses, although using it does not.
    std::mem::forget(schema);
}

#[test]
fn exponentially_expanding_references_become_names() {
    for kind in ["properties", "allOf"] {
        let mut defs = serde_json::Map::new();
        for n in 0..50 {
            let next = json!({ "$ref": format!("#/$defs/T{}", n + 1) });
            let schema = match kind {
                "properties" => json!({ "properties": { "left": next, "right": next } }),
                // Merged references are not repeated but traversed again.
                _ => json!({ "allOf": [
                    { "properties": { "left": next, "right": next } },
                    { "properties": { "left": {"description": "l"}, "right": {"description": "r"} } },
                ] }),
            };
            defs.insert(format!("T{n}"), schema);
        }
        defs.insert(
            "T50".into(),
            json!({ "type": "string", "description": "The end" }),
        );
        let schema = json!({ "$ref": "#/$defs/T0", "$defs": defs });
        let text = typescript(&schema, &TypeScriptOptions::default());
        let length = text.to_string().len();
        assert!(length < 8 << 20, "{kind}: {length}");
        if kind == "properties" {
            assert!(
                length < 100_000 && !text.declarations.is_empty(),
                "{length}"
            );
        }
    }
}

#[test]
fn large_schemas_take_linear_time() {
    let many = 30_000;
    let mut cases: Vec<(&str, Value)> = Vec::new();
    let properties = |value: &Value| -> Value {
        (0..many)
            .map(|n| (format!("p{n}"), value.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    cases.push((
        "properties",
        json!({ "properties": properties(&json!({"type": "string"})) }),
    ));
    cases.push((
        "references to the root",
        json!({ "properties": properties(&json!({"$ref": "#"})) }),
    ));
    cases.push((
        "one target",
        json!({
            "properties": properties(&json!({"$ref": "#/$defs/A"})),
            "$defs": { "A": { "properties": properties(&json!(true)) } },
        }),
    ));
    cases.push(("allOf", json!({ "allOf": (0..many).map(|n| json!({"required": [n.to_string()], "type": "object"})).collect::<Vec<_>>() })));
    cases.push(("anyOf in allOf", json!({ "allOf": (0..many).map(|n| json!({"anyOf": [{"const": n}, {"const": 0}]})).collect::<Vec<_>>() })));
    cases.push(("enum", json!({ "enum": (0..many * 3).collect::<Vec<_>>() })));
    cases.push(("one name for all", json!({
        "properties": (0..many / 3).map(|n| (format!("p{n}"), json!({"$ref": format!("#/$defs/{n}/A")}))).collect::<serde_json::Map<_, _>>(),
        "$defs": (0..many / 3).map(|n| (n.to_string(), json!({"A": {"items": {"$ref": format!("#/$defs/{n}/A")}}}))).collect::<serde_json::Map<_, _>>(),
    })));
    let long = "long ".repeat(100_000);
    cases.push((
        "one description for all",
        json!({
            "properties": properties(&json!({"allOf": [{"$ref": "#/$defs/A"}, {"title": "x"}]})),
            "$defs": { "A": { "type": "string", "description": long } },
        }),
    ));
    for (what, schema) in &cases {
        let text = typescript(schema, &TypeScriptOptions::default()).to_string();
        assert!(text.len() < 8 << 20, "{what}: {}", text.len());
    }
}

/// Arbitrary JSON with schema keywords as names, and references to locations that may exist.
fn schemas() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "string",
        "object",
        "array",
        "null",
        "integer",
        "number",
        "a",
        "b",
        "#",
        "#/$defs/a",
        "#/$defs/b",
        "#/properties/a",
        "#/definitions/a",
        "#/$defs/a/items",
        "x/Y",
        "*/",
        "a\nb",
        "ä-\u{2028}",
    ]);
    let leaf = prop_oneof![
        4 => words.prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<i32>().prop_map(|n| Value::from(f64::from(n) / 4.0)),
        1 => any::<String>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    let keys = prop::sample::select(vec![
        "type",
        "properties",
        "items",
        "anyOf",
        "oneOf",
        "allOf",
        "enum",
        "const",
        "$ref",
        "$defs",
        "definitions",
        "required",
        "additionalProperties",
        "prefixItems",
        "description",
        "nullable",
        "patternProperties",
        "default",
        "minimum",
        "maximum",
        "minItems",
        "a",
        "b",
        "class",
        "é",
    ]);
    leaf.prop_recursive(7, 120, 6, move |inner| {
        prop_oneof![
            3 => prop::collection::vec((keys.clone(), inner.clone()), 0..6).prop_map(|members| {
                members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<serde_json::Map<_, _>>().into()
            }),
            1 => prop::collection::vec(inner, 0..4).prop_map(Value::from),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn any_json_gives_one_bounded_line(schema in schemas(), constraints: bool) {
        let options = TypeScriptOptions { constraints, ..TypeScriptOptions::default() };
        let text = typescript(&schema, &options);
        let line = text.to_string();
        prop_assert!(!line.is_empty());
        prop_assert!(!line.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')), "{line}");
        prop_assert!(line.len() <= 8 << 20);
        prop_assert_eq!(&text, &typescript_of_text(&schema.to_string(), &options).expect("JSON"));
    }
}
