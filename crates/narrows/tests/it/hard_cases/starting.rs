//! Tests that servers still starting do not delay clients, and that their items are announced
//! later.

use narrows_testkit::raw::{Any, Sse, Streamable, WebSocket};
use narrows_testkit::scripted::{Installed, Script, Step};
use serde_json::{Value, json};

use crate::gateway::{Gateway, REVISION, StdioGateway, column, config, text, with};
use crate::program::Folder;

/// Longer than any test runs.
const FOR_EVER: u64 = 3600;

/// A server that finishes starting when the test releases it.
fn slow() -> (Installed, Value) {
    let slow = Script::new("slow")
        .plain_tool("late")
        .resource(r#"{"uri":"test://late","name":"late"}"#)
        .prompt(r#"{"name":"later"}"#)
        .on("initialize", [Step::Wait("go".into())]);
    let read = r#"{"contents":[{"uri":"test://late","text":"read"}]}"#;
    let slow = slow.on("resources/read", [Step::reply(read)]).install();
    let mut entry = slow.config();
    entry["startup_timeout_s"] = json!(FOR_EVER);
    (slow, entry)
}

/// Connects one client over each transport, without `initialize`. The stdio process runs its own
/// gateway, whose folder must be kept.
async fn on_every_way_in(gateway: &Gateway, config: &Value) -> (Vec<(&'static str, Any)>, Folder) {
    let address = gateway.address();
    let (piped, folder) = StdioGateway::start(config).into_parts();
    let clients = vec![
        ("stdio", piped.boxed()),
        ("http", Streamable::at(address, "/mcp").boxed()),
        ("sse", Sse::connect(address, "/sse").await.boxed()),
        ("ws", WebSocket::connect(address, "/ws").await.boxed()),
        (
            "server",
            Streamable::at(address, "/servers/slow/mcp").boxed(),
        ),
    ];
    (clients, folder)
}

#[tokio::test]
async fn hanging_server_does_not_block_initialize() {
    let (slow, entry) = slow();
    let config = config([("slow", entry)]);
    let config = with(
        config,
        json!({ "initialize_wait_s": 1, "list_wait_s": FOR_EVER }),
    );
    let gateway = Gateway::serve(&config).await;
    let (mut clients, _folder) = on_every_way_in(&gateway, &config).await;
    for (way, client) in &mut clients {
        let hello = client.initialize(REVISION, json!({})).await;
        for category in ["tools", "prompts", "resources"] {
            let reported = &hello["capabilities"][category]["listChanged"];
            assert_eq!(reported, true, "{way}: {category} of {hello}");
        }
        for category in ["completions", "logging"] {
            let reported = &hello["capabilities"][category];
            assert!(reported.is_object(), "{way}: {category} of {hello}");
        }
    }
    // The list request waits for the server and then contains its tools.
    let mut asked = Vec::new();
    for (_, client) in &mut clients {
        asked.push(client.request("tools/list", json!({})).await);
    }
    slow.release("go");
    for ((way, client), id) in clients.iter_mut().zip(asked) {
        let list = client.answer_to(id).await;
        let names = column(&list, "tools", "name");
        let expected = if *way == "server" {
            "late"
        } else {
            "slow__late"
        };
        assert_eq!(names, [expected], "{way}");
    }
}

#[tokio::test]
async fn late_server_is_announced_on_every_entrypoint() {
    let (slow, entry) = slow();
    let config = config([("slow", entry)]);
    let config = with(config, json!({ "initialize_wait_s": 0, "list_wait_s": 0 }));
    let gateway = Gateway::serve(&config).await;
    let (mut clients, _folder) = on_every_way_in(&gateway, &config).await;
    for (way, client) in &mut clients {
        client.initialize(REVISION, json!({})).await;
        let list = client.call("tools/list", json!({})).await;
        assert_eq!(column(&list, "tools", "name"), [""; 0], "{way}");
    }
    slow.release("go");
    for (way, client) in &mut clients {
        client.message("notifications/tools/list_changed").await;
        let list = client.call("tools/list", json!({})).await;
        assert_eq!(column(&list, "tools", "name").len(), 1, "{way}");
    }
}

#[tokio::test]
async fn call_to_a_starting_server_waits() {
    let (slow, entry) = slow();
    let config = config([("slow", entry)]);
    let config = with(config, json!({ "initialize_wait_s": 0, "list_wait_s": 0 }));
    let gateway = Gateway::serve(&config).await;
    let mut joined = gateway.session("/mcp").await;
    let mut single = gateway.session("/servers/slow/mcp").await;
    let mut lazy = gateway.session("/mcp/lazy").await;
    let tool = |name: &str| json!({ "name": name, "arguments": {} });
    let exec = json!({ "server_name": "slow", "tool_name": "late", "arguments": {} });
    let resource = json!({ "uri": "test://late" });
    let mut calls = vec![
        joined.begin("tools/call", tool("slow__late")).await,
        joined.begin("tools/call", tool("slow:late")).await,
        single.begin("tools/call", tool("late")).await,
        lazy.begin_tool("exec", exec).await,
    ];
    let mut reading = single.begin("resources/read", resource).await;
    // Calls to another server are not delayed.
    let answer = joined.call_tool("unknown", json!({})).await;
    assert_eq!(answer["error"]["data"]["code"], "unknown_tool");
    slow.release("go");
    for call in &mut calls {
        let answer = call.read_response().await.message();
        assert_eq!(text(&answer), r#"slow called "late" with {}"#);
    }
    let answer = reading.read_response().await.message();
    assert_eq!(answer["result"]["contents"][0]["text"], "read");
}

/// Some servers offer other tools to clients with capabilities.
#[tokio::test]
async fn late_server_lists_are_read_for_clients_with_roots() {
    let (slow, entry) = slow();
    let config = config([("slow", entry)]);
    let config = with(
        config,
        json!({ "initialize_wait_s": 0, "list_wait_s": FOR_EVER }),
    );
    let gateway = Gateway::serve(&config).await;
    let roots = json!({ "roots": {} });
    let mut session = gateway.session_with("/mcp", REVISION, roots).await;
    let mut list = session.begin("tools/list", json!({})).await;
    slow.release("go");
    list.read_response().await;
    // One shared link, and one that declares roots.
    assert_eq!(slow.server_pids().len(), 2);
}
