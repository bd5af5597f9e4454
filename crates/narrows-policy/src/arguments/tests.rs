use bytes::Bytes;
use expect_test::{Expect, expect};
use narrows_wire::Raw;

use super::ArgumentChecker;

mod catalogues;
mod hostile;
mod messages;
mod rules;

/// Returns the outcome of a check: `ok`, or the message followed by each error with its location.
fn outcome(schema: &str, arguments: &str) -> String {
    match checker(schema).check(&raw(arguments)) {
        Ok(()) => "ok".into(),
        Err(rejection) => {
            let errors = rejection.errors.iter();
            let errors = errors.map(|(pointer, message)| format!("\n{pointer}: {message}"));
            rejection.message.clone() + &errors.collect::<String>()
        }
    }
}

#[track_caller]
fn check(schema: &str, arguments: &str, expected: Expect) {
    expected.assert_eq(&outcome(schema, arguments));
}

/// Checks only the first problem.
#[track_caller]
fn first(schema: &str, arguments: &str, expected: &str) {
    let outcome = outcome(schema, arguments);
    let line = outcome.lines().next().unwrap_or_default();
    let message = line.strip_prefix("Argument validation failed: ");
    assert_eq!(
        message.unwrap_or(line),
        expected,
        "{schema} with {arguments:.500}"
    );
}

fn checker(schema: &str) -> ArgumentChecker {
    ArgumentChecker::new(Some(&raw(schema)))
}

fn raw(text: &str) -> Raw {
    Raw::parse(Bytes::copy_from_slice(text.as_bytes())).expect("tests write JSON")
}

#[test]
fn first_problem_is_the_message_and_all_are_listed() {
    let schema = r#"{"type": "object", "required": ["path", "mode"], "properties": {
        "path": {"type": "string"},
        "mode": {"enum": ["r", "w"]},
        "limit": {"type": "integer", "maximum": 100},
        "filters": {"type": "array", "items": {
            "type": "object", "required": ["kind"], "additionalProperties": false,
            "properties": {"kind": {"type": "string"}, "value": {}}}}}}"#;
    check(
        schema,
        r#"{"limit": "5", "pth": "/tmp", "filters": [{"kind": "a"}, {"valeu": 1}]}"#,
        expect![[r#"
            Argument validation failed: Missing required argument: 'path'
            /path: Missing required argument: 'path'
            /mode: Missing required argument: 'mode'
            /filters/1/kind: Missing required argument: 'filters/1/kind'
            /pth: Unknown argument: 'pth' (did you mean 'path'?)
            /filters/1/valeu: Unknown argument: 'filters/1/valeu' (did you mean 'value'?)
            /limit: 'limit' must be integer, not string"#]],
    );
    check(
        schema,
        r#"{"path": "/tmp", "mode": "r", "limit": 100}"#,
        expect!["ok"],
    );
}

#[test]
fn missing_schema_accepts_everything() {
    assert_eq!(ArgumentChecker::new(None).check(&raw("[1]")), Ok(()));
    assert_eq!(ArgumentChecker::default().check(&raw("{}")), Ok(()));
}

#[test]
fn clone_shares_the_compiled_schema() {
    let checker = checker(r#"{"required": ["a"]}"#);
    let clone = checker.clone();
    assert!(checker.check(&raw("{}")).is_err());
    assert!(clone.is_quick(2));
    assert_eq!(checker, ArgumentChecker::new(None));
}

#[test]
fn at_most_twenty_errors_are_reported() {
    let names: Vec<String> = (0..100).map(|n| format!("\"n{n}\": 1")).collect();
    let arguments = raw(&format!("{{{}}}", names.join(",")));
    let schema = r#"{"properties": {"a": {}}}"#;
    let rejection = checker(schema).check(&arguments).unwrap_err();
    assert_eq!(rejection.errors.len(), 20);

    let schema = r#"{"properties": {"a": {"items": {"type": "string"}}}}"#;
    let arguments = raw(&format!(r#"{{"a": [{}1]}}"#, "1,".repeat(999)));
    let rejection = checker(schema).check(&arguments).unwrap_err();
    let places: Vec<&str> = rejection.errors.iter().map(|(place, _)| &**place).collect();
    let expected: Vec<String> = (0..20).map(|n| format!("/a/{n}")).collect();
    assert_eq!(places, expected);
}
