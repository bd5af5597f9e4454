//! Tests of each construct of the format, and of the guarantees of our two functions. `peers/toon`
//! runs the fixtures of the specification.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// JSON texts and their TOON, tested in both directions.
const BOTH_WAYS: &[(&str, &str)] = &[
    // Primitives at the root.
    ("null", "null"),
    ("true", "true"),
    ("-17", "-17"),
    ("2.5", "2.5"),
    ("1000000000", "1000000000"),
    (r#""ebb and flow""#, "ebb and flow"),
    // Strings that look like other values are quoted.
    (r#""""#, r#""""#),
    (r#""true""#, r#""true""#),
    (r#""null""#, r#""null""#),
    (r#""17""#, r#""17""#),
    (r#""-2.5e3""#, r#""-2.5e3""#),
    (r#""007""#, r#""007""#),
    (r#"" padded ""#, r#"" padded ""#),
    (r#""- item""#, r#""- item""#),
    (r##""# not a comment""##, r##""# not a comment""##),
    (r#""[2]: a,b""#, r#""[2]: a,b""#),
    (r#""{x}""#, r#""{x}""#),
    (r#""a:b""#, r#""a:b""#),
    (r#""say \"stop\"""#, r#""say \"stop\"""#),
    (r#""C:\\tides""#, r#""C:\\tides""#),
    (r#""one\ntwo\tthree\rfour""#, r#""one\ntwo\tthree\rfour""#),
    (r#""\u0001\u001f""#, r#""\u0001\u001f""#),
    (r#""潮 🌊 Ebbe""#, "潮 🌊 Ebbe"),
    // Objects.
    ("{}", ""),
    (r#"{"port":"Brest","depth":7.5}"#, "port: Brest\ndepth: 7.5"),
    (r#"{"a":{"b":{"c":null}}}"#, "a:\n  b:\n    c: null"),
    (r#"{"a":{},"b":[]}"#, "a:\nb: []"),
    (r#"{"note":"a,b"}"#, "note: \"a,b\""),
    (
        r#"{"two words":1,"a.b":2,"":3}"#,
        "\"two words\": 1\na.b: 2\n\"\": 3",
    ),
    (
        r#"{"-x":1,"5th":2,"a:b":3,"é":4}"#,
        "\"-x\": 1\n\"5th\": 2\n\"a:b\": 3\n\"é\": 4",
    ),
    (r#"{"__proto__":1}"#, "__proto__: 1"),
    // Arrays of primitives.
    ("[]", "[]"),
    (
        r#"["x","y,z",true,"true",10]"#,
        "[5]: x,\"y,z\",true,\"true\",10",
    ),
    (r#"{"ids":[1,2,3]}"#, "ids[3]: 1,2,3"),
    (r#"{"blank":[""," "]}"#, "blank[2]: \"\",\" \""),
    (r##"{"tags":["#a","b"]}"##, "tags[2]: \"#a\",b"),
    (r#"{"a b":[1]}"#, "\"a b\"[1]: 1"),
    // Tables.
    (
        r#"[{"berth":1,"ship":"Ada"},{"berth":2,"ship":"Bo, II"}]"#,
        "[2]{berth,ship}:\n  1,Ada\n  2,\"Bo, II\"",
    ),
    (
        r#"{"rows":[{"a:b":"true","c":null},{"a:b":"no","c":1}],"n":2}"#,
        "rows[2]{\"a:b\",c}:\n  \"true\",null\n  no,1\nn: 2",
    ),
    (
        r#"[{"id":1,"at":{"lat":1.5,"lon":2}},{"id":2,"at":{"lat":3,"lon":4}}]"#,
        "[2]{id,at{lat,lon}}:\n  1,1.5,2\n  2,3,4",
    ),
    (
        r#"{"gates":{"east":{"open":true,"cm":12},"west":{"open":false,"cm":0}}}"#,
        "gates[2:]{open,cm}:\n  east: true,12\n  west: false,0",
    ),
    // Lists, for rows with different fields.
    (
        r#"[{"id":1},{"id":2,"late":true}]"#,
        "[2]:\n  - id: 1\n  - id: 2\n    late: true",
    ),
    (
        r#"{"m":[1,"a",{"b":2},[3,4],[],{}]}"#,
        "m[6]:\n  - 1\n  - a\n  - b: 2\n  - [2]: 3,4\n  - [0]:\n  -",
    ),
    (
        r#"{"l":[{"rows":[{"x":1},{"x":2}],"n":1}]}"#,
        "l[1]:\n  - rows[2]{x}:\n      1\n      2\n    n: 1",
    ),
    (
        r#"[{"id":1,"at":{}},{"id":2,"at":{"lat":3}}]"#,
        "[2]:\n  - id: 1\n    at:\n  - id: 2\n    at:\n      lat: 3",
    ),
    (r#"[["a"],["b","c"]]"#, "[2]:\n  - [1]: a\n  - [2]: b,c"),
];

#[test]
fn each_construct_round_trips() {
    for (json, toon) in BOTH_WAYS {
        assert_eq!(encode(json).as_deref(), Ok(*toon), "{json}");
        assert_eq!(decode(toon).as_deref(), Ok(*json), "{toon}");
    }
}

#[test]
fn foreign_toon_variants_are_decoded() {
    for (toon, json) in [
        ("a: 1\n\n\nb: 2\n", r#"{"a":1,"b":2}"#),
        ("a: 1\r\nb[1]: 2\r\n", r#"{"a":1,"b":[2]}"#),
        ("# high water\na: 1\n  # indented\nb: 2", r#"{"a":1,"b":2}"#),
        ("ids[3|]: 1|2,5|3", r#"{"ids":[1,"2,5",3]}"#),
        ("ids[2\t]: 1\t2", r#"{"ids":[1,2]}"#),
        (
            "t[2|]{a|b}:\n  1|x,y\n  2|z",
            r#"{"t":[{"a":1,"b":"x,y"},{"a":2,"b":"z"}]}"#,
        ),
        ("ids[3]: 1 , 2 ,3", r#"{"ids":[1,2,3]}"#),
        ("ids[0]:", r#"{"ids":[]}"#),
        ("quoted: \"plain\"", r#"{"quoted":"plain"}"#),
        ("n: 1.500\nm: 2E+01\nz: -0", r#"{"n":1.5,"m":20.0,"z":0}"#),
        (
            "a: 0x10\nb: +1\nc: .5\nd: 1_000",
            r#"{"a":"0x10","b":"+1","c":".5","d":"1_000"}"#,
        ),
        ("a: \"\\u00E9\\u00e9\"", r#"{"a":"éé"}"#),
        ("foo-bar: x", r#"{"foo-bar":"x"}"#),
        ("", "{}"),
        ("# nothing else", "{}"),
    ] {
        let read = decode(toon).unwrap_or_else(|error| panic!("{toon:?}: {error}"));
        let read: Value = serde_json::from_str(&read).expect("JSON");
        let wanted: Value = serde_json::from_str(json).expect("JSON");
        assert!(is_same(&read, &wanted), "{toon:?}: {read}");
    }
}

#[test]
fn invalid_toon_is_rejected() {
    for toon in [
        // Lengths that do not match the number of elements.
        "a[2]: 1",
        "a[2]: 1,2,3",
        "a[2]:\n  - 1",
        "[1]{id}:\n  1\n  2",
        "a[1]{x,y}:\n  1",
        "a[1]{x,y}:\n  1,2,3",
        "m[2:]{v}:\n  a: 1",
        // Indentation.
        "a:\n   b: 1",
        "a:\n    b: 1",
        "\ta: 1",
        "a: 1\n  b: 2",
        // Blank lines inside arrays.
        "a[2]:\n  - 1\n\n  - 2",
        "a[2]{x}:\n  1\n\n  2",
        // Strings.
        "a: \"open",
        "a: \"x\" y",
        "a: \"\\q\"",
        "a: \"\\ud800\"",
        "a: \"\\u12\"",
        // Keys and headers.
        "a: 1\na: 2",
        "x\ny",
        "a[1]{}:\n  1",
        "a[1]{b,b}:\n  1,2",
        "a[01]: 1",
        "a[1.5]: 1",
        "a[-1]:",
        "a[1] : 1",
        "a: 1\n[1]: 2",
        "[1]: 2\na: 1",
    ] {
        let error = decode(toon).expect_err(toon);
        let lines = toon.lines().count();
        assert!((1..=lines).contains(&error.line), "{toon:?}: {error}");
    }
}

/// Compares numbers by value, and objects including the order of their keys.
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
fn lossy_values_are_rejected_and_stay_json() {
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
fn other_numbers_round_trip_by_value() {
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
        ("-0", "0"),
        ("-0.0", "0"),
        ("-0e5", "0"),
    ] {
        assert_eq!(encode(json).as_deref(), Ok(toon), "{json}");
        let back = decode(toon).expect("TOON");
        assert_eq!(back.parse::<f64>(), json.parse::<f64>(), "{json}");
    }
    assert_eq!(decode("a: 1e400").unwrap_err().line, 1);
}

#[test]
fn negative_zero_is_encoded() {
    let rows = r#"[{"id":-0,"drift":-0.0},{"id":2,"drift":-0E-7}]"#;
    assert_eq!(encode(rows).as_deref(), Ok("[2]{id,drift}:\n  0,0\n  2,0"));
    assert_eq!(shortest(rows).expect("JSON").encoding, Encoding::Toon);
    assert_eq!(decode("a: -0.0").as_deref(), decode("a: 0.0").as_deref());
    // A number that a double rounds to zero is not the same as zero.
    assert!(encode("-1e-400").is_err());
}

#[test]
fn invalid_input_is_rejected_with_its_position() {
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
fn nesting_depth_is_limited() {
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
fn shorter_encoding_is_chosen_and_json_on_a_tie() {
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

/// Returns `true` unless a number is halfway between two shortest decimals. Such numbers are
/// rejected, because writers choose either decimal.
fn has_one_form(number: f64) -> bool {
    let digits = |text: String| -> String {
        let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
        let digits = mantissa.chars().filter(char::is_ascii_digit);
        digits.collect::<String>().trim_matches('0').to_owned()
    };
    digits(Value::from(number).to_string()) == digits(format!("{number:e}"))
}

#[test]
fn number_without_unique_shortest_form_stays_json() {
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
            // Rows with the same fields, which become tables.
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
    fn decode_reverses_encode(value in values()) {
        let json = value.to_string();
        let toon = encode(&json).expect("JSON of 64-bit numbers");
        let back: Value = serde_json::from_str(&decode(&toon).expect("our own TOON")).expect("JSON");
        prop_assert!(is_same(&back, &value), "{value}\n{toon}\n{back}");
        let shortest = shortest(&json).expect("JSON");
        prop_assert!(toon.is_empty() || shortest.text.len() <= json.len().min(toon.len()));
    }

    #[test]
    fn any_text_is_decoded_or_rejected(text in any::<String>()) {
        if let Ok(json) = decode(&text) {
            prop_assert!(serde_json::from_str::<Value>(&json).is_ok());
        }
    }
}
