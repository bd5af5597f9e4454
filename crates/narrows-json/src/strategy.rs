//! Strategies for property tests: JSON in all its notations.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Generates a JSON text with varying white space, escapes, number formats and duplicate names.
pub fn json_text() -> impl Strategy<Value = String> {
    json_text_of(leaf())
}

/// Generates a JSON object, for tests that read and edit members.
pub fn json_object() -> impl Strategy<Value = String> {
    object(json_text()).boxed()
}

/// Generates almost valid JSON: a text with a few bytes changed, removed or added.
pub fn nearly_json() -> impl Strategy<Value = Vec<u8>> {
    let spot = (
        any::<prop::sample::Index>(),
        select(&b"{}[]\",:\\ \n\x00\x1f0-.eEu+tfn\x80\xc3\xed"[..]),
    );
    (json_text(), vec((spot, 0..3_u8), 0..4)).prop_map(|(text, changes)| {
        let mut bytes = text.into_bytes();
        for ((at, byte), what) in changes {
            let at = at.index(bytes.len() + 1);
            match what {
                0 => bytes.insert(at, byte),
                1 if at < bytes.len() => bytes[at] = byte,
                _ => bytes.truncate(at),
            }
        }
        bytes
    })
}

pub fn json_string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z]{1,12}",
        1 => "[ -!#-\\[\\]-~]{0,40}",
        1 => "[é€𝄞\u{7f}-\u{a0}]{1,3}",
        2 => select(&["\\n", "\\\"", "\\\\", "\\/", "\\b", "\\f", "\\r", "\\t"][..]).prop_map(str::to_owned),
        1 => select(&["\\u0061", "\\u00E9", "\\u0000", "\\ud834\\udd1e", "\\u2028"][..]).prop_map(str::to_owned),
    ];
    vec(piece, 0..6).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn leaf() -> impl Strategy<Value = String> {
    let word = select(
        &[
            "true",
            "false",
            "null",
            "0",
            "-0",
            "7",
            "1.0",
            "-12.50",
            "1e3",
            "2E-2",
            "18446744073709551615",
        ][..],
    );
    prop_oneof![
        word.prop_map(str::to_owned),
        any::<i64>().prop_map(|n| n.to_string()),
        json_string()
    ]
}

fn json_text_of(leaf: impl Strategy<Value = String> + 'static) -> impl Strategy<Value = String> {
    leaf.boxed().prop_recursive(5, 40, 6, |inner| {
        let array =
            (vec((space(), inner.clone(), space()), 0..6), space()).prop_map(|(parts, empty)| {
                let parts: Vec<String> = parts.into_iter().map(|(a, v, b)| a + &v + &b).collect();
                if parts.is_empty() {
                    format!("[{empty}]")
                } else {
                    format!("[{}]", parts.join(","))
                }
            });
        prop_oneof![array, object(inner)]
    })
}

fn object(inner: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    // Few names, so that duplicates occur. One of the names is also written with an escape.
    let key = prop_oneof![
        select(
            &[
                "\"name\"",
                "\"n\\u0061me\"",
                "\"\"",
                "\"a\"",
                "\"b\"",
                "\"_meta\""
            ][..]
        )
        .prop_map(str::to_owned),
        json_string(),
    ];
    (vec((space(), key, space(), inner, space()), 0..6), space()).prop_map(|(members, empty)| {
        let members: Vec<String> = members
            .into_iter()
            .map(|(a, key, b, value, c)| format!("{a}{key}{b}:{b}{value}{c}"))
            .collect();
        if members.is_empty() {
            format!("{{{empty}}}")
        } else {
            format!("{{{}}}", members.join(","))
        }
    })
}

fn space() -> impl Strategy<Value = String> {
    prop_oneof![4 => Just(String::new()), 1 => "[ \n\r\t]{1,3}"]
}
