use super::*;

#[track_caller]
fn check(input: &str, expected: &str) {
    let raw = Raw::parse(input.to_owned().into()).expect("a test's JSON");
    assert_eq!(shown(&raw).to_raw().as_str(), expected);
}

#[test]
fn secret_values_are_redacted_at_any_depth() {
    check(
        r#"{"path":"a","api_key":"s3cret","in":[{"Authorization" : "Bearer x","n":1}],"token":{"deep":["s"]},"password":7}"#,
        r#"{"path":"a","api_key":"***","in":[{"Authorization":"***","n":1}],"token":"***","password":"***"}"#,
    );
}

#[test]
fn key_names_inside_values_are_not_redacted() {
    check(
        r#"{"q":"token","a":"key\": \"x"}"#,
        r#"{"q":"token","a":"key\": \"x"}"#,
    );
}

#[test]
fn long_text_is_truncated_and_still_redacted() {
    let raw = Raw::parse(format!(r#"{{"secret":"hidden","text":"{}"}}"#, "x".repeat(5_000)).into())
        .expect("JSON");
    let shown = shown(&raw).to_raw();
    assert!(
        shown.len() < 2_200 && shown.as_str().contains("***") && !shown.as_str().contains("hidden")
    );
}
