use narrows_testkit::raw::Stdio;
use narrows_testkit::scripted::{Framing, Grandchild, Installed, Lists, Script, Step};
use narrows_testkit::{processes, until};
use serde_json::json;
use tokio::process::Command;

use crate::text;

fn start(server: &Installed) -> Stdio {
    Stdio::start(Command::new(server.command()).args(server.args()))
}

#[tokio::test]
async fn lists_and_results_are_served_byte_for_byte() {
    let tool = r#"{"name":"odd", "n":1.0,"big":123456789012345678901234567890,"e":"\u00e4"}"#;
    let result = r#"{"content":[ ],"x":1e5}"#;
    let server = Script::new("alpha")
        .tool(tool)
        .on_tool("odd", [Step::reply(result)])
        .install();
    let mut client = start(&server);
    let hello = client.initialize("2025-06-18", json!({})).await;
    assert_eq!(hello["protocolVersion"], "2025-06-18");
    assert_eq!(hello["capabilities"]["tools"]["listChanged"], true);
    client.request("tools/list", json!({})).await;
    let answer = client.next_text().await.expect("an answer");
    assert_eq!(
        answer,
        format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"tools":[{tool}]}}}}"#)
    );
    client.request("tools/call", json!({ "name": "odd" })).await;
    let answer = client.next_text().await.expect("an answer");
    assert_eq!(
        answer,
        format!(r#"{{"jsonrpc":"2.0","id":3,"result":{result}}}"#)
    );
    client.close_stdin();
    assert!(client.wait().await.success());
    assert_eq!(
        server.received()[3],
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"odd"}}"#
    );
    assert_eq!(server.count_received("tools/"), 2);
}

#[tokio::test]
async fn lists_are_paginated_and_can_change() {
    let lists = Lists {
        tools: vec![r#"{"name":"new"}"#.into()],
        ..Lists::default()
    };
    let changed = Step::notify("notifications/tools/list_changed", "{}");
    let script = Script::new("alpha").with(|script| script.page_size = 2);
    let script = ["a", "b", "c"].into_iter().fold(script, Script::plain_tool);
    let server = script
        .on_tool("a", [Step::Relist(lists), changed, Step::text("done")])
        .install();
    let mut client = start(&server);
    let first = client.call("tools/list", json!({})).await;
    assert_eq!(first["result"]["tools"].as_array().map(Vec::len), Some(2));
    let second = client
        .call(
            "tools/list",
            json!({ "cursor": first["result"]["nextCursor"] }),
        )
        .await;
    assert_eq!(second["result"]["tools"][0]["name"], "c");
    assert!(second["result"]["nextCursor"].is_null());
    assert_eq!(text(&client.call_tool("a", json!({})).await), "done");
    assert_eq!(
        client.next().await["method"],
        "notifications/tools/list_changed"
    );
    let third = client.call("tools/list", json!({})).await;
    assert_eq!(third["result"]["tools"], json!([{ "name": "new" }]));
}

#[tokio::test]
async fn calls_wait_for_release_in_parallel() {
    let steps = [
        Step::Reach("in".into()),
        Step::Wait("go".into()),
        Step::text("late"),
    ];
    let server = Script::new("alpha")
        .plain_tool("slow")
        .plain_tool("quick")
        .on_tool("slow", steps)
        .install();
    let mut client = start(&server);
    let slow = client
        .request("tools/call", json!({ "name": "slow" }))
        .await;
    server.reached("in").await;
    let quick = client.call_tool("quick", json!({ "x": 1 })).await;
    assert_eq!(text(&quick), r#"alpha called "quick" with {"x":1}"#);
    server.release("go");
    assert_eq!(text(&client.answer_to(slow).await), "late");
}

#[tokio::test]
async fn server_sends_requests_and_notifications() {
    let steps = [
        Step::Progress {
            progress: 1,
            total: 2,
        },
        Step::ask("roots/list", "{}"),
        Step::ask("sampling/createMessage", r#"{"n":1}"#),
        Step::ReplyAnswers,
    ];
    let server = Script::new("alpha")
        .plain_tool("ask")
        .on_tool("ask", steps)
        .install();
    let mut client = start(&server);
    let params = json!({ "name": "ask", "_meta": { "progressToken": 7 } });
    let id = client.request("tools/call", params).await;
    assert_eq!(
        client.next().await["params"],
        json!({ "progressToken": 7, "progress": 1, "total": 2 })
    );
    let question = client.message("roots/list").await;
    client
        .send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "roots": [] } }))
        .await;
    let question = client.message("sampling/createMessage").await;
    let error = json!({ "code": -1, "message": "no" });
    client
        .send(&json!({ "jsonrpc": "2.0", "id": question["id"], "error": error }))
        .await;
    let answer = client.answer_to(id).await;
    assert_eq!(
        text(&answer),
        r#"[{"roots":[]},{"error":{"code":-1,"message":"no"}}]"#
    );
}

#[tokio::test]
async fn misbehaviour_can_be_scripted() {
    let server = Script::new("alpha")
        .plain_tool("die")
        .plain_tool("exit")
        .at_start([
            Step::Say("Welcome!".into()),
            Step::Complain {
                lines: 3,
                text: "trouble".into(),
            },
            Step::Spawn(Grandchild::InGroup),
            Step::Spawn(Grandchild::OwnSession),
        ])
        .after_initialized([Step::Say(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#.into())])
        .on("prompts/list", [Step::Stall])
        .on_tool("exit", [Step::Exit(7)])
        .on_tool("die", [Step::Once("first".into(), vec![Step::Die])])
        .install();
    let mut client = start(&server);
    assert_eq!(client.next_text().await.as_deref(), Some("Welcome!"));
    client.initialize("2025-11-25", json!({})).await;
    assert_eq!(client.next().await["id"], 99);
    until("stderr is there", || {
        client.stderr() == "trouble 1\ntrouble 2\ntrouble 3\n"
    })
    .await;
    client.request("prompts/list", json!({})).await;
    client.request("tools/call", json!({ "name": "die" })).await;
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&client.wait().await),
        Some(9)
    );

    let mut client = start(&server);
    client.next_text().await;
    assert!(text(&client.call_tool("die", json!({})).await).contains("called"));
    client
        .request("tools/call", json!({ "name": "exit" }))
        .await;
    assert_eq!(client.wait().await.code(), Some(7));

    assert_eq!(server.server_pids().len(), 2);
    let left = server.grandchild_pids();
    assert_eq!(left.len(), 4);
    assert!(left.iter().all(|pid| processes::is_alive(*pid)));
    for pid in &left {
        std::process::Command::new("kill")
            .args(["-9", &pid.to_string()])
            .status()
            .expect("kill runs");
    }
    processes::gone(left).await;
}

#[tokio::test]
async fn server_can_refuse_to_exit() {
    let server = Script::new("alpha").with(|script| {
        script.ignore_sigterm = true;
        script.ignore_eof = true;
    });
    let server = server.install();
    let mut client = start(&server);
    client.initialize("2025-11-25", json!({})).await;
    let pid = client.pid().to_string();
    let kill = std::process::Command::new("kill")
        .args(["-15", &pid])
        .status();
    kill.expect("kill runs");
    assert_eq!(client.call("ping", json!({})).await["result"], json!({}));
    client.close_stdin();
    assert!(processes::is_alive(client.pid()));
    client.kill().await;
}

#[tokio::test]
async fn content_length_frames_work_on_both_sides() {
    let server = Script::new("alpha")
        .with(|script| script.framing = Framing::ContentLength)
        .install();
    let mut command = Command::new(server.command());
    let mut client = Stdio::start_framed(command.args(server.args()), Framing::ContentLength);
    client.initialize("2025-11-25", json!({})).await;
    assert_eq!(client.call("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn environment_is_reported() {
    let server = Script::new("alpha")
        .plain_tool("where")
        .on_tool("where", [Step::ReplyEnvironment])
        .install();
    let mut command = Command::new(server.command());
    let mut client = Stdio::start(
        command
            .args(server.args())
            .env_clear()
            .env("A", "b")
            .current_dir("/"),
    );
    let answer = client.call_tool("where", json!({})).await;
    let reported: serde_json::Value = serde_json::from_str(text(&answer)).expect("JSON");
    assert_eq!(
        reported,
        json!({ "cwd": "/", "args": server.args(), "env": { "A": "b" } })
    );
}
