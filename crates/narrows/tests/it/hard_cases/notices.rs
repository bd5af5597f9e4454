//! Tests of progress, cancellation, log messages and list changes: each reaches only the clients it
//! concerns, under their own ids and tokens.

use std::collections::BTreeSet;

use narrows_testkit::raw::Events;
use narrows_testkit::scripted::{Installed, Lists, Script, Step};
use narrows_testkit::until;
use serde_json::{Value, json};

use crate::gateway::{Gateway, Session, StdioGateway, column, config, error, text, with};

fn progress(progress: u64) -> Step {
    Step::Progress { progress, total: 9 }
}

/// Starts a call with this progress token.
async fn call_with_token(session: &mut Session, token: Value, n: u64) -> Events {
    let meta = json!({ "progressToken": token });
    let params = json!({ "name": "s__slow", "arguments": { "n": n }, "_meta": meta });
    session.stream("tools/call", params).await
}

fn slow() -> Script {
    let steps = [
        progress(1),
        Step::Wait("go".into()),
        progress(2),
        Step::ReplyParams,
    ];
    Script::new("s").plain_tool("slow").on_tool("slow", steps)
}

/// Two clients use the same token and the same ids on one link.
async fn check_tokens(server: &Value, release: impl FnOnce()) {
    let gateway = Gateway::serve(&config([("s", server.clone())])).await;
    let mut calls = Vec::new();
    for n in [1, 2] {
        let mut session = gateway.session("/mcp").await;
        let text = call_with_token(&mut session, json!("t"), n).await;
        let number = call_with_token(&mut session, json!(5), 10 * n).await;
        calls.push((session, [(json!("t"), n, text), (json!(5), 10 * n, number)]));
    }
    release();
    for (_, calls) in &mut calls {
        for (id, (token, n, events)) in (1..).zip(calls) {
            for progress in [1, 2] {
                let notice = events.message().await;
                let params = json!({ "progressToken": token, "progress": progress, "total": 9,
                    "_meta": { "narrows/server": "s" } });
                assert_eq!(notice["params"], params);
            }
            let answer = events.message().await;
            assert_eq!(answer["id"], id);
            let said: Value = serde_json::from_str(text(&answer)).expect("JSON");
            assert_eq!(said["arguments"]["n"], *n);
        }
    }
}

#[tokio::test]
async fn equal_progress_tokens_of_two_clients_stay_separate() {
    let server = slow().install();
    check_tokens(&server.config(), || server.release("go")).await;
    let server = slow().install();
    let served = server.serve_http().await;
    check_tokens(&served.config(), || server.release("go")).await;
}

/// A cancellation affects only the client's own request, not another client's request with the same
/// id.
async fn check_cancel(server: &Value, installed: &Installed) {
    let gateway = Gateway::serve(&config([("s", server.clone())])).await;
    let mut one = gateway.session("/mcp").await;
    let mut two = gateway.session("/mcp").await;
    let mut first = call_with_token(&mut one, json!("t"), 1).await;
    let mut second = call_with_token(&mut two, json!("t"), 2).await;
    let ids: Vec<String> = ["\"n\":1", "\"n\":2"]
        .map(|part| id_of(installed, part))
        .into();
    one.notify(
        "notifications/cancelled",
        json!({ "requestId": 1, "reason": "no \u{e9} more" }),
    )
    .await;
    let cancelled = installed.received_with("notifications/cancelled").await;
    let cancelled = message_in(&cancelled);
    assert_eq!(cancelled["params"]["requestId"].to_string(), ids[0]);
    assert_eq!(cancelled["params"]["reason"], "no \u{e9} more");
    assert_eq!(first.message().await["params"]["progress"], 1);
    assert_eq!(
        first.next().await,
        None,
        "a request taken back has no answer"
    );
    // The id can be reused, and unknown ids are ignored.
    assert_eq!(one.call("ping", json!({})).await["result"], json!({}));
    for id in [json!(1), json!(77), json!("1"), Value::Null] {
        one.notify("notifications/cancelled", json!({ "requestId": id }))
            .await;
    }
    installed.release("go");
    for expected in [1, 2] {
        assert_eq!(second.message().await["params"]["progress"], expected);
    }
    assert_eq!(second.message().await["id"], 1);
    assert_eq!(installed.count_received("notifications/cancelled"), 1);
}

/// Returns the id of the message with this part, as the server received it.
fn id_of(server: &Installed, part: &str) -> String {
    let escaped = part.replace('"', "\\\"");
    let received = server.received();
    let line = received
        .iter()
        .find(|line| line.contains(part) || line.contains(&escaped));
    message_in(line.expect("it was received"))["id"].to_string()
}

/// Over HTTP the message is in `body`.
fn message_in(line: &str) -> Value {
    let value: Value = serde_json::from_str(line).expect("JSON");
    match value["body"].as_str() {
        Some(body) => serde_json::from_str(body).expect("JSON"),
        None => value,
    }
}

#[tokio::test]
async fn cancellation_affects_only_its_call() {
    let server = slow().install();
    check_cancel(&server.config(), &server).await;
    let server = slow().install();
    let served = server.serve_http().await;
    check_cancel(&served.config(), &server).await;
}

#[tokio::test]
async fn call_that_times_out_is_cancelled() {
    let server = Script::new("s").plain_tool("mute");
    let server = server.on_tool("mute", [Step::Stall]).install();
    let mut short = server.config();
    short["request_timeout_s"] = json!(0.5);
    let mut client = StdioGateway::open(&config([("s", short)])).await;
    let answer = client.call_tool("s__mute", json!({})).await;
    assert_eq!(
        error(&answer),
        "-32603 upstream_timeout Server 's' did not answer within 0.5 s"
    );
    let cancelled = message_in(&server.received_with("notifications/cancelled").await);
    assert_eq!(
        cancelled["params"]["requestId"].to_string(),
        id_of(&server, "mute")
    );
    assert_eq!(cancelled["params"]["reason"], "timeout");
}

/// Returns lists with one item of each kind.
fn lists(name: &str) -> Lists {
    let item = |name: &str| {
        json!({ "name": name, "uri": format!("x://{name}"), "uriTemplate": format!("x://{name}/{{id}}") })
            .to_string()
    };
    Lists {
        tools: vec![item("change"), item(name)],
        prompts: vec![item(name)],
        resources: vec![item(name)],
        templates: vec![item(name)],
    }
}

/// Returns everything that a session can see, of all kinds.
async fn offered(session: &mut Session) -> Vec<String> {
    let mut names = Vec::new();
    for (method, list, member) in [
        ("tools/list", "tools", "name"),
        ("prompts/list", "prompts", "name"),
        ("resources/list", "resources", "uri"),
        (
            "resources/templates/list",
            "resourceTemplates",
            "uriTemplate",
        ),
    ] {
        let answer = session.call(method, json!({})).await;
        let column = column(&answer, list, member);
        names.extend(column.into_iter().map(String::from));
    }
    names
}

/// One server changes all of its lists, another server changes nothing.
async fn check_changes(server: &Value) {
    let other = Script::new("o").plain_tool("same").install();
    let config = config([("s", server.clone()), ("o", other.config())]);
    let gateway = Gateway::serve(&config).await;
    let mut joined = gateway.session("/mcp").await;
    let mut single = gateway.session("/servers/s/mcp").await;
    let mut beside = gateway.session("/servers/o/mcp").await;
    let news = [joined.listen(None).await, single.listen(None).await];
    let mut no_news = beside.listen(None).await;
    assert_eq!(
        text(&joined.call_tool("s__change", json!({})).await),
        "done"
    );
    let joined_now = [
        "s__change",
        "s__new",
        "o__same",
        "s__new",
        "x://new",
        "x://new/{id}",
    ];
    let single_now = ["change", "new", "new", "x://new", "x://new/{id}"];
    let seen = [(&mut joined, &joined_now[..]), (&mut single, &single_now)];
    for ((session, now), mut news) in seen.into_iter().zip(news) {
        let mut reported = BTreeSet::new();
        // Every visible change has been announced, the last one last.
        while reported.len() < 3 || offered(session).await != now {
            reported.insert(news.message().await["method"].to_string());
        }
        let kinds = ["prompts", "resources", "tools"];
        let all = kinds.map(|kind| format!("\"notifications/{kind}/list_changed\""));
        assert_eq!(reported, BTreeSet::from(all));
    }
    // A session without changes receives no notification: its stream ends empty.
    beside.delete().await;
    while let Some(event) = no_news.next().await {
        assert_eq!(event.data, "");
    }
}

#[tokio::test]
async fn list_change_notifies_only_affected_clients() {
    let changed = ["tools", "prompts", "resources"]
        .map(|kind| Step::notify(&format!("notifications/{kind}/list_changed"), "{}"));
    let steps = [Step::Relist(lists("new"))].into_iter().chain(changed);
    let script = Script::new("s").with(|script| script.lists = lists("old"));
    let script = script.on_tool("change", steps.chain([Step::text("done")]));
    let piped = script.install();
    check_changes(&piped.config()).await;
    let posted = script.install();
    check_changes(&posted.serve_http().await.config()).await;
}

fn log(level: &str) -> Step {
    let params = json!({ "level": level, "data": level, "logger": "l" });
    Step::notify("notifications/message", params.to_string())
}

/// Returns the log levels that a client receives during one call.
async fn levels_read(session: &mut Session) -> Vec<String> {
    let request = session.request("tools/call", json!({ "name": "s__talk" }));
    let response = session.post(&request).await;
    let messages = match response.header("content-type") {
        Some("text/event-stream") => response.events(),
        _ => Vec::new(),
    };
    let messages = messages.iter().filter(|event| !event.data.is_empty());
    let levels = messages.map(|event| event.json()["params"]["level"].clone());
    levels
        .filter_map(|level| level.as_str().map(Into::into))
        .collect()
}

#[tokio::test]
async fn log_messages_are_filtered_by_each_clients_level() {
    let all = ["debug", "info", "warning", "emergency"];
    let server = Script::new("s").plain_tool("talk");
    let steps = all.map(log).into_iter().chain([Step::text("done")]);
    let server = server.on_tool("talk", steps).install();
    let config = config([("s", server.config())]);
    let gateway = Gateway::serve(&config).await;
    let mut one = gateway.session("/mcp").await;
    let mut two = gateway.session("/mcp").await;
    assert_eq!(levels_read(&mut one).await, all);
    let set = |level: &str| json!({ "level": level });
    one.call("logging/setLevel", set("warning")).await;
    assert_eq!(levels_read(&mut one).await, ["warning", "emergency"]);
    two.call("logging/setLevel", set("info")).await;
    assert_eq!(
        levels_read(&mut two).await,
        ["info", "warning", "emergency"]
    );
    assert_eq!(levels_read(&mut one).await, ["warning", "emergency"]);
    // The server is set to the most detailed level that any client requested.
    let asked = || -> Vec<Value> {
        let lines = server.received().into_iter();
        let lines = lines.filter(|line| line.contains("logging/setLevel"));
        lines
            .map(|line| message_in(&line)["params"]["level"].clone())
            .collect()
    };
    until("both levels are set", || asked() == ["warning", "info"]).await;
    let refused = one.call("logging/setLevel", set("loud")).await;
    assert_eq!(refused["error"]["code"], -32602);
    assert_eq!(levels_read(&mut one).await, ["warning", "emergency"]);
}

/// The gateway sets the level again on a server that restarts or starts late.
#[tokio::test]
async fn log_level_is_restored_after_a_server_restart() {
    let once = Step::Once("died".into(), vec![Step::Die]);
    let server = Script::new("s").plain_tool("die");
    let server = server.on_tool("die", [once]).install();
    let gateway = Gateway::serve(&config([("s", server.config())])).await;
    let mut session = gateway.session("/mcp").await;
    let level = json!({ "level": "warning" });
    session.call("logging/setLevel", level).await;
    session.call_tool("s__die", json!({})).await;
    until("the level is set again", || {
        server.count_received("logging/setLevel") == 2
    })
    .await;
}

/// Notifications name their server. Endpoints that wrap URIs also use `params.proxy`.
#[tokio::test]
async fn notification_names_its_server() {
    let server = Script::new("s").plain_tool("talk");
    let server = server
        .on_tool("talk", [log("info"), Step::text("done")])
        .install();
    let endpoints = json!({ "endpoints": { "proxy": { "separator": "::", "uris": "wrapped" } } });
    let config = with(config([("s", server.config())]), endpoints);
    let gateway = Gateway::serve(&config).await;
    for (path, tool, from) in [
        (
            "/mcp",
            "s__talk",
            json!({ "_meta": { "narrows/server": "s" } }),
        ),
        (
            "/mcp/proxy",
            "s::talk",
            json!({ "_meta": { "narrows/server": "s" }, "proxy": { "server": "s" } }),
        ),
        ("/servers/s/mcp", "talk", json!({})),
    ] {
        let mut session = gateway.session(path).await;
        let mut events = session.stream("tools/call", json!({ "name": tool })).await;
        let notice = events.message().await;
        let own = json!({ "level": "info", "data": "info", "logger": "l" });
        assert_eq!(notice["params"], with(own, from), "{path}");
    }
}

/// The notifications of one call, and the counts of dropped ones that the gateway reports.
struct Burst {
    logs: Vec<u64>,
    dropped: Vec<u64>,
    answers: usize,
}

impl Burst {
    fn read(messages: &[Value]) -> Burst {
        let mut burst = Burst {
            logs: Vec::new(),
            dropped: Vec::new(),
            answers: 0,
        };
        for message in messages {
            let params = &message["params"];
            if message["result"].is_object() {
                burst.answers += 1;
            } else if params["logger"] == "narrows" {
                assert_eq!(burst.answers, 0, "before the answer: {message}");
                assert_eq!(params["level"], "warning", "{message}");
                assert_eq!(params["data"]["server"], "s", "{message}");
                burst.dropped.extend(params["data"]["dropped"].as_u64());
            } else {
                burst.logs.extend(params["data"].as_u64());
            }
        }
        burst
    }
}

const BURST: u64 = 3_000;

/// A server that writes the whole burst at once. `frame` adds the framing of its transport.
fn talkative(frame: impl Fn(String) -> String) -> Script {
    let log = |n: u64| {
        let params = json!({ "level": "info", "data": n });
        let notice =
            json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params });
        frame(notice.to_string())
    };
    let burst: String = (0..BURST).map(log).collect();
    let steps = [Step::Bytes(burst.into_bytes()), Step::text("done")];
    Script::new("s").plain_tool("talk").on_tool("talk", steps)
}

fn line(message: String) -> String {
    message + "\n"
}

fn event(message: String) -> String {
    format!("data: {message}\n\n")
}

/// Calls `talk` and returns all messages of the call.
async fn burst(gateway: &Gateway, capabilities: Value) -> Burst {
    let mut session = gateway
        .session_with("/mcp", crate::gateway::REVISION, capabilities)
        .await;
    let request = session.request("tools/call", json!({ "name": "s__talk" }));
    let response = session.post(&request).await;
    let messages = response.messages();
    let messages: Vec<Value> = messages
        .iter()
        .map(|message| serde_json::from_str(message).expect("JSON"))
        .collect();
    Burst::read(&messages)
}

/// If the call has its own stream or the session its own link, the server waits for the client.
#[tokio::test]
async fn all_notifications_arrive_on_a_calls_own_stream() {
    let served = talkative(event).install();
    let http = served.serve_http().await;
    let gateway = Gateway::serve(&config([("s", http.config())])).await;
    let all: Vec<u64> = (0..BURST).collect();
    let heard = burst(&gateway, json!({})).await;
    assert_eq!(heard.logs.len(), all.len(), "over HTTP");
    assert_eq!((heard.logs, heard.dropped.len()), (all.clone(), 0));

    let piped = talkative(line).install();
    let gateway = Gateway::serve(&config([("s", piped.config())])).await;
    let heard = burst(&gateway, json!({ "sampling": {} })).await;
    assert_eq!(heard.logs.len(), all.len(), "over a link of its own");
    assert_eq!((heard.logs, heard.dropped.len()), (all, 0));
}

/// On a shared link, excess notifications are dropped, and the client receives their number.
#[tokio::test]
async fn dropped_notifications_of_a_shared_link_are_counted() {
    let piped = talkative(line).install();
    let gateway = Gateway::serve(&config([("s", piped.config())])).await;
    let heard = burst(&gateway, json!({})).await;
    let missing = BURST - heard.logs.len() as u64;
    let expected = match missing {
        0 => Vec::new(),
        missing => vec![missing],
    };
    assert_eq!(heard.dropped, expected);
    assert_eq!(heard.answers, 1);
}

/// Over stdio the client may read late; the gateway reports the number of notifications that it
/// missed.
#[tokio::test]
async fn dropped_notifications_on_stdio_are_counted() {
    let server = talkative(line).install();
    let mut client = StdioGateway::open(&config([("s", server.config())])).await;
    let id = client
        .request("tools/call", json!({ "name": "s__talk" }))
        .await;
    let answer = client.answer_to(id).await;
    let mut messages: Vec<Value> = client.aside().cloned().collect();
    messages.push(answer);
    let heard = Burst::read(&messages);
    let missing = BURST - heard.logs.len() as u64;
    assert_eq!(heard.dropped.iter().sum::<u64>(), missing);
    assert!(heard.dropped.len() <= 1, "{:?}", heard.dropped);
}
