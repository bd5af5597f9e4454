use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::strategy::{json_object, json_text};

fn raw(text: &str) -> Raw {
    Raw::parse(Bytes::copy_from_slice(text.as_bytes())).expect("valid JSON")
}

#[track_caller]
fn check_members(text: &str, expected: &[(&str, &str)]) {
    let raw = raw(text);
    let members: Vec<(String, String)> = raw
        .members()
        .map(|(key, value)| (key.into_owned(), value.as_str().to_owned()))
        .collect();
    let expected: Vec<(String, String)> = expected
        .iter()
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect();
    assert_eq!(members, expected);
}

#[track_caller]
fn check_elements(text: &str, expected: &[&str]) {
    let elements: Vec<String> = raw(text)
        .elements()
        .map(|element| element.as_str().to_owned())
        .collect();
    assert_eq!(elements, expected);
}

#[test]
fn kind_is_detected_from_the_first_byte() {
    for (text, kind) in [
        ("{}", Kind::Object),
        ("[]", Kind::Array),
        ("\"\"", Kind::String),
        ("-1", Kind::Number),
        ("0", Kind::Number),
        ("true", Kind::Bool),
        ("false", Kind::Bool),
        ("null", Kind::Null),
    ] {
        assert_eq!(raw(&format!(" {text} ")).kind(), kind);
    }
}

#[test]
fn parsed_value_shares_its_bytes() {
    let text = Bytes::from_static(b" {\"a\": 1.0}\n");
    let raw = Raw::parse(text.clone()).unwrap();
    assert_eq!(raw.as_str(), "{\"a\": 1.0}");
    assert_eq!(raw.as_bytes().as_ptr(), text[1..].as_ptr());
    assert_eq!(format!("{raw:?}"), "{\"a\": 1.0}");
}

#[test]
fn members_keep_order_and_bytes() {
    check_members(
        r#"{ "b" : 1.0 , "a":{"x":[]}, "b":"\u0041","n\u0061me":null }"#,
        &[
            ("b", "1.0"),
            ("a", r#"{"x":[]}"#),
            ("b", r#""\u0041""#),
            ("name", "null"),
        ],
    );
    check_members("{}", &[]);
    check_members("{ }", &[]);
    check_members(r#"[{"a":1}]"#, &[]);
    check_members(r#""{\"a\":1}""#, &[]);
}

#[test]
fn elements_keep_order_and_bytes() {
    check_elements(
        r#"[1, "]" ,[2],{"a":3}, true]"#,
        &["1", "\"]\"", "[2]", "{\"a\":3}", "true"],
    );
    check_elements("[ ]", &[]);
    check_elements("{\"a\":1}", &[]);
    check_elements("1", &[]);
}

#[test]
fn first_member_with_the_decoded_name_is_found() {
    let raw = raw(r#"{"x":{"name":0},"n\u0061me":1,"name":2}"#);
    assert_eq!(raw.member("name"), Some(Raw::number(1)));
    assert_eq!(raw.member("nam"), None);
    assert_eq!(Raw::number(1).member("name"), None);
}

#[test]
fn pick_rejects_duplicate_names() {
    let raw = raw(r#"{"a":1,"n\u0061me":2,"b":3,"a":4,"name":5}"#);
    assert_eq!(raw.pick(["b", "c"]), Ok([Some(Raw::number(3)), None]));
    let twice = |offset| Error {
        offset,
        reason: Reason::DuplicateMember,
    };
    assert_eq!(raw.pick(["b", "a"]), Err(twice(28)));
    assert_eq!(raw.pick(["name"]), Err(twice(34)));
    assert_eq!(Raw::number(1).pick(["a"]), Ok([None]));
}

#[test]
fn scalars_are_read_by_type() {
    assert_eq!(raw(r#""a\nb""#).as_text().as_deref(), Some("a\nb"));
    assert_eq!(raw("1").as_text(), None);
    assert_eq!(raw("true").as_bool(), Some(true));
    assert_eq!(raw("false").as_bool(), Some(false));
    assert_eq!(raw("\"true\"").as_bool(), None);
    assert_eq!(raw("18446744073709551615").as_u64(), Some(u64::MAX));
    assert_eq!(raw("18446744073709551616").as_u64(), None);
    assert_eq!(raw("-1").as_u64(), None);
    assert_eq!(raw("-1").as_i64(), Some(-1));
    assert_eq!(raw("\"1\"").as_u64(), None);
    assert_eq!(raw("1e0").as_u64(), None);
}

#[test]
fn whole_number_written_as_float_is_read() {
    assert_eq!(raw("5.0").as_u64(), Some(5));
    assert_eq!(raw("-5.00").as_i64(), Some(-5));
    assert_eq!(raw("5.5").as_u64(), None);
    assert_eq!(raw("5.0e1").as_u64(), None);
}

#[test]
fn constructed_values_are_valid_json() {
    for text in ["", "a\"b\\c\n\u{0}é"] {
        assert_eq!(Raw::string(text).as_text().as_deref(), Some(text));
        assert_eq!(
            Raw::parse(Raw::string(text).into_bytes()),
            Ok(Raw::string(text))
        );
    }
    assert_eq!(Raw::from_serialize(&vec![1, 2]).as_str(), "[1,2]");
    assert_eq!(
        Raw::empty_object().decode::<Value>().unwrap(),
        serde_json::json!({})
    );
}

proptest! {
    #[test]
    fn members_agree_with_serde_json(text in json_object()) {
        // Inserting in order matches serde_json: a later value replaces an earlier one.
        let members: serde_json::Map<String, Value> = raw(&text)
            .members()
            .map(|(key, value)| (key.into_owned(), value.decode().expect("a value")))
            .collect();
        let expected: Value = serde_json::from_str(&text).expect("valid");
        prop_assert_eq!(Value::Object(members).to_string(), expected.to_string());
    }

    #[test]
    fn value_rebuilt_from_its_parts_is_equal(text in json_text()) {
        prop_assert_eq!(rebuild(&raw(&text)), serde_json::from_str::<Value>(&text).expect("valid"));
    }

    #[test]
    fn member_and_pick_agree_with_members(text in json_object(), name in "name|a|b|zz|") {
        let raw = raw(&text);
        let named: Vec<Raw> = raw.members().filter(|(key, _)| *key == name).map(|(_, value)| value).collect();
        prop_assert_eq!(raw.member(&name), named.first().cloned());
        match raw.pick(["other", &name]) {
            Ok([_, picked]) => prop_assert_eq!(picked.as_slice(), &named[..]),
            Err(_) => prop_assert!(named.len() > 1),
        }
    }
}

/// Rebuilds a tree only from `members`, `elements` and the scalar readers.
fn rebuild(raw: &Raw) -> Value {
    match raw.kind() {
        Kind::Object => raw
            .members()
            .map(|(key, value)| (key.into_owned(), rebuild(&value)))
            .collect(),
        Kind::Array => raw.elements().map(|element| rebuild(&element)).collect(),
        Kind::String => Value::String(raw.as_text().expect("a string").into_owned()),
        Kind::Bool => Value::Bool(raw.as_bool().expect("a bool")),
        Kind::Null => Value::Null,
        Kind::Number => raw.decode().expect("a number"),
    }
}
