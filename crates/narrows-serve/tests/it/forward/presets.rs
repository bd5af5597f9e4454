//! Tests of presets on this route.

use narrows_gateway::preset::DirectPreset;
use narrows_gateway::preset::{Preset, Rule};
use narrows_gateway::settings::{
    EndpointSettings, RemoteProtocol, ServerSettings, Settings, UpstreamKind,
};
use narrows_testkit::scripted::{Installed, Script, Step, Transport};
use serde_json::{Value, json};

use super::links::stdio;
use super::server::{Server, http};
use super::{ForwardRoute, NOTICE, knowing, plain, remote, result};
use crate::within;

fn script() -> Script {
    Script::new("alpha")
        .plain_tool("read")
        .plain_tool("write")
        .prompt(r#"{"name":"shown"}"#)
        .prompt(r#"{"name":"hidden"}"#)
        .resource(r#"{"uri":"test://shown","name":"s"}"#)
        .resource(r#"{"uri":"test://hidden","name":"h"}"#)
        .template(r#"{"uriTemplate":"test://{name}","name":"t"}"#)
        .on_tool("read", [Step::text("was read")])
        .on_tool("write", [Step::text("WRITTEN")])
        .on("echo", [Step::ReplyParams])
}

fn rules(texts: &[&str]) -> Option<Vec<Rule>> {
    let parse = |text: &&str| Rule::parse(text).expect("a test's rule");
    Some(texts.iter().map(parse).collect())
}

/// Applies the preset to the default endpoint; servers use `preset`.
fn restricted(kind: UpstreamKind, preset: DirectPreset) -> Settings {
    let some = Preset::new(
        "some",
        rules(&["up/read"]),
        rules(&["up/shown"]),
        rules(&["up/test://shown", "up/test://{name}", "!up/test://*/no"]),
    );
    let default = EndpointSettings {
        preset: Some("some".into()),
        ..EndpointSettings::named("default")
    };
    let mut up = ServerSettings::new("up", kind);
    up.preset = preset;
    Settings {
        upstreams: vec![up],
        endpoints: vec![default],
        presets: vec![some],
        ..knowing([])
    }
}

async fn names(route: &ForwardRoute, method: &str, list: &str, member: &str) -> Vec<String> {
    let answer = route.ask("up", method, json!({})).await;
    let items = answer["result"][list].as_array().expect("a list").iter();
    let name = |item: &Value| item[member].as_str().expect("a name").to_owned();
    items.map(name).collect()
}

/// Checks that no request bypasses the preset.
async fn check(route: &ForwardRoute, installed: &Installed) {
    within("the upstream", route.gateway.settled()).await;
    let read = route
        .ask("up", "tools/call", json!({ "name": "read" }))
        .await;
    assert_eq!(read["result"]["content"][0]["text"], "was read");
    assert_eq!(names(route, "tools/list", "tools", "name").await, ["read"]);
    assert_eq!(
        names(route, "prompts/list", "prompts", "name").await,
        ["shown"]
    );
    let uris = names(route, "resources/list", "resources", "uri").await;
    assert_eq!(uris, ["test://shown"]);
    let reference = |kind: &str, member: &str, name: &str| json!({ "ref": { "type": kind, member: name }, "argument": { "name": "x", "value": "" } });
    for (method, params) in [
        ("tools/call", json!({ "name": "write" })),
        ("tools/call", json!({ "name": "up__write" })),
        ("tools/call", json!(["write"])),
        ("tools/call", json!({})),
        ("prompts/get", json!({ "name": "hidden" })),
        ("resources/read", json!({ "uri": "test://hidden" })),
        ("resources/read", json!({ "uri": "test://h%69dden" })),
        ("resources/read", json!({ "uri": "test://x/no" })),
        ("resources/subscribe", json!({ "uri": "test://hidden" })),
        (
            "completion/complete",
            reference("ref/prompt", "name", "hidden"),
        ),
        (
            "completion/complete",
            reference("ref/resource", "uri", "test://hidden"),
        ),
        ("completion/complete", json!({ "ref": { "type": "ref/x" } })),
        ("completion/complete", json!({})),
        ("echo", json!({ "name": "write" })),
    ] {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let reply = route.post("up", &request.to_string()).await;
        let error = &reply.json()["error"];
        assert_eq!(error["data"]["code"], "not_allowed", "{request} {error}");
        assert_eq!(error["code"], -32602, "{request} {error}");
        assert_eq!(error["data"]["preset"], "some", "{request} {error}");
        assert_eq!(reply.status, 403, "{request}");
    }
    let twice =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","name":"write"}}"#;
    assert_eq!(route.post("up", twice).await.status, 400);
    let number = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#;
    assert_eq!(route.post("up", number).await.status, 400);
    let silent = r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"write"}}"#;
    assert_eq!(route.post("up", silent).await.status, 403);
    assert_eq!(route.post("up", NOTICE).await.status, 202);
    for hidden in ["\"write\"", "test://hidden", "\"echo\"", "\"hidden\""] {
        assert_eq!(installed.count_received(hidden), 0, "{hidden}");
    }
}

#[tokio::test]
async fn preset_applies_over_a_link() {
    let installed = script().install();
    let settings = restricted(stdio(&installed), DirectPreset::AsDefault);
    check(&ForwardRoute::start(settings).await, &installed).await;
}

#[tokio::test]
async fn preset_applies_over_plain_json_rpc() {
    let installed = script().install();
    let served = installed.serve_http().await;
    let remote = remote(&served.url_of(Transport::Rpc), RemoteProtocol::Rpc);
    let settings = restricted(UpstreamKind::Remote(remote), DirectPreset::AsDefault);
    check(&ForwardRoute::start(settings).await, &installed).await;
}

#[tokio::test]
async fn server_may_have_another_preset_or_none() {
    let installed = script().install();
    let free = ForwardRoute::start(restricted(stdio(&installed), DirectPreset::Free)).await;
    let write = json!({ "name": "write" });
    let answer = free.ask("up", "tools/call", write.clone()).await;
    assert_eq!(answer["result"]["content"][0]["text"], "WRITTEN");
    // An undefined preset allows nothing.
    let named = DirectPreset::Named("other".into());
    let route = ForwardRoute::start(restricted(stdio(&installed), named)).await;
    assert_eq!(names(&route, "tools/list", "tools", "name").await, [""; 0]);
}

#[tokio::test]
async fn preset_applies_to_forward_only_servers() {
    let server = Server::answering_with(http(200, "", result("1"))).await;
    let settings = restricted(
        UpstreamKind::Builtin(narrows_gateway::settings::Builtin::Demo),
        DirectPreset::Free,
    );
    let route = ForwardRoute::start(Settings {
        rpc_servers: vec![plain("up2", server.address), plain("other", server.address)],
        ..settings
    })
    .await;
    for method in ["ping", "tools/list", "tools/call", "anything"] {
        let request =
            json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "name": "read" } });
        let reply = route.post("other", &request.to_string()).await;
        assert_eq!(reply.status, 403, "{method}");
    }
}
