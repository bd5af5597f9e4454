//! Checks that must hold for any text as TOON. The fuzz target of this name includes this file, and
//! `main.rs` replays its corpus through it, so that failures found by fuzzing stay covered without
//! a fuzzer.

use narrows_shape::toon::{Encoding, NotEncodable, decode, encode, shortest};
use serde::de::IgnoredAny;
use serde_json::Value;

/// Checks any text as JSON and as TOON: encoded text must be decoded to the same data, and other
/// text must stay JSON.
pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(json) = decode(text) {
        assert!(serde_json::from_str::<Value>(&json).is_ok(), "{json}");
    }
    let is_json = serde_json::from_str::<IgnoredAny>(text).is_ok();
    let encoded = encode(text);
    assert_eq!(shortest(text).is_ok(), is_json);
    match &encoded {
        Ok(toon) => {
            let back = decode(toon).expect("what was just encoded");
            assert!(is_same(&parsed(&back), &parsed(text)), "{toon}");
        }
        Err(NotEncodable::Lossy { .. }) => assert!(is_json),
        Err(NotEncodable::NotJson(error)) => {
            assert!(!is_json, "{error}");
        }
    }
    if let Ok(short) = shortest(text) {
        assert!(short.text.len() <= text.len());
        if short.encoding == Encoding::Toon {
            assert_eq!(encoded.as_ref(), Ok(&short.text));
        }
    }
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).expect("JSON that was encoded")
}

/// Compares numbers by value: 1.0 equals 1.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|((a, one), (b, other))| a == b && is_same(one, other))
        }
        _ => one == other,
    }
}
