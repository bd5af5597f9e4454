use proptest::prelude::*;
use serde::de::IgnoredAny;

use super::*;
use crate::strategy::{json_text, nearly_json};

fn scan(text: &[u8]) -> Result<Range<usize>, Error> {
    let mut scanner = Scanner::new(text);
    scanner.space();
    let place = scanner.value()?;
    scanner.end()?;
    Ok(place)
}

#[track_caller]
fn accepts(text: &str) {
    assert_eq!(scan(text.as_bytes()), Ok(0..text.len()), "{text}");
}

#[track_caller]
fn refuses(text: &[u8], offset: usize, reason: &str) {
    let error = scan(text).expect_err("no JSON");
    assert_eq!(
        (error.offset, error.reason.as_str()),
        (offset, reason),
        "{}",
        text.escape_ascii()
    );
}

#[test]
fn every_kind_of_value_is_accepted() {
    for text in [
        "null", "true", "false", "0", "-0", "10", "-1.5e+10", "1E5", "0.0", "\"\"", "[]", "{}",
    ] {
        accepts(text);
    }
    accepts(r#"{"a":[1,{"b":null},"c"],"d":{}}"#);
    accepts("[ ]");
    accepts("{\n\t\"a\" :\r 1 }");
}

#[test]
fn surrounding_white_space_is_excluded() {
    assert_eq!(scan(b" \r\n\t{} \n"), Ok(4..6));
}

#[test]
fn numbers_follow_the_grammar() {
    refuses(b"01", 1, "text after the value");
    refuses(b"-", 1, "expected a digit");
    refuses(b"1.", 2, "expected a digit");
    refuses(b".5", 0, "expected a value");
    refuses(b"1e", 2, "expected a digit");
    refuses(b"1e+", 3, "expected a digit");
    refuses(b"+1", 0, "expected a value");
    refuses(b"1a", 1, "text after the value");
    refuses(b"NaN", 0, "expected a value");
}

#[test]
fn literals_must_be_complete() {
    refuses(b"tru", 0, "expected a value");
    refuses(b"nul", 0, "expected a value");
    refuses(b"truex", 4, "text after the value");
    refuses(b"True", 0, "expected a value");
}

#[test]
fn misplaced_commas_and_colons_are_rejected() {
    refuses(b"[1,]", 3, "expected a value");
    refuses(b"[,1]", 1, "expected a value");
    refuses(b"[1 2]", 3, "expected a comma or a closing bracket");
    refuses(b"{\"a\":1,}", 7, "expected a key");
    refuses(b"{,}", 1, "expected a key");
    refuses(b"{\"a\" 1}", 5, "expected a colon");
    refuses(
        b"{\"a\":1 \"b\":2}",
        7,
        "expected a comma or a closing brace",
    );
    refuses(b"{a:1}", 1, "expected a key");
    refuses(b"[1}", 2, "expected a comma or a closing bracket");
    refuses(b"{\"a\":1]", 6, "expected a comma or a closing brace");
}

#[test]
fn truncated_texts_are_rejected() {
    refuses(b"", 0, "unexpected end of the text");
    refuses(b"  ", 2, "unexpected end of the text");
    refuses(b"[", 1, "unexpected end of the text");
    refuses(b"{\"a\":", 5, "unexpected end of the text");
    refuses(b"\"abc", 4, "the text ends inside a string");
    refuses(b"[1", 2, "expected a comma or a closing bracket");
    refuses(b"{} {}", 3, "text after the value");
}

#[test]
fn only_the_nine_escapes_are_accepted() {
    accepts(r#""\"\\\/\b\f\n\r\t\u0aF9""#);
    refuses(br#""\x""#, 1, "an unknown escape");
    refuses(br#""\"#, 1, "an unknown escape");
    refuses(br#""\u12g4""#, 1, "a \\u escape without four hex digits");
    refuses(br#""\u12""#, 1, "a \\u escape without four hex digits");
}

#[test]
fn lone_surrogates_are_accepted() {
    accepts(r#""\ud800 \udc00\ud800x""#);
}

#[test]
fn control_characters_in_strings_are_rejected() {
    // Covers positions on both sides of every block boundary.
    for length in 0..200 {
        for control in [0_u8, 0x0a, 0x1f] {
            let mut text = vec![b'"'];
            text.resize(1 + length, b'x');
            text.push(control);
            text.extend_from_slice(&[b'y'; 70]);
            text.push(b'"');
            refuses(&text, 1 + length, "a control character in a string");
        }
    }
}

#[test]
fn invalid_utf8_is_rejected() {
    refuses(b"\"\xff\"", 1, "not UTF-8");
    refuses(b"\"\xed\xa0\x80\"", 1, "not UTF-8");
    refuses(b"\"\xc3\"", 1, "not UTF-8");
    refuses(b"{\"abc\xc3\":1}", 5, "not UTF-8");
    refuses(b"[\xc3\xa9]", 1, "expected a value");
}

#[test]
fn a_million_levels_do_not_overflow_the_stack() {
    for depth in [63, 64, 65, 127, 128, 129, 10_000, 1_000_000] {
        let mut text = "[{\"a\":".repeat(depth);
        text.push('1');
        text.push_str(&"}]".repeat(depth));
        assert_eq!(scan(text.as_bytes()), Ok(0..text.len()));
        let mut scanner = Scanner::new(text.as_bytes());
        assert_eq!(scanner.skip(), 0..text.len());
        // Replaces one bracket, halfway out, by the wrong kind.
        let wrong = text.len() - depth;
        let mut bytes = text.into_bytes();
        bytes[wrong] ^= b'}' ^ b']';
        assert_eq!(scan(&bytes).map_err(|error| error.offset), Err(wrong));
    }
}

proptest! {
    #[test]
    fn json_accepted_by_serde_json_is_accepted(text in json_text()) {
        prop_assert!(serde_json::from_str::<IgnoredAny>(&text).is_ok());
        prop_assert_eq!(scan(text.as_bytes()), Ok(0..text.len()));
        prop_assert_eq!(Scanner::new(text.as_bytes()).skip(), 0..text.len());
    }

    #[test]
    fn text_rejected_by_serde_json_is_rejected(bytes in nearly_json()) {
        // For slices, serde_json does not check UTF-8 in skipped strings.
        let expected = std::str::from_utf8(&bytes)
            .is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
        prop_assert_eq!(scan(&bytes).is_ok(), expected, "{}", bytes.escape_ascii());
    }

    #[test]
    fn arbitrary_bytes_are_judged_as_by_serde_json(text in "[\\[\\]{}\",:\\\\ue0-9.+ tfnrualse\\-]{0,12}") {
        let expected = serde_json::from_str::<IgnoredAny>(&text).is_ok();
        prop_assert_eq!(scan(text.as_bytes()).is_ok(), expected, "{}", text);
    }

    #[test]
    fn skip_ends_where_scan_ends(text in json_text(), after in "[\\]},: ][\\]},:x ]{0,5}|") {
        let longer = text.clone() + &after;
        let mut scanner = Scanner::new(longer.as_bytes());
        prop_assert_eq!(scanner.skip(), 0..text.len());
    }
}
