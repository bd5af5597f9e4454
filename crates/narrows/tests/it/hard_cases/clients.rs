//! Tests of clients that are numerous, stop reading, disconnect, or send many requests at once.

use narrows_testkit::scripted::{Installed, Script, Served, Step};
use narrows_testkit::{processes, until};
use serde_json::{Value, json};

use crate::gateway::{Gateway, Session, StdioGateway, config, text};

/// A server where `hold` returns its params once released, and `now` returns at once.
fn holding() -> Script {
    let steps = [
        Step::Wait("go".into()),
        Step::Reach("done".into()),
        Step::ReplyParams,
    ];
    let script = Script::new("s").plain_tool("hold").plain_tool("now");
    script.on_tool("hold", steps)
}

/// A server over stdio or over HTTP.
struct RecordingServer {
    installed: Installed,
    served: Option<Served>,
}

impl RecordingServer {
    async fn both(script: &Script) -> [RecordingServer; 2] {
        let [piped, posted] = [script.install(), script.install()];
        let served = Some(posted.serve_http().await);
        let piped = RecordingServer {
            installed: piped,
            served: None,
        };
        let posted = RecordingServer {
            installed: posted,
            served,
        };
        [piped, posted]
    }

    fn config(&self) -> Value {
        let own = match &self.served {
            Some(served) => served.config(),
            None => self.installed.config(),
        };
        config([("s", own)])
    }

    /// Returns the JSON-RPC messages that the server received.
    fn received(&self) -> Vec<Value> {
        let message = |line: String| -> Value {
            let value: Value = serde_json::from_str(&line).expect("JSON");
            let body = value["body"].as_str();
            body.map_or(value.clone(), |body| {
                serde_json::from_str(body).unwrap_or_default()
            })
        };
        self.installed.received().into_iter().map(message).collect()
    }

    /// Waits for this many calls to a tool, and returns their ids on the server's side.
    async fn calls(&self, tool: &str, count: usize) -> Vec<Value> {
        let calls = || {
            let received = self.received().into_iter();
            let calls = received.filter(|message| message["params"]["name"] == tool);
            calls.map(|call| call["id"].clone()).collect::<Vec<_>>()
        };
        until(format!("{count} calls of {tool}"), || {
            calls().len() >= count
        })
        .await;
        calls()
    }

    /// Returns the ids of the requests cancelled so far.
    fn cancelled(&self) -> Vec<Value> {
        let received = self.received().into_iter();
        let cancelled = received.filter(|message| message["method"] == "notifications/cancelled");
        cancelled
            .map(|message| message["params"]["requestId"].clone())
            .collect()
    }

    async fn until_cancelled(&self, ids: &[Value]) {
        until(format!("{ids:?} are cancelled"), || {
            ids.iter().all(|id| self.cancelled().contains(id))
        })
        .await;
    }
}

#[tokio::test]
async fn fifty_sessions_with_equal_ids_stay_separate() {
    for server in RecordingServer::both(&holding()).await {
        let gateway = Gateway::serve(&server.config()).await;
        let mut calls = Vec::new();
        for number in 0..50 {
            let mut session = gateway.session("/mcp").await;
            let http = session.begin_tool("s__hold", json!({ "n": number })).await;
            calls.push((number, session, http));
        }
        server.calls("hold", 50).await;
        server.installed.release("go");
        for (number, _session, http) in &mut calls {
            let answer = http.read_response().await.message();
            assert_eq!(answer["id"], 1);
            let params = json!({ "name": "hold", "arguments": { "n": number } });
            assert_eq!(text(&answer), params.to_string());
        }
    }
}

/// Sends more than any socket and queue can buffer.
fn flood() -> Step {
    let notice = json!({ "level": "info", "data": "x".repeat(20_000) });
    let notice = Step::notify("notifications/message", notice.to_string());
    Step::Repeat(1_000, Box::new(notice))
}

#[tokio::test]
async fn stalled_reader_does_not_block_others() {
    let script = Script::new("s").plain_tool("now").plain_tool("flood");
    let script = script.on_tool("flood", [flood(), Step::text("end")]);
    for server in RecordingServer::both(&script).await {
        let gateway = Gateway::serve(&server.config()).await;
        let mut deaf = gateway.session("/mcp").await;
        let _unheard = deaf.listen(None).await;
        let mut calls = Vec::new();
        for _ in 0..3 {
            calls.push(deaf.begin_tool("s__flood", json!({})).await);
        }
        server.calls("flood", 3).await;
        let mut other = gateway.session("/mcp").await;
        for number in 0..20 {
            let answer = other.call_tool("s__now", json!({ "n": number })).await;
            assert_eq!(
                text(&answer),
                format!(r#"s called "now" with {{"n":{number}}}"#)
            );
        }
        let answer = other.call_tool("s__flood", json!({})).await;
        assert_eq!(text(&answer), "end");
        // Unread notifications may be missing, but not responses.
        for mut http in calls {
            assert_eq!(text(&http.read_response().await.message()), "end");
        }
    }
}

#[tokio::test]
async fn delete_cancels_calls_and_a_disconnect_does_not() {
    for server in RecordingServer::both(&holding()).await {
        let gateway = Gateway::serve(&server.config()).await;
        let mut session = gateway.session("/mcp").await;
        let http = session.begin_tool("s__hold", json!({})).await;
        server.calls("hold", 1).await;
        drop(http);
        let answer = session.call_tool("s__now", json!({})).await;
        assert!(answer["result"].is_object(), "{answer}");
        server.installed.release("go");
        server.installed.reached("done").await;
        assert!(server.cancelled().is_empty());
    }
    for server in RecordingServer::both(&holding()).await {
        let gateway = Gateway::serve(&server.config()).await;
        let mut session = gateway.session("/mcp").await;
        let left = session.begin_tool("s__hold", json!({})).await;
        let mut held = session.begin_tool("s__hold", json!({})).await;
        let ids = server.calls("hold", 2).await;
        drop(left);
        session.delete().await;
        server.until_cancelled(&ids).await;
        let answer = held.read_response().await.message();
        assert_eq!(
            answer["error"]["data"]["code"], "session_closed",
            "{answer}"
        );
        let ping = session.request("ping", json!({}));
        assert_eq!(session.post(&ping).await.status, 404);
    }
}

/// The session has its own links, which end with it.
#[tokio::test]
async fn delete_cancels_calls_on_session_owned_links() {
    for server in RecordingServer::both(&holding()).await {
        let gateway = Gateway::serve(&server.config()).await;
        let roots = json!({ "roots": {} });
        let mut session = gateway.session_with("/mcp", "2025-06-18", roots).await;
        let _held = session.begin_tool("s__hold", json!({})).await;
        let ids = server.calls("hold", 1).await;
        session.delete().await;
        server.until_cancelled(&ids).await;
    }
}

/// A client that does not read its stream can still end its session.
#[tokio::test]
async fn delete_cancels_calls_of_a_client_that_does_not_read() {
    // The gateway answers a ping after processing all earlier messages.
    let heard = [Step::ask("ping", "{}"), Step::Reach("heard".into())];
    let steps = [flood()].into_iter().chain(heard).chain([Step::Stall]);
    let script = Script::new("s").plain_tool("flood").on_tool("flood", steps);
    let [server, _] = RecordingServer::both(&script).await;
    let gateway = Gateway::serve(&server.config()).await;
    let mut session = gateway.session("/mcp").await;
    let _unread = session.begin_tool("s__flood", json!({})).await;
    server.installed.reached("heard").await;
    let ids = server.calls("flood", 1).await;
    session.delete().await;
    server.until_cancelled(&ids).await;
}

#[tokio::test]
async fn missed_messages_are_replayed_on_resume() {
    let steps = [
        Step::Progress {
            progress: 1,
            total: 2,
        },
        Step::Wait("go".into()),
        Step::Progress {
            progress: 2,
            total: 2,
        },
        Step::text("late"),
    ];
    let script = Script::new("s").plain_tool("slow").on_tool("slow", steps);
    let server = script.install();
    let gateway = Gateway::serve(&config([("s", server.config())])).await;
    let mut session = gateway.session("/mcp").await;
    let params = json!({ "name": "s__slow", "_meta": { "progressToken": "t" } });
    let mut events = session.stream("tools/call", params).await;
    let mut last = None;
    loop {
        let event = events.next().await.expect("progress comes");
        last = event.id.clone().or(last);
        if !event.data.is_empty() {
            assert_eq!(event.json()["params"]["progress"], 1);
            break;
        }
    }
    drop(events);
    server.release("go");
    let mut rest = session.listen(last.as_deref()).await;
    let progress = rest.message().await;
    assert_eq!(progress["params"]["progressToken"], "t");
    assert_eq!(progress["params"]["progress"], 2);
    let answer = rest.message().await;
    assert_eq!((answer["id"].as_u64(), text(&answer)), (Some(1), "late"));
}

#[tokio::test]
async fn end_of_stdin_cancels_calls_at_once() {
    for server in RecordingServer::both(&holding()).await {
        let mut client = StdioGateway::open(&server.config()).await;
        client
            .request("tools/call", json!({ "name": "s__hold" }))
            .await;
        let ids = server.calls("hold", 1).await;
        client.close_stdin();
        assert!(client.wait().await.success());
        server.until_cancelled(&ids).await;
        if server.served.is_none() {
            processes::gone(server.installed.server_pids()).await;
        }
    }
}

fn batch() -> String {
    let call = |id: u64, name: &str| {
        let params = json!({ "name": name, "arguments": { "id": id } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let ping = json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" });
    let notice = json!({ "jsonrpc": "2.0", "method": "notifications/other", "params": {} });
    json!([call(1, "s__now"), notice, call(2, "s__nowhere"), 5, ping]).to_string()
}

#[track_caller]
fn check_batch(answers: &Value) {
    let answers = answers.as_array().expect("an array");
    let of = |id: Value| {
        let found = answers.iter().find(|answer| answer["id"] == id);
        found.unwrap_or_else(|| panic!("no answer to {id}: {answers:?}"))
    };
    assert_eq!(answers.len(), 4);
    assert_eq!(text(of(json!(1))), r#"s called "now" with {"id":1}"#);
    assert_eq!(of(json!(2))["error"]["data"]["code"], "unknown_tool");
    assert_eq!(of(json!("p"))["result"], json!({}));
    assert_eq!(of(Value::Null)["error"]["code"], -32600);
}

#[tokio::test]
async fn batches_are_accepted_only_by_their_revision() {
    let server = holding().install();
    let config = config([("s", server.config())]);
    let gateway = Gateway::serve(&config).await;
    let mut session: Session = gateway.session_with("/mcp", "2025-03-26", json!({})).await;
    check_batch(&session.post(&batch()).await.json());
    let mut later = gateway.session("/mcp").await;
    let refused = later.post(&batch()).await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["error"]["code"], -32600);

    let mut client = StdioGateway::start(&config);
    client.initialize("2025-03-26", json!({})).await;
    client.send_text(&batch()).await;
    check_batch(&client.next().await);
    let mut later = StdioGateway::open(&config).await;
    later.send_text(&batch()).await;
    assert_eq!(later.next().await["error"]["code"], -32600);
    server.received_with("notifications/other").await;
}
