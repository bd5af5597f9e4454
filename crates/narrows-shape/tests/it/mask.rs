//! Masking of arbitrary texts, held against the rules read plainly, against
//! serde_json's judgement, and against masking a tree.

use narrows_shape::{Mask, mask};
use proptest::prelude::*;
use serde_json::Value;

use crate::invariants::mask::check;

proptest! {
    #[test]
    fn any_text_is_masked_as_the_rules_say(text in json_text(), limits in limits()) {
        prop_assert!(mask(text.as_bytes(), &Mask::Off).is_ok());
        check(&[&limits[..], text.as_bytes()].concat());
    }

    #[test]
    fn a_tree_would_be_masked_alike(text in json_text(), [max, head, tail] in limits()) {
        let [max, head, tail] = [max, head, tail].map(usize::from);
        // serde_json refuses lone surrogates and what is beyond a float.
        if let Some(expected) = through_a_tree(&text, max, head, tail) {
            let masked = mask(text.as_bytes(), &Mask::new(max as i64, head, tail)).expect("JSON");
            prop_assert_eq!(serde_json::from_str::<Value>(&masked.text).expect("JSON"), expected);
        }
    }

    #[test]
    fn broken_texts_are_judged_as_serde_json_does(bytes in nearly_json(), limits in limits()) {
        check(&[&limits[..], &bytes].concat());
    }

    #[test]
    fn garbage_is_judged_as_serde_json_does(
        text in "[\\[\\]{}\",:\\\\ue0-9.+ tfnrualse\\-]{0,12}", bytes in prop::collection::vec(any::<u8>(), 0..200)
    ) {
        check(&[b"\x03\x01\x01", text.as_bytes()].concat());
        check(&bytes);
    }
}

/// How a text may be written: each value in one of many ways.
fn json_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,4})?",
        string(),
        string(),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let element = ("[ \t\r\n]{0,2}", inner.clone(), "[ \t\r\n]{0,2}")
            .prop_map(|(before, value, after)| format!("{before}{value}{after}"));
        let member = ("[ \n]{0,2}", string(), "[ \n]{0,2}", element.clone())
            .prop_map(|(before, key, after, value)| format!("{before}{key}{after}:{value}"));
        prop_oneof![
            prop::collection::vec(element, 0..5).prop_map(|all| format!("[{}]", all.join(","))),
            prop::collection::vec(member, 0..5).prop_map(|all| format!("{{{}}}", all.join(","))),
        ]
    })
}

fn string() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        8 => "[a-z ]",
        2 => "[^\"\\\\\u{0}-\u{1f}]",
        2 => Just("\\\\".to_owned()),
        2 => prop::sample::select(vec!["\\\"", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t"]).prop_map(str::to_owned),
        1 => "\\\\u[0-9a-fA-F]{4}",
        1 => "\\\\u[dD][89abAB][0-9a-f]{2}",
        1 => "\\\\u[dD][cdefCDEF][0-9a-f]{2}",
        1 => "\\\\ud83d\\\\ude[0-9a-f]{2}",
        1 => "[x]{20,70}",
    ];
    prop_oneof![
        3 => prop::collection::vec(character.clone(), 0..12),
        1 => prop::collection::vec(character, 0..120),
    ]
    .prop_map(|all| format!("\"{}\"", all.concat()))
}

/// Limits that many of those strings exceed.
fn limits() -> impl Strategy<Value = [u8; 3]> {
    [0_u8..40, 0_u8..40, 0_u8..40]
}

/// A valid text with a few bytes changed.
fn nearly_json() -> impl Strategy<Value = Vec<u8>> {
    let change = (
        any::<prop::sample::Index>(),
        prop_oneof![any::<u8>(), prop::sample::select(&b"\"\\{}[],:u 0x"[..])],
    );
    (json_text(), prop::collection::vec(change, 1..3)).prop_map(|(text, changes)| {
        let mut bytes = text.into_bytes();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes
    })
}

/// What serde_json makes of a text, masked as a tree.
fn through_a_tree(text: &str, max: usize, head: usize, tail: usize) -> Option<Value> {
    fn shorten(value: &mut Value, max: usize, head: usize, tail: usize) {
        match value {
            Value::String(text) => {
                let chars: Vec<char> = text.chars().collect();
                if max > 0 && chars.len() > max {
                    let (head, tail) = (head.min(chars.len()), tail.min(chars.len()));
                    let first: String = chars[..head].iter().collect();
                    let last: String = chars[chars.len() - tail..].iter().collect();
                    *text = format!(
                        "{first}\n... [KIMI_PROXY_OBSERVATION_MASKED original_chars={} head={head} tail={tail}] ...\n{last}",
                        chars.len()
                    );
                }
            }
            Value::Array(all) => all.iter_mut().for_each(|one| shorten(one, max, head, tail)),
            Value::Object(all) => all
                .values_mut()
                .for_each(|one| shorten(one, max, head, tail)),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(text).ok()?;
    shorten(&mut value, max, head, tail);
    Some(value)
}
