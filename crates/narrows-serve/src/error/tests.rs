use std::sync::Arc;
use std::time::Duration;

use narrows_gateway::preset::{Denial, DenialReason, DenialSource};
use narrows_wire::JsonError;

use super::*;

#[track_caller]
fn check_core(error: Error, expected: &str) {
    assert_eq!(core(&error, Revision::LATEST_LEGACY).as_str(), expected);
}

#[track_caller]
fn check(refused: Refused, status: u16, expected: &str) {
    assert_eq!(refused.status().as_u16(), status);
    assert_eq!(
        std::str::from_utf8(&refused.encode(None)).unwrap(),
        expected
    );
}

fn unknown(kind: ItemKind, name: &str, nearest: &[&str]) -> Error {
    let nearest = nearest.iter().map(ToString::to_string).collect();
    Error::Unknown {
        kind,
        name: name.into(),
        nearest,
    }
}

#[test]
fn unknown_name_error_suggests_nearest_names() {
    check_core(
        unknown(ItemKind::Tool, "git__psh", &["git__push", "git__pull"]),
        r#"{"code":-32602,"message":"Unknown tool: git__psh. Did you mean git__push or git__pull?","data":{"code":"unknown_tool","nearest":["git__push","git__pull"]}}"#,
    );
    check_core(
        unknown(ItemKind::Prompt, "p", &[]),
        r#"{"code":-32602,"message":"Unknown prompt: p","data":{"code":"unknown_prompt","nearest":[]}}"#,
    );
}

#[test]
fn unknown_resource_code_depends_on_the_revision() {
    let error = unknown(ItemKind::Resource, "file:///x", &[]);
    for revision in Revision::ALL {
        let code = core(&error, revision)
            .member("code")
            .and_then(|code| code.as_i64());
        let expected = if revision.is_legacy() {
            RESOURCE_NOT_FOUND
        } else {
            INVALID_PARAMS
        };
        assert_eq!(code, Some(expected), "{revision}");
    }
    check_core(
        error,
        r#"{"code":-32002,"message":"Unknown resource: file:///x","data":{"code":"unknown_resource","uri":"file:///x","nearest":[]}}"#,
    );
}

fn denial() -> Arc<Denial> {
    Arc::new(Denial {
        source: DenialSource::Preset("review".into()),
        why: DenialReason::NotNamed,
    })
}

#[test]
fn tool_list_denial_does_not_mention_presets() {
    let denial = Denial {
        source: DenialSource::ToolList("mcpServers.git.disabledTools".into()),
        why: DenialReason::Excluded,
    };
    let error = Error::NotAllowed {
        kind: ItemKind::Tool,
        name: "push".into(),
        denial: Arc::new(denial),
    };
    check_core(
        error.clone(),
        r#"{"code":-32602,"message":"Tool 'push' is not allowed: `mcpServers.git.disabledTools` excludes it","data":{"code":"not_allowed","tool_list":"mcpServers.git.disabledTools","reason":"`mcpServers.git.disabledTools` excludes it"}}"#,
    );
    let data = details(&ForwardError::Core(error));
    assert_eq!(data.get("preset"), None);
    assert_eq!(data["tool_list"], "mcpServers.git.disabledTools");
}

#[test]
fn client_errors_are_encoded() {
    check_core(
        Error::NotAllowed {
            kind: ItemKind::Tool,
            name: "git__push".into(),
            denial: denial(),
        },
        r#"{"code":-32602,"message":"Tool 'git__push' is not allowed by current preset","data":{"code":"not_allowed","preset":"review","reason":"no entry of preset 'review' allows it"}}"#,
    );
    check_core(
        Error::BadParams("cursor".into()),
        r#"{"code":-32602,"message":"cursor","data":{"code":"invalid_params"}}"#,
    );
    check_core(
        Error::UnknownMethod("x/y".into()),
        r#"{"code":-32601,"message":"Method not found: x/y","data":{"code":"unknown_method"}}"#,
    );
    check_core(
        Error::DuplicateId("7".into()),
        r#"{"code":-32600,"message":"Request id 7 is already in use","data":{"code":"duplicate_id"}}"#,
    );
}

#[test]
fn upstream_errors_name_the_server() {
    let server = || "git".to_string();
    check_core(
        Error::Upstream(UpstreamError::Down {
            server: server(),
            reason: "it exited".into(),
            next_try: None,
        }),
        r#"{"code":-32603,"message":"Server 'git' is not available: it exited","data":{"code":"upstream_unavailable","server":"git"}}"#,
    );
    check_core(
        Error::Upstream(UpstreamError::Down {
            server: server(),
            reason: "it exited".into(),
            next_try: Some(Duration::from_micros(4_200_001)),
        }),
        r#"{"code":-32603,"message":"Server 'git' is not available: it exited; next attempt in 4.2 s","data":{"code":"upstream_unavailable","server":"git","retry_after_ms":4201}}"#,
    );
    check_core(
        Error::Upstream(UpstreamError::Timeout {
            server: server(),
            after: Duration::from_secs(300),
        }),
        r#"{"code":-32603,"message":"Server 'git' did not answer within 300 s","data":{"code":"upstream_timeout","server":"git"}}"#,
    );
    check_core(
        Error::Upstream(UpstreamError::Invalid {
            server: server(),
            reason: "no".into(),
        }),
        r#"{"code":-32603,"message":"Server 'git' sent an invalid answer: no","data":{"code":"upstream_invalid","server":"git"}}"#,
    );
    check_core(
        Error::Upstream(UpstreamError::TooLarge {
            server: server(),
            max: 9,
        }),
        r#"{"code":-32603,"message":"Server 'git' sent an answer larger than 9 bytes","data":{"code":"upstream_too_large","server":"git"}}"#,
    );
}

#[test]
fn limit_errors_are_encoded() {
    check_core(
        Error::TooManyCalls(2),
        r#"{"code":-32603,"message":"Too many requests in flight (limit 2)","data":{"code":"too_many_requests"}}"#,
    );
    check_core(
        Error::TooManySessions(2),
        r#"{"code":-32603,"message":"Too many sessions (limit 2)","data":{"code":"too_many_sessions","retry_after_ms":30000}}"#,
    );
    check_core(
        Error::Upstream(UpstreamError::TooManyLinks {
            server: "git".into(),
            max: 8,
        }),
        r#"{"code":-32603,"message":"Server 'git' has no free link for this session: 8 are in use by other sessions (max_links)","data":{"code":"too_many_links","server":"git"}}"#,
    );
    assert_eq!(
        open_status(&Error::TooManySessions(2)),
        StatusCode::SERVICE_UNAVAILABLE
    );
    assert_eq!(
        open_status(&Error::SessionClosed),
        StatusCode::SERVICE_UNAVAILABLE
    );
    assert_eq!(
        open_status(&Error::BadParams(String::new())),
        StatusCode::OK
    );
}

#[test]
fn upstream_error_objects_pass_unchanged() {
    let raw = r#"{"code":  -1.0e1, "message":"mine", "x":[1]}"#;
    let error = Error::Upstream(UpstreamError::Answered(
        Raw::parse(Bytes::from_static(raw.as_bytes())).unwrap(),
    ));
    check_core(error, raw);
}

#[test]
fn unreadable_messages_are_encoded_as_errors() {
    check(
        Refused::Message(narrows_wire::Error::Parse(JsonError {
            offset: 3,
            reason: narrows_wire::JsonReason::NoValue,
        })),
        400,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: expected a value at byte 3","data":{"code":"parse_error"}}}"#,
    );
    check(
        Refused::Message(narrows_wire::Error::Invalid {
            id: None,
            reason: "no method",
        }),
        400,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: no method","data":{"code":"invalid_request"}}}"#,
    );
    check(
        Refused::Message(narrows_wire::Error::Invalid {
            id: Some(Id::string("a")),
            reason: "no method",
        }),
        400,
        r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"Invalid request: no method","data":{"code":"invalid_request"}}}"#,
    );
    check(
        Refused::TooLarge { max: 16 },
        413,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Message is larger than 16 bytes","data":{"code":"request_too_large"}}}"#,
    );
}

#[test]
fn every_refusal_has_a_status_and_code() {
    let revision = Revision::LATEST_LEGACY;
    let table = [
        (Refused::Host, 403, -32600, "host_not_allowed"),
        (Refused::Loop, 508, -32600, "own_server"),
        (Refused::Origin, 403, -32600, "origin_not_allowed"),
        (Refused::UnknownEndpoint, 404, -32600, "unknown_endpoint"),
        (Refused::UnknownPath, 404, -32600, "unknown_path"),
        (Refused::NotLocal, 403, -32600, "not_local"),
        (Refused::Method, 405, -32600, "method_not_allowed"),
        (Refused::RepeatedHeader, 400, -32600, "repeated_header"),
        (
            Refused::ContentType,
            415,
            -32600,
            "unsupported_content_type",
        ),
        (Refused::NotAcceptable, 406, -32600, "not_acceptable"),
        (
            Refused::ProtocolVersion,
            400,
            -32600,
            "unsupported_protocol_version",
        ),
        (Refused::TooSlow, 408, -32600, "request_timeout"),
        (Refused::Unreadable, 400, -32600, "request_incomplete"),
        (Refused::BrokenFrame("x"), 400, -32700, "parse_error"),
        (Refused::NoSession, 400, -32600, "session_required"),
        (Refused::UnknownSession, 404, -32600, "unknown_session"),
        (Refused::NotInitialized, 400, -32600, "not_initialized"),
        (
            Refused::AlreadyInitialized,
            400,
            -32600,
            "already_initialized",
        ),
        (
            Refused::BadInitialize("x".into()),
            400,
            -32602,
            "invalid_params",
        ),
        (
            Refused::InitializeInBatch,
            400,
            -32600,
            "initialize_in_batch",
        ),
        (
            Refused::NoBatches(revision),
            400,
            -32600,
            "batch_not_supported",
        ),
        (
            Refused::BatchTooLong { max: 100 },
            400,
            -32600,
            "batch_too_long",
        ),
    ];
    for (refused, status, code, word) in table {
        assert_eq!(refused.status().as_u16(), status, "{refused:?}");
        let object = refused.object();
        assert_eq!(
            object.member("code").and_then(|code| code.as_i64()),
            Some(code),
            "{refused:?}"
        );
        let data = object.member("data").and_then(|data| data.member("code"));
        assert_eq!(data.unwrap().as_text().unwrap(), word, "{refused:?}");
    }
}

#[test]
fn plain_json_rpc_errors_have_their_own_codes() {
    let server = || "up".to_owned();
    let core = |error| ForwardRefusal::Gateway(ForwardError::Core(error));
    let reason = "it is closed".to_owned();
    let table = [
        (
            ForwardRefusal::Edge(Refused::Message(narrows_wire::Error::Parse(JsonError {
                offset: 0,
                reason: narrows_wire::JsonReason::NoValue,
            }))),
            (400, -32700, "parse_error"),
        ),
        (
            ForwardRefusal::Edge(Refused::Message(narrows_wire::Error::Invalid {
                id: None,
                reason: "this path takes one JSON object",
            })),
            (400, -32600, "invalid_request"),
        ),
        (
            ForwardRefusal::Edge(Refused::TooLarge { max: 16 }),
            (413, -32600, "request_too_large"),
        ),
        (
            ForwardRefusal::Gateway(ForwardError::NoRequest("no method")),
            (400, -32600, "invalid_request"),
        ),
        (
            ForwardRefusal::Gateway(ForwardError::UnknownServer {
                name: server(),
                nearest: Vec::new(),
                known: Vec::new(),
            }),
            (404, -32011, "unknown_server"),
        ),
        (
            ForwardRefusal::Gateway(ForwardError::Status {
                server: server(),
                status: StatusCode::IM_A_TEAPOT,
                body: String::new(),
            }),
            (502, -32603, "upstream_status"),
        ),
        (
            core(Error::Upstream(UpstreamError::Down {
                server: server(),
                reason: reason.clone(),
                next_try: None,
            })),
            (502, -32012, "upstream_unreachable"),
        ),
        (
            core(Error::Upstream(UpstreamError::Timeout {
                server: server(),
                after: Duration::from_secs(30),
            })),
            (504, -32013, "upstream_timeout"),
        ),
        (
            core(Error::Upstream(UpstreamError::Invalid {
                server: server(),
                reason,
            })),
            (502, -32014, "upstream_invalid"),
        ),
        (
            core(Error::Upstream(UpstreamError::TooLarge {
                server: server(),
                max: 16,
            })),
            (502, -32014, "upstream_too_large"),
        ),
        (
            core(Error::NotAllowed {
                kind: ItemKind::Tool,
                name: "push".to_owned(),
                denial: denial(),
            }),
            (403, -32602, "not_allowed"),
        ),
        (
            core(Error::BadParams("a member occurs twice".to_owned())),
            (400, -32602, "invalid_params"),
        ),
    ];
    for (refusal, expected) in table {
        let message = refusal.encode("the name", Some(&Id::string("7")));
        let message: Value = serde_json::from_slice(&message).expect("JSON");
        let error = &message["error"];
        let found = (
            refusal.status().as_u16(),
            error["code"].as_i64().expect("a number"),
            error["data"]["code"].as_str().expect("a text"),
        );
        assert_eq!(found, expected, "{message}");
        assert_eq!(message["id"], "7", "{message}");
        assert_eq!(error["data"]["server_name"], "the name", "{message}");
        assert!(!error["message"].as_str().expect("a text").is_empty());
    }
}

#[test]
fn refused_tool_and_status_errors_include_details() {
    let refusal = ForwardRefusal::Gateway(ForwardError::Core(Error::NotAllowed {
        kind: ItemKind::Tool,
        name: "push".to_owned(),
        denial: denial(),
    }));
    assert_eq!(
        std::str::from_utf8(&refusal.encode("git", Some(&Id::number(1)))).unwrap(),
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Tool 'push' is not allowed by current preset","data":{"code":"not_allowed","server_name":"git","preset":"review","reason":"no entry of preset 'review' allows it"}}}"#,
    );
    let refusal =
        ForwardRefusal::Gateway(ForwardError::Core(Error::Upstream(UpstreamError::Down {
            server: "git".to_owned(),
            reason: "it exited".to_owned(),
            next_try: Some(Duration::from_secs(1)),
        })));
    assert_eq!(
        std::str::from_utf8(&refusal.encode("git", None)).unwrap(),
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32012,"message":"Server 'git' is not available: it exited; next attempt in 1.0 s","data":{"code":"upstream_unreachable","server_name":"git","retry_after_ms":1000}}}"#,
    );
    let refusal = ForwardRefusal::Gateway(ForwardError::Status {
        server: "git".to_owned(),
        status: StatusCode::IM_A_TEAPOT,
        body: "short and stout".to_owned(),
    });
    assert_eq!(
        std::str::from_utf8(&refusal.encode("git", None)).unwrap(),
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Server 'git' returned HTTP 418 I'm a teapot without a JSON-RPC message","data":{"code":"upstream_status","server_name":"git","status_code":418,"body":"short and stout"}}}"#,
    );
}

#[test]
fn missing_and_wrong_tokens_are_explained() {
    check(
        Refused::NoToken,
        401,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"A token is required: Authorization: Bearer <token>","data":{"code":"unauthorized"}}}"#,
    );
    check(
        Refused::WrongToken,
        401,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"The token is not valid","data":{"code":"unauthorized"}}}"#,
    );
    check(
        Refused::TooManyTokens {
            after: Duration::from_micros(1_500_100),
        },
        429,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"The token is not valid, and too many wrong tokens came from this address. Try again later","data":{"code":"too_many_attempts","retry_after_ms":1501}}}"#,
    );
    check(
        Refused::EntrypointNotAllowed,
        403,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"This client may not use this endpoint","data":{"code":"endpoint_not_allowed"}}}"#,
    );
}

#[test]
fn client_limit_errors_include_retry_after() {
    check_core(
        Error::RateLimited {
            client: "cursor".into(),
            per_minute: 60,
            after: Duration::from_millis(250),
        },
        r#"{"code":-32603,"message":"Client 'cursor' sends too many requests (limit 60 per minute)","data":{"code":"rate_limited","retry_after_ms":250}}"#,
    );
    check_core(
        Error::ClientBusy {
            client: "cursor".into(),
            max: 2,
        },
        r#"{"code":-32603,"message":"Client 'cursor' has too many requests in flight (limit 2)","data":{"code":"too_many_requests","retry_after_ms":1000}}"#,
    );
}

#[test]
fn refusals_under_load_name_a_time_to_retry() {
    for refused in [
        Refused::TooMuchHeld,
        Refused::Busy,
        Refused::ResponseDropped,
    ] {
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(refused.retry_after().is_some(), "{refused:?}");
    }
}
