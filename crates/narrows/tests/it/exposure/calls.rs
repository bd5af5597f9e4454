//! Tests that a call through `exec` behaves like any other: it runs concurrently, reports progress,
//! can be cancelled, can send requests to its client, and may fail.

use std::time::Duration;

use narrows_testkit::LIMIT;
use narrows_testkit::scripted::{Installed, Script, Step};
use serde_json::{Value, json};

use super::{LazyClient, WAYS, errand, first_text, only, only_text, wrong};
use crate::gateway::{config, text};

fn busy() -> Script {
    let progress = |progress| Step::Progress { progress, total: 2 };
    let ask = r#"{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}"#;
    ["slow", "quick", "steps", "wait", "ask", "echo", "die"]
        .into_iter()
        .fold(Script::new("busy"), |script, tool| script.plain_tool(tool))
        .on_tool("slow", [Step::Wait("go".into()), Step::text("slow")])
        .on_tool("steps", [progress(1), progress(2), Step::text("done")])
        .on_tool("wait", [Step::Reach("waiting".into()), Step::Stall])
        .on_tool(
            "ask",
            [Step::ask("elicitation/create", ask), Step::ReplyAnswers],
        )
        .on_tool("echo", [Step::ReplyParams])
        .on_tool(
            "die",
            [
                Step::Once("die".into(), vec![Step::Die]),
                Step::text("alive"),
            ],
        )
}

impl LazyClient {
    /// Starts a call to `exec` with additional params next to its arguments.
    async fn begin(&mut self, tool: &str, more: Value) -> u64 {
        let mut params = json!({ "name": "exec", "arguments": errand("busy", tool, json!({})) });
        for (name, value) in more.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        self.client.request("tools/call", params).await
    }
}

#[tokio::test]
async fn slow_call_does_not_block_others() {
    for transport in WAYS {
        let server = busy().install();
        let mut lazy = transport.open(&only("busy", &server)).await;
        let slow = lazy.begin("slow", json!({})).await;
        let quick = [
            lazy.begin("quick", json!({})).await,
            lazy.begin("quick", json!({})).await,
        ];
        for id in quick {
            let answer = lazy.client.answer_to(id).await;
            assert!(text(&answer).starts_with("busy called"), "{answer}");
        }
        assert!(lazy.client.aside().all(|message| message["id"] != slow));
        server.release("go");
        assert_eq!(text(&lazy.client.answer_to(slow).await), "slow");
        // All calls use one connection.
        assert_eq!(server.server_pids().len(), 1);
    }
}

#[tokio::test]
async fn progress_uses_the_clients_own_token() {
    for transport in WAYS {
        let server = busy().install();
        let mut lazy = transport.open(&only("busy", &server)).await;
        let token = json!({ "_meta": { "progressToken": "mine" } });
        let id = lazy.begin("steps", token).await;
        for step in 1..=2 {
            let notice = lazy.client.message("notifications/progress").await;
            assert_eq!(notice["params"]["progressToken"], "mine", "{notice}");
            assert_eq!(notice["params"]["progress"], step, "{notice}");
        }
        assert_eq!(text(&lazy.client.answer_to(id).await), "done");
    }
}

#[tokio::test]
async fn call_is_cancelled_on_its_server() {
    for transport in WAYS {
        let server = busy().install();
        let mut lazy = transport.open(&only("busy", &server)).await;
        let id = lazy.begin("wait", json!({})).await;
        server.reached("waiting").await;
        let why = json!({ "requestId": id, "reason": "enough" });
        lazy.client.notify("notifications/cancelled", why).await;
        let heard = server.received_with("notifications/cancelled").await;
        assert!(heard.contains("enough"), "{heard}");
        let next = lazy.exec("busy", "quick", json!({})).await;
        assert!(only_text(&next).starts_with("busy called"));
        assert!(lazy.client.aside().all(|message| message["id"] != id));
    }
}

#[tokio::test]
async fn server_request_goes_to_the_caller() {
    for transport in WAYS {
        let server = busy().install();
        let able = json!({ "elicitation": {} });
        let mut lazy = transport.open_with(&only("busy", &server), able).await;
        let id = lazy.begin("ask", json!({})).await;
        let question = lazy.client.message("elicitation/create").await;
        assert_eq!(question["params"]["message"], "Sure?", "{question}");
        let agreed = json!({ "action": "accept", "content": {} });
        lazy.client.answer(&question, agreed.clone()).await;
        let answer = lazy.client.answer_to(id).await;
        let data = &answer["result"]["structuredContent"]["result"];
        assert_eq!(*data, json!([agreed]), "{answer}");
    }
}

#[tokio::test]
async fn call_meta_is_passed_to_the_server() {
    for transport in WAYS {
        let server = busy().install();
        let mut lazy = transport.open(&only("busy", &server)).await;
        let meta = json!({ "_meta": { "trace": "t-1", "n": 1.5 } });
        let id = lazy.begin("echo", meta).await;
        let answer = lazy.client.answer_to(id).await;
        let heard = &answer["result"]["structuredContent"]["result"];
        let expected =
            json!({ "name": "echo", "arguments": {}, "_meta": { "trace": "t-1", "n": 1.5 } });
        assert_eq!(*heard, expected);
    }
}

#[tokio::test]
async fn arguments_are_byte_identical() {
    let arguments = r#"{"z":1.0,"a":[1e2, 12345678901234567890123],"\u00e9":"\/"}"#;
    for transport in WAYS {
        let server = busy().install();
        let mut lazy = transport.open(&only("busy", &server)).await;
        let asked =
            format!(r#"{{"server_name":"busy","tool_name":"quick","arguments":{arguments}}}"#);
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":"own","method":"tools/call","params":{{"name":"exec","arguments":{asked}}}}}"#
        );
        lazy.client.send_text(&request).await;
        let heard = server.received_with(r#""quick""#).await;
        assert!(
            heard.contains(&format!(r#""arguments":{arguments}"#)),
            "{heard}"
        );
        assert!(!heard.contains("tool_name"), "{heard}");
        let answer = lazy.client.find(|message| message["id"] == "own").await;
        assert!(answer["result"].is_object(), "{answer}");
    }
}

/// Models read results, not JSON-RPC errors, so the server's error becomes the text of a result,
/// with its code and data.
#[tokio::test]
async fn json_rpc_error_becomes_an_error_result() {
    let refusal = r#"{"code":-32042,"message":"Not today","data":{"until":[1.0,"Monday"]}}"#;
    for transport in WAYS {
        let server = Script::new("ds")
            .plain_tool("no")
            .plain_tool("mute")
            .on_tool("no", [Step::Error(refusal.into())])
            .on_tool("mute", [Step::Error(r#"{"code":-1}"#.into())])
            .install();
        let mut lazy = transport.open(&only("ds", &server)).await;
        let result = lazy.exec("ds", "no", json!({})).await;
        let expected = json!({
            "error": "Not today",
            "code": "upstream_error",
            "server_name": "ds",
            "tool_name": "no",
            "rpc_code": -32042,
            "data": { "until": [1.0, "Monday"] },
        });
        assert_eq!(wrong(&result), expected);
        assert!(only_text(&result).contains("1.0"), "{result}");
        let result = wrong(&lazy.exec("ds", "mute", json!({})).await);
        assert_eq!(result["rpc_code"], -1, "{result}");
        assert!(result["error"].is_string(), "{result}");
    }
}

/// The result states whether the call may have been carried out.
#[tokio::test]
async fn call_timeout_becomes_an_error_result() {
    for transport in WAYS {
        let server = busy().install();
        let mut config = server.config();
        config["request_timeout_s"] = json!(0.2);
        let mut lazy = transport
            .open(&crate::gateway::config([("busy", config)]))
            .await;
        let late = wrong(&lazy.exec("busy", "wait", json!({})).await);
        let expected = json!({
            "error": "Server 'busy' did not answer within 0.2 s",
            "code": "upstream_timeout",
            "server_name": "busy",
            "tool_name": "wait",
            "may_have_run": true,
        });
        assert_eq!(late, expected);
    }
}

/// An error is data from the server, so it has a budget like any result.
#[tokio::test]
async fn long_json_rpc_error_is_cut_to_the_budget() {
    for transport in WAYS {
        let long: Vec<String> = (0..4_000).map(|row| format!("row {row} of it")).collect();
        let refusal = json!({ "code": 1, "message": "No", "data": long.join("\n") });
        let server = Script::new("ds")
            .plain_tool("no")
            .on_tool("no", [Step::Error(refusal.to_string())])
            .install();
        let shape = json!({ "shape": { "max_chars": 4_000 } });
        let config = crate::gateway::with(only("ds", &server), shape);
        let mut lazy = transport.open(&config).await;
        let result = lazy.exec("ds", "no", json!({})).await;
        assert_eq!(result["isError"], true, "{result}");
        assert!(super::length(&result) <= 4_000, "{result}");
    }
}

fn beside() -> Installed {
    Script::new("beside").plain_tool("say").install()
}

/// One server never starts, and one dies during a call.
#[tokio::test]
async fn failing_server_does_not_affect_others() {
    for transport in WAYS {
        let (server, beside) = (busy().install(), beside());
        let config = config([
            ("busy", server.config()),
            ("failed", json!({ "command": "false" })),
            ("beside", beside.config()),
        ]);
        let mut lazy = transport.open(&config).await;
        let (_, description) = lazy.listed().await;
        assert!(!description.contains("failed"), "{description}");
        let asked = errand("failed", "any", json!({}));
        let reported = lazy.client.call_tool("exec", asked).await;
        assert!(reported.to_string().contains("failed"), "{reported}");
        assert!(is_failure(&reported), "{reported}");

        let died = errand("busy", "die", json!({}));
        let died = lazy.client.call_tool("exec", died).await;
        let died = wrong(&lazy.result(died));
        assert_eq!(died["code"], "upstream_unavailable", "{died}");
        assert_eq!(died["server_name"], "busy", "{died}");
        assert_eq!(died["tool_name"], "die", "{died}");
        assert_eq!(died["may_have_run"], true, "{died}");
        let other = lazy.exec("beside", "say", json!({})).await;
        assert!(first_text(&other).starts_with("beside called"));
        // The server is restarted automatically.
        let alive = async {
            loop {
                let asked = errand("busy", "die", json!({}));
                let answer = lazy.client.call_tool("exec", asked).await;
                if !is_failure(&answer) {
                    return text(&answer).to_owned();
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let alive = tokio::time::timeout(LIMIT, alive).await;
        assert_eq!(alive.expect("it comes back"), "alive");
    }
}

fn is_failure(answer: &Value) -> bool {
    answer["error"].is_object() || answer["result"]["isError"] == true
}
