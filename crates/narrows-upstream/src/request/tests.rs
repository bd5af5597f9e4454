use narrows_wire::Raw;
use serde_json::json;

use super::{ModernParts, Outgoing};
use crate::testing::{LONG, raw};

/// Returns the params that a server of the modern era receives.
#[track_caller]
fn check(params: Option<Raw>, resumed: &[(&'static str, Raw)], expected: &str) {
    let token = params
        .as_ref()
        .and_then(|params| params.member("_meta")?.member("progressToken"));
    let rename = params
        .as_ref()
        .and_then(|params| Some((params.member("name")?, Raw::string("own"))));
    let call = Outgoing {
        rename,
        progress_token: token,
        ..Outgoing::own("tools/call", params, LONG)
    };
    let meta = raw(&json!({"version": "v"}));
    let parts = ModernParts {
        meta: &meta,
        resumed,
        headers: None,
    };
    let encoded = call.encoded_params(7, Some(&parts)).unwrap();
    assert_eq!(encoded.as_str(), expected);
    Raw::parse(encoded.into_bytes()).expect("valid JSON");
}

#[test]
fn the_gateways_meta_replaces_the_clients_own() {
    check(None, &[], r#"{"_meta":{"version":"v"}}"#);
    check(Some(raw(&json!([1]))), &[], r#"{"_meta":{"version":"v"}}"#);
    check(
        Some(raw(&json!({"name": "shown"}))),
        &[],
        r#"{"name":"own","_meta":{"version":"v"}}"#,
    );
    let spoofed = r#"{"_meta":{"version":"x","version":"y","a\"":1},"name":"shown"}"#;
    check(
        Some(Raw::parse(spoofed.into()).unwrap()),
        &[],
        r#"{"_meta":{"version":"v","a\"":1},"name":"own"}"#,
    );
    check(
        Some(raw(&json!({"_meta": 3}))),
        &[],
        r#"{"_meta":{"version":"v"}}"#,
    );
}

#[test]
fn the_progress_token_is_that_of_the_link() {
    check(
        Some(raw(&json!({"_meta": {"progressToken": "mine", "z": 0}}))),
        &[],
        r#"{"_meta":{"version":"v","progressToken":7,"z":0}}"#,
    );
}

#[test]
fn a_call_continues_with_the_servers_state() {
    check(
        Some(raw(&json!({"requestState": "forged"}))),
        &[("requestState", Raw::string("s"))],
        r#"{"requestState":"s","_meta":{"version":"v"}}"#,
    );
}
