//! Tests of POST with one message: admission, and the format of the response.

use std::time::Duration;

use narrows_gateway::settings::Limits;
use narrows_serve::HttpSettings;
use serde_json::json;

use crate::TestGateway;
use crate::client::{BOTH, Client, Connection, call, initialize};

const LIST: &str = r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#;
const CANCEL: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;

#[tokio::test]
async fn initialize_opens_a_session_and_returns_json() {
    let gate = TestGateway::start().await;
    let mut client = gate.new_client();
    let reply = client.initialize("2025-06-18", "{}").await;
    let result = &reply.json()["result"];
    assert_eq!(result["protocolVersion"], "2025-06-18");
    assert!(result["capabilities"]["tools"].is_object(), "{result}");
    let session = reply.header("mcp-session-id").unwrap();
    assert!(session.len() >= 32 && session.bytes().all(|byte| byte.is_ascii_graphic()));
}

#[tokio::test]
async fn unknown_revision_gets_the_newest_legacy_one() {
    let gate = TestGateway::start().await;
    for asked in ["1999-01-01", "2026-07-28"] {
        let reply = gate.new_client().post(&initialize(1, asked, "{}")).await;
        assert_eq!(reply.json()["result"]["protocolVersion"], "2025-11-25");
    }
}

#[tokio::test]
async fn result_without_events_is_plain_json() {
    let gate = TestGateway::start().await;
    let client = gate.client().await;
    let reply = client.post(&call("7", "echo")).await;
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.header("content-length"),
        Some(&*reply.text().len().to_string())
    );
    let answer = reply.json();
    assert_eq!(answer["id"], 7);
    assert_eq!(answer["result"]["content"][0]["text"], r#"{"id":7}"#);
}

#[tokio::test]
async fn event_before_the_result_starts_a_stream() {
    let mut gate = TestGateway::start().await;
    let client = gate.client().await;
    let mut answer = client.call("7", "hold").await;
    let mut held = gate.upstream.held().await;
    held.progress(1).await;
    let (_, notice) = answer.message().await;
    assert_eq!(notice["method"], "notifications/progress");
    assert_eq!(notice["params"]["progressToken"], 7);
    held.progress(2).await;
    assert_eq!(answer.message().await.1["params"]["progress"], 2);
    held.answer("done").await;
    let (_, result) = answer.message().await;
    assert_eq!(result["id"], 7);
    assert_eq!(result["result"]["content"][0]["text"], "done");
    assert_eq!(answer.event().await, None);
}

#[tokio::test]
async fn json_only_client_gets_json() {
    let mut gate = TestGateway::start().await;
    let client = gate.client().await.accepting("application/json");
    let mut answer = client.call("7", "hold").await;
    let mut held = gate.upstream.held().await;
    held.progress(1).await;
    held.answer("done").await;
    let answer = answer.reply().await.json();
    assert_eq!(answer["result"]["content"][0]["text"], "done");
}

#[tokio::test]
async fn event_stream_only_client_gets_events() {
    let gate = TestGateway::start().await;
    let client = gate.client().await.accepting("text/event-stream");
    let mut answer = client.call("7", "echo").await;
    assert_eq!(answer.message().await.1["id"], 7);
    assert_eq!(answer.event().await, None);

    let new_client = gate.new_client().accepting("text/event-stream");
    let mut answer = new_client.begin(&initialize(1, "2025-06-18", "{}")).await;
    assert!(answer.head().await.header("mcp-session-id").is_some());
    assert_eq!(answer.message().await.1["id"], 1);
    assert_eq!(answer.event().await, None);
}

#[tokio::test]
async fn slow_response_becomes_a_stream_with_keep_alives() {
    let keep_alive = Duration::from_millis(20);
    let http = HttpSettings {
        keep_alive,
        ..HttpSettings::default()
    };
    let mut gate = TestGateway::with(http, Limits::default()).await;
    let client = gate.client().await;
    let mut answer = client.call("7", "hold").await;
    let held = gate.upstream.held().await;
    assert!(answer.any_event().await.unwrap().comment);
    assert!(answer.any_event().await.unwrap().comment);
    held.answer("done").await;
    assert_eq!(answer.message().await.1["id"], 7);
    assert_eq!(answer.event().await, None);
}

#[tokio::test]
async fn large_result_arrives_complete() {
    let http = HttpSettings {
        // A later response would be a stream.
        keep_alive: Duration::from_secs(600),
        ..HttpSettings::default()
    };
    let gate = TestGateway::with(http, Limits::default()).await;
    let client = gate.client().await;
    let reply = client.post(&call("7", "blob")).await;
    assert_eq!(
        reply.header("content-length"),
        Some(&*reply.text().len().to_string())
    );
    let answer = reply.json();
    assert_eq!(answer["id"], 7);
    assert_eq!(answer["result"]["content"][0]["text"], "x".repeat(300_000));
}

#[tokio::test]
async fn cancelled_request_gets_no_response() {
    let mut gate = TestGateway::start().await;
    let client = gate.client().await;
    let mut answer = client.call("7", "hold").await;
    let _held = gate.upstream.held().await;
    assert_eq!(client.post(CANCEL).await.status, 202);
    let reply = answer.reply().await;
    assert_eq!((reply.status, reply.text()), (202, ""));

    let mut streamed = client.call("7", "hold").await;
    let mut held = gate.upstream.held().await;
    held.progress(1).await;
    streamed.message().await;
    assert_eq!(client.post(CANCEL).await.status, 202);
    assert_eq!(streamed.event().await, None);
}

#[tokio::test]
async fn core_errors_are_json_rpc_responses() {
    let gate = TestGateway::start().await;
    let client = gate.client().await;
    let unknown = client.post(&call("7", "ekko")).await;
    assert_eq!(unknown.refusal(), r#"200 -32602 "unknown_tool" 7"#);
    assert_eq!(unknown.json()["error"]["data"]["nearest"][0], "up__echo");
    let method = client
        .post(r#"{"jsonrpc":"2.0","id":"m","method":"no/such"}"#)
        .await;
    assert_eq!(method.refusal(), r#"200 -32601 "unknown_method" "m""#);
}

#[tokio::test]
async fn non_json_content_type_is_rejected() {
    let gate = TestGateway::start().await;
    let client = gate.client().await;
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json-seq",
    ] {
        let reply = client
            .send("POST", &[("content-type", kind)], LIST)
            .await
            .reply()
            .await;
        assert_eq!(
            reply.refusal(),
            r#"415 -32600 "unsupported_content_type" null"#
        );
    }
    let reply = client.send("POST", &[], LIST).await.reply().await;
    assert_eq!(reply.status, 415);
    let charset = [("content-type", "application/json; charset=utf-8")];
    assert_eq!(
        client
            .send("POST", &charset, LIST)
            .await
            .reply()
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn accept_header_must_allow_a_supported_format() {
    let gate = TestGateway::start().await;
    let client = gate.client().await;
    let reply = client.clone().accepting("text/html").post(LIST).await;
    assert_eq!(reply.refusal(), r#"406 -32600 "not_acceptable" null"#);
    assert_eq!(client.clone().accepting("*/*").post(LIST).await.status, 200);
}

#[tokio::test]
async fn unknown_protocol_version_is_rejected() {
    let gate = TestGateway::start().await;
    let client = gate.client().await;
    let send = async |version| {
        let headers = [
            ("content-type", "application/json"),
            ("mcp-protocol-version", version),
        ];
        client.send("POST", &headers, LIST).await.reply().await
    };
    let reply = send("1999-01-01").await;
    assert_eq!(
        reply.refusal(),
        r#"400 -32022 "unsupported_protocol_version" 5"#
    );
    assert_eq!(send("2025-06-18").await.status, 200);
    assert_eq!(send("2024-11-05").await.status, 200);
}

#[tokio::test]
async fn oversized_body_is_rejected() {
    let http = HttpSettings {
        max_message_bytes: 1000,
        ..HttpSettings::default()
    };
    let gate = TestGateway::with(http, Limits::default()).await;
    let client = gate.client().await;
    let exact = |size: usize| format!("{LIST}{}", " ".repeat(size - LIST.len()));
    assert_eq!(client.post(&exact(1000)).await.status, 200);
    let refusal = r#"413 -32600 "request_too_large" null"#;
    assert_eq!(client.post(&exact(1001)).await.refusal(), refusal);

    // The same limit applies without an announced length.
    let mut connection = Connection::open(gate.address).await;
    let head = raw_head(&client, "transfer-encoding: chunked");
    connection.write(head.as_bytes()).await;
    connection
        .write(format!("258\r\n{}\r\n", " ".repeat(600)).as_bytes())
        .await;
    connection
        .write(format!("258\r\n{}\r\n", " ".repeat(600)).as_bytes())
        .await;
    assert_eq!(connection.reply().await.refusal(), refusal);
}

#[tokio::test]
async fn invalid_bodies_are_rejected_without_side_effects() {
    let gate = TestGateway::start().await;
    let client = gate.client().await;
    let deep = "[".repeat(100_000);
    let parse = r#"400 -32700 "parse_error" null"#;
    let invalid = r#"400 -32600 "invalid_request" null"#;
    for (body, expected) in [
        ("", parse),
        ("{", parse),
        ("nonsense", parse),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x",
            parse,
        ),
        (&deep, parse),
        ("1", invalid),
        ("null", invalid),
        ("\"text\"", invalid),
        ("{}", invalid),
        ("[]", invalid),
        (r#"{"jsonrpc":"1.0","method":"x"}"#, invalid),
        (
            r#"{"jsonrpc":"2.0","id":9,"method":7}"#,
            r#"400 -32600 "invalid_request" 9"#,
        ),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, invalid),
    ] {
        let shown: String = body.chars().take(60).collect();
        assert_eq!(client.post(body).await.refusal(), expected, "{shown}");
    }
    let mut connection = Connection::open(gate.address).await;
    connection
        .write(raw_head(&client, "content-length: 4").as_bytes())
        .await;
    connection.write(b"\xff\xfe\x00\x01").await;
    assert_eq!(connection.reply().await.refusal(), parse);
    assert_eq!(client.post(LIST).await.status, 200);
}

#[tokio::test]
async fn initialize_without_required_members_is_rejected() {
    let gate = TestGateway::start().await;
    let client = gate.new_client();
    for params in [
        "[]",
        "{}",
        r#"{"protocolVersion":1,"capabilities":{},"clientInfo":{}}"#,
        r#"{"protocolVersion":"2025-06-18","clientInfo":{}}"#,
        r#"{"protocolVersion":"2025-06-18","capabilities":{}}"#,
    ] {
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":"i","method":"initialize","params":{params}}}"#);
        let reply = client.post(&body).await;
        assert_eq!(
            reply.refusal(),
            r#"400 -32602 "invalid_params" "i""#,
            "{params}"
        );
        assert_eq!(reply.header("mcp-session-id"), None);
    }
}

#[tokio::test]
async fn notifications_and_responses_are_accepted() {
    let gate = TestGateway::start().await;
    let client = gate.client().await;
    for body in [
        r#"{"jsonrpc":"2.0","method":"notifications/whatever"}"#,
        r#"{"jsonrpc":"2.0","id":"up:1","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"up:1","error":{"code":1,"message":"no"}}"#,
    ] {
        let reply = client.post(body).await;
        assert_eq!((reply.status, reply.text()), (202, ""), "{body}");
    }
}

#[tokio::test]
async fn connection_carries_many_requests() {
    let gate = TestGateway::start().await;
    let client = gate.client().await;
    let mut connection = Connection::open(gate.address).await;
    let request = |id: u64| {
        let body = call(&id.to_string(), "echo");
        let length = format!("content-length: {}", body.len());
        format!("{}{body}", raw_head(&client, &length))
    };
    for id in 0..5 {
        connection.write(request(id).as_bytes()).await;
        assert_eq!(connection.reply().await.json()["id"], id);
    }
    // Sent together, without waiting for responses.
    let together: String = (5..10).map(request).collect();
    connection.write(together.as_bytes()).await;
    for id in 5..10 {
        assert_eq!(connection.reply().await.json()["id"], id);
    }
}

#[tokio::test]
async fn slow_body_is_read_to_the_end() {
    let gate = TestGateway::start().await;
    let client = gate.client().await;
    let mut connection = Connection::open(gate.address).await;
    let length = format!("content-length: {}", LIST.len());
    connection
        .write(raw_head(&client, &length).as_bytes())
        .await;
    for byte in LIST.as_bytes() {
        connection.write(&[*byte]).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(connection.reply().await.json()["id"], 5);
}

#[tokio::test]
async fn missing_body_times_out() {
    let body_timeout = Duration::from_millis(20);
    let http = HttpSettings {
        body_timeout,
        ..HttpSettings::default()
    };
    let gate = TestGateway::with(http, Limits::default()).await;
    let client = gate.client().await;
    let mut connection = Connection::open(gate.address).await;
    connection
        .write(raw_head(&client, "content-length: 100").as_bytes())
        .await;
    connection.write(b"{").await;
    assert_eq!(
        connection.reply().await.refusal(),
        r#"408 -32600 "request_timeout" null"#
    );
}

#[tokio::test]
async fn missing_header_times_out() {
    let header_timeout = Duration::from_millis(20);
    let http = HttpSettings {
        header_timeout,
        ..HttpSettings::default()
    };
    let gate = TestGateway::with(http, Limits::default()).await;
    let mut connection = Connection::open(gate.address).await;
    connection.write(b"POST /mcp HTTP/1.1\r\nhost: loc").await;
    assert!(connection.closed().await);
}

#[tokio::test]
async fn oversized_header_is_rejected() {
    let gate = TestGateway::start().await;
    let client = gate.client().await;
    let long = "x".repeat(20_000);
    let headers = [("content-type", "application/json"), ("x-long", &*long)];
    let mut connection = client.send("POST", &headers, LIST).await;
    assert_eq!(connection.head().await.status, 431);
}

#[tokio::test]
async fn unsupported_methods_get_an_allow_header() {
    let gate = TestGateway::start().await;
    let client = gate.client().await;
    for method in ["PUT", "PATCH", "HEAD", "BREW"] {
        let mut connection = client.send(method, &[], "").await;
        let head = connection.head().await;
        assert_eq!(head.status, 405, "{method}");
        assert_eq!(head.header("allow"), Some("GET, POST, DELETE, OPTIONS"));
    }
}

#[tokio::test]
async fn response_id_is_byte_identical() {
    let gate = TestGateway::start().await;
    let client = gate.client().await;
    for id in ["0", "-3", "9007199254740993", r#""""#, r#""a\u00e9\n""#] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let text = client.post(&body).await.text().to_string();
        assert!(text.contains(&format!(r#""id":{id}"#)), "{text}");
    }
    assert_eq!(client.post(LIST).await.json()["id"], json!(5));
}

/// Returns the head of a POST by this client, with one more header line.
fn raw_head(client: &Client, line: &str) -> String {
    let session = client.session.as_deref().unwrap();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: {BOTH}\r\nmcp-session-id: {session}\r\n{line}\r\n\r\n"
    )
}
