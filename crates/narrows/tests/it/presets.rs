//! What a preset hides is not to be had, whichever way it is asked for.

mod attempts;
mod choosing;
mod plain;
mod receipts;
mod silence;
mod spellings;
mod tool_lists;
mod unlisted;

use narrows_testkit::raw::{Any, Client, Line};
use narrows_testkit::scripted::{Installed, Script};
use narrows_testkit::until;
use narrows_wire::token::wrap_uri;
use serde_json::{Value, json};

use crate::gateway::{REVISION, column, config, error, with};

/// Two servers. Whatever the preset `guest` hides has `secret` in its name,
/// and of the server `b` it allows nothing.
struct House {
    a: Installed,
    b: Installed,
}

const README: &str = "file:///open/readme";
const SECRET: &str = "file:///open/secret.txt";
const OPEN: &str = "file:///open/{name}";
const VAULT: &str = "file:///vault_secret/{name}";

impl House {
    fn build() -> House {
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
        House {
            a: a.install(),
            b: b.install(),
        }
    }

    /// With the preset in force where nothing else is said, and endpoints
    /// without one.
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

    /// All that has reached the servers.
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

/// A request.
type Asked = (&'static str, Value);

/// A resource in all the ways it can be asked for.
fn about_resource(uri: &str) -> Vec<Asked> {
    let uri = json!({ "uri": uri });
    let complete = completion(json!({ "type": "ref/resource", "uri": uri["uri"] }));
    vec![
        ("resources/read", uri.clone()),
        ("resources/subscribe", uri.clone()),
        ("resources/unsubscribe", uri),
        ("completion/complete", complete),
    ]
}

/// A prompt in all the ways it can be asked for.
fn about_prompt(name: &str) -> Vec<Asked> {
    let complete = completion(json!({ "type": "ref/prompt", "name": name }));
    vec![
        ("prompts/get", json!({ "name": name })),
        ("completion/complete", complete),
    ]
}

fn about_tool(name: &str) -> Vec<Asked> {
    vec![("tools/call", json!({ "name": name, "arguments": {} }))]
}

fn completion(reference: Value) -> Value {
    json!({ "ref": reference, "argument": { "name": "name", "value": "x" } })
}

/// All that is hidden, asked for on an endpoint that joins the servers.
fn hidden() -> Vec<Asked> {
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
    // What no list has is hidden as well.
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

/// All that is allowed, asked for on an endpoint that joins the servers.
fn allowed() -> Vec<Asked> {
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
                    // Nobody reads a template itself.
                    |(method, params)| *method == "completion/complete" || params["uri"] != OPEN,
                ),
        )
        .collect()
}

/// A client past its greeting, and the result of that.
async fn open(mut client: Any) -> (Any, Value) {
    let hello = client.initialize(REVISION, json!({})).await;
    (client, hello)
}

/// The refusals in a log, each as what was refused.
fn denied(log: &str) -> Vec<Value> {
    let events = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events
        .filter(|event| event["event"] == "proxy.tool.denied")
        .map(|mut event| event["payload"].take())
        .collect()
}

/// Each of them is refused and told of in the log, and none reaches a server.
async fn check_refused<L: Line>(
    client: &mut Client<L>,
    house: &House,
    log: impl Fn(&Client<L>) -> String,
    attempts: &[Asked],
) {
    let before = house.received();
    for (method, params) in attempts {
        let told = denied(&log(client)).len();
        let answer = client.call(method, params.clone()).await;
        let about = format!("{method} {params}: {answer}");
        assert!(answer["error"].is_object(), "{about}");
        let refusal = error(&answer);
        assert!(refusal.starts_with("-32602 not_allowed "), "{about}");
        assert!(
            refusal.ends_with("' is not allowed by current preset"),
            "{about}"
        );
        until(format!("it is told of: {about}"), || {
            denied(&log(client)).len() > told
        })
        .await;
        let event = denied(&log(client)).pop().unwrap_or_default();
        assert_eq!(event["preset"], "guest", "{event}");
        assert_eq!(house.received(), before, "it reached a server: {about}");
    }
}

/// Each of them is answered.
async fn check_allowed<L: Line>(client: &mut Client<L>, asked: &[Asked]) {
    for (method, params) in asked {
        let answer = client.call(method, params.clone()).await;
        assert!(answer["result"].is_object(), "{method} {params}: {answer}");
        assert_ne!(answer["result"]["isError"], true, "{params}: {answer}");
    }
}

/// The lists hold what is allowed, and nothing else.
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
