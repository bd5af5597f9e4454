use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::Raw;

fn raw(text: &str) -> Raw {
    Raw::parse(Bytes::copy_from_slice(text.as_bytes())).expect("valid JSON")
}

#[track_caller]
fn check_header(text: &str, encoded: &str) {
    assert_eq!(header::encode(text), encoded);
    assert_eq!(header::decode(encoded.as_bytes()).as_deref(), Some(text));
}

#[test]
fn header_values_are_encoded_as_the_specification_shows() {
    check_header("us-west1", "us-west1");
    check_header("", "");
    check_header("a b", "a b");
    check_header("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?=");
    check_header(" padded ", "=?base64?IHBhZGRlZCA=?=");
    check_header("line1\nline2", "=?base64?bGluZTEKbGluZTI=?=");
    check_header("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
}

#[test]
fn invalid_header_values_are_refused() {
    for value in [
        "=?base64?!!!?=",
        "=?base64?gA==?=",
        "=?base64?YQ?=",
        "ü",
        "a\nb",
    ] {
        assert_eq!(header::decode(value.as_bytes()), None, "{value}");
    }
    // Without its end, or with another spelling, this is a literal.
    for value in ["=?base64?YQ==", "=?BASE64?YQ==?="] {
        assert_eq!(header::decode(value.as_bytes()).as_deref(), Some(value));
    }
}

proptest! {
    #[test]
    fn every_text_survives_a_header(text in any::<String>()) {
        let encoded = header::encode(&text).into_owned();
        prop_assert!(encoded.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')));
        prop_assert_eq!(encoded.trim(), &encoded);
        prop_assert_eq!(header::decode(encoded.as_bytes()), Some(text.into()));
    }

    #[test]
    fn no_header_value_is_a_panic(value in any::<Vec<u8>>()) {
        let _ = header::decode(&value);
    }
}

#[track_caller]
fn check_meta(params: &str, expected: &str) {
    let found = match RequestMeta::read(Some(&raw(params))) {
        Ok(meta) => format!(
            "{} {:?} {:?} {:?}",
            meta.version, meta.client.capabilities, meta.client.client_info, meta.log_level
        ),
        Err(error) => error.to_string(),
    };
    assert_eq!(found, expected);
}

#[test]
fn request_metadata_is_read_and_checked() {
    let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    let capabilities = r#""io.modelcontextprotocol/clientCapabilities":{"roots":{}}"#;
    check_meta(
        &format!(r#"{{"_meta":{{{version},{capabilities}}}}}"#),
        r#"2026-07-28 {"roots":{}} {} None"#,
    );
    check_meta(
        &format!(
            r#"{{"_meta":{{{version},{capabilities},"io.modelcontextprotocol/clientInfo":{{"name":"a"}},"io.modelcontextprotocol/logLevel":"info"}}}}"#
        ),
        r#"2026-07-28 {"roots":{}} {"name":"a"} Some("info")"#,
    );
    check_meta("{}", "params._meta is missing");
    check_meta(
        &format!(r#"{{"_meta":{{{capabilities}}}}}"#),
        "params._meta[\"io.modelcontextprotocol/protocolVersion\"] is missing",
    );
    check_meta(
        &format!(r#"{{"_meta":{{{version}}}}}"#),
        "params._meta[\"io.modelcontextprotocol/clientCapabilities\"] is missing",
    );
    check_meta(
        &format!(r#"{{"_meta":{{{version},"io.modelcontextprotocol/clientCapabilities":[]}}}}"#),
        "params._meta[\"io.modelcontextprotocol/clientCapabilities\"] must be an object",
    );
    check_meta(
        &format!(r#"{{"_meta":{{{version},{version},{capabilities}}}}}"#),
        "params._meta is not valid: a member occurs twice",
    );
    check_meta(
        r#"{"_meta":7}"#,
        "params._meta[\"_meta\"] must be an object",
    );
}

#[test]
fn only_metadata_of_this_revision_is_removed() {
    let check = |params: &str, expected: &str| {
        assert_eq!(without_request_meta(&raw(params)), raw(expected));
    };
    check(r#"{"name":"a"}"#, r#"{"name":"a"}"#);
    check(
        r#"{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#,
        r#"{"name":"a"}"#,
    );
    check(
        r#"{"_meta":{"progressToken":1,"io.modelcontextprotocol/clientCapabilities":{},"traceparent":"x"}}"#,
        r#"{"_meta":{"progressToken":1,"traceparent":"x"}}"#,
    );
}

fn fields(cache: Option<CacheHint>) -> ResultFields {
    ResultFields {
        result_type: ResultType::Complete,
        cache,
        server_info: Some(raw(r#"{"name":"n"}"#)),
    }
}

#[test]
fn result_members_are_added_and_removed() {
    let check = |result: &str, cache: Option<CacheHint>, expected: &str| {
        let added = fields(cache).add_to(&raw(result));
        assert_eq!(added, raw(expected));
        assert_eq!(ResultFields::read(&added), fields(cache));
        added
    };
    let info = r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n"}}"#;
    let added = check(
        "{}",
        None,
        &format!(r#"{{"resultType":"complete",{info}}}"#),
    );
    assert_eq!(ResultFields::remove_from(&added), raw("{}"));
    let added = check(
        r#"{"tools":[]}"#,
        Some(CacheHint::NONE),
        &format!(
            r#"{{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private",{info}}}"#
        ),
    );
    assert_eq!(ResultFields::remove_from(&added), raw(r#"{"tools":[]}"#));
    let added = check(
        r#"{"resultType":"x","_meta":{"a":1}}"#,
        None,
        r#"{"resultType":"complete","_meta":{"a":1,"io.modelcontextprotocol/serverInfo":{"name":"n"}}}"#,
    );
    assert_eq!(
        ResultFields::remove_from(&added),
        raw(r#"{"_meta":{"a":1}}"#)
    );
    check(
        r#"{"resultType":"x","resultType":"y"}"#,
        None,
        &format!(r#"{{"resultType":"complete",{info}}}"#),
    );
}

#[test]
fn a_joined_list_has_the_narrowest_hint() {
    let public = CacheHint {
        ttl_ms: 9,
        scope: CacheScope::Public,
    };
    assert_eq!(public.and(public), public);
    let joined = CacheHint {
        ttl_ms: 5,
        scope: CacheScope::Private,
    };
    let private = CacheHint {
        ttl_ms: 5,
        ..CacheHint::NONE
    };
    assert_eq!(public.and(private), joined);
}

#[track_caller]
fn check_annotations(schema: &str, expected: &str) {
    let found = match param_headers(&raw(schema)) {
        Ok(headers) => headers
            .iter()
            .map(|header| format!("{}={}", header.header, header.path.join("/")))
            .collect::<Vec<_>>()
            .join(" "),
        Err(error) => error.to_string(),
    };
    assert_eq!(found, expected);
}

#[test]
fn annotations_of_schemas_are_found() {
    check_annotations(r#"{"type":"object"}"#, "");
    check_annotations(
        r#"{"properties":{"r":{"type":"string","x-mcp-header":"Region"},"n":{"type":"object","properties":{"d":{"type":"integer","x-mcp-header":"Depth"}}}}}"#,
        "mcp-param-region=r mcp-param-depth=n/d",
    );
    // A property of that name, and data, are no annotations.
    check_annotations(
        r#"{"properties":{"x-mcp-header":{"type":"string","default":{"x-mcp-header":""}}}}"#,
        "",
    );
    check_annotations(
        r#"{"properties":{"r":{"type":"string","x-mcp\u002dheader":"Region"}}}"#,
        "mcp-param-region=r",
    );
}

#[test]
fn invalid_annotations_are_reported() {
    let on = |body: &str| format!(r#"{{"properties":{{"p":{{{body}}}}}}}"#);
    for (name, shown) in [
        (r#""""#, r#""""#),
        ("7", "7"),
        (r#""a b""#, r#""a b""#),
        (r#""é""#, r#""é""#),
    ] {
        check_annotations(
            &on(&format!(r#""type":"string","x-mcp-header":{name}"#)),
            &format!("x-mcp-header must be a non-empty HTTP field name, not {shown}"),
        );
    }
    for kind in [r#""number""#, r#""object""#, r#""null""#] {
        check_annotations(
            &on(&format!(r#""type":{kind},"x-mcp-header":"A""#)),
            "x-mcp-header \"A\" needs a parameter of type string, integer or boolean",
        );
    }
    check_annotations(
        r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#,
        "x-mcp-header \"A\" occurs twice",
    );
    let unreachable =
        "x-mcp-header must be on a property that the root of the schema reaches directly";
    for schema in [
        r#"{"type":"string","x-mcp-header":"A"}"#.to_owned(),
        on(r#""type":"array","items":{"type":"string","x-mcp-header":"A"}"#),
        on(r#""anyOf":[{"type":"string","x-mcp-header":"A"}]"#),
        r#"{"$defs":{"a":{"type":"string","x-mcp-header":"A"}}}"#.to_owned(),
        r#"{"allOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}"#.to_owned(),
        format!(
            "{}{}{}",
            r#"{"properties":{"p":"#.repeat(99),
            r#"{"type":"string","x-mcp-header":"A"}"#,
            "}}".repeat(99)
        ),
    ] {
        check_annotations(&schema, unreachable);
    }
}

#[test]
fn headers_are_compared_with_arguments() {
    let header = ParamHeader {
        header: "mcp-param-a".to_owned(),
        path: vec!["a".to_owned()],
    };
    let check = |value: Option<&str>, arguments: &str, agrees: bool| {
        let arguments = raw(arguments);
        assert_eq!(
            header.agrees(value.map(str::as_bytes), Some(&arguments)),
            agrees,
            "{value:?} {arguments:?}"
        );
    };
    check(Some("x"), r#"{"a":"x"}"#, true);
    check(Some("=?base64?eA==?="), r#"{"a":"x"}"#, true);
    check(Some("y"), r#"{"a":"x"}"#, false);
    check(None, r#"{"a":"x"}"#, false);
    check(None, r#"{"a":null}"#, true);
    check(None, "{}", true);
    check(Some("x"), "{}", false);
    check(Some("42.0"), r#"{"a":42}"#, true);
    check(Some("-7"), r#"{"a":-7.0}"#, true);
    check(Some("43"), r#"{"a":42}"#, false);
    check(
        Some("9007199254740993.0"),
        r#"{"a":9007199254740993}"#,
        false,
    );
    check(Some("true"), r#"{"a":true}"#, true);
    check(Some("True"), r#"{"a":true}"#, false);
    check(Some("{}"), r#"{"a":{}}"#, false);
    for arguments in [
        r#"{"a":"x y"}"#,
        r#"{"a":" ü"}"#,
        r#"{"a":7}"#,
        r#"{"a":false}"#,
    ] {
        let encoded = header.encode(&raw(arguments));
        check(encoded.as_deref(), arguments, true);
    }
}
