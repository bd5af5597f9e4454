//! Tests of subscriptions of several sessions over one link: an update reaches only the
//! subscribers, under the URI that they used.

use narrows_testkit::raw::Events;
use narrows_testkit::scripted::{Installed, Script, Step};
use narrows_testkit::until;
use serde_json::{Value, json};

use crate::gateway::{Gateway, Session, column, config, text, with};

fn updated(uri: &str) -> Step {
    let params = json!({ "uri": uri, "extra": 1 }).to_string();
    Step::notify("notifications/resources/updated", params)
}

/// A server whose tools `a`, `b`, `a/1` and `ab` report a change to the resource of the same name.
fn script() -> Script {
    let script = ["a", "b", "ab", "a/1"]
        .iter()
        .fold(Script::new("s"), |script, name| {
            let uri = format!("x://{name}");
            let steps = [updated(&uri), Step::text("said")];
            script.plain_tool(name).on_tool(name, steps)
        });
    let resource = |uri: &str| json!({ "uri": uri, "name": "n" }).to_string();
    script
        .resource(resource("x://a"))
        .resource(resource("x://b"))
}

/// A session and its general event stream.
struct SubscribedSession {
    session: Session,
    updates: Events,
}

impl SubscribedSession {
    async fn open(gateway: &Gateway, path: &str) -> SubscribedSession {
        let session = gateway.session(path).await;
        let updates = session.listen(None).await;
        SubscribedSession { session, updates }
    }

    async fn subscribe(&mut self, uri: &str) {
        self.ask("resources/subscribe", uri).await;
    }

    async fn unsubscribe(&mut self, uri: &str) {
        self.ask("resources/unsubscribe", uri).await;
    }

    async fn ask(&mut self, method: &str, uri: &str) {
        let answer = self.session.call(method, json!({ "uri": uri })).await;
        assert_eq!(answer["result"], json!({}), "{answer}");
    }

    /// Ends the session and returns the URIs of all updates received before.
    async fn received_updates(mut self) -> Vec<String> {
        // Messages in flight arrive before the response.
        self.session.call("ping", json!({})).await;
        let mut received_updates = Vec::new();
        self.session.delete().await;
        while let Some(event) = self.updates.next().await {
            if !event.data.is_empty() {
                let notice = event.json();
                assert_eq!(notice["method"], "notifications/resources/updated");
                received_updates.push(
                    notice["params"]["uri"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned(),
                );
            }
        }
        received_updates
    }

    async fn next(&mut self) -> String {
        let notice = self.updates.message().await;
        assert_eq!(
            notice["method"], "notifications/resources/updated",
            "{notice}"
        );
        notice["params"]["uri"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

async fn notify_update(session: &mut Session, name: &str) {
    let answer = session.call_tool(&format!("s__{name}"), json!({})).await;
    assert_eq!(text(&answer), "said");
}

/// Returns the subscription requests that the server received, with their URIs.
fn asked(server: &Installed) -> Vec<String> {
    let received = server.received().into_iter();
    let messages = received.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    let asked = messages.filter(|message| {
        let method = message["method"].as_str().unwrap_or_default();
        method.ends_with("subscribe")
    });
    let show = |message: Value| format!("{} {}", message["method"], message["params"]["uri"]);
    asked.map(show).collect()
}

#[tokio::test]
async fn update_reaches_only_subscribers() {
    let server = script().install();
    let gateway = Gateway::serve(&config([("s", server.config())])).await;
    let mut both = SubscribedSession::open(&gateway, "/mcp").await;
    let mut one = SubscribedSession::open(&gateway, "/servers/s/mcp").await;
    let none = SubscribedSession::open(&gateway, "/mcp").await;
    let mut caller = gateway.session("/mcp").await;
    both.subscribe("x://a").await;
    both.subscribe("x://b").await;
    one.subscribe("x://b").await;
    notify_update(&mut caller, "a").await;
    assert_eq!(both.next().await, "x://a");
    notify_update(&mut caller, "b").await;
    assert_eq!(both.next().await, "x://b");
    assert_eq!(one.next().await, "x://b");
    assert_eq!(none.received_updates().await, Vec::<String>::new());
    // After one session unsubscribes, the server must keep notifying the other.
    both.unsubscribe("x://b").await;
    notify_update(&mut caller, "b").await;
    assert_eq!(one.next().await, "x://b");
    assert!(!asked(&server).contains(&r#""resources/unsubscribe" "x://b""#.to_owned()));
    assert_eq!(both.received_updates().await, Vec::<String>::new());
    // The last session ends without unsubscribing.
    assert_eq!(one.received_updates().await, Vec::<String>::new());
    until("the server may forget both", || {
        let asked = asked(&server);
        ["x://a", "x://b"]
            .iter()
            .all(|uri| asked.contains(&format!("\"resources/unsubscribe\" \"{uri}\"")))
    })
    .await;
}

/// A session without the subscription cannot end that of another.
#[tokio::test]
async fn session_cannot_unsubscribe_others() {
    let server = script().install();
    let gateway = Gateway::serve(&config([("s", server.config())])).await;
    let mut one = SubscribedSession::open(&gateway, "/mcp").await;
    let mut stranger = SubscribedSession::open(&gateway, "/mcp").await;
    one.subscribe("x://a").await;
    stranger.unsubscribe("x://a").await;
    notify_update(&mut stranger.session, "a").await;
    assert_eq!(one.next().await, "x://a");
    assert_eq!(asked(&server), [r#""resources/subscribe" "x://a""#]);
}

/// An update of a sub-resource counts; one of a URI with merely the same prefix does not.
#[tokio::test]
async fn update_of_a_subresource_is_delivered() {
    let server = script().install();
    let gateway = Gateway::serve(&config([("s", server.config())])).await;
    let mut one = SubscribedSession::open(&gateway, "/mcp").await;
    let mut caller = gateway.session("/mcp").await;
    one.subscribe("x://a").await;
    one.subscribe("x://a/1").await;
    notify_update(&mut caller, "ab").await;
    notify_update(&mut caller, "a/1").await;
    notify_update(&mut caller, "a").await;
    assert_eq!(one.next().await, "x://a/1");
    assert_eq!(one.next().await, "x://a");
}

/// The server reports a change immediately after accepting the subscription.
#[tokio::test]
async fn update_right_after_subscribing_is_delivered() {
    // Both messages are in one write, so that the gateway reads them together.
    let update = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":"#;
    let both = format!("{{}}}}\n{update}{{\"uri\":\"x://a\"}}");
    let script = script().on("resources/subscribe", [Step::reply(both)]);
    let server = script.install();
    let gateway = Gateway::serve(&config([("s", server.config())])).await;
    for _ in 0..10 {
        let mut one = SubscribedSession::open(&gateway, "/mcp").await;
        one.subscribe("x://a").await;
        assert_eq!(one.next().await, "x://a");
    }
}

/// A refused subscription has no effect.
#[tokio::test]
async fn refused_subscription_has_no_effect() {
    let refusal = Step::error(-32002, "no such resource");
    let script = script().rule("resources/subscribe", Some("x://a"), [refusal]);
    let server = script.install();
    let gateway = Gateway::serve(&config([("s", server.config())])).await;
    let mut one = SubscribedSession::open(&gateway, "/mcp").await;
    let uri = json!({ "uri": "x://a" });
    let answer = one.session.call("resources/subscribe", uri).await;
    assert_eq!(answer["error"]["code"], -32002);
    one.subscribe("x://b").await;
    notify_update(&mut one.session, "a").await;
    notify_update(&mut one.session, "b").await;
    assert_eq!(one.next().await, "x://b");
}

#[tokio::test]
async fn update_uses_the_uri_of_the_subscription() {
    let server = script().install();
    let twin = script().with(|script| script.name = "t".into()).install();
    let config = config([("s", server.config()), ("t", twin.config())]);
    let endpoints = json!({ "endpoints": { "wrapped": { "uris": "wrapped" } } });
    let gateway = Gateway::serve(&with(config, endpoints)).await;
    for path in ["/mcp", "/mcp/wrapped"] {
        let mut one = SubscribedSession::open(&gateway, path).await;
        let list = one.session.call("resources/list", json!({})).await;
        let uris = column(&list, "resources", "uri");
        let wrapped: Vec<&str> = uris
            .into_iter()
            .filter(|uri| uri.starts_with("proxy://resource/"))
            .collect();
        assert_eq!(wrapped.len(), 4, "{list}");
        one.subscribe(wrapped[0]).await;
        one.subscribe(wrapped[3]).await;
        for tool in ["s__a", "t__a", "s__b", "t__b"] {
            one.session.call_tool(tool, json!({})).await;
        }
        assert_eq!(one.next().await, wrapped[0]);
        assert_eq!(one.next().await, wrapped[3]);
        // The URI of a sub-resource is wrapped too, because the client could not read it otherwise.
        one.session.call_tool("s__a/1", json!({})).await;
        let part = one.next().await;
        let read = one
            .session
            .call("resources/read", json!({ "uri": part }))
            .await;
        let contents = &read["result"]["contents"][0];
        assert_eq!(contents["text"], r#"s reads "x://a/1""#, "{read}");
        assert_eq!(one.received_updates().await, Vec::<String>::new());
    }
    // On the server's own endpoint the URI is unchanged, even while other endpoints wrap it.
    let mut own = SubscribedSession::open(&gateway, "/servers/t/mcp").await;
    own.subscribe("x://a").await;
    own.session.call_tool("a", json!({})).await;
    assert_eq!(own.next().await, "x://a");
}

/// A session with its own link receives only its own updates, over that link.
#[tokio::test]
async fn session_owned_link_delivers_only_its_updates() {
    let server = script().install();
    let gateway = Gateway::serve(&config([("s", server.config())])).await;
    let mut shared = SubscribedSession::open(&gateway, "/mcp").await;
    shared.subscribe("x://a").await;
    let able = json!({ "roots": {} });
    let session = gateway.session_with("/mcp", "2025-11-25", able).await;
    let updates = session.listen(None).await;
    let mut own = SubscribedSession { session, updates };
    own.subscribe("x://a").await;
    notify_update(&mut own.session, "a").await;
    assert_eq!(own.next().await, "x://a");
    assert_eq!(own.received_updates().await, Vec::<String>::new());
    notify_update(&mut shared.session, "a").await;
    assert_eq!(shared.next().await, "x://a");
    assert_eq!(shared.received_updates().await, Vec::<String>::new());
}

/// The gateway subscribes again after a server restarts.
#[tokio::test]
async fn subscriptions_are_restored_after_a_server_restart() {
    let once = Step::Once("died".into(), vec![Step::Die]);
    let script = script().plain_tool("die").on_tool("die", [once]);
    let server = script.install();
    let gateway = Gateway::serve(&config([("s", server.config())])).await;
    let mut session = gateway.session("/mcp").await;
    let subscribed = json!({ "uri": "x://a" });
    session.call("resources/subscribe", subscribed).await;
    session.call_tool("s__die", json!({})).await;
    until("the subscription is made again", || {
        asked(&server).len() == 2
    })
    .await;
    let mut updates = session.listen(None).await;
    notify_update(&mut session, "a").await;
    loop {
        let notice = updates.message().await;
        if notice["method"] == "notifications/resources/updated" {
            assert_eq!(notice["params"]["uri"], "x://a");
            break;
        }
    }
}
