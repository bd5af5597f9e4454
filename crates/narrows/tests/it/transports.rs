//! Tests every combination of client transport and server transport: a client on each, one gateway,
//! a server on each, and all MCP features for every pair.

use narrows_testkit::raw::{Any, Sse, Streamable, WebSocket};
use narrows_testkit::scripted::{Framing, Installed, Script, Served, Step, Transport};
use narrows_testkit::{processes, until};
use serde_json::{Value, json};

use crate::gateway::{Gateway, StdioGateway, column, config, error, text};

const REVISION: &str = "2025-06-18";
const NAME: &str = "Scylla — Χάρυβδις 🌀";

/// A server on one transport.
struct Outward {
    /// The id in the configuration.
    id: &'static str,
    script: Installed,
    /// `None` for servers that the gateway starts.
    served: Option<Served>,
    entry: Value,
    /// True if the server can send more than responses.
    talks: bool,
}

/// Returns a server on each transport.
async fn outward() -> Vec<Outward> {
    let mut all = Vec::new();
    for (id, framing, mode) in [
        ("newline", Framing::Newline, "newline"),
        ("length", Framing::ContentLength, "content-length"),
    ] {
        let script = server(Step::Die).with(|script| script.framing = framing);
        let script = script.install();
        let mut entry = script.config();
        entry["stdio_mode"] = mode.into();
        all.push(Outward {
            id,
            script,
            served: None,
            entry,
            talks: true,
        });
    }
    for (id, transport) in [
        ("http", Transport::Http),
        ("sse", Transport::Sse),
        ("ws", Transport::WebSocket),
        ("rpc", Transport::Rpc),
    ] {
        let script = server(Step::HangUp).install();
        let served = script.serve_http().await;
        all.push(Outward {
            id,
            entry: served.config_of(transport),
            script,
            served: Some(served),
            talks: transport != Transport::Rpc,
        });
    }
    all
}

fn server(breaking: Step) -> Script {
    let tools = ["echo", "long", "steps", "ask", "touch", "wait", "break"];
    let script = tools
        .into_iter()
        .fold(Script::new("server"), |script, tool| {
            script.plain_tool(tool)
        });
    let progress = |progress| Step::Progress { progress, total: 2 };
    let log = r#"{"level":"warning","data":"touched"}"#;
    script
        .prompt(r#"{"name":"greet"}"#)
        .resource(r#"{"uri":"test://strait","name":"strait"}"#)
        .template(r#"{"uriTemplate":"test://{sea}","name":"seas"}"#)
        .on_tool("echo", [Step::ReplyParams])
        .on_tool("long", [Step::ReplyLength(5_000_000)])
        .on_tool("steps", [progress(1), progress(2), Step::text("done")])
        .on_tool(
            "ask",
            [
                Step::ask("sampling/createMessage", r#"{"maxTokens":1,"messages":[]}"#),
                Step::ReplyAnswers,
            ],
        )
        .on_tool(
            "touch",
            [
                Step::notify("notifications/message", log),
                Step::notify(
                    "notifications/resources/updated",
                    r#"{"uri":"test://strait"}"#,
                ),
                Step::text("touched"),
            ],
        )
        .on_tool("wait", [Step::Reach("waiting".into()), Step::Stall])
        .on_tool(
            "break",
            [
                Step::Once("break".into(), vec![breaking]),
                Step::text("whole again"),
            ],
        )
        .on(
            "prompts/get",
            [Step::reply(
                r#"{"messages":[{"role":"user","content":{"type":"text","text":"hello"}}]}"#,
            )],
        )
        .on(
            "resources/read",
            [Step::reply(
                r#"{"contents":[{"uri":"test://strait","text":"narrow"}]}"#,
            )],
        )
        .on("resources/subscribe", [Step::reply("{}")])
        .on("logging/setLevel", [Step::reply("{}")])
        .on(
            "completion/complete",
            [Step::reply(r#"{"completion":{"values":["one"]}}"#)],
        )
}

/// Checks all features between a client and a server.
async fn meet(client: &mut Any, server: &Outward) {
    lists(client, server).await;
    calls(client, server).await;
    large_messages(client, server).await;
    if server.talks {
        progress(client, server).await;
        notices(client, server).await;
        questions(client, server).await;
    }
    cancelling(client, server).await;
    breaking(client, server).await;
}

async fn lists(client: &mut Any, server: &Outward) {
    let own = |names: Vec<&str>| {
        let prefix = format!("{}__", server.id);
        let own = names
            .into_iter()
            .filter_map(|name| name.strip_prefix(&prefix));
        own.map(str::to_owned).collect::<Vec<_>>()
    };
    let tools = client.call("tools/list", json!({})).await;
    let expected = ["echo", "long", "steps", "ask", "touch", "wait", "break"];
    assert_eq!(
        own(column(&tools, "tools", "name")),
        expected,
        "{}",
        server.id
    );
    let prompts = client.call("prompts/list", json!({})).await;
    assert_eq!(
        own(column(&prompts, "prompts", "name")),
        ["greet"],
        "{}",
        server.id
    );
    uri_of(client, server).await;
    let templates = client.call("resources/templates/list", json!({})).await;
    let templates = column(&templates, "resourceTemplates", "uriTemplate");
    assert!(templates.contains(&"test://{sea}"), "{templates:?}");
}

async fn calls(client: &mut Any, server: &Outward) {
    let answer = call(client, server, "echo", json!({ "text": NAME })).await;
    let heard: Value = serde_json::from_str(text(&answer)).expect("the params");
    let expected = json!({ "name": "echo", "arguments": { "text": NAME } });
    assert_eq!(heard, expected, "{}", server.id);

    let greet = json!({ "name": format!("{}__greet", server.id) });
    let prompt = client.call("prompts/get", greet.clone()).await;
    assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "hello");

    let read = json!({ "uri": uri_of(client, server).await });
    let resource = client.call("resources/read", read).await;
    assert_eq!(
        resource["result"]["contents"][0]["text"], "narrow",
        "{resource}"
    );

    let reference = json!({ "type": "ref/prompt", "name": greet["name"] });
    let argument = json!({ "name": "a", "value": "o" });
    let completing = json!({ "ref": reference, "argument": argument });
    let completion = client.call("completion/complete", completing).await;
    assert_eq!(
        completion["result"]["completion"]["values"],
        json!(["one"]),
        "{completion}"
    );

    let unknown = client
        .call_tool(&format!("{}__nothing", server.id), json!({}))
        .await;
    assert!(
        error(&unknown).starts_with("-32602 unknown_tool"),
        "{unknown}"
    );
}

/// All servers publish the same URI, so it is wrapped.
async fn uri_of(client: &mut Any, server: &Outward) -> String {
    let resources = client.call("resources/list", json!({})).await;
    let uris = column(&resources, "resources", "uri");
    let wrapped = |uri: &&str| {
        let code = uri.strip_prefix("proxy://resource/").unwrap_or_default();
        decoded(code).contains(&format!(r#""server":"{}""#, server.id))
    };
    let found = uris.iter().find(|uri| wrapped(uri));
    found
        .unwrap_or_else(|| panic!("{}: {uris:?}", server.id))
        .to_string()
}

/// Decodes Base64 in the URL-safe alphabet.
fn decoded(code: &str) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let values = code
        .bytes()
        .filter_map(|byte| alphabet.iter().position(|other| *other == byte));
    let bits: Vec<usize> = values.collect();
    let bytes = bits.chunks(4).flat_map(|chunk| {
        let value = chunk.iter().fold(0, |value, six| value << 6 | six) << (6 * (4 - chunk.len()));
        let bytes = [value >> 16, value >> 8, value].map(|byte| byte as u8);
        bytes.into_iter().take(chunk.len().saturating_sub(1))
    });
    String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
}

async fn large_messages(client: &mut Any, server: &Outward) {
    let answer = call(client, server, "long", json!({})).await;
    assert_eq!(text(&answer).chars().count(), 5_000_000, "{}", server.id);
    let large = NAME.repeat(150_000);
    let answer = call(client, server, "echo", json!({ "text": large })).await;
    let heard: Value = serde_json::from_str(text(&answer)).expect("the params");
    assert!(
        heard["arguments"]["text"] == large.as_str(),
        "{}",
        server.id
    );
}

async fn progress(client: &mut Any, server: &Outward) {
    let name = format!("{}__steps", server.id);
    let params = json!({ "name": name, "_meta": { "progressToken": "mine" } });
    let id = client.request("tools/call", params).await;
    for step in 1..=2 {
        let notice = client.message("notifications/progress").await;
        assert_eq!(notice["params"]["progressToken"], "mine", "{notice}");
        assert_eq!(notice["params"]["progress"], step, "{notice}");
    }
    assert_eq!(text(&client.answer_to(id).await), "done");
}

async fn notices(client: &mut Any, server: &Outward) {
    let uri = uri_of(client, server).await;
    let subscribed = client
        .call("resources/subscribe", json!({ "uri": uri }))
        .await;
    assert!(subscribed["error"].is_null(), "{}: {subscribed}", server.id);
    let touched = call(client, server, "touch", json!({})).await;
    assert_eq!(text(&touched), "touched");
    let updated = client.message("notifications/resources/updated").await;
    assert_eq!(updated["params"]["uri"], uri.as_str(), "{updated}");
    let logged = client.message("notifications/message").await;
    assert_eq!(logged["params"]["data"], "touched", "{logged}");
    assert_eq!(
        logged["params"]["_meta"]["narrows/server"], server.id,
        "{logged}"
    );
}

async fn questions(client: &mut Any, server: &Outward) {
    let name = format!("{}__ask", server.id);
    let id = client.request("tools/call", json!({ "name": name })).await;
    let question = client.message("sampling/createMessage").await;
    assert_eq!(question["params"]["maxTokens"], 1, "{question}");
    let result =
        json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": NAME } });
    client.answer(&question, result.clone()).await;
    let heard: Value = serde_json::from_str(text(&client.answer_to(id).await)).expect("JSON");
    assert_eq!(heard, json!([result]), "{}", server.id);
}

async fn cancelling(client: &mut Any, server: &Outward) {
    let name = format!("{}__wait", server.id);
    let id = client.request("tools/call", json!({ "name": name })).await;
    server.script.reached("waiting").await;
    let why = json!({ "requestId": id, "reason": "enough" });
    client.notify("notifications/cancelled", why).await;
    server.script.received_with("notifications/cancelled").await;
    // The cancelled call has no response before that of the next call.
    let answer = call(client, server, "echo", json!({})).await;
    assert_ne!(answer["id"], id);
    assert!(
        !client
            .aside()
            .any(|message| message["id"] == id && message["method"].is_null())
    );
}

/// The connection is lost, or the server dies, during a call.
async fn breaking(client: &mut Any, server: &Outward) {
    let broken = call(client, server, "break", json!({})).await;
    let reported = error(&broken);
    assert!(
        reported.starts_with("-32603 upstream_"),
        "{}: {reported}",
        server.id
    );
    assert!(reported.contains(server.id), "{reported}");
    // The server recovers automatically. Until then, calls fail with an error that names it.
    for _ in 0..200 {
        let answer = call(client, server, "break", json!({})).await;
        if answer["error"].is_null() {
            return assert_eq!(text(&answer), "whole again", "{}", server.id);
        }
        assert!(error(&answer).contains(server.id), "{answer}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("{} does not come back", server.id);
}

async fn call(client: &mut Any, server: &Outward, tool: &str, arguments: Value) -> Value {
    let name = format!("{}__{tool}", server.id);
    client.call_tool(&name, arguments).await
}

fn configured(servers: &[Outward]) -> Value {
    config(
        servers
            .iter()
            .map(|server| (server.id, server.entry.clone())),
    )
}

fn able() -> Value {
    json!({ "sampling": {} })
}

/// A client that disconnects cancels its calls.
async fn leave(mut client: Any, servers: &[Outward]) {
    let talking = || servers.iter().filter(|server| server.talks);
    let before: Vec<usize> = talking().map(cancelled).collect();
    for server in talking() {
        let name = format!("{}__wait", server.id);
        client.request("tools/call", json!({ "name": name })).await;
        until(format!("{} waits again", server.id), || {
            server.script.count_received("wait") >= 2
        })
        .await;
    }
    client.close().await;
    drop(client);
    for (server, before) in talking().zip(before) {
        until(format!("the call to {} is cancelled", server.id), || {
            cancelled(server) > before
        })
        .await;
    }
}

fn cancelled(server: &Outward) -> usize {
    server.script.count_received("notifications/cancelled")
}

async fn over_http(connect: impl AsyncFn(&str) -> Any) {
    let servers = outward().await;
    let gateway = Gateway::serve(&configured(&servers)).await;
    let mut client = connect(gateway.address()).await;
    client.initialize(REVISION, able()).await;
    for server in &servers {
        meet(&mut client, server).await;
    }
    // Clients without capabilities share a link.
    let mut first = connect(gateway.address()).await;
    let mut second = connect(gateway.address()).await;
    for other in [&mut first, &mut second] {
        other.initialize(REVISION, json!({})).await;
    }
    for server in &servers {
        share(&mut first, &mut second, server).await;
    }
    leave(client, &servers).await;
}

/// Two clients use one link at the same time, with the same ids.
async fn share(first: &mut Any, second: &mut Any, server: &Outward) {
    lists(first, server).await;
    lists(second, server).await;
    let echo = |text: &str| {
        let name = format!("{}__echo", server.id);
        json!({ "name": name, "arguments": { "text": text } })
    };
    let one = first.request("tools/call", echo("one")).await;
    let two = second.request("tools/call", echo("two")).await;
    assert!(text(&second.answer_to(two).await).contains(r#""two""#));
    assert!(text(&first.answer_to(one).await).contains(r#""one""#));
    if server.talks {
        progress(first, server).await;
        progress(second, server).await;
    }
}

async fn over_stdio(framing: Framing) {
    let servers = outward().await;
    let mut piped = StdioGateway::start_framed(&configured(&servers), framing);
    piped.initialize(REVISION, able()).await;
    let (client, _folder) = piped.into_parts();
    let mut client = client.boxed();
    for server in &servers {
        meet(&mut client, server).await;
    }
    client.close().await;
    let ours = servers.iter().filter(|server| server.served.is_none());
    let children: Vec<u32> = ours.flat_map(|server| server.script.all_pids()).collect();
    processes::gone(children).await;
}

#[tokio::test]
async fn stdio_clients_reach_every_server() {
    over_stdio(Framing::Newline).await;
}

#[tokio::test]
async fn content_length_clients_reach_every_server() {
    over_stdio(Framing::ContentLength).await;
}

#[tokio::test]
async fn streamable_http_clients_reach_every_server() {
    over_http(async |address| Streamable::at(address, "/mcp").boxed()).await;
}

#[tokio::test]
async fn http_and_sse_clients_reach_every_server() {
    over_http(async |address| Sse::connect(address, "/sse").await.boxed()).await;
}

#[tokio::test]
async fn websocket_clients_reach_every_server() {
    over_http(async |address| WebSocket::connect(address, "/ws").await.boxed()).await;
}

/// Another gateway works like any server over each of its transports, even without a configured
/// `type`.
#[tokio::test]
async fn gateway_works_behind_a_gateway() {
    let server = server(Step::Die).install();
    let inner = Gateway::serve(&config([("deep", server.config())])).await;
    let at = |scheme: &str, path: &str| format!("{scheme}://{}{path}", inner.address());
    let outer = Gateway::serve(&config([
        ("http", json!({ "type": "http", "url": at("http", "/mcp") })),
        ("found", json!({ "url": at("http", "/sse") })),
        (
            "sse",
            json!({ "type": "sse", "url": at("http", "/sse/default") }),
        ),
        ("ws", json!({ "url": at("ws", "/servers/deep/ws") })),
    ]))
    .await;
    let mut client = WebSocket::connect(outer.address(), "/ws").await.boxed();
    client.initialize(REVISION, able()).await;
    for tool in ["http__deep__", "found__deep__", "sse__deep__", "ws__"] {
        let echo = format!("{tool}echo");
        let answer = client.call_tool(&echo, json!({ "text": NAME })).await;
        assert!(text(&answer).contains(NAME), "{tool}");
        let id = client
            .request("tools/call", json!({ "name": format!("{tool}ask") }))
            .await;
        let question = client.message("sampling/createMessage").await;
        let content = json!({ "type": "text", "text": NAME });
        let result = json!({ "role": "assistant", "model": "m", "content": content });
        client.answer(&question, result).await;
        assert!(text(&client.answer_to(id).await).contains(NAME), "{tool}");
    }
}
