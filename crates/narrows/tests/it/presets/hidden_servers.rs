//! Tests that a server without allowed items receives no messages from a client, and that its
//! messages do not reach the client.

use std::time::Duration;

use narrows_testkit::raw::WebSocket;
use narrows_testkit::scripted::{Lists, Script, Step};
use narrows_testkit::{LIMIT, until};
use serde_json::json;

use super::{PresetServers, SECRET, about_resource};
use crate::gateway::{Gateway, REVISION};

impl PresetServers {
    /// Creates servers where `b` sends notifications and changes its tools once it is released.
    fn with_talk() -> PresetServers {
        let mut preset_servers = PresetServers::build();
        let script = Script::new("b").plain_tool("tell_secret");
        let more = Lists {
            tools: script.clone().plain_tool("more_secret").lists.tools,
            ..Lists::default()
        };
        let log = r#"{"level":"error","data":"a secret"}"#;
        let talk = [
            Step::Wait("talk".into()),
            Step::notify("notifications/message", log),
            Step::notify("notifications/other", r#"{"x":"secret"}"#),
            Step::Relist(more),
            Step::notify("notifications/tools/list_changed", "{}"),
        ];
        preset_servers.b = script.after_initialized(talk).install();
        preset_servers
    }
}

#[tokio::test]
async fn hidden_server_sends_no_notifications() {
    let preset_servers = PresetServers::with_talk();
    let gateway = Gateway::serve(&preset_servers.config()).await;
    // A WebSocket client receives all messages in one order.
    let mut client = WebSocket::connect(gateway.address(), "/ws").await;
    client.initialize(REVISION, json!({})).await;
    let before = preset_servers.b.count_received("tools/list");
    preset_servers.b.release("talk");
    until("the list was read again", || {
        preset_servers.b.count_received("tools/list") > before
    })
    .await;
    // A session that may see the server sees the change, so the gateway has processed it.
    let mut free = gateway.session("/mcp/wrapped").await;
    let changed = async {
        while !free
            .tool_names()
            .await
            .iter()
            .any(|name| name == "b__more_secret")
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let changed = tokio::time::timeout(LIMIT, changed).await;
    changed.expect("the change is seen");
    client.call("ping", json!({})).await;
    let heard: Vec<_> = client.aside().collect();
    assert!(heard.is_empty(), "{heard:?}");
}

#[tokio::test]
async fn hidden_server_receives_no_messages() {
    let preset_servers = PresetServers::build();
    let gateway = Gateway::serve(&preset_servers.config()).await;
    let mut client = WebSocket::connect(gateway.address(), "/ws").await;
    client.initialize(REVISION, json!({})).await;
    let before = preset_servers.b.received();
    client
        .call("logging/setLevel", json!({ "level": "debug" }))
        .await;
    client.notify("notifications/other", json!({})).await;
    preset_servers.a.received_with("logging/setLevel").await;
    preset_servers.a.received_with("notifications/other").await;
    // A broadcast is sent completely before the next message is read.
    client.call("ping", json!({})).await;
    assert_eq!(preset_servers.b.received(), before);
}

/// Another client may have subscribed to the resource over the same link.
#[tokio::test]
async fn updates_of_hidden_resources_are_not_delivered() {
    let mut preset_servers = PresetServers::build();
    let update = json!({ "uri": SECRET }).to_string();
    let script = Script::new("a")
        .plain_tool("look")
        .resource(json!({ "uri": SECRET, "name": "secret" }).to_string())
        .on_tool(
            "look",
            [
                Step::notify("notifications/resources/updated", update),
                Step::text("seen"),
            ],
        );
    preset_servers.a = script.install();
    let gateway = Gateway::serve(&preset_servers.config()).await;
    let mut free = WebSocket::connect(gateway.address(), "/ws/wrapped").await;
    free.initialize(REVISION, json!({})).await;
    let mut guest = WebSocket::connect(gateway.address(), "/ws").await;
    guest.initialize(REVISION, json!({})).await;
    let subscribed = free
        .call("resources/subscribe", json!({ "uri": SECRET }))
        .await;
    assert!(subscribed["result"].is_object(), "{subscribed}");
    let (method, params) = about_resource(SECRET).remove(1);
    let refused = guest.call(method, params).await;
    assert_eq!(refused["error"]["data"]["code"], "not_allowed", "{refused}");
    guest.call_tool("a__look", json!({})).await;
    free.message("notifications/resources/updated").await;
    guest.call("ping", json!({})).await;
    let heard: Vec<_> = guest.aside().collect();
    assert!(heard.is_empty(), "{heard:?}");
    // The session cannot end a subscription of another session either.
    let (method, params) = about_resource(SECRET).remove(2);
    guest.call(method, params).await;
    guest.call_tool("a__look", json!({})).await;
    free.message("notifications/resources/updated").await;
    assert_eq!(preset_servers.a.count_received("resources/unsubscribe"), 0);
}
