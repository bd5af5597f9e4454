//! Tests of hidden items under other names and spellings, and of the hints in error messages.

use narrows_testkit::raw::{Any, Streamable};
use narrows_testkit::scripted::Script;
use narrows_wire::token::wrap_uri;
use serde_json::{Value, json};

use super::{
    PresetServers, README, SECRET, about_resource, check_allowed, check_refused, guest, open,
};
use crate::gateway::{Gateway, config, error, with};

/// Published names that differ from the servers' own, and a batch of calls.
#[tokio::test]
async fn generated_names_and_batches_do_not_bypass_a_preset() {
    let long = format!("{}_secret", "very_long_name_".repeat(4));
    let server = Script::new("odd")
        .plain_tool("look at/it")
        .plain_tool("drop secret/it")
        .plain_tool(&long)
        .install();
    let servers = config([("io.x/y", server.config())]);
    let preset = json!({ "tools": ["io.x/y/*", "!io.x/y/*secret*"] });
    let more = json!({
        "presets": { "guest": preset },
        "endpoints": { "default": { "preset": "guest" }, "free": {} },
    });
    let gateway = Gateway::serve(&with(servers, more)).await;
    let all = gateway.session("/mcp/free").await.tool_names().await;
    let mut session = gateway.session_with("/mcp", "2025-03-26", json!({})).await;
    assert_eq!(session.tool_names().await, ["io_x_y__look_at_it"]);
    let before = server.received();
    let mut names = vec![
        "io.x/y__drop secret/it".to_owned(),
        "io_x_y__drop secret/it".to_owned(),
        "io.x/y:drop secret/it".to_owned(),
        "io_x_y::drop secret/it".to_owned(),
        format!("io.x/y:{long}"),
    ];
    names.extend(all.into_iter().filter(|name| name != "io_x_y__look_at_it"));
    assert_eq!(names.len(), 7, "{names:?}");
    let call = |(id, name): (usize, &String)| {
        let params = json!({ "name": name, "arguments": {} });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let batch: Value = names.iter().enumerate().map(call).collect();
    let answers = session.post(&batch.to_string()).await.json();
    let answers = answers.as_array().expect("an answer to each");
    assert_eq!(answers.len(), names.len());
    for answer in answers {
        assert!(error(answer).starts_with("-32602 not_allowed "), "{answer}");
    }
    assert_eq!(server.received(), before);
    let fine = session.call_tool("io.x/y:look at/it", json!({})).await;
    assert!(fine["result"].is_object(), "{fine}");
}

/// Ambiguous requests are refused.
#[tokio::test]
async fn duplicate_name_members_are_rejected() {
    let preset_servers = PresetServers::build();
    let gateway = Gateway::serve(&preset_servers.config()).await;
    let mut session = gateway.session("/mcp/lazy").await;
    let before = preset_servers.received();
    for (method, params) in [
        (
            "tools/call",
            r#"{"name":"a__look","name":"a__drop_secret"}"#,
        ),
        (
            "tools/call",
            r#"{"name":"a__drop_secret","n\u0061me":"a__look"}"#,
        ),
        ("prompts/get", r#"{"name":"greet","name":"secret_prompt"}"#),
        (
            "resources/read",
            r#"{"uri":"file:///open/readme","uri":"file:///open/secret.txt"}"#,
        ),
        (
            "tools/call",
            r#"{"name":"exec","arguments":{"server_name":"a","tool_name":"look","tool_name":"drop_secret"}}"#,
        ),
        (
            "tools/call",
            r#"{"name":"exec","arguments":{"server_name":"a","tool_name":"look"},"arguments":{"server_name":"a","tool_name":"drop_secret"}}"#,
        ),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":"x","method":"{method}","params":{params}}}"#);
        let answer = session.post(&body).await.message();
        let refused = answer["error"]["code"] == -32602 || answer["result"]["isError"] == true;
        assert!(refused, "{body}: {answer}");
        assert_eq!(preset_servers.received(), before, "{body}");
    }
}

/// URIs as returned by an endpoint without a preset.
#[tokio::test]
async fn wrapped_uris_of_another_endpoint_are_refused() {
    let preset_servers = PresetServers::build();
    let gateway = Gateway::serve(&preset_servers.config()).await;
    let mut free = gateway.session("/mcp/wrapped").await;
    let list = free.call("resources/list", json!({})).await;
    let given = |own: &str| {
        let items = list["result"]["resources"].as_array().into_iter().flatten();
        let mut items = items.filter(|item| item["metadata"]["proxy"]["originalUri"] == own);
        let item = items.next().unwrap_or_else(|| panic!("no {own}: {list}"));
        item["uri"].as_str().unwrap_or_default().to_owned()
    };
    let (mut client, _) = open(Streamable::at(gateway.address(), "/mcp").boxed()).await;
    let log = |_: &Any| gateway.program.stderr();
    for own in [SECRET, "b://secret"] {
        let attempts = about_resource(&given(own));
        check_refused(&mut client, &preset_servers, log, &attempts).await;
    }
    check_allowed(&mut client, &about_resource(&given(README))).await;
}

/// A URI that matches an allowed template may still denote a hidden resource in another spelling.
async fn check_spellings(resources: Value) {
    let preset_servers = PresetServers::build();
    let mut config = preset_servers.config();
    config["presets"]["guest"]["resources"] = resources;
    let gateway = Gateway::serve(&config).await;
    let (mut client, _) = open(Streamable::at(gateway.address(), "/mcp").boxed()).await;
    let log = |_: &Any| gateway.program.stderr();
    // URIs that match the allowed template.
    let matched = [
        "file:///open/%73ecret.txt",
        "file:///open/%2573ecret.txt",
        "file:///open/x%2F..%2Fsecret.txt",
        "file:///open/.%2Fsecret.txt",
        "file:///open/..%2Fopen%2Fsecret.txt",
        "file:///open/..%5Copen%5Csecret.txt",
        "file:///open/..%2Fvault_secret%2Fkey",
        "file:///open/%2e%2e%2fvault%5Fsecret%2fkey",
        "file:///open/secret.txt?x=1",
        "file:///open/secret.txt#top",
        "file:///open/secret.txt%23top",
        "file:///open/secret.txt?%2F..%2Fplain.txt",
        "file:///open/x?%2F..%2Fsecret.txt",
        "file:///open/secre\tt.txt",
        "file:///open/secre%0At.txt",
        "file:///open/secret.txt ",
        "file:///open/.\t.%2Fvault_secret%2Fkey",
    ];
    for uri in matched {
        let attempts = about_resource(uri);
        check_refused(&mut client, &preset_servers, log, &attempts).await;
    }
    // Without a server these URIs lead nowhere, so they are wrapped with their server.
    let others = [
        "FILE:///open/secret.txt",
        "file:///open/./secret.txt",
        "file:///open/../vault_secret/key",
        "file:///open//secret.txt",
        "file:///./open/secret.txt",
        "file:///OPEN/../open/secret.txt",
        "file://localhost/open/secret.txt",
        "file://me@127.0.0.1/open/secret.txt",
        "file://\\open\\secret.txt",
        "file:/open/secret.txt",
        " file:///open/secret.txt",
    ];
    for uri in matched.iter().chain(&others) {
        let attempts = about_resource(&wrap_uri("a", uri));
        check_refused(&mut client, &preset_servers, log, &attempts).await;
    }
    let before = preset_servers.received();
    for (method, params) in others.iter().flat_map(|uri| about_resource(uri)) {
        let answer = client.call(method, params).await;
        assert!(answer["error"].is_object(), "{answer}");
    }
    assert_eq!(preset_servers.received(), before);
    // An unusual spelling alone is no reason to refuse a URI.
    for uri in [
        "file:///open/%70lain.txt",
        "file:///open/a%20b.txt",
        "file:///open/100%.txt",
        "file:///open/plain.txt?x=1",
    ] {
        check_allowed(&mut client, &about_resource(uri)).await;
    }
}

#[tokio::test]
async fn other_spellings_of_hidden_uris_are_refused() {
    check_spellings(guest()["resources"].clone()).await;
}

#[tokio::test]
async fn other_spellings_outside_allowed_patterns_are_refused() {
    check_spellings(json!(["a/file:///open/*", "!a/file:///open/secret*"])).await;
}

#[tokio::test]
async fn other_spellings_of_excluded_uris_are_refused() {
    check_spellings(json!([
        "*/*",
        "!a/file:///open/secret*",
        "!a/file:///vault_secret/*"
    ]))
    .await;
}

/// Suggestions do not contain hidden items.
#[tokio::test]
async fn suggestions_do_not_reveal_hidden_items() {
    let preset_servers = PresetServers::build();
    let gateway = Gateway::serve(&preset_servers.config()).await;
    for path in ["/mcp", "/mcp/lazy", "/servers/a/mcp"] {
        let mut session = gateway.session(path).await;
        let slips = [
            ("tools/call", json!({ "name": "a__drop_secre" })),
            ("tools/call", json!({ "name": "drop_secre" })),
            ("tools/call", json!({ "name": "b__tell_secre" })),
            ("prompts/get", json!({ "name": "a__secre_prompt" })),
            ("prompts/get", json!({ "name": "b_secre" })),
            ("resources/read", json!({ "uri": "file:///opn/secre.txt" })),
            ("resources/read", json!({ "uri": "b://secre" })),
        ];
        for (method, params) in slips {
            let answer = session.call(method, params).await;
            assert!(answer["error"].is_object(), "{answer}");
            assert!(!answer.to_string().contains("secret"), "{path}: {answer}");
        }
        if path == "/mcp" {
            let answer = session.call_tool("a__loo", json!({})).await;
            let unknown = "-32602 unknown_tool Unknown tool: a__loo. Did you mean a__look?";
            assert_eq!(error(&answer), unknown);
            assert_eq!(answer["error"]["data"]["nearest"], json!(["a__look"]));
        }
    }
}
