//! Tests the masking of arbitrary texts against a simple reference implementation, against the
//! validation of `serde_json`, and against masking a tree. Also tests responses, whole and in
//! pieces.

use narrows_shape::{Mask, mask};
use proptest::prelude::*;
use serde_json::Value;

use crate::invariants::mask::{check, check_answer};

proptest! {
    #[test]
    fn any_text_is_masked_by_the_rules(text in json_text(), limits in limits()) {
        prop_assert!(mask(text.as_bytes(), &Mask::Off).is_ok());
        check(&[&limits[..], text.as_bytes()].concat());
    }

    #[test]
    fn masking_agrees_with_a_parsed_tree(text in json_text(), [max, head, tail] in limits()) {
        let [max, head, tail] = [max, head, tail].map(usize::from);
        // `serde_json` rejects unpaired surrogates and numbers beyond a float.
        if let Some(expected) = through_a_tree(&text, max, head, tail) {
            let masked = mask(text.as_bytes(), &Mask::new(max as i64, head, tail)).expect("JSON");
            prop_assert_eq!(serde_json::from_str::<Value>(&masked.text).expect("JSON"), expected);
        }
    }

    #[test]
    fn truncated_texts_are_judged_as_by_serde_json(bytes in nearly_json(), limits in limits()) {
        check(&[&limits[..], &bytes].concat());
    }

    #[test]
    fn arbitrary_bytes_are_judged_as_by_serde_json(
        text in "[\\[\\]{}\",:\\\\ue0-9.+ tfnrualse\\-]{0,12}", bytes in prop::collection::vec(any::<u8>(), 0..200)
    ) {
        check(&[b"\x03\x01\x01", text.as_bytes()].concat());
        check(&bytes);
    }
}

proptest! {
    // Fewer cases, because each is long and is also read byte by byte.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn chunked_responses_are_masked_like_whole_ones(
        text in answer(),
        limits in prop_oneof![limits().prop_map(|limits| limits.map(usize::from)), [0_usize..4000, 0_usize..3000, 0_usize..3000]],
        sizes in piece_sizes(),
    ) {
        check_answer(text.as_bytes(), mask_of(limits), &sizes);
    }

    #[test]
    fn truncated_responses_are_judged_like_whole_texts(
        text in answer(), changes in changes(), limits in limits(), sizes in piece_sizes(),
    ) {
        check_answer(&changed(text, changes), mask_of(limits.map(usize::from)), &sizes);
    }
}

fn mask_of([max, head, tail]: [usize; 3]) -> Mask {
    Mask::new(max as i64, head, tail)
}

fn piece_sizes() -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![1_usize..8, 1_usize..200, 1_usize..5000];
    prop::collection::vec(size, 1..8)
}

/// Generates objects with the members of responses and similar ones, in any order and number.
fn answer() -> impl Strategy<Value = String> {
    let value = || {
        prop_oneof![
            2 => json_text(),
            2 => long_string(),
            1 => (long_string(), json_text(), long_string()).prop_map(|(a, b, c)| format!("[{a} , {{\"data\":{b},\"result\":{c}}}]")),
        ]
    };
    let error = (
        "[ \n]{0,2}",
        prop::collection::vec(
            (
                name(&["data", "d\\u0061ta", "message", "data\\u0000", "code"]),
                value(),
            ),
            0..4,
        ),
    )
        .prop_map(|(space, members)| object(&space, &members));
    let member = prop_oneof![
        3 => (name(&["result", "re\\u0073ult", "\\u0072\\u0065\\u0073\\u0075\\u006C\\u0074"]), value()),
        3 => (name(&["error", "\\u0065rror"]), error),
        1 => (name(&["error", "data", "id", "jsonrpc", "results", "resul", ""]), value()),
        1 => (string().prop_map(|key| key[1..key.len() - 1].to_owned()), value()),
    ];
    ("[ \n]{0,2}", prop::collection::vec(member, 0..5))
        .prop_map(|(space, members)| object(&space, &members))
}

fn name(names: &[&'static str]) -> impl Strategy<Value = String> + use<> {
    prop::sample::select(names.to_vec()).prop_map(str::to_owned)
}

fn object(space: &str, members: &[(String, String)]) -> String {
    let members: Vec<String> = members
        .iter()
        .map(|(key, value)| format!("{space}\"{key}\":{space}{value}"))
        .collect();
    format!("{space}{{{}{space}}}", members.join(","))
}

/// Generates strings long enough to be cut while they arrive.
fn long_string() -> impl Strategy<Value = String> {
    let part = (string(), 1_usize..1000).prop_map(|(string, length)| {
        let inside = &string[1..string.len() - 1];
        inside.repeat((length / inside.len().max(1)).max(1))
    });
    prop::collection::vec(part, 0..6).prop_map(|all| format!("\"{}\"", all.concat()))
}

/// Generates JSON text in which each value has one of many notations.
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

/// Generates limits that many of those strings exceed.
fn limits() -> impl Strategy<Value = [u8; 3]> {
    [0_u8..40, 0_u8..40, 0_u8..40]
}

/// Generates a valid text with a few changed bytes.
fn nearly_json() -> impl Strategy<Value = Vec<u8>> {
    (json_text(), changes()).prop_map(|(text, changes)| changed(text, changes))
}

fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, u8)>> {
    let change = (
        any::<prop::sample::Index>(),
        prop_oneof![any::<u8>(), prop::sample::select(&b"\"\\{}[],:u 0x"[..])],
    );
    prop::collection::vec(change, 1..3)
}

fn changed(text: String, changes: Vec<(prop::sample::Index, u8)>) -> Vec<u8> {
    let mut bytes = text.into_bytes();
    for (place, byte) in changes {
        let place = place.index(bytes.len());
        bytes[place] = byte;
    }
    bytes
}

/// Parses a text with `serde_json` and masks it as a tree.
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
