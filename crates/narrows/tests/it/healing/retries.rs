//! Tests of calls whose connection is lost.

use narrows_testkit::scripted::{Installed, Script, Step, Transport};
use narrows_testkit::until;
use serde_json::{Value, json};

use super::strict;
use crate::gateway::{Gateway, error, text};

const NOT_REPEATED: &str = "; the call may have been carried out, so it was not repeated";

/// A server with tools that differ only in their annotations.
fn server(steps: &[Step]) -> Installed {
    let tools = [
        ("peek", json!({ "readOnlyHint": true })),
        (
            "put",
            json!({ "idempotentHint": true, "destructiveHint": true }),
        ),
        ("drop", json!({ "destructiveHint": true })),
        ("unsaid", json!({})),
    ];
    let mut script = Script::new("s");
    for (name, annotations) in tools {
        let tool = json!({ "name": name, "inputSchema": { "type": "object" },
            "annotations": annotations });
        script = script
            .tool(tool.to_string())
            .on_tool(name, steps.iter().cloned());
    }
    let resource = json!({ "uri": "s://x", "name": "x" });
    let script = script.resource(resource.to_string());
    script.on("resources/read", steps.iter().cloned()).install()
}

fn once(step: Step) -> Vec<Step> {
    vec![Step::Once("lost".into(), vec![step])]
}

fn calls(server: &Installed) -> usize {
    server.count_received("tools/call") + server.count_received("resources/read")
}

/// Calls `tool` on a server that loses the connection during the call, once or always. Returns the
/// client's response. The server must have received the call `times` times.
async fn check(server: &Installed, config: Value, tool: &str, times: usize) -> Value {
    let gateway = Gateway::serve_with(&strict([("s", config)]), &["--log-level", "debug"]).await;
    let mut session = gateway.session("/mcp").await;
    let answer = match tool {
        "" => {
            session
                .call("resources/read", json!({ "uri": "s://x" }))
                .await
        }
        tool => session.call_tool(&format!("s__{tool}"), json!({})).await,
    };
    assert_eq!(calls(server), times, "{answer}");
    let retries = || gateway.program.stderr().matches("downstream.retry").count();
    until("the retries are logged", || retries() == times - 1).await;
    answer
}

#[tokio::test]
async fn read_only_calls_are_retried() {
    for tool in ["peek", "put", ""] {
        let server = server(&once(Step::Die));
        let answer = check(&server, server.config(), tool, 2).await;
        assert!(answer["result"].is_object(), "{tool}: {answer}");
    }
}

#[tokio::test]
async fn calls_are_retried_only_once() {
    let server = server(&[Step::Die]);
    let answer = check(&server, server.config(), "peek", 2).await;
    assert_eq!(
        error(&answer),
        "-32603 upstream_unavailable Server 's' is not available: was terminated by signal 9"
    );
}

#[tokio::test]
async fn calls_with_side_effects_are_not_retried() {
    for tool in ["drop", "unsaid"] {
        let server = server(&once(Step::Die));
        let answer = check(&server, server.config(), tool, 1).await;
        let reason = "was terminated by signal 9";
        assert_eq!(
            error(&answer),
            format!(
                "-32603 upstream_unavailable Server 's' is not available: {reason}{NOT_REPEATED}"
            )
        );
    }
}

#[tokio::test]
async fn session_owned_links_retry_the_same_way() {
    for (tool, times) in [("peek", 2), ("drop", 1)] {
        let server = server(&once(Step::Die));
        let mut config = server.config();
        config["sharing"] = json!("session");
        config["max_links"] = json!(1);
        let answer = check(&server, config, tool, times).await;
        assert_eq!(answer["error"].is_object(), times == 1, "{answer}");
    }
}

#[tokio::test]
async fn other_transports_retry_the_same_way() {
    for transport in [
        Transport::Http,
        Transport::Sse,
        Transport::WebSocket,
        Transport::Rpc,
    ] {
        for (tool, times) in [("peek", 2), ("drop", 1)] {
            let server = server(&once(Step::HangUp));
            let served = server.serve_http().await;
            let answer = check(&server, served.config_of(transport), tool, times).await;
            match times {
                1 => assert!(error(&answer).contains(NOT_REPEATED), "{answer}"),
                _ => assert_eq!(text(&answer), r#"s called "peek" with {}"#),
            }
        }
    }
}

#[tokio::test]
async fn http_error_response_is_not_retried() {
    let status = Step::Status {
        code: 503,
        headers: Vec::new(),
        body: "later".into(),
    };
    let server = server(&once(status));
    let served = server.serve_http().await;
    let answer = check(&server, served.config_of(Transport::Http), "peek", 1).await;
    assert!(error(&answer).contains("503"), "{answer}");
}
