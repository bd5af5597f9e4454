use super::*;

#[track_caller]
fn check(input: &str, expected: &str) {
    let raw = Raw::parse(input.to_owned().into()).expect("a test's JSON");
    assert_eq!(shown(&raw).to_raw().as_str(), expected);
}

#[test]
fn secret_values_are_left_out_at_any_depth() {
    check(
        r#"{"path":"a","api_key":"s3cret","in":[{"Authorization" : "Bearer x","n":1}],"token":{"deep":["s"]},"password":7}"#,
        r#"{"path":"a","api_key":"***","in":[{"Authorization":"***","n":1}],"token":"***","password":"***"}"#,
    );
}

#[test]
fn words_in_values_hide_nothing() {
    check(
        r#"{"q":"token","a":"key\": \"x"}"#,
        r#"{"q":"token","a":"key\": \"x"}"#,
    );
}

#[test]
fn a_long_text_is_cut_and_still_hides_secrets() {
    let raw = Raw::parse(format!(r#"{{"secret":"hidden","text":"{}"}}"#, "x".repeat(5_000)).into())
        .expect("JSON");
    let shown = shown(&raw).to_raw();
    assert!(
        shown.len() < 2_200 && shown.as_str().contains("***") && !shown.as_str().contains("hidden")
    );
}
