//! Tests of hidden items through the facade tools.

use narrows_testkit::raw::{Any, Stdio, Streamable};
use serde_json::{Value, json};
use tokio::process::Command;

use super::{
    AskedRequest, PresetServers, allowed, check_allowed, check_refused, guest, hidden, open,
};
use crate::gateway::{Gateway, REVISION, column, config, with};
use crate::program::Folder;

fn exec(server: &str, tool: &str) -> AskedRequest {
    let arguments = json!({ "server_name": server, "tool_name": tool });
    (
        "tools/call",
        json!({ "name": "exec", "arguments": arguments }),
    )
}

fn inspect(arguments: Value) -> AskedRequest {
    (
        "tools/call",
        json!({ "name": "inspect", "arguments": arguments }),
    )
}

/// Checks endpoints that do not list their tools. `lazy` has the preset of the default endpoint
/// without configuration.
async fn check_unlisted(path: &str, more: &[AskedRequest]) {
    let preset_servers = PresetServers::build();
    let gateway = Gateway::serve(&preset_servers.config()).await;
    let (mut client, hello) = open(Streamable::at(gateway.address(), path).boxed()).await;
    let list = client.call("tools/list", json!({})).await;
    for reported in [&hello, &list] {
        assert!(!reported.to_string().contains("secret"), "{reported}");
    }
    let one = |server: &str, tool: &str| json!({ "server_name": server, "tool_name": tool });
    let attempts = [
        exec("a", "drop_secret"),
        exec("a", "a__drop_secret"),
        exec("b", "tell_secret"),
        exec("b", "b__tell_secret"),
        exec("b", "any"),
        inspect(one("a", "drop_secret")),
        inspect(one("a", "a__drop_secret")),
        inspect(one("b", "tell_secret")),
        inspect(one("b", "any")),
        inspect(json!({ "server_name": "b" })),
    ];
    let attempts = [&attempts, more, &hidden()].concat();
    let log = |_: &Any| gateway.program.stderr();
    check_refused(&mut client, &preset_servers, log, &attempts).await;
    let whole = client
        .call_tool("inspect", json!({ "server_name": "a" }))
        .await;
    let entries = &whole["result"]["structuredContent"]["result"];
    assert_eq!(entries.as_array().map(Vec::len), Some(1), "{whole}");
    assert_eq!(entries[0]["name"], "look");
    // The response to a misspelt name reveals no hidden item.
    for slip in [
        exec("a", "drop_secre"),
        exec("a", "nothing"),
        exec("c", "tell_secre"),
        inspect(one("a", "drop_secre")),
        inspect(json!({ "server_name": "bb" })),
        inspect(json!({})),
    ] {
        let answer = client.call(slip.0, slip.1).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let reported = answer.to_string();
        assert!(
            !reported.contains("secret") && !reported.contains(r#"\"b\""#),
            "{reported}"
        );
    }
    let fine = [
        exec("a", "look"),
        exec("a", "a__look"),
        inspect(one("a", "look")),
    ];
    check_allowed(&mut client, &fine).await;
    check_allowed(&mut client, &allowed()).await;
}

#[tokio::test]
async fn hidden_tools_are_unreachable_through_exec_and_inspect() {
    check_unlisted("/mcp/lazy", &[]).await;
}

#[tokio::test]
async fn hidden_tools_are_unreachable_through_search() {
    let arguments = json!({ "query": "tell secret", "server_name": "b" });
    let params = json!({ "name": "search_tools", "arguments": arguments });
    check_unlisted("/mcp/find", &[("tools/call", params)]).await;
    let preset_servers = PresetServers::build();
    let gateway = Gateway::serve(&preset_servers.config()).await;
    let mut session = gateway.session("/mcp/find").await;
    for query in [
        "secret",
        "drop secret",
        "tell_secret\ndrop_secret",
        "look secret",
    ] {
        let found = session
            .call_tool("search_tools", json!({ "query": query }))
            .await;
        assert!(found["result"].is_object(), "{found}");
        assert!(!found.to_string().contains("secret"), "{found}");
    }
}

/// The same with `--expose` on the command line.
#[tokio::test]
async fn hidden_tools_are_unreachable_through_exec_over_stdio() {
    let preset_servers = PresetServers::build();
    let servers = config([
        ("a", preset_servers.a.config()),
        ("b", preset_servers.b.config()),
    ]);
    let config = with(servers, json!({ "presets": { "guest": guest() } }));
    let folder = Folder::with(&config.to_string());
    let arguments = ["stdio", "--preset", "guest", "--expose", "lazy"];
    let command = folder.command(&[&arguments[..], &["--log-format", "json"]].concat());
    let mut client = Stdio::start(&mut Command::from(command));
    client.initialize(REVISION, json!({})).await;
    let list = client.call("tools/list", json!({})).await;
    assert_eq!(column(&list, "tools", "name"), ["inspect", "exec"]);
    assert!(!list.to_string().contains("secret"), "{list}");
    let attempts = [
        exec("a", "drop_secret"),
        exec("b", "tell_secret"),
        inspect(json!({ "server_name": "b" })),
    ];
    check_refused(&mut client, &preset_servers, Stdio::stderr, &attempts).await;
    check_refused(&mut client, &preset_servers, Stdio::stderr, &hidden()).await;
    check_allowed(&mut client, &[exec("a", "look")]).await;
}
