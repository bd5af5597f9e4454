//! The specification's own fixtures, then what our two functions promise.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};
use serde_toon::{DecodeOptions, Delimiter, ToonOptions};

use super::*;

/// The fixtures lie beside the checkout, in a folder that projects share.
fn fixtures(category: &str) -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/toon")
        .join(category);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| {
        panic!(
            "{} is needed and cannot be read ({error}): the folder 'shared' belongs beside the checkout",
            folder.display()
        )
    });
    let mut cases = Vec::new();
    for file in files {
        let path = file.expect("a folder that can be read").path();
        let text = fs::read_to_string(&path).expect("a text file");
        let content: Value = serde_json::from_str(&text).expect("JSON");
        for case in content["tests"].as_array().expect("a list of tests") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            cases.push((format!("{name}: {}", case["name"]), case.clone()));
        }
    }
    cases
}

fn only(case: &Value, known: &[&str]) {
    for option in case["options"]
        .as_object()
        .into_iter()
        .flat_map(|o| o.keys())
    {
        assert!(
            known.contains(&option.as_str()),
            "an option nobody reads: {option}"
        );
    }
}

#[test]
fn the_fixtures_of_the_specification_are_encoded() {
    let cases = fixtures("encode");
    assert_eq!(cases.len(), 173);
    for (name, case) in cases {
        only(&case, &["delimiter", "indentSize"]);
        let mut options = ToonOptions::default();
        match case["options"]["delimiter"].as_str() {
            Some("\t") => options = options.with_delimiter(Delimiter::Tab),
            Some("|") => options = options.with_delimiter(Delimiter::Pipe),
            Some(",") | None => {}
            Some(other) => panic!("{name}: a delimiter nobody knows: {other}"),
        }
        if let Some(indent) = case["options"]["indentSize"].as_u64() {
            options = options.with_indent(indent as usize);
        }
        assert_eq!(
            encode_with(&case["input"], &options),
            case["expected"],
            "{name}"
        );
        // And so does the public way, where it has the same options.
        if case["options"].is_null() {
            match encode(&case["input"].to_string()) {
                Ok(text) => assert_eq!(text, case["expected"], "{name}"),
                Err(NotEncodable::Lossy {
                    what: Loss::Number(number),
                    ..
                }) => {
                    assert_eq!(number, "-0.0", "{name}");
                }
                Err(error) => panic!("{name}: {error}"),
            }
        }
    }
}

#[test]
fn the_fixtures_of_the_specification_are_decoded_or_refused() {
    let cases = fixtures("decode");
    assert_eq!(cases.len(), 343);
    for (name, case) in cases {
        only(&case, &["strict", "indentSize"]);
        let mut options = match case["options"]["strict"] {
            Value::Bool(false) => DecodeOptions::lenient(),
            _ => DecodeOptions::strict(),
        };
        if let Some(indent) = case["options"]["indentSize"].as_u64() {
            options = options.with_indent_size(indent as usize);
        }
        let toon = case["input"].as_str().expect("a text");
        let decoded = decode_with(toon, options);
        if case["shouldError"] == json!(true) {
            let error = decoded.expect_err(&name);
            assert!(error.line <= toon.lines().count().max(1), "{name}: {error}");
        } else {
            let value = decoded.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(is_same(&value, &case["expected"]), "{name}: {value}");
        }
    }
}

/// Numbers by value, keys in order.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|((key, one), (other_key, other))| key == other_key && is_same(one, other))
        }
        _ => one == other,
    }
}

#[test]
fn what_toon_would_not_keep_is_refused_and_left_as_json() {
    for (json, loss) in [
        (
            "12345678901234567890123",
            Loss::Number("12345678901234567890123".into()),
        ),
        (
            "-9223372036854775809",
            Loss::Number("-9223372036854775809".into()),
        ),
        ("1e400", Loss::Number("1e400".into())),
        ("1e-400", Loss::Number("1e-400".into())),
        (
            "1e99999999999999999999",
            Loss::Number("1e99999999999999999999".into()),
        ),
        (
            "0.10000000000000000001",
            Loss::Number("0.10000000000000000001".into()),
        ),
        ("-0", Loss::Number("-0".into())),
        ("-0.0", Loss::Number("-0.0".into())),
        (r#"{"a":1,"a":2}"#, Loss::DuplicateKey),
        (r#"{"a":1,"\u0061":2}"#, Loss::DuplicateKey),
    ] {
        let wide = format!(
            "{{\"rows\":[{{\"id\":1,\"name\":\"first\"}},{{\"id\":2,\"name\":\"second\"}}],\n  \"x\":{json}}}"
        );
        match encode(&wide) {
            Err(NotEncodable::Lossy { what, line, .. }) => assert_eq!((what, line), (loss, 2)),
            other => panic!("{json}: {other:?}"),
        }
        let kept = shortest(&wide).expect("JSON");
        assert_eq!(kept.encoding, Encoding::Json);
        assert_eq!(kept.text, wide.replace("\n  ", ""));
    }
}

#[test]
fn other_numbers_come_back_by_value() {
    for (json, toon) in [
        ("1.0", "1"),
        ("1e2", "100"),
        ("1.5E-7", "1.5e-7"),
        ("123456789012345680000", "123456789012345680000"),
        ("18446744073709551615", "18446744073709551615"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("2.8620143036875914e+270", "2.8620143036875914e+270"),
        ("5e-324", "5e-324"),
        ("0.000", "0"),
    ] {
        assert_eq!(encode(json).as_deref(), Ok(toon), "{json}");
        let back = decode(toon).expect("TOON");
        assert_eq!(back.parse::<f64>(), json.parse::<f64>(), "{json}");
    }
    assert_eq!(decode("a: 1e400").unwrap_err().line, 1);
}

#[test]
fn what_is_not_json_or_toon_is_refused_with_its_place() {
    match encode("{\"a\":\n nope}") {
        Err(NotEncodable::NotJson(error)) => assert_eq!((error.line, error.column), (2, 2)),
        other => panic!("{other:?}"),
    }
    assert_eq!(shortest("{").unwrap_err().line, 1);
    assert!(matches!(
        encode(r#""\ud800""#),
        Err(NotEncodable::Lossy {
            what: Loss::Surrogate,
            ..
        })
    ));
    assert_eq!(
        shortest(r#""\ud800""#).expect("JSON by its grammar").text,
        r#""\ud800""#
    );
    for (toon, line, column) in [
        ("a: 1\nb: \"x", 2, 4),
        ("a: 1\na: 2", 2, 1),
        ("a[3]: 1,2", 1, 1),
    ] {
        let error = decode(toon).unwrap_err();
        assert_eq!((error.line, error.column), (line, column), "{error}");
        assert!(!error.what.contains('\n'));
    }
}

#[test]
fn nesting_has_a_bound_and_no_stack_is_used_beyond_it() {
    let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let objects = |levels: usize| format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
    for json in [nested(127), objects(127)] {
        let toon = encode(&json).expect("not too deep");
        assert_eq!(decode(&toon).as_deref(), Ok(json.as_str()));
    }
    for json in [nested(128), objects(128), nested(100_000), objects(100_000)] {
        assert!(matches!(
            encode(&json),
            Err(NotEncodable::Lossy {
                what: Loss::Depth,
                ..
            })
        ));
        assert_eq!(shortest(&json).expect("JSON").text, json);
    }
    let deep_toon: String = (0..1_000)
        .map(|n| format!("{}a:\n", "  ".repeat(n)))
        .collect();
    assert!(decode(&deep_toon).is_err());
}

#[test]
fn the_shorter_one_is_taken_and_json_if_they_are_equal() {
    for (json, encoding, text) in [
        (r#"[ 1, 2 ]"#, Encoding::Json, "[1,2]"),
        ("{}", Encoding::Json, "{}"),
        ("1", Encoding::Json, "1"),
        (r#""a""#, Encoding::Toon, "a"),
        (r#"{"b":1,"a":2}"#, Encoding::Toon, "b: 1\na: 2"),
        (
            r#"[{"id":1,"n":"x"},{"id":2,"n":"y"}]"#,
            Encoding::Toon,
            "[2]{id,n}:\n  1,x\n  2,y",
        ),
        (
            r#"[[[[1,2],[3]],[]],[]]"#,
            Encoding::Json,
            r#"[[[[1,2],[3]],[]],[]]"#,
        ),
    ] {
        let shortest = shortest(json).expect("JSON");
        assert_eq!(
            (shortest.encoding, shortest.text.as_str()),
            (encoding, text),
            "{json}"
        );
    }
}

/// Halfway between two shortest decimals, writers of numbers choose either of
/// them; such a number is refused, since another writer might change it.
fn has_one_form(number: f64) -> bool {
    let digits = |text: String| -> String {
        let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
        let digits = mantissa.chars().filter(char::is_ascii_digit);
        digits.collect::<String>().trim_matches('0').to_owned()
    };
    digits(Value::from(number).to_string()) == digits(format!("{number:e}"))
}

#[test]
fn a_number_between_two_shortest_forms_is_left_as_json() {
    let between: f64 = "-1440623099437940.2".parse().expect("a number");
    assert!(!has_one_form(between));
    assert!(encode("[-1440623099437940.2]").is_err());
    assert!(encode("[-1440623099437940.3]").is_ok());
}

fn values() -> impl Strategy<Value = Value> {
    let texts = prop_oneof![
        any::<String>(),
        "[a-z ,:|\"\\\\\t\n\\[\\]{}#-]{0,8}",
        prop::sample::select(vec![
            "true", "null", "1", "-", "05", "1e5", "", " ", "[2]", "- a", "#"
        ])
        .prop_map(str::to_owned),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("no sign of zero", |n| *n != 0.0)
            .prop_filter("one shortest form", |n| has_one_form(*n))
            .prop_map(Value::from),
        texts.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 5, move |inner| {
        let row = inner.clone();
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((texts.clone(), inner), 0..5).prop_map(|members| members
                .into_iter()
                .collect::<serde_json::Map<_, _>>()
                .into()),
            // Rows of one form, which become tables.
            prop::collection::vec(row, 0..4).prop_map(|cells| {
                json!(
                    cells
                        .iter()
                        .map(|cell| json!({"id": 1, "cell": cell}))
                        .collect::<Vec<_>>()
                )
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn decoding_gives_back_what_was_encoded(value in values()) {
        let json = value.to_string();
        let toon = encode(&json).expect("JSON of 64-bit numbers");
        let back: Value = serde_json::from_str(&decode(&toon).expect("our own TOON")).expect("JSON");
        prop_assert!(is_same(&back, &value), "{value}\n{toon}\n{back}");
        let shortest = shortest(&json).expect("JSON");
        prop_assert!(toon.is_empty() || shortest.text.len() <= json.len().min(toon.len()));
    }

    #[test]
    fn any_text_is_decoded_or_refused(text in any::<String>()) {
        if let Ok(json) = decode(&text) {
            prop_assert!(serde_json::from_str::<Value>(&json).is_ok());
        }
    }
}
