//! Tests of results that are cut with a goal.

use narrows_testkit::scripted::{Script, Step};
use serde_json::{Value, json};

use super::{chars, receipt, within};
use crate::gateway::{Gateway, config, text, with};

/// A log in which one line among thousands is about the retry budget.
fn log() -> String {
    let line = |at: usize| match at {
        2_500 => {
            "2026-01-02T03:04:05Z INFO payments: retry budget exhausted for card 4711\n".to_owned()
        }
        at => format!(
            "2026-01-02T03:04:05Z INFO http: GET /assets/{at}.png 200 in {} ms\n",
            at % 97
        ),
    };
    (0..5_000).map(line).collect()
}

const NEEDLE: &str = "retry budget exhausted for card 4711";

fn script() -> Script {
    Script::new("one")
        .tool(r#"{"name":"get","inputSchema":{"type":"object","properties":{"n":{"type":"number"}},"additionalProperties":false}}"#)
        .tool(r#"{"name":"own","inputSchema":{"type":"object","properties":{"goal":{"type":"string"}}}}"#)
        .on("tools/call", [Step::text(&log())])
}

#[tokio::test]
async fn lines_that_match_the_goal_are_kept() {
    let server = script().install();
    let gateway = Gateway::serve(&within(&server, 5_000)).await;
    let mut session = gateway.session("/mcp").await;
    let said = json!({ "name": "one__get", "arguments": {}, "_meta": { "narrows/goal": "why did the payment retry stop" } });
    let asked = json!({ "name": "one__get", "arguments": { "query": "retry budget" } });
    for params in [said, asked] {
        let answer = session.call("tools/call", params.clone()).await;
        let left = text(&answer);
        assert!(
            chars(left) <= 5_000 && left.contains(NEEDLE),
            "{params}: {left}"
        );
        let block = &answer["result"]["_meta"]["narrows/receipt"]["blocks"][0];
        assert_eq!(block["stages"], json!(["pruned"]));
        assert!(
            block["goal"]
                .as_str()
                .is_some_and(|goal| goal.contains("retry"))
        );
        let id = receipt(&answer["result"]);
        assert!(super::Asks::read_back(&mut session, &id, json!({})).await == log());
    }
    let none = session.call_tool("one__get", json!({})).await;
    let block = &none["result"]["_meta"]["narrows/receipt"]["blocks"][0];
    assert_eq!(block["stages"], json!(["digest"]));
    assert_eq!(block["goal"], Value::Null);
}

#[tokio::test]
async fn goal_parameter_is_added_and_not_forwarded() {
    let server = script().install();
    let more = json!({ "shape": { "max_chars": 5_000, "goal_param": true }, "endpoints": { "plain": { "shape": { "goal_param": false } } } });
    let gateway = Gateway::serve(&with(config([("one", server.config())]), more)).await;
    let mut session = gateway.session("/mcp").await;
    let list = session.call("tools/list", json!({})).await;
    let goal = |list: &Value, at: usize| {
        list["result"]["tools"][at]["inputSchema"]["properties"]["goal"].clone()
    };
    assert_eq!(goal(&list, 0)["type"], "string");
    assert!(goal(&list, 0)["description"].is_string());
    assert_eq!(goal(&list, 1), json!({ "type": "string" }), "its own stays");
    let plain = gateway
        .session("/mcp/plain")
        .await
        .call("tools/list", json!({}))
        .await;
    assert_eq!(goal(&plain, 0), Value::Null);
    let arguments = json!({ "n": 1, "goal": "retry budget of payments" });
    let answer = session.call_tool("one__get", arguments).await;
    assert!(text(&answer).contains(NEEDLE));
    let call = server
        .received()
        .into_iter()
        .rev()
        .find(|line| line.contains("tools/call"));
    let call = call.expect("it was called");
    assert!(
        call.contains(r#""n":1"#) && !call.contains("goal"),
        "{call}"
    );
    // A `goal` argument of the tool's own is passed to the tool.
    session
        .call_tool("one__own", json!({ "goal": "retry budget" }))
        .await;
    let call = server
        .received()
        .into_iter()
        .rev()
        .find(|line| line.contains("tools/call"));
    assert!(call.expect("it was called").contains("retry budget"));
}
