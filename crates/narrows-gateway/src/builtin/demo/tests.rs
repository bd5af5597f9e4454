use std::time::Duration;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::Demo;
use super::samples;
use crate::builtin::tests::TestConnection;

async fn demo(capabilities: Value) -> TestConnection {
    TestConnection::open(Demo::default(), capabilities).await
}

/// Sends one request and compares the response, as JSON text.
async fn check(method: &str, params: Value, expected: Expect) {
    let mut wire = demo(json!({})).await;
    let answer = wire.ask(1, method, params).await;
    expected.assert_eq(&answer.to_string());
}

async fn check_tool(name: &str, arguments: Value, expected: Expect) {
    check(
        "tools/call",
        json!({ "name": name, "arguments": arguments }),
        expected,
    )
    .await;
}

async fn call(wire: &mut TestConnection, name: &str, arguments: Value) -> Value {
    wire.ask(
        1,
        "tools/call",
        json!({ "name": name, "arguments": arguments }),
    )
    .await
}

#[tokio::test]
async fn echo_returns_any_text_unchanged() {
    check_tool(
        "echo",
        json!({ "text": "ä\n\"x\"\u{1f600}" }),
        expect![[r#"{"content":[{"type":"text","text":"ä\n\"x\"😀"}]}"#]],
    )
    .await;
}

#[tokio::test]
async fn wrong_arguments_return_an_explained_tool_error() {
    for (name, arguments, expected) in [
        ("echo", json!({}), "Missing argument 'text' of 'echo'"),
        (
            "echo",
            json!({ "text": 5 }),
            "Argument 'text' must be a string, not 5",
        ),
        (
            "echo",
            json!([]),
            "The arguments of 'echo' must be an object",
        ),
        (
            "sample_log",
            json!({ "line": 5 }),
            "Unknown argument 'line': 'sample_log' takes lines",
        ),
        (
            "sample_log",
            json!({ "lines": 0 }),
            "Argument 'lines' must be a whole number from 1 to 100000, not 0",
        ),
        (
            "sample_log",
            json!({ "lines": 1.5 }),
            "Argument 'lines' must be a whole number from 1 to 100000, not 1.5",
        ),
        (
            "sample_table",
            json!({ "rows": "9" }),
            "Argument 'rows' must be a whole number from 1 to 50000, not \"9\"",
        ),
        (
            "count",
            json!({ "steps": -1 }),
            "Argument 'steps' must be a whole number from 1 to 1000, not -1",
        ),
        (
            "ask_name",
            json!({ "x": 1 }),
            "Unknown argument 'x': 'ask_name' takes no arguments",
        ),
    ] {
        let mut wire = demo(json!({})).await;
        let result = call(&mut wire, name, arguments).await;
        assert_eq!(result["isError"], true);
        assert_eq!(result["content"][0]["text"], expected);
    }
}

#[tokio::test]
async fn wrong_requests_return_json_rpc_errors() {
    check(
        "tools/call",
        json!({ "name": "zz" }),
        expect![[r#"{"code":-32602,"message":"Unknown tool: zz"}"#]],
    )
    .await;
    check(
        "tools/call",
        json!({}),
        expect![[r#"{"code":-32602,"message":"'name' must be a string"}"#]],
    )
    .await;
    check(
        "tools/list",
        json!({ "cursor": "x" }),
        expect![[r#"{"code":-32602,"message":"Unknown cursor: the list has one page"}"#]],
    )
    .await;
    check(
        "tools/zz",
        json!({}),
        expect![[r#"{"code":-32601,"message":"Method not found: tools/zz"}"#]],
    )
    .await;
    check(
        "resources/read",
        json!({ "uri": "demo://rows/0" }),
        expect![[r#"{"code":-32002,"message":"Resource not found: demo://rows/0"}"#]],
    )
    .await;
    check(
        "resources/subscribe",
        json!({ "uri": "demo://rows/1" }),
        expect![[r#"{"code":-32002,"message":"Resource not found: demo://rows/1"}"#]],
    )
    .await;
    check(
        "prompts/get",
        json!({ "name": "summarise" }),
        expect![[r#"{"code":-32602,"message":"Missing required argument 'source'"}"#]],
    )
    .await;
    check("logging/setLevel", json!({ "level": "loud" }), expect![[r#"{"code":-32602,"message":"Unknown level 'loud'. Use one of debug, info, notice, warning, error, critical, alert, emergency"}"#]]).await;
}

#[tokio::test]
async fn every_listed_item_can_be_used() {
    let mut wire = demo(json!({})).await;
    let tools = wire.ask(1, "tools/list", json!({})).await;
    let tools = tools["tools"].as_array().expect("a list").clone();
    assert_eq!(tools.len(), 6);
    for tool in &tools {
        // Optional arguments have defaults, so only the required ones are sent.
        let mut arguments = json!({});
        for required in tool["inputSchema"]["required"]
            .as_array()
            .into_iter()
            .flatten()
        {
            arguments[required.as_str().expect("a name")] = "text".into();
        }
        if tool["name"] == "count" {
            arguments["delay_ms"] = 0.into();
        }
        wire.request(
            2,
            "tools/call",
            json!({ "name": tool["name"], "arguments": arguments }),
        )
        .await;
        let answer = loop {
            let message = wire.next().await;
            if message["id"] == 2 {
                break message;
            }
        };
        let asks = tool["name"] == "ask_name";
        assert_eq!(answer["result"]["isError"] == true, asks, "{answer}");
    }
}

#[tokio::test]
async fn sample_log_is_long_and_deterministic() {
    let mut wire = demo(json!({})).await;
    let result = call(&mut wire, "sample_log", json!({})).await;
    let text = result["content"][0]["text"].as_str().expect("text");
    assert_eq!(text.lines().count(), 5_000);
    assert_eq!(
        text.lines().filter(|line| line.contains(" ERROR ")).count(),
        12
    );
    assert!(text.starts_with(&samples::log(100)));
    expect![[r#"
        2026-01-05T08:00:00.935Z INFO  [api-5] GET /cart 200 60ms session=s0b1d
        2026-01-05T08:00:01.400Z INFO  [api-5] GET /products/441 200 109ms
    "#]]
    .assert_eq(&samples::log(2));
}

#[test]
fn sample_log_timestamps_never_decrease() {
    let log = samples::log(5_000);
    let times: Vec<&str> = log
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(times.is_sorted());
}

#[tokio::test]
async fn sample_table_is_json_with_rows_as_resources() {
    let mut wire = demo(json!({})).await;
    let result = call(&mut wire, "sample_table", json!({ "rows": 20.0 })).await;
    let rows: Value =
        serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("JSON");
    assert_eq!(rows.as_array().map(Vec::len), Some(20));
    let read = wire
        .ask(2, "resources/read", json!({ "uri": "demo://rows/7" }))
        .await;
    let text = read["contents"][0]["text"].as_str().expect("text");
    assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), rows[6]);
    expect![[r#"{"id":7,"customer":"Bela","country":"DE","product":"shelf","quantity":7,"amount":417.76,"paid":true,"ordered_at":"2026-10-21"}"#]].assert_eq(text);
}

#[tokio::test]
async fn counting_reports_progress_and_logs() {
    let mut wire = demo(json!({})).await;
    let params = json!({ "name": "count", "arguments": { "steps": 2, "delay_ms": 0 }, "_meta": { "progressToken": "t" } });
    wire.request(1, "tools/call", params.clone()).await;
    let mut seen = Vec::new();
    for _ in 0..5 {
        seen.push(wire.next().await);
    }
    assert_eq!(
        seen[0]["params"],
        json!({ "progressToken": "t", "progress": 1, "total": 2, "message": "Step 1 of 2" })
    );
    assert_eq!(
        seen[1]["params"],
        json!({ "level": "info", "logger": "demo", "data": { "step": 1, "of": 2 } })
    );
    assert_eq!(seen[4]["result"]["content"][0]["text"], "Counted to 2");

    wire.ask(2, "logging/setLevel", json!({ "level": "notice" }))
        .await;
    wire.request(3, "tools/call", params).await;
    let methods = [wire.next().await, wire.next().await].map(|message| message["method"].clone());
    assert_eq!(
        methods,
        ["notifications/progress", "notifications/progress"]
    );
}

#[tokio::test]
async fn counting_can_be_cancelled() {
    let mut wire = demo(json!({})).await;
    wire.request(
        1,
        "tools/call",
        json!({ "name": "count", "arguments": { "delay_ms": 10_000 } }),
    )
    .await;
    wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } })).await;
    // The id would be refused if the first call were still running.
    let answer = tokio::time::timeout(
        Duration::from_secs(9),
        call(&mut wire, "echo", json!({ "text": "x" })),
    )
    .await;
    assert_eq!(answer.expect("at once")["content"][0]["text"], "x");
}

#[tokio::test]
async fn ask_name_sends_an_elicitation_request() {
    for (answer, expected) in [
        (
            json!({ "result": { "action": "accept", "content": { "name": "Ada" } } }),
            "Hello, Ada!",
        ),
        (
            json!({ "result": { "action": "decline" } }),
            "The user declined to give a name.",
        ),
        (
            json!({ "result": { "action": "cancel" } }),
            "The user closed the form without an answer.",
        ),
        (
            json!({ "result": { "action": "accept" } }),
            "The answer contains no name",
        ),
        (
            json!({ "error": { "code": 1, "message": "no" } }),
            "The user could not be asked: no",
        ),
    ] {
        let mut wire = demo(json!({ "elicitation": {} })).await;
        wire.request(1, "tools/call", json!({ "name": "ask_name" }))
            .await;
        let question = wire.next().await;
        assert_eq!(question["method"], "elicitation/create");
        assert_eq!(
            question["params"]["requestedSchema"]["properties"]["name"]["type"],
            "string"
        );
        let mut message = json!({ "jsonrpc": "2.0", "id": question["id"] });
        message
            .as_object_mut()
            .expect("an object")
            .extend(answer.as_object().expect("an object").clone());
        wire.send(message).await;
        assert_eq!(wire.next().await["result"]["content"][0]["text"], expected);
    }
}

#[tokio::test]
async fn clients_without_form_elicitation_are_not_asked() {
    for capabilities in [json!({}), json!({ "elicitation": { "url": {} } })] {
        let result = call(&mut demo(capabilities).await, "ask_name", json!({})).await;
        assert_eq!(result["isError"], true);
    }
}

#[tokio::test]
async fn touch_readme_notifies_only_subscribers() {
    let mut wire = demo(json!({})).await;
    let uri = json!({ "uri": "demo://readme" });
    assert_eq!(
        call(&mut wire, "touch_readme", json!({})).await["isError"],
        Value::Null
    );
    wire.ask(2, "resources/subscribe", uri.clone()).await;
    wire.request(3, "tools/call", json!({ "name": "touch_readme" }))
        .await;
    assert_eq!(
        wire.next().await,
        json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": uri })
    );
    wire.next().await;
    wire.ask(4, "resources/unsubscribe", uri.clone()).await;
    call(&mut wire, "touch_readme", json!({})).await;
    let read = wire.ask(5, "resources/read", uri).await;
    assert!(
        read["contents"][0]["text"]
            .as_str()
            .expect("text")
            .ends_with("Touched so far: 3\n")
    );
}

#[tokio::test]
async fn arguments_are_completed() {
    let prompt = json!({ "type": "ref/prompt", "name": "summarise" });
    let row = json!({ "type": "ref/resource", "uri": "demo://rows/{n}" });
    for (reference, argument, expected) in [
        (
            &prompt,
            json!({ "name": "source", "value": "" }),
            json!({ "hasMore": false, "total": 3, "values": ["log", "table", "readme"] }),
        ),
        (
            &prompt,
            json!({ "name": "source", "value": "re" }),
            json!({ "hasMore": false, "total": 1, "values": ["readme"] }),
        ),
        (
            &row,
            json!({ "name": "n", "value": "99" }),
            json!({ "hasMore": false, "total": 11,
            "values": ["99", "990", "991", "992", "993", "994", "995", "996", "997", "998", "999"] }),
        ),
    ] {
        let mut wire = demo(json!({})).await;
        let answer = wire
            .ask(
                1,
                "completion/complete",
                json!({ "ref": reference, "argument": argument }),
            )
            .await;
        assert_eq!(answer["completion"], expected);
    }
    check(
        "completion/complete",
        json!({ "ref": prompt, "argument": { "name": "zz", "value": "" } }),
        expect![[r#"{"code":-32602,"message":"Unknown argument to complete"}"#]],
    )
    .await;
}

#[tokio::test]
async fn prompt_is_available_for_every_source() {
    for source in ["log", "table", "readme"] {
        let mut wire = demo(json!({})).await;
        let prompt = wire
            .ask(
                1,
                "prompts/get",
                json!({ "name": "summarise", "arguments": { "source": source } }),
            )
            .await;
        assert_eq!(prompt["messages"][0]["role"], "user");
        assert!(
            prompt["messages"][0]["content"]["text"]
                .as_str()
                .is_some_and(|text| text.contains(source))
        );
    }
}

#[tokio::test]
async fn large_samples_do_not_block_the_thread() {
    for (name, arguments) in [
        ("sample_log", json!({ "lines": 100_000 })),
        ("sample_table", json!({ "rows": 50_000 })),
    ] {
        let mut wire = demo(json!({})).await;
        let mut turns = 0;
        let mut answer = std::pin::pin!(call(&mut wire, name, arguments));
        // The runtime has one thread, so only the events of this wait are counted.
        loop {
            tokio::select! {
                biased;
                _ = answer.as_mut() => break,
                () = tokio::task::yield_now() => turns += 1,
            }
        }
        assert!(turns > 1_000, "{name}: {turns}");
    }
}
