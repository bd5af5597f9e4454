//! Tests of SIGTERM and SIGINT: calls in flight may finish, and new work is refused.

use narrows_testkit::raw::{MCP_HEADERS, Sse, WebSocket};
use narrows_testkit::scripted::{Installed, Script, Step};
use narrows_testkit::until;
use narrows_testkit::websocket::Message;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::gateway::{Gateway, REVISION, Session, StdioGateway, config, error, text, with};

/// Longer than any test runs.
const FOR_EVER: u64 = 3600;

/// A server whose calls end when the test releases them, one that never answers a call, and one
/// that never starts.
struct DrainServers {
    held: Installed,
    mute: Installed,
    slow: Installed,
}

impl DrainServers {
    fn install() -> DrainServers {
        let hold = [Step::Wait("go".into()), Step::text("done")];
        let steps = [
            Step::Progress {
                progress: 1,
                total: 2,
            },
            Step::Wait("go".into()),
            Step::text("done"),
        ];
        let held = Script::new("held")
            .plain_tool("hold")
            .on_tool("hold", hold)
            .plain_tool("steps")
            .on_tool("steps", steps);
        let mute = Script::new("mute").plain_tool("never");
        let slow = Script::new("slow").on("initialize", [Step::Stall]);
        DrainServers {
            held: held.install(),
            mute: mute.on_tool("never", [Step::Stall]).install(),
            slow: slow.install(),
        }
    }

    fn config(&self, shutdown_grace_s: f64) -> Value {
        let mut slow = self.slow.config();
        slow["startup_timeout_s"] = json!(FOR_EVER);
        let servers = [
            ("held", self.held.config()),
            ("mute", self.mute.config()),
            ("slow", slow),
        ];
        let limits = json!({ "grace_s": 2, "shutdown_grace_s": shutdown_grace_s });
        let waits = json!({ "initialize_wait_s": 0, "list_wait_s": 0, "limits": limits });
        with(config(servers), waits)
    }
}

async fn signal(name: &str, pid: u32) {
    let name = format!("-{name}");
    let status = Command::new("kill").args([name, pid.to_string()]).status();
    assert!(status.await.expect("kill can be run").success());
}

/// Sends SIGTERM and waits until the gateway has started to drain.
async fn begin_to_end(gateway: &Gateway) {
    signal("TERM", gateway.program.pid()).await;
    until("it has begun to end", || {
        let log = gateway.program.stderr();
        log.contains("shutting down; press Ctrl-C again to force")
    })
    .await;
}

/// Waits until a server has received this many calls.
async fn reached(server: &Installed, calls: usize) {
    let is_call = |message: &String| message.contains(r#""tools/call""#);
    until("the calls have reached their server", || {
        server
            .received()
            .iter()
            .filter(|message| is_call(message))
            .count()
            >= calls
    })
    .await;
}

fn tool(name: &str) -> Value {
    json!({ "name": name, "arguments": {}, "_meta": { "progressToken": 1 } })
}

#[tokio::test]
async fn partial_request_does_not_delay_shutdown() {
    for part in [
        "P",
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n",
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n\
         accept: application/json\r\ncontent-length: 1000\r\n\r\n{",
    ] {
        let limits = json!({ "limits": { "grace_s": FOR_EVER } });
        let demo = json!({ "type": "builtin" });
        let mut gateway = Gateway::serve(&with(config([("demo", demo)]), limits)).await;
        let mut client = gateway.connect().await;
        client.send_bytes(part.as_bytes()).await;
        // A response to this request shows that everything sent before has been read.
        gateway.connect().await.get("/health", &[]).await;
        signal("TERM", gateway.program.pid()).await;
        assert_eq!(gateway.program.wait().await.code(), Some(0), "{part}");
    }
}

#[tokio::test]
async fn shutdown_finishes_calls_and_rejects_new_ones() {
    let servers = DrainServers::install();
    let mut gateway = Gateway::serve(&servers.config(FOR_EVER as f64)).await;
    let address = gateway.address().to_owned();
    let mut session = gateway.session("/mcp").await;
    let mut news = session.listen(None).await;
    let mut plain = session.begin("tools/call", tool("held__hold")).await;
    reached(&servers.held, 1).await;
    let mut streamed = session.stream("tools/call", tool("held__steps")).await;
    assert_eq!(streamed.message().await["method"], "notifications/progress");
    let mut sse = Sse::connect(&address, "/sse").await;
    sse.initialize(REVISION, json!({})).await;
    let over_sse = sse.request("tools/call", tool("held__steps")).await;
    sse.message("notifications/progress").await;
    let mut ws = WebSocket::connect(&address, "/ws").await;
    ws.initialize(REVISION, json!({})).await;
    let over_ws = ws.request("tools/call", tool("held__steps")).await;
    ws.message("notifications/progress").await;
    let mut rpc = gateway.connect().await;
    let request = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call",
        "params": { "name": "hold", "arguments": {} } });
    let body = request.to_string();
    rpc.send(
        "POST",
        "/api/mcp-gateway/held/rpc",
        MCP_HEADERS,
        body.as_bytes(),
    )
    .await;
    reached(&servers.held, 5).await;

    begin_to_end(&gateway).await;
    nothing_new_begins(&gateway, &mut session).await;
    let answer = ws.call("tools/call", tool("held__hold")).await;
    assert!(error(&answer).starts_with("-32603 shutting_down"));
    servers.held.release("go");
    assert_eq!(text(&plain.read_response().await.message()), "done");
    assert_eq!(text(&streamed.message().await), "done");
    assert_eq!(streamed.next().await, None);
    assert!(streamed.is_complete());
    assert_eq!(text(&sse.answer_to(over_sse).await), "done");
    assert_eq!(sse.next_event().await, None);
    assert_eq!(text(&ws.answer_to(over_ws).await), "done");
    let last = ws.next_message().await;
    assert!(
        matches!(
            last,
            Some(Message::Close {
                code: Some(1001),
                ..
            })
        ),
        "{last:?}"
    );
    let answer = rpc.read_response().await.json();
    assert_eq!(text(&answer), "done");
    while news.next().await.is_some() {}
    assert!(news.is_complete());
    assert_eq!(gateway.program.wait().await.code(), Some(0));
}

async fn nothing_new_begins(gateway: &Gateway, session: &mut Session) {
    let answer = session.call("tools/call", tool("held__hold")).await;
    let refused = "-32603 shutting_down The gateway is shutting down";
    assert!(error(&answer).starts_with(refused), "{answer}");
    let answer = session.call("tools/list", json!({})).await;
    assert!(error(&answer).starts_with(refused), "{answer}");
    let hello = json!({ "protocolVersion": REVISION, "capabilities": {},
        "clientInfo": { "name": "late", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello });
    let mut http = gateway.connect().await;
    let refusals = [
        http.post_mcp("/mcp", &[], &hello).await,
        http.post_mcp("/rpc", &[], &hello).await,
        http.post_mcp("/api/mcp-gateway/held/rpc", &[], &hello)
            .await,
        http.get("/sse", &[("accept", "text/event-stream")]).await,
        http.get("/ws", &[]).await,
    ];
    for refusal in refusals {
        assert_eq!(refusal.status, 503, "{refusal:?}");
        assert!(refusal.header("retry-after").is_some(), "{refusal:?}");
        assert_eq!(refusal.json()["error"]["data"]["code"], "shutting_down");
    }
    assert_eq!(http.get("/ready", &[]).await.status, 503);
    assert_eq!(http.get("/health", &[]).await.status, 200);
}

#[tokio::test]
async fn aborted_call_reports_whether_it_may_have_run() {
    let servers = DrainServers::install();
    let mut gateway = Gateway::serve(&servers.config(0.2)).await;
    let mut session = gateway.session("/mcp").await;
    let mut sent = session.begin("tools/call", tool("mute__never")).await;
    reached(&servers.mute, 1).await;
    let mut waiting = session.begin("tools/call", tool("slow__any")).await;
    let mut over_ws = WebSocket::connect(gateway.address(), "/ws").await;
    over_ws.initialize(REVISION, json!({})).await;
    let id = over_ws.request("tools/call", tool("mute__never")).await;
    reached(&servers.mute, 2).await;
    signal("INT", gateway.program.pid()).await;
    let sent = sent.read_response().await.message();
    let may_have = "may have received it";
    assert!(error(&sent).starts_with("-32603 interrupted"), "{sent}");
    assert!(error(&sent).contains(may_have), "{sent}");
    let waiting = waiting.read_response().await.message();
    assert!(error(&waiting).contains("was not sent"), "{waiting}");
    let answer = over_ws.answer_to(id).await;
    assert!(error(&answer).contains(may_have), "{answer}");
    assert_eq!(gateway.program.wait().await.code(), Some(0));
}

#[tokio::test]
async fn second_signal_exits_at_once() {
    let servers = DrainServers::install();
    let mut gateway = Gateway::serve(&servers.config(FOR_EVER as f64)).await;
    let mut session = gateway.session("/mcp").await;
    let _call = session.begin("tools/call", tool("mute__never")).await;
    reached(&servers.mute, 1).await;
    begin_to_end(&gateway).await;
    signal("TERM", gateway.program.pid()).await;
    assert_eq!(gateway.program.wait().await.code(), Some(143));
}

#[tokio::test]
async fn idle_gateway_exits_at_once() {
    let servers = DrainServers::install();
    let mut gateway = Gateway::serve(&servers.config(FOR_EVER as f64)).await;
    let session = gateway.session("/mcp").await;
    let mut news = session.listen(None).await;
    let mut ws = WebSocket::connect(gateway.address(), "/ws").await;
    ws.initialize(REVISION, json!({})).await;
    signal("TERM", gateway.program.pid()).await;
    while news.next().await.is_some() {}
    assert!(news.is_complete());
    assert_eq!(gateway.program.wait().await.code(), Some(0));
}

#[tokio::test]
async fn shutdown_finishes_calls_on_stdio() {
    let servers = DrainServers::install();
    let mut client = StdioGateway::open(&servers.config(FOR_EVER as f64)).await;
    let id = client.request("tools/call", tool("held__hold")).await;
    reached(&servers.held, 1).await;
    signal("TERM", client.pid()).await;
    until("it has begun to end", || {
        client.stderr().contains("shutting down; press Ctrl-C")
    })
    .await;
    let answer = client.call("tools/call", tool("held__hold")).await;
    assert!(error(&answer).starts_with("-32603 shutting_down"));
    servers.held.release("go");
    assert_eq!(text(&client.answer_to(id).await), "done");
    assert_eq!(client.wait().await.code(), Some(0));
}
