//! Tests of the log events of calls.

use narrows_testkit::scripted::{Script, Step};
use narrows_testkit::until;
use serde_json::{Value, json};

use crate::gateway::{Gateway, config, error, text};

/// A server with a tool that succeeds and one that fails.
fn script() -> Script {
    Script::new("s")
        .plain_tool("get")
        .on_tool("get", [Step::text("fine")])
        .plain_tool("broken")
        .on_tool("broken", [Step::error(-32050, "no disk")])
}

fn events(gateway: &Gateway) -> Vec<Value> {
    let log = gateway.program.stderr();
    let lines = log.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// Returns `event server tool` for each event of the request to which the last event of this name
/// belongs.
fn chain(gateway: &Gateway, last: &str) -> Vec<String> {
    let events = events(gateway);
    let of = |event: &Value| event["payload"]["request_id"].clone();
    let Some(id) = events.iter().rfind(|event| event["event"] == last).map(of) else {
        return Vec::new();
    };
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    events
        .iter()
        .filter(|event| of(event) == id)
        .map(|event| {
            let payload = &event["payload"];
            let (server, tool) = (word(&payload["server"]), word(&payload["tool"]));
            format!("{} {server} {tool}", word(&event["event"]))
        })
        .collect()
}

async fn check_chain(tool: &str, last: &str, expected: &[&str]) {
    let server = script().install();
    let gateway = Gateway::serve(&config([("one", server.config())])).await;
    let mut session = gateway.session("/mcp").await;
    session
        .call_tool(&format!("one__{tool}"), json!({ "token": "s3cret" }))
        .await;
    until("the call is logged", || !chain(&gateway, last).is_empty()).await;
    assert_eq!(chain(&gateway, last), expected);
    assert!(!gateway.program.stderr().contains("s3cret"));
}

#[tokio::test]
async fn successful_call_is_logged_with_server_and_tool() {
    check_chain(
        "get",
        "facade_to_llm.response",
        &[
            "llm_to_facade.request - -",
            "facade_to_downstream.request one get",
            "downstream.response one get",
            "facade_to_llm.response one one__get",
        ],
    )
    .await;
}

#[tokio::test]
async fn failed_call_events_name_server_and_tool() {
    check_chain(
        "broken",
        "facade_to_llm.error",
        &[
            "llm_to_facade.request - -",
            "facade_to_downstream.request one broken",
            "downstream.response.error one broken",
            "facade_to_llm.error one one__broken",
        ],
    )
    .await;
}

#[tokio::test]
async fn excess_call_events_are_counted_instead_of_logged() {
    const CALLS: usize = 1_000;
    let server = script().install();
    let gateway = Gateway::serve(&config([("one", server.config())])).await;
    let began = std::time::Instant::now();
    let mut session = gateway.session("/mcp").await;
    for _ in 0..CALLS / 2 {
        let answer = session.call_tool("one__get", json!({})).await;
        assert_eq!(text(&answer), "fine");
        let answer = session.call_tool("one__broken", json!({})).await;
        assert!(error(&answer).contains("no disk"), "{answer}");
    }
    let count = |name: &str| {
        let events = events(&gateway);
        let is_call = |event: &&Value| event["payload"]["method"] == "tools/call";
        let named = events.iter().filter(|event| event["event"] == name);
        named.filter(is_call).count()
    };
    let left_out = |member: &str| {
        let events = events(&gateway);
        let reports = events
            .iter()
            .filter(|event| event["event"] == "log.left_out");
        let counts = reports.filter_map(|report| report["payload"][member].as_u64());
        counts.sum::<u64>() as usize
    };
    let calls = || count("llm_to_facade.request") + left_out("calls");
    // A failed call has two error events.
    let errors = || {
        let logged = count("downstream.response.error") + count("facade_to_llm.error");
        logged + left_out("errors")
    };
    // Events may be written after the responses.
    until("every call and error is logged or counted", || {
        calls() >= CALLS && errors() >= CALLS
    })
    .await;
    assert_eq!((calls(), errors()), (CALLS, CALLS));
    let seconds = began.elapsed().as_secs() as usize + 2;
    assert!(count("llm_to_facade.request") <= 200 * seconds);
}

#[tokio::test]
async fn server_errors_are_logged_without_secrets() {
    let secret = r#"s3c"ret-of-mine"#;
    let script = Script::new("s")
        .plain_tool("broken")
        .on_tool("broken", [Step::error(-32050, &format!("no {secret}"))]);
    let server = script.install();
    let mut entry = server.config();
    entry["env"] = json!({ "MY_TOKEN": secret });
    let gateway = Gateway::serve(&config([("one", entry)])).await;
    let mut session = gateway.session("/mcp").await;
    // The client receives the error unchanged.
    let answer = session.call_tool("one__broken", json!({})).await;
    assert!(error(&answer).contains(secret), "{answer}");
    let logged = |name: &str| {
        let mut events = events(&gateway).into_iter();
        events.find(|event| event["event"] == name)
    };
    for name in ["downstream.response.error", "facade_to_llm.error"] {
        until("the error is logged", || logged(name).is_some()).await;
        let event = logged(name).expect("it was just there");
        assert_eq!(event["payload"]["error"]["message"], "no ***", "{event}");
    }
    assert!(!gateway.program.stderr().contains("ret-of-mine"));
}
