//! Tests that hidden items are refused, however a client requests them.

mod attempts;
mod hidden_servers;
mod plain;
mod receipts;
mod rules;
mod spellings;
mod tool_lists;
mod unlisted;

use narrows_testkit::raw::{Any, Client, Line};
use narrows_testkit::scripted::{Installed, Script};
use narrows_testkit::until;
use narrows_wire::token::wrap_uri;
use serde_json::{Value, json};

use crate::gateway::{REVISION, column, config, error, with};

/// Two servers. The names of all items that the preset `guest` hides contain `secret`, and no item
/// of the server `b` is allowed.
struct PresetServers {
    a: Installed,
    b: Installed,
}

const README: &str = "file:///open/readme";
const SECRET: &str = "file:///open/secret.txt";
const OPEN: &str = "file:///open/{name}";
const VAULT: &str = "file:///vault_secret/{name}";

impl PresetServers {
    fn build() -> PresetServers {
        let a = Script::new("a")
            .plain_tool("look")
            .plain_tool("drop_secret")
            .prompt(r#"{"name":"greet"}"#)
            .prompt(r#"{"name":"secret_prompt"}"#)
            .resource(json!({ "uri": README, "name": "readme" }).to_string())
            .resource(json!({ "uri": SECRET, "name": "secret" }).to_string())
            .template(json!({ "uriTemplate": OPEN, "name": "open" }).to_string())
            .template(json!({ "uriTemplate": VAULT, "name": "vault" }).to_string());
        let b = Script::new("b")
            .with(|script| script.instructions = Some("The secret of b".into()))
            .plain_tool("tell_secret")
            .prompt(r#"{"name":"b_secret"}"#)
            .resource(r#"{"uri":"b://secret","name":"secret"}"#)
            .template(r#"{"uriTemplate":"b://secret/{x}","name":"secret"}"#);
        PresetServers {
            a: a.install(),
            b: b.install(),
        }
    }

    /// Returns a configuration with the preset on the default endpoint, and with endpoints without
    /// a preset.
    fn config(&self) -> Value {
        let servers = config([("a", self.a.config()), ("b", self.b.config())]);
        let more = json!({
            "presets": { "guest": guest() },
            "endpoints": {
                "default": { "preset": "guest" },
                "find": { "expose": "search", "preset": "guest", "pin": ["*/*"] },
                "wrapped": { "uris": "wrapped" },
            },
        });
        with(servers, more)
    }

    /// Returns all messages that reached the servers.
    fn received(&self) -> Vec<String> {
        [self.a.received(), self.b.received()].concat()
    }
}

fn guest() -> Value {
    json!({
        "tools": ["a/*", "!a/*secret*"],
        "prompts": [{ "serverId": "a", "promptName": "greet" }],
        "resources": [
            { "serverId": "a", "resourceKey": README },
            { "serverId": "a", "resourceKey": OPEN },
        ],
    })
}

/// A method with its params.
type AskedRequest = (&'static str, Value);

/// Returns all requests about a resource.
fn about_resource(uri: &str) -> Vec<AskedRequest> {
    let uri = json!({ "uri": uri });
    let complete = completion(json!({ "type": "ref/resource", "uri": uri["uri"] }));
    vec![
        ("resources/read", uri.clone()),
        ("resources/subscribe", uri.clone()),
        ("resources/unsubscribe", uri),
        ("completion/complete", complete),
    ]
}

/// Returns all requests about a prompt.
fn about_prompt(name: &str) -> Vec<AskedRequest> {
    let complete = completion(json!({ "type": "ref/prompt", "name": name }));
    vec![
        ("prompts/get", json!({ "name": name })),
        ("completion/complete", complete),
    ]
}

fn about_tool(name: &str) -> Vec<AskedRequest> {
    vec![("tools/call", json!({ "name": name, "arguments": {} }))]
}

fn completion(reference: Value) -> Value {
    json!({ "ref": reference, "argument": { "name": "name", "value": "x" } })
}

/// Returns requests for all hidden items on an endpoint that joins the servers.
fn hidden() -> Vec<AskedRequest> {
    let tools = [
        "a__drop_secret",
        "a:drop_secret",
        "a::drop_secret",
        "b__tell_secret",
        "b:tell_secret",
        "b::tell_secret",
    ];
    let prompts = [
        "a__secret_prompt",
        "a:secret_prompt",
        "a::secret_prompt",
        "secret_prompt",
        "b__b_secret",
        "b:b_secret",
        "b_secret",
    ];
    let own = [
        ("a", SECRET),
        ("a", VAULT),
        ("a", "file:///vault_secret/key"),
        ("b", "b://secret"),
        ("b", "b://secret/{x}"),
        ("b", "b://secret/1"),
    ];
    // Items that no list contains are hidden as well.
    let unlisted = [("a", "file:///elsewhere"), ("b", "b://any")];
    let plain = own.iter().map(|(_, uri)| (*uri).to_owned());
    let wrapped = own.iter().chain(&unlisted);
    let wrapped = wrapped.flat_map(|(server, uri)| {
        let once = wrap_uri(server, uri);
        let bare = once.trim_end_matches('=').to_owned();
        [wrap_uri(server, &once), bare, once]
    });
    let resources = plain.chain(wrapped);
    tools
        .iter()
        .flat_map(|name| about_tool(name))
        .chain(prompts.iter().flat_map(|name| about_prompt(name)))
        .chain(resources.flat_map(|uri| about_resource(&uri)))
        .collect()
}

/// Returns requests for all allowed items on an endpoint that joins the servers.
fn allowed() -> Vec<AskedRequest> {
    let template = "file:///open/plain.txt".to_owned();
    let uris = [wrap_uri("a", README), wrap_uri("a", &template), template];
    ["a__look", "a:look", "a::look"]
        .iter()
        .flat_map(|name| about_tool(name))
        .chain(
            ["a__greet", "greet"]
                .iter()
                .flat_map(|name| about_prompt(name)),
        )
        .chain(uris.iter().flat_map(|uri| about_resource(uri)))
        .chain(
            [README, OPEN]
                .iter()
                .flat_map(|uri| about_resource(uri))
                .filter(
                    // A template itself cannot be read.
                    |(method, params)| *method == "completion/complete" || params["uri"] != OPEN,
                ),
        )
        .collect()
}

/// Initialises a client and returns it with the result.
async fn open(mut client: Any) -> (Any, Value) {
    let hello = client.initialize(REVISION, json!({})).await;
    (client, hello)
}

/// Returns the refusals in a log.
fn denied(log: &str) -> Vec<Value> {
    let events = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events
        .filter(|event| event["event"] == "proxy.tool.denied")
        .map(|mut event| event["payload"].take())
        .collect()
}

/// Checks that all requests are refused and logged, and that none reaches a server.
async fn check_refused<L: Line>(
    client: &mut Client<L>,
    preset_servers: &PresetServers,
    log: impl Fn(&Client<L>) -> String,
    attempts: &[AskedRequest],
) {
    let before = preset_servers.received();
    for (method, params) in attempts {
        let reported = denied(&log(client)).len();
        let answer = client.call(method, params.clone()).await;
        let about = format!("{method} {params}: {answer}");
        assert!(answer["error"].is_object(), "{about}");
        let refusal = error(&answer);
        assert!(refusal.starts_with("-32602 not_allowed "), "{about}");
        assert!(
            refusal.ends_with("' is not allowed by current preset"),
            "{about}"
        );
        until(format!("it is logged: {about}"), || {
            denied(&log(client)).len() > reported
        })
        .await;
        let event = denied(&log(client)).pop().unwrap_or_default();
        assert_eq!(event["preset"], "guest", "{event}");
        assert_eq!(
            preset_servers.received(),
            before,
            "it reached a server: {about}"
        );
    }
}

/// Checks that all requests succeed.
async fn check_allowed<L: Line>(client: &mut Client<L>, asked: &[AskedRequest]) {
    for (method, params) in asked {
        let answer = client.call(method, params.clone()).await;
        assert!(answer["result"].is_object(), "{method} {params}: {answer}");
        assert_ne!(answer["result"]["isError"], true, "{params}: {answer}");
    }
}

/// Checks that the lists contain exactly the allowed items.
async fn check_lists<L: Line>(client: &mut Client<L>, prefix: &str) {
    let name = |name: &str| format!("{prefix}{name}");
    for (method, list, key, expected) in [
        ("tools/list", "tools", "name", vec![name("look")]),
        ("prompts/list", "prompts", "name", vec![name("greet")]),
        ("resources/list", "resources", "uri", vec![README.into()]),
        (
            "resources/templates/list",
            "resourceTemplates",
            "uriTemplate",
            vec![OPEN.into()],
        ),
    ] {
        let answer = client.call(method, json!({})).await;
        assert_eq!(column(&answer, list, key), expected);
    }
}
