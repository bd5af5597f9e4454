//! Tests that servers that misbehave affect only their own calls.

use narrows_testkit::scripted::{Installed, Script, Step};
use narrows_testkit::{processes, until};
use serde_json::{Value, json};

use crate::gateway::{Gateway, Session, StdioGateway, config, error, text, with};

/// A working server with one tool.
fn good() -> Installed {
    Script::new("good").plain_tool("fine").install()
}

async fn fine(session: &mut Session) {
    let answer = session.call_tool("good__fine", json!({})).await;
    assert_eq!(text(&answer), r#"good called "fine" with {}"#);
}

/// The gateway waits for a server that never answers `method` only up to the limit, and the other
/// server works meanwhile.
async fn check_mute(method: &str) {
    let mute = Script::new("mute").plain_tool("never");
    let mute = mute.on(method, [Step::Stall]).install();
    let good = good();
    let mut entry = mute.config();
    entry["startup_timeout_s"] = json!(10);
    let config = config([("mute", entry), ("good", good.config())]);
    let waits = json!({ "initialize_wait_s": 1, "list_wait_s": 4 });
    let gateway = Gateway::serve(&with(config, waits)).await;
    let mut session = gateway.session("/mcp").await;
    assert_eq!(session.tool_names().await, ["good__fine"]);
    // The call waits for its server up to the startup timeout.
    let mut waiting = session.begin_tool("mute__never", json!({})).await;
    fine(&mut session).await;
    let answer = waiting.read_response().await.message();
    let refused = "-32603 upstream_unavailable Server 'mute' is not available: ";
    assert!(error(&answer).starts_with(refused), "{answer}");
    assert_eq!(answer["error"]["data"]["server"], "mute");
    // While a server is starting, all categories are advertised.
    for category in ["tools", "prompts", "resources", "completions", "logging"] {
        assert!(session.hello["capabilities"][category].is_object());
    }
}

#[tokio::test]
async fn server_without_initialize_response_is_reported() {
    check_mute("initialize").await;
}

#[tokio::test]
async fn server_without_list_response_is_reported() {
    check_mute("tools/list").await;
}

#[tokio::test]
async fn slow_server_is_dropped_and_retried() {
    let late = Script::new("late").plain_tool("once");
    let stalled = Step::Once("stalled".into(), vec![Step::Stall]);
    let late = late.on("initialize", [stalled]).install();
    let mut server = late.config();
    server["startup_timeout_s"] = json!(1);
    let gateway = Gateway::serve(&config([("late", server)])).await;
    let mut session = gateway.session("/mcp").await;
    let mut news = session.listen(None).await;
    while session.tool_names().await.is_empty() {
        let notice = news.message().await;
        assert_eq!(notice["method"], "notifications/tools/list_changed");
    }
    assert_eq!(session.tool_names().await, ["late__once"]);
    let mut pids = late.server_pids();
    assert!(pids.len() >= 2, "it was started once");
    assert!(pids.pop().is_some_and(processes::is_alive));
    processes::gone(pids).await;
}

#[tokio::test]
async fn stderr_flood_does_not_block_a_server() {
    let complain = |lines| Step::Complain {
        lines,
        text: "trouble ".repeat(40),
    };
    let loud = Script::new("loud").plain_tool("shout");
    let loud = loud
        .at_start([complain(20_000)])
        .on_tool("shout", [complain(20_000), Step::text("done")])
        .install();
    let config = config([("loud", loud.config())]);
    let gateway = Gateway::serve_with(&config, &["--log-level", "debug"]).await;
    let mut session = gateway.session("/mcp").await;
    for _ in 0..3 {
        let answer = session.call_tool("loud__shout", json!({})).await;
        assert_eq!(text(&answer), "done");
    }
    // The server wrote 25 MB. Some lines are in the log with its name.
    let of_server = |line: &&str| line.contains("trouble") && line.contains(r#""server":"loud""#);
    let lines = || gateway.program.stderr().lines().filter(of_server).count();
    until("a line is in the log", || lines() > 0).await;
    assert!(lines() < 2_000, "{} lines in the log", lines());
}

#[tokio::test]
async fn garbage_on_stdout_is_ignored() {
    let garbage = [
        "Server started on port 3000",
        "",
        "{",
        "null",
        "[]",
        "{}",
        "\"text\"",
        r#"{"jsonrpc":"1.0","id":"x","result":{}}"#,
        r#"{"jsonrpc":"2.0","method":5}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}"#,
        "\u{feff}{\"jsonrpc\":\"2.0\"}",
        "Content-Length: 5\r\n\r\nhello",
    ];
    let say = || garbage.iter().map(|line| Step::Say((*line).into()));
    let messy = Script::new("messy").plain_tool("work");
    let messy = messy
        .at_start(say())
        .after_initialized(say())
        .on_tool("work", say().chain([Step::text("done")]))
        .install();
    let config = config([("messy", messy.config())]);
    let mut client = StdioGateway::open(&config).await;
    for _ in 0..3 {
        let answer = client.call_tool("messy__work", json!({})).await;
        assert_eq!(text(&answer), "done");
    }
    assert!(client.aside().next().is_none());
    assert_eq!(messy.server_pids().len(), 1, "it was restarted");
}

#[tokio::test]
async fn unsolicited_responses_are_ignored() {
    let say = |text: &str| Step::Say(text.into());
    let eager = Script::new("eager").plain_tool("work").plain_tool("twice");
    let eager = eager
        .after_initialized([
            say(r#"{"jsonrpc":"2.0","id":999,"result":{"content":[]}}"#),
            say(r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no"}}"#),
            say(r#"{"jsonrpc":"2.0","id":"1","result":{}}"#),
            say(r#"{"jsonrpc":"2.0","id":-1,"result":{}}"#),
            say(r#"{"jsonrpc":"2.0","id":1e0,"result":{}}"#),
        ])
        .on_tool("twice", [Step::text("first"), Step::text("second")])
        .install();
    let mut client = StdioGateway::open(&config([("eager", eager.config())])).await;
    for _ in 0..3 {
        let answer = client.call_tool("eager__twice", json!({})).await;
        assert_eq!(text(&answer), "first");
        let answer = client.call_tool("eager__work", json!({ "n": 1 })).await;
        assert_eq!(text(&answer), r#"eager called "work" with {"n":1}"#);
    }
    assert!(client.aside().next().is_none());
}

/// A server dies during a call: the call fails with a clear error, all clients are notified, and
/// the next call reaches the restarted server.
async fn check_death(end: Step, reason: &str) {
    let fatal = Script::new("fatal").plain_tool("deadly");
    let once = Step::Once("died".into(), vec![end]);
    let fatal = fatal.on_tool("deadly", [once, Step::text("alive")]);
    let (fatal, good) = (fatal.install(), good());
    let config = config([("fatal", fatal.config()), ("good", good.config())]);
    let gateway = Gateway::serve(&config).await;
    let mut session = gateway.session("/mcp").await;
    let mut news = session.listen(None).await;
    let changed = "notifications/tools/list_changed";
    let answer = session.call_tool("fatal__deadly", json!({})).await;
    assert_eq!(
        error(&answer),
        format!(
            "-32603 upstream_unavailable Server 'fatal' is not available: {reason}; \
             the call may have been carried out, so it was not repeated"
        )
    );
    assert_eq!(answer["error"]["data"]["server"], "fatal");
    assert_eq!(news.message().await["method"], changed);
    fine(&mut session).await;
    assert_eq!(news.message().await["method"], changed);
    assert_eq!(session.tool_names().await, ["fatal__deadly", "good__fine"]);
    let answer = session.call_tool("fatal__deadly", json!({})).await;
    assert_eq!(text(&answer), "alive");
    assert_eq!(fatal.server_pids().len(), 2);
    processes::gone(fatal.server_pids().into_iter().take(1)).await;
}

#[tokio::test]
async fn server_killed_during_a_call_fails_the_call() {
    check_death(Step::Die, "was terminated by signal 9").await;
}

#[tokio::test]
async fn server_exit_during_a_call_fails_the_call() {
    check_death(Step::Exit(3), "exited with status 3").await;
}

#[tokio::test]
async fn http_disconnect_during_a_call_fails_the_call() {
    let broken = Script::new("broken").plain_tool("cut").plain_tool("fine");
    let status = |code| Step::Status {
        code,
        headers: Vec::new(),
        body: "out of order".into(),
    };
    let broken = broken
        .on_tool(
            "cut",
            [
                Step::Once("cut".into(), vec![Step::HangUp]),
                Step::Once("status".into(), vec![status(503)]),
                Step::Once("forgot".into(), vec![Step::ForgetSessions]),
                Step::text("whole"),
            ],
        )
        .install();
    let served = broken.serve_http().await;
    let gateway = Gateway::serve(&config([("broken", served.config())])).await;
    let mut session = gateway.session("/mcp").await;
    let answer = session.call_tool("broken__cut", json!({})).await;
    let url = served.url();
    let closed = "the connection was closed before the answer";
    assert_eq!(
        error(&answer),
        format!(
            "-32603 upstream_unavailable Server 'broken' is not available: {url}: {closed}; \
             the call may have been carried out, so it was not repeated"
        )
    );
    let mut texts = Vec::new();
    for _ in 0..4 {
        let answer = session.call_tool("broken__cut", json!({})).await;
        let failed = answer["error"].is_object();
        texts.push(if failed {
            error(&answer)
        } else {
            text(&answer).to_owned()
        });
    }
    assert_eq!(texts.last().map(String::as_str), Some("whole"), "{texts:?}");
}

/// If a response is too large, the gateway fails the call at once instead of waiting for another
/// response.
async fn check_too_large(server: &Value) {
    let config = config([("s", server.clone())]);
    let limits = json!({ "limits": { "max_message_bytes": 100_000 } });
    let mut client = StdioGateway::open(&with(config, limits)).await;
    for _ in 0..2 {
        let answer = client.call_tool("s__large", json!({})).await;
        assert_eq!(
            error(&answer),
            "-32603 upstream_too_large Server 's' sent an answer larger than 100000 bytes"
        );
        let answer = client.call_tool("s__small", json!({})).await;
        assert_eq!(text(&answer), r#"s called "small" with {}"#);
    }
}

#[tokio::test]
async fn oversized_response_fails_the_call() {
    let script = Script::new("s").plain_tool("large").plain_tool("small");
    let script = script.on_tool("large", [Step::ReplyLength(200_000)]);
    let server = script.install();
    check_too_large(&server.config()).await;
    check_too_large(&server.serve_http().await.config()).await;
}

/// A server that cannot be started is missing from joined lists, and a call to it names the reason.
#[tokio::test]
async fn unstartable_server_does_not_affect_others() {
    let good = good();
    let dead = json!({ "command": "/nowhere/at-all" });
    let gateway = Gateway::serve(&config([("dead", dead), ("good", good.config())])).await;
    let mut session = gateway.session("/mcp").await;
    assert_eq!(session.tool_names().await, ["good__fine"]);
    fine(&mut session).await;
    // A server that is down does not hold back notifications from the others.
    session
        .notify("notifications/custom", json!({ "n": 1 }))
        .await;
    good.received_with("notifications/custom").await;
    let reason = "Server 'dead' is not available: '/nowhere/at-all' does not exist; ";
    let refused = |answer: &Value| {
        let error = error(answer);
        // The rest depends on the moment: reconnecting now, or the time of the next attempt.
        let expected = format!("-32603 upstream_unavailable {reason}");
        assert!(error.starts_with(&expected), "{error}");
    };
    refused(&session.call_tool("dead__tool", json!({})).await);
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "c", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello });
    let mut http = gateway.connect().await;
    refused(&http.post_mcp("/servers/dead/mcp", &[], &hello).await.json());
}

#[tokio::test]
async fn slow_server_is_announced_once_up() {
    let slow = Script::new("slow").plain_tool("late");
    let slow = slow.on("initialize", [Step::Wait("go".into())]).install();
    let good = good();
    let config = config([("slow", slow.config()), ("good", good.config())]);
    let config = with(config, json!({ "initialize_wait_s": 0, "list_wait_s": 0 }));
    let mut client = StdioGateway::open(&config).await;
    let first = client.call("tools/list", json!({})).await;
    let names = |list: &Value| list["result"]["tools"].as_array().map_or(0, Vec::len);
    assert!(names(&first) <= 1, "{first}");
    slow.release("go");
    let mut latest = first;
    while names(&latest) < 2 {
        client.message("notifications/tools/list_changed").await;
        latest = client.call("tools/list", json!({})).await;
    }
    let answer = client.call_tool("slow__late", json!({})).await;
    assert_eq!(text(&answer), r#"slow called "late" with {}"#);
}

#[tokio::test]
async fn client_that_lists_at_once_gets_a_complete_list() {
    let good = good();
    let config = config([("good", good.config())]);
    for _ in 0..30 {
        let mut client = StdioGateway::start(&config);
        // Sent together, so that the list is requested at the earliest possible moment.
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "hasty", "version": "1" } });
        client.request("initialize", hello).await;
        client.notify("notifications/initialized", json!({})).await;
        let list = client.call("tools/list", json!({})).await;
        assert_eq!(list["result"]["tools"][0]["name"], "good__fine", "{list}");
        client.close_stdin();
        assert!(client.wait().await.success());
    }
    until("all servers are gone", || {
        !good
            .server_pids()
            .iter()
            .any(|pid| processes::is_alive(*pid))
    })
    .await;
}
