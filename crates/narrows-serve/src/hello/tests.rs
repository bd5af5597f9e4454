use bytes::Bytes;

use super::*;

#[track_caller]
fn check(params: &'static str, expected: &str) {
    let params = Raw::parse(Bytes::from_static(params.as_bytes())).unwrap();
    let shown = match Hello::read(Some(&params)) {
        Ok(hello) => format!("{} {}", hello.revision, hello.client.client_info.as_str()),
        Err(refused) => refused.message().into_owned(),
    };
    assert_eq!(shown, expected);
}

#[test]
fn known_revisions_are_accepted() {
    check(
        r#"{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"a"}}"#,
        r#"2025-03-26 {"name":"a"}"#,
    );
}

#[test]
fn unknown_revisions_get_the_newest() {
    for version in ["1.0", "2026-07-28", ""] {
        let params =
            format!(r#"{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{}}}}"#);
        let params = Raw::parse(params.into()).unwrap();
        assert_eq!(
            Hello::read(Some(&params)).unwrap().revision,
            Revision::LATEST_LEGACY
        );
    }
}

#[test]
fn missing_and_invalid_members_are_named() {
    let version = "Invalid initialize: protocolVersion must be a string";
    check(r#"{"capabilities":{},"clientInfo":{}}"#, version);
    check(
        r#"{"protocolVersion":1,"capabilities":{},"clientInfo":{}}"#,
        version,
    );
    let capabilities = "Invalid initialize: capabilities must be an object";
    check(r#"{"protocolVersion":"x","clientInfo":{}}"#, capabilities);
    check(
        r#"{"protocolVersion":"x","capabilities":null,"clientInfo":{}}"#,
        capabilities,
    );
    let client = "Invalid initialize: clientInfo must be an object";
    check(
        r#"{"protocolVersion":"x","capabilities":{},"clientInfo":"me"}"#,
        client,
    );
    check("[]", "Invalid initialize: params must be an object");
    assert!(Hello::read(None).is_err());
}

#[test]
fn duplicate_members_are_rejected() {
    let twice =
        r#"{"protocolVersion":"x","capabilities":{},"capabilities":{"roots":{}},"clientInfo":{}}"#;
    assert!(Hello::read(Some(&Raw::from_static(twice))).is_err());
}
