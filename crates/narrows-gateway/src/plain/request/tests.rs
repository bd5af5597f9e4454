use super::*;

fn read(body: &str) -> PlainRequest {
    PlainRequest::read(Bytes::copy_from_slice(body.as_bytes())).expect("an object")
}

#[track_caller]
fn check_subject(body: &str, expected: &str) {
    let shown = match read(body).subject() {
        Ok(Some((kind, name))) => format!("{kind} {}", name.as_str()),
        Ok(None) => "nothing".to_owned(),
        Err(error) => error.as_str().to_owned(),
    };
    assert_eq!(shown, expected, "{body}");
}

#[test]
fn requested_item_is_found_for_every_method() {
    for (body, expected) in [
        (
            r#"{"method":"tools/call","params":{"name":"a"}}"#,
            r#"tool "a""#,
        ),
        (
            r#"{"method":"tools\/call","params":{"name":"a"}}"#,
            r#"tool "a""#,
        ),
        (r#"{"method":"tools/call","params":{"name":7}}"#, "tool 7"),
        (
            r#"{"method":"prompts/get","params":{"name":"p"}}"#,
            r#"prompt "p""#,
        ),
        (
            r#"{"method":"resources/read","params":{"uri":"u:1"}}"#,
            r#"resource "u:1""#,
        ),
        (
            r#"{"method":"resources/subscribe","params":{"uri":"u"}}"#,
            r#"resource "u""#,
        ),
        (
            r#"{"method":"resources/unsubscribe","params":{"uri":"u"}}"#,
            r#"resource "u""#,
        ),
        (
            r#"{"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"}}}"#,
            r#"prompt "p""#,
        ),
        (
            r#"{"method":"completion/complete","params":{"ref":{"uri":"u","type":"ref/resource"}}}"#,
            r#"resource "u""#,
        ),
        (
            r#"{"method":"tools/list","params":{"name":"a"}}"#,
            "nothing",
        ),
        (r#"{"method":"tools/call"}"#, "nothing"),
        (r#"{"method":"tools/call","params":[1]}"#, "nothing"),
        (r#"{"method":5,"params":{"name":"a"}}"#, "nothing"),
        (
            r#"{"method":"tools/call","params":{"name":"a","na\u006de":"b"}}"#,
            "invalid_params",
        ),
    ] {
        check_subject(body, expected);
    }
}

#[test]
fn id_is_read_if_valid() {
    for (body, id, notification) in [
        (r#"{"id":1}"#, Some("1"), false),
        (r#"{"id":"x"}"#, Some(r#""x""#), false),
        (r#"{"id":1.50}"#, Some("1.50"), false),
        (r#"{"id":null}"#, None, false),
        (r#"{"id":{}}"#, None, false),
        (r#"{"id":1,"id":2}"#, None, false),
        ("{}", None, true),
    ] {
        let request = read(body);
        assert_eq!(request.id().map(|id| id.as_raw().as_str()), id, "{body}");
        assert_eq!(request.is_notification(), notification, "{body}");
    }
}

#[test]
fn invalid_objects_and_duplicate_methods_are_rejected() {
    for body in [
        "",
        "[]",
        "5",
        "{",
        "{} {}",
        r#"[{"id":1}]"#,
        r#"{"method":"a","method":"b"}"#,
        r#"{"params":{},"par\u0061ms":{}}"#,
    ] {
        let bytes = Bytes::copy_from_slice(body.as_bytes());
        assert!(PlainRequest::read(bytes).is_err(), "{body}");
    }
}
