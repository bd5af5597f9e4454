//! Tests that hold the same conversation over every client.

use narrows_testkit::raw::{Any, Sse, Stdio, Streamable, WebSocket};
use narrows_testkit::scripted::{Framing, Installed, Script, Served, Step, Transport};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::text;

const LARGE: usize = 5 * 1024 * 1024;

fn script() -> Script {
    let asking = [
        Step::Progress {
            progress: 1,
            total: 2,
        },
        Step::ask("sampling/createMessage", r#"{"n":1}"#),
        Step::ReplyAnswers,
    ];
    let script = Script::new("alpha");
    ["plain", "ask", "slow", "large", "echo", "leave"]
        .into_iter()
        .fold(script, Script::plain_tool)
        .on_tool("ask", asking)
        .on_tool("slow", [Step::Reach("slow".into()), Step::Stall])
        .on_tool("large", [Step::ReplyLength(LARGE)])
        .on_tool("echo", [Step::ReplyParams])
        .on_tool("leave", [Step::Exit(0)])
        .after_initialized([Step::notify("notifications/tools/list_changed", "{}")])
}

async fn converse(server: &Installed, client: &mut Any) {
    let hello = client
        .initialize("2025-06-18", json!({ "sampling": {} }))
        .await;
    assert_eq!(hello["serverInfo"]["name"], "alpha");
    client.message("notifications/tools/list_changed").await;
    let tools = client.call("tools/list", json!({})).await;
    assert_eq!(tools["result"]["tools"][0]["name"], "plain");
    let plain = client.call_tool("plain", json!({ "x": "ä" })).await;
    assert_eq!(text(&plain), r#"alpha called "plain" with {"x":"ä"}"#);

    let params = json!({ "name": "ask", "_meta": { "progressToken": 7 } });
    let id = client.request("tools/call", params).await;
    let question = client.message("sampling/createMessage").await;
    let progress = client.next().await;
    assert_eq!(progress["params"]["progressToken"], 7);
    client.answer(&question, json!("fine")).await;
    assert_eq!(text(&client.answer_to(id).await), r#"["fine"]"#);

    let id = client
        .request("tools/call", json!({ "name": "slow" }))
        .await;
    server.reached("slow").await;
    let cancelled = "notifications/cancelled";
    client.notify(cancelled, json!({ "requestId": id })).await;
    server.received_with(cancelled).await;

    assert_eq!(
        text(&client.call_tool("large", json!({})).await).len(),
        LARGE
    );
    let much = "ö".repeat(LARGE / 2);
    let echo = client.call_tool("echo", json!({ "much": much })).await;
    let echo: Value = serde_json::from_str(text(&echo)).expect("JSON");
    assert_eq!(echo["arguments"]["much"], much);
}

async fn over_stdio(framing: Framing) {
    let server = script().with(|script| script.framing = framing).install();
    let mut command = Command::new(server.command());
    let client = Stdio::start_framed(command.args(server.args()), framing);
    let mut client = client.boxed();
    converse(&server, &mut client).await;
    client.close().await;
    client.ended().await;
}

async fn listening() -> (Installed, Served) {
    let server = script().install();
    let served = server.serve_http().await;
    (server, served)
}

/// Ends the server while the client waits for an answer.
async fn leave(client: &mut Any) {
    client
        .request("tools/call", json!({ "name": "leave" }))
        .await;
    client.ended().await;
}

#[tokio::test]
async fn behaviour_is_the_same_over_lines() {
    over_stdio(Framing::Newline).await;
}

#[tokio::test]
async fn behaviour_is_the_same_over_content_length_frames() {
    over_stdio(Framing::ContentLength).await;
}

#[tokio::test]
async fn behaviour_is_the_same_over_streamable_http() {
    let (server, served) = listening().await;
    let mut client = Streamable::at(served.address(), "/mcp").boxed();
    converse(&server, &mut client).await;
    client.close().await;
    server.received_with("DELETE").await;
}

#[tokio::test]
async fn behaviour_is_the_same_over_http_with_sse() {
    let (server, served) = listening().await;
    let mut client = Sse::connect(served.address(), "/sse").await.boxed();
    converse(&server, &mut client).await;
    client.close().await;
    server.received_with(r#"{"sse":"lost"}"#).await;
    leave(&mut Sse::connect(served.address(), "/sse").await.boxed()).await;
}

#[tokio::test]
async fn behaviour_is_the_same_over_websocket() {
    let (server, served) = listening().await;
    let mut client = WebSocket::connect(served.address(), "/ws").await.boxed();
    converse(&server, &mut client).await;
    client.close().await;
    let close = r#"{"websocket":"close","code":1000"#;
    server.received_with(close).await;
    leave(&mut WebSocket::connect(served.address(), "/ws").await.boxed()).await;
}

#[tokio::test]
async fn one_listener_serves_all_transports() {
    let (server, served) = listening().await;
    let streamable = Streamable::at(served.address(), "/mcp").boxed();
    let sse = Sse::connect(served.address(), "/sse").await.boxed();
    let websocket = WebSocket::connect(served.address(), "/ws").await.boxed();
    for mut client in [streamable, sse, websocket] {
        client.initialize("2024-11-05", json!({})).await;
        client.message("notifications/tools/list_changed").await;
    }
    assert_eq!(server.server_pids().len(), 1);
}

#[tokio::test]
async fn server_config_follows_its_transport() {
    let (_server, served) = listening().await;
    let address = served.address();
    let cases = [
        (Transport::Http, "http", format!("http://{address}/mcp")),
        (Transport::Sse, "sse", format!("http://{address}/sse")),
        (Transport::WebSocket, "ws", format!("ws://{address}/ws")),
        (Transport::Rpc, "rpc", format!("http://{address}")),
    ];
    for (transport, kind, url) in cases {
        let expected = json!({ "type": kind, "url": url });
        assert_eq!(served.config_of(transport), expected);
    }
    assert_eq!(served.config(), json!({ "url": served.url() }));
}
