//! Tests of the stdio edge, over an in-memory pair of byte streams.

use std::time::Duration;

use narrows_gateway::settings::Limits;
use narrows_serve::{StdioSettings, stdio};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::task::JoinHandle;

use crate::client::{call, initialize};
use crate::upstream::Upstream;
use crate::{gateway, within};

const PING: &str = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;

/// A stdio client that uses newline framing by default.
struct StdioClient {
    upstream: Upstream,
    input: Option<DuplexStream>,
    output: BufReader<DuplexStream>,
    served: JoinHandle<std::io::Result<()>>,
}

impl StdioClient {
    async fn start(settings: StdioSettings) -> StdioClient {
        let upstream = Upstream::start().await;
        let gateway = gateway(&upstream, Limits::default());
        let (input, their_input) = tokio::io::duplex(64 * 1024);
        let (output, their_output) = tokio::io::duplex(64 * 1024);
        let served = tokio::spawn(async move {
            stdio(gateway, "default", their_input, their_output, settings).await
        });
        StdioClient {
            upstream,
            input: Some(input),
            output: BufReader::new(output),
            served,
        }
    }

    async fn open(revision: &str, capabilities: &str) -> StdioClient {
        let mut pipe = StdioClient::start(StdioSettings::default()).await;
        pipe.send_message(&initialize(1, revision, capabilities))
            .await;
        assert_eq!(pipe.receive().await["result"]["protocolVersion"], revision);
        pipe.send_message(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        pipe
    }

    async fn send_message(&mut self, message: &str) {
        self.write(format!("{message}\n").as_bytes()).await;
    }

    async fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("input that is still open");
        within("the input to be taken", input.write_all(bytes))
            .await
            .unwrap();
    }

    async fn receive(&mut self) -> Value {
        let mut line = String::new();
        within("a line", self.output.read_line(&mut line))
            .await
            .unwrap();
        assert!(!line.is_empty(), "the output has ended");
        serde_json::from_str(&line).unwrap()
    }

    async fn receive_frame(&mut self) -> Value {
        let mut header = String::new();
        within("a header", self.output.read_line(&mut header))
            .await
            .unwrap();
        let length = header
            .trim()
            .strip_prefix("Content-Length: ")
            .unwrap()
            .parse()
            .unwrap();
        let mut empty = String::new();
        self.output.read_line(&mut empty).await.unwrap();
        assert_eq!(empty, "\r\n");
        let mut body: Vec<u8> = vec![0; length];
        within("a frame", self.output.read_exact(&mut body))
            .await
            .unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    /// Closes the input and waits for the edge to end.
    async fn end(mut self) -> Upstream {
        self.input.take().unwrap().shutdown().await.unwrap();
        within("the edge to end", self.served)
            .await
            .unwrap()
            .unwrap();
        self.upstream
    }
}

fn refusal(answer: &Value) -> String {
    let error = &answer["error"];
    format!(
        "{} {} {}",
        error["code"], error["data"]["code"], answer["id"]
    )
}

fn modern(id: u64, method: &str, mut params: Value) -> String {
    let mut meta = serde_json::json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        "progressToken": id,
    });
    if let Some(more) = params["_meta"].as_object() {
        meta.as_object_mut().unwrap().extend(more.clone());
    }
    params["_meta"] = meta;
    serde_json::json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
        .to_string()
}

#[tokio::test]
async fn requests_of_the_modern_era_need_no_session() {
    let mut pipe = StdioClient::start(StdioSettings::default()).await;
    pipe.send_message(&modern(1, "server/discover", serde_json::json!({})))
        .await;
    let answer = pipe.receive().await;
    assert_eq!(answer["result"]["supportedVersions"][0], "2026-07-28");
    let refused = [
        ("ping", serde_json::json!({}), "-32601 \"unknown_method\" 2"),
        (
            "tools/list",
            serde_json::json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2031-01-01" } }),
            "-32022 \"unsupported_protocol_version\" 2",
        ),
        (
            "tools/list",
            serde_json::json!({ "_meta": { "io.modelcontextprotocol/clientCapabilities": 7 } }),
            "-32602 \"invalid_params\" 2",
        ),
    ];
    for (method, params, expected) in refused {
        pipe.send_message(&modern(2, method, params)).await;
        assert_eq!(refusal(&pipe.receive().await), expected);
    }
    // Without metadata, a request belongs to a legacy revision.
    pipe.send_message(r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#)
        .await;
    assert_eq!(
        refusal(&pipe.receive().await),
        "-32600 \"not_initialized\" 3"
    );
    let filter = serde_json::json!({ "notifications": { "toolsListChanged": true } });
    pipe.send_message(&modern(4, "subscriptions/listen", filter))
        .await;
    let answer = pipe.receive().await;
    assert_eq!(answer["method"], "notifications/subscriptions/acknowledged");
    let call = |more: Value| {
        let mut params = serde_json::json!({ "name": "up__hold", "arguments": {} });
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        params
    };
    pipe.send_message(&modern(5, "tools/call", call(serde_json::json!({}))))
        .await;
    let mut held = pipe.upstream.held().await;
    pipe.upstream.add_tool(&mut held).await;
    let notice = pipe.receive().await;
    assert_eq!(notice["method"], "notifications/tools/list_changed");
    let meta = &notice["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/subscriptionId"], 4);
    held.progress(1).await;
    assert_eq!(pipe.receive().await["method"], "notifications/progress");
    held.ask("q").await;
    let answer = pipe.receive().await;
    assert_eq!(
        (&answer["id"], &answer["result"]["resultType"]),
        (&5.into(), &"input_required".into())
    );
    let answers = serde_json::json!({ "q": { "action": "accept" } });
    let retry = serde_json::json!({ "requestState": answer["result"]["requestState"], "inputResponses": answers });
    pipe.send_message(&modern(6, "tools/call", call(retry)))
        .await;
    pipe.upstream.received("id", &"q".into()).await;
    held.answer("done").await;
    let answer = pipe.receive().await;
    assert_eq!(
        (&answer["id"], &answer["result"]["content"][0]["text"]),
        (&6.into(), &"done".into())
    );
    // A cancelled request has no answer, and its id can be used again.
    pipe.send_message(&modern(7, "tools/call", call(serde_json::json!({}))))
        .await;
    let held = pipe.upstream.held().await;
    pipe.send_message(&modern(7, "tools/list", serde_json::json!({})))
        .await;
    assert_eq!(refusal(&pipe.receive().await), "-32600 \"duplicate_id\" 7");
    pipe.send_message(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#,
    )
    .await;
    let method = Value::from("notifications/cancelled");
    let cancelled = pipe.upstream.received("method", &method).await;
    assert_eq!(cancelled["params"]["requestId"], held.id);
    pipe.send_message(&modern(8, "tools/list", serde_json::json!({})))
        .await;
    assert_eq!(pipe.receive().await["id"], 8);
    // A legacy session can begin at any time.
    pipe.send_message(&initialize(9, "2025-06-18", "{}")).await;
    assert_eq!(pipe.receive().await["id"], 9);
    pipe.end().await;
}

#[tokio::test]
async fn session_works_from_first_to_last_line() {
    let mut pipe = StdioClient::open("2025-06-18", "{}").await;
    pipe.send_message(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#)
        .await;
    assert_eq!(
        pipe.receive().await["result"]["tools"][0]["name"],
        "up__echo"
    );
    pipe.send_message(&call("3", "echo")).await;
    assert_eq!(
        pipe.receive().await["result"]["content"][0]["text"],
        r#"{"id":3}"#
    );
    pipe.end().await;
}

#[tokio::test]
async fn content_length_frames_are_answered_in_kind() {
    let mut pipe = StdioClient::start(StdioSettings::default()).await;
    for body in [initialize(1, "2025-06-18", "{}"), call("2", "echo")] {
        let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        pipe.write(frame.as_bytes()).await;
        let answer = pipe.receive_frame().await;
        assert!(answer["result"].is_object(), "{answer}");
    }
    pipe.end().await;
}

#[tokio::test]
async fn only_ping_is_allowed_before_initialize() {
    let mut pipe = StdioClient::start(StdioSettings::default()).await;
    pipe.send_message(PING).await;
    assert_eq!(
        pipe.receive().await,
        json!({ "jsonrpc": "2.0", "id": "p", "result": {} })
    );
    pipe.send_message(&call("2", "echo")).await;
    assert_eq!(
        refusal(&pipe.receive().await),
        r#"-32600 "not_initialized" 2"#
    );
    pipe.send_message(&format!("[{PING}]")).await;
    assert_eq!(
        refusal(&pipe.receive().await),
        r#"-32600 "not_initialized" null"#
    );
    pipe.send_message(r#"{"jsonrpc":"2.0","method":"notifications/whatever"}"#)
        .await;
    pipe.send_message(r#"{"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}"#)
        .await;
    assert_eq!(
        refusal(&pipe.receive().await),
        r#"-32602 "invalid_params" 3"#
    );
    pipe.send_message(&initialize(4, "2025-06-18", "{}")).await;
    assert_eq!(pipe.receive().await["id"], 4);
    pipe.send_message(&initialize(5, "2025-06-18", "{}")).await;
    assert_eq!(
        refusal(&pipe.receive().await),
        r#"-32600 "already_initialized" 5"#
    );
    pipe.end().await;
}

#[tokio::test]
async fn requests_may_follow_initialize_immediately() {
    let mut pipe = StdioClient::start(StdioSettings::default()).await;
    let together = [initialize(1, "2025-06-18", "{}"), call("2", "echo")].join("\n");
    pipe.send_message(&together).await;
    assert_eq!(pipe.receive().await["id"], 1);
    assert_eq!(pipe.receive().await["id"], 2);
    pipe.end().await;
}

#[tokio::test]
async fn invalid_lines_are_answered_and_reading_continues() {
    let max_message_bytes = 2000;
    let mut pipe = StdioClient::start(StdioSettings {
        max_message_bytes,
        ..StdioSettings::default()
    })
    .await;
    pipe.send_message(&initialize(1, "2025-06-18", "{}")).await;
    pipe.receive().await;
    for (line, expected) in [
        ("{nonsense", r#"-32700 "parse_error" null"#),
        ("\u{fffd}", r#"-32700 "parse_error" null"#),
        ("{}", r#"-32600 "invalid_request" null"#),
        (
            r#"{"jsonrpc":"2.0","id":8,"method":[]}"#,
            r#"-32600 "invalid_request" 8"#,
        ),
        (&" x".repeat(2000), r#"-32600 "request_too_large" null"#),
    ] {
        pipe.send_message(line).await;
        assert_eq!(
            refusal(&pipe.receive().await),
            expected,
            "{}",
            &line[..line.len().min(40)]
        );
    }
    pipe.send_message(&call("2", "echo")).await;
    assert_eq!(pipe.receive().await["id"], 2);
    pipe.end().await;
}

#[tokio::test]
async fn events_precede_their_response_and_calls_run_in_parallel() {
    let mut pipe = StdioClient::open("2025-06-18", r#"{"elicitation":{}}"#).await;
    pipe.send_message(&call("2", "hold")).await;
    let mut held = pipe.upstream.held().await;
    pipe.send_message(&call("3", "echo")).await;
    assert_eq!(pipe.receive().await["id"], 3);
    held.progress(1).await;
    assert_eq!(pipe.receive().await["params"]["progressToken"], 2);
    held.ask("theirs").await;
    let question = pipe.receive().await;
    assert_eq!(question["method"], "elicitation/create");
    let reply =
        json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } });
    pipe.send_message(&reply.to_string()).await;
    assert_eq!(
        pipe.upstream.received("id", &json!("theirs")).await["result"]["action"],
        "decline"
    );
    held.progress(2).await;
    held.answer("done").await;
    assert_eq!(pipe.receive().await["params"]["progress"], 2);
    assert_eq!(pipe.receive().await["id"], 2);
    pipe.end().await;
}

#[tokio::test]
async fn notifications_outside_calls_are_delivered() {
    let mut pipe = StdioClient::open("2025-06-18", "{}").await;
    pipe.send_message(&call("2", "hold")).await;
    let mut held = pipe.upstream.held().await;
    pipe.upstream.add_tool(&mut held).await;
    assert_eq!(
        pipe.receive().await["method"],
        "notifications/tools/list_changed"
    );
    pipe.end().await;
}

#[tokio::test]
async fn cancelled_request_gets_no_response() {
    let mut pipe = StdioClient::open("2025-06-18", "{}").await;
    pipe.send_message(&call("2", "hold")).await;
    let held = pipe.upstream.held().await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
    pipe.send_message(cancel).await;
    let notice = pipe
        .upstream
        .received("method", &json!("notifications/cancelled"))
        .await;
    assert_eq!(notice["params"]["requestId"], held.id);
    pipe.send_message(PING).await;
    assert_eq!(pipe.receive().await["id"], "p");
    pipe.end().await;
}

#[tokio::test]
async fn batch_responses_form_one_array() {
    let mut pipe = StdioClient::open("2025-03-26", "{}").await;
    pipe.send_message(&format!("[{},{},7]", call("1", "echo"), PING))
        .await;
    let answers = pipe.receive().await;
    assert_eq!(answers.as_array().unwrap().len(), 3, "{answers}");
    pipe.end().await;

    let mut pipe = StdioClient::open("2025-06-18", "{}").await;
    pipe.send_message(&format!("[{PING}]")).await;
    assert_eq!(
        refusal(&pipe.receive().await),
        r#"-32600 "batch_not_supported" null"#
    );
    pipe.end().await;
}

#[tokio::test]
async fn end_of_input_cancels_all_calls() {
    let grace = Duration::from_secs(3600);
    let mut pipe = StdioClient::start(StdioSettings {
        grace,
        ..StdioSettings::default()
    })
    .await;
    pipe.send_message(&initialize(1, "2025-06-18", "{}")).await;
    pipe.receive().await;
    pipe.send_message(&call("2", "hold")).await;
    let held = pipe.upstream.held().await;
    let mut upstream = pipe.end().await;
    let notice = upstream
        .received("method", &json!("notifications/cancelled"))
        .await;
    assert_eq!(notice["params"]["requestId"], held.id);
}

#[tokio::test]
async fn shutdown_is_answered_and_ends_the_connection() {
    let mut pipe = StdioClient::open("2025-06-18", "{}").await;
    pipe.send_message(&call("2", "hold")).await;
    let _held = pipe.upstream.held().await;
    pipe.send_message(r#"{"jsonrpc":"2.0","id":9,"method":"shutdown"}"#)
        .await;
    assert_eq!(
        pipe.receive().await,
        json!({ "jsonrpc": "2.0", "id": 9, "result": {} })
    );
    // The pending call gets an answer.
    assert_eq!(
        refusal(&pipe.receive().await),
        r#"-32603 "session_closed" 2"#
    );
    within("the edge to end", pipe.served)
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn closed_output_ends_the_connection() {
    let mut pipe = StdioClient::open("2025-06-18", "{}").await;
    pipe.send_message(&call("2", "hold")).await;
    let held = pipe.upstream.held().await;
    drop(std::mem::replace(
        &mut pipe.output,
        BufReader::new(tokio::io::duplex(1).0),
    ));
    pipe.send_message(PING).await;
    within("the edge to end", pipe.served)
        .await
        .unwrap()
        .unwrap();
    let notice = pipe
        .upstream
        .received("method", &json!("notifications/cancelled"))
        .await;
    assert_eq!(notice["params"]["requestId"], held.id);
}

/// Starts a client with small limits whose output is stuck: a large answer that exceeds the pipe is
/// being written, and twenty small ones wait behind it.
async fn stuck() -> StdioClient {
    let settings = StdioSettings {
        max_calls: 4,
        queue: 4,
        grace: Duration::from_millis(50),
        ..StdioSettings::default()
    };
    let mut pipe = StdioClient::start(settings).await;
    pipe.send_message(&initialize(1, "2025-06-18", "{}")).await;
    pipe.receive().await;
    pipe.send_message(&call("2", "blob")).await;
    within("the large answer", pipe.output.fill_buf())
        .await
        .unwrap();
    for id in 10..30 {
        pipe.send_message(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#))
            .await;
    }
    pipe
}

#[tokio::test]
async fn late_reader_loses_no_messages() {
    let mut pipe = stuck().await;
    let mut answered = Vec::new();
    for _ in 0..21 {
        answered.push(pipe.receive().await["id"].as_u64().unwrap());
    }
    assert_eq!(answered[0], 2);
    answered.sort();
    assert_eq!(answered[1..], (10..30).collect::<Vec<_>>());
    pipe.end().await;
}

#[tokio::test]
async fn end_of_a_stalled_client_is_detected() {
    stuck().await.end().await;
}

#[tokio::test]
async fn requests_over_the_limit_are_rejected() {
    let settings = StdioSettings {
        max_calls: 2,
        ..StdioSettings::default()
    };
    let mut pipe = StdioClient::start(settings).await;
    pipe.send_message(&initialize(1, "2025-06-18", "{}")).await;
    pipe.receive().await;
    pipe.send_message(&call("2", "hold")).await;
    let held = pipe.upstream.held().await;
    pipe.send_message(&call("3", "hold")).await;
    let _other = pipe.upstream.held().await;
    pipe.send_message(&call("4", "echo")).await;
    assert_eq!(
        refusal(&pipe.receive().await),
        r#"-32603 "too_many_requests" 4"#
    );
    held.answer("done").await;
    assert_eq!(pipe.receive().await["id"], 2);
    pipe.send_message(&call("5", "echo")).await;
    assert_eq!(pipe.receive().await["id"], 5);
    pipe.end().await;
}

#[tokio::test]
async fn unknown_endpoint_is_reported() {
    let upstream = Upstream::start().await;
    let gateway = gateway(&upstream, Limits::default());
    let input = format!("{}\n", initialize(1, "2025-06-18", "{}"));
    let (ours, theirs) = tokio::io::duplex(4096);
    let (their_input, their_output) = tokio::io::split(theirs);
    let served = tokio::spawn(async move {
        stdio(
            gateway,
            "nowhere",
            their_input,
            their_output,
            StdioSettings::default(),
        )
        .await
    });
    let (output, mut write) = tokio::io::split(ours);
    write.write_all(input.as_bytes()).await.unwrap();
    let mut line = String::new();
    within("an answer", BufReader::new(output).read_line(&mut line))
        .await
        .unwrap();
    let answer = serde_json::from_str(&line).unwrap();
    assert_eq!(refusal(&answer), r#"-32600 "unknown_endpoint" 1"#);
    write.shutdown().await.unwrap();
    within("the edge to end", served).await.unwrap().unwrap();
}
