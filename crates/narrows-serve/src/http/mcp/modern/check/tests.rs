use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use narrows_wire::Raw;
use narrows_wire::modern::param_headers;

use super::ModernHead;
use crate::error::Refused;

fn raw(text: &str) -> Raw {
    Raw::parse(Bytes::copy_from_slice(text.as_bytes())).expect("valid JSON")
}

fn head(headers: &[(&str, &str)]) -> ModernHead {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
        map.append(
            name,
            HeaderValue::from_bytes(value.as_bytes()).expect("a value"),
        );
    }
    ModernHead::read(&map)
}

fn shown(refused: Refused) -> String {
    let error = refused.object();
    let code = error.member("code").expect("a code");
    format!(
        "{} {} {}",
        refused.status().as_u16(),
        code.as_str(),
        refused.message()
    )
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
const VERSION: (&str, &str) = ("mcp-protocol-version", "2026-07-28");
const CALL: (&str, &str) = ("mcp-method", "tools/call");

#[track_caller]
fn check(headers: &[(&str, &str)], method: &str, params: &str, expected: &str) {
    let found = match head(headers).check(method, Some(&raw(params))) {
        Ok(_) => "ok".to_owned(),
        Err(refused) => shown(refused),
    };
    assert_eq!(found, expected, "{headers:?} {params}");
}

#[test]
fn headers_must_repeat_the_body() {
    let params = format!(r#"{{"name":"a b",{META}}}"#);
    let call = |headers: &[(&str, &str)], expected: &str| {
        check(headers, "tools/call", &params, expected);
    };
    call(&[VERSION, CALL, ("mcp-name", "a b")], "ok");
    call(&[VERSION, CALL, ("mcp-name", "=?base64?YSBi?=")], "ok");
    let mismatch = "400 -32020 Header mismatch:";
    call(
        &[VERSION, CALL],
        &format!("{mismatch} the Mcp-Name header is missing"),
    );
    call(
        &[VERSION, CALL, ("mcp-name", "a c")],
        &format!("{mismatch} the Mcp-Name header does not match the body"),
    );
    call(
        &[VERSION, CALL, ("mcp-name", "=?base64?!?=")],
        &format!("{mismatch} the Mcp-Name header is malformed"),
    );
    call(
        &[VERSION, CALL, ("mcp-name", "a b"), ("mcp-name", "a b")],
        &format!("{mismatch} the mcp-name header is repeated"),
    );
    call(
        &[VERSION],
        &format!("{mismatch} the Mcp-Method header is missing"),
    );
    call(
        &[VERSION, ("mcp-method", "tools/Call")],
        &format!("{mismatch} the Mcp-Method header does not match the body"),
    );
    call(
        &[("mcp-protocol-version", "2025-11-25"), CALL],
        &format!("{mismatch} the MCP-Protocol-Version header does not match the body"),
    );
    // Other methods have no name.
    check(
        &[VERSION, ("mcp-method", "tools/list")],
        "tools/list",
        &format!("{{{META}}}"),
        "ok",
    );
    // A name that the body lacks.
    check(
        &[VERSION, CALL, ("mcp-name", "a")],
        "tools/call",
        &format!("{{{META}}}"),
        &format!("{mismatch} the Mcp-Name header does not match the body"),
    );
}

#[test]
fn versions_and_metadata_are_checked() {
    let list = ("mcp-method", "tools/list");
    let of = |headers: &[(&str, &str)], params: &str, expected: &str| {
        check(headers, "tools/list", params, expected);
    };
    of(
        &[VERSION, list],
        "{}",
        "400 -32602 Invalid params: params._meta is missing",
    );
    let unknown = ("mcp-protocol-version", "2030-01-01");
    let meta = |version: &str| {
        format!(
            r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{}}}}}}"#
        )
    };
    let unsupported = "400 -32022 Protocol version '2030-01-01' is not supported";
    of(&[unknown, list], &meta("2030-01-01"), unsupported);
    of(&[unknown, list], "{}", unsupported);
    of(
        &[unknown, list],
        &meta("2026-07-28"),
        "400 -32020 Header mismatch: the MCP-Protocol-Version header does not match the body",
    );
    // Legacy revisions do not have this form.
    let legacy = ("mcp-protocol-version", "2025-11-25");
    of(
        &[legacy, list],
        &meta("2025-11-25"),
        "400 -32022 Protocol version '2025-11-25' is not supported",
    );
}

#[test]
fn parameter_headers_must_repeat_the_arguments() {
    let schema = r#"{"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}"#;
    let headers = param_headers(&raw(schema)).expect("valid annotations");
    let check = |sent: &[(&str, &str)], arguments: &str, expected: &str| {
        let found = match head(sent).check_params(&headers, Some(&raw(arguments))) {
            Ok(()) => "ok".to_owned(),
            Err(refused) => shown(refused),
        };
        assert_eq!(found, expected, "{sent:?} {arguments}");
    };
    let own = ("mcp-param-region", "eu");
    check(
        &[own, ("mcp-param-unknown", "x")],
        r#"{"region":"eu"}"#,
        "ok",
    );
    check(&[], "{}", "ok");
    let mismatch = "400 -32020 Header mismatch: the mcp-param-region header";
    check(&[], r#"{"region":"eu"}"#, &format!("{mismatch} is missing"));
    check(
        &[own],
        r#"{"region":"us"}"#,
        &format!("{mismatch} does not match the arguments"),
    );
    check(
        &[own],
        "{}",
        &format!("{mismatch} does not match the arguments"),
    );
    check(
        &[own, own],
        r#"{"region":"eu"}"#,
        &format!("{mismatch} is repeated"),
    );
}
