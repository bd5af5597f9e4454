use proptest::prelude::*;

use super::*;
use crate::strategy::json_string;

#[track_caller]
fn check(inner: &str, expected: &str) {
    assert_eq!(decode(inner.as_bytes()), expected);
    assert!(equals(inner.as_bytes(), expected));
    assert!(!equals(inner.as_bytes(), &format!("{expected}x")));
}

#[test]
fn escapes_are_decoded() {
    check("plain é €", "plain é €");
    check("", "");
    check(r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t");
    check(r"a\u0062c\u00E9", "abcé");
    check(r"n\u0061me", "name");
}

#[test]
fn surrogate_pairs_decode_and_lone_ones_are_replaced() {
    check(r"\ud834\udd1e", "𝄞");
    check(r"\uD840\uDC00\udbff\udfff", "\u{20000}\u{10ffff}");
    check(r"\ud834", "\u{fffd}");
    check(r"\udd1e\ud834", "\u{fffd}\u{fffd}");
    check(r"\ud834\n", "\u{fffd}\n");
    check(r"\ud834\ud834\udd1e", "\u{fffd}𝄞");
    check(r"\ud834\u0041", "\u{fffd}A");
}

#[test]
fn text_without_escapes_is_not_copied() {
    assert!(matches!(decode(b"plain"), Cow::Borrowed("plain")));
}

#[test]
fn escaped_name_is_compared_decoded() {
    assert!(equals(br"a\\b", r"a\b"));
    assert!(!equals(br"a\b", r"a\b"));
}

proptest! {
    #[test]
    fn decoding_agrees_with_serde_json(string in json_string()) {
        let expected: String = serde_json::from_str(&string).expect("valid");
        let inner = &string.as_bytes()[1..string.len() - 1];
        prop_assert_eq!(decode(inner), expected.as_str());
        prop_assert!(equals(inner, &expected));
    }
}
