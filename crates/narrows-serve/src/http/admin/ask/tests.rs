use serde::de::DeserializeOwned;

use super::{CallFilter, NewServer, PresetChoice};

/// Returns the error of deserializing `text`, or an empty string.
fn problem<T: DeserializeOwned>(text: &str) -> String {
    match serde_json::from_str::<T>(text) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn check<T: DeserializeOwned>(text: &str, expected: &str) {
    let problem = problem::<T>(text);
    let is_it = match expected {
        "" => problem.is_empty(),
        expected => problem.contains(expected),
    };
    assert!(is_it, "{text}: {problem:?}");
}

#[test]
fn preset_choice_requires_an_explicit_null() {
    check::<PresetChoice>(r#"{"preset":null}"#, "");
    check::<PresetChoice>(r#"{"preset":"dev"}"#, "");
    check::<PresetChoice>("{}", "missing field `preset`");
    check::<PresetChoice>(r#"{"preset":""}"#, "a name must not be empty");
    check::<PresetChoice>(r#"{"preset":7}"#, "invalid type");
    check::<PresetChoice>(r#"{"preset":null,"save":true}"#, "unknown field `save`");
    check::<PresetChoice>(r#"{"preset":null,"preset":null}"#, "duplicate field");
}

#[test]
fn name_length_is_counted_in_characters() {
    let named = |name: String| format!(r#"{{"id":"{name}","config":{{}}}}"#);
    check::<NewServer>(&named("ü".repeat(256)), "");
    check::<NewServer>(&named("ü".repeat(257)), "longer than 256 characters");
    check::<NewServer>(r#"{"id":"a","config":[]}"#, "invalid type");
}

#[test]
fn list_length_is_limited() {
    check::<CallFilter>(r#"{"limit":1000}"#, "");
    check::<CallFilter>(r#"{"limit":1001}"#, "from 1 to 1000");
    check::<CallFilter>(r#"{"limit":0}"#, "from 1 to 1000");
    check::<CallFilter>(r#"{"limits":1}"#, "unknown field");
}

#[test]
fn deep_nesting_is_accepted() {
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let text = format!(r#"{{"id":"a","config":{{"args":{deep}}}}}"#);
    check::<NewServer>(&text, "recursion limit");
}
