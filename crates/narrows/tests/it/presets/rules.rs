//! Tests of the items that a preset allows, defined in the configuration and in files.

use narrows_testkit::scripted::{Installed, Script};
use serde_json::{Value, json};

use crate::gateway::{Gateway, Session, column, config, text, with};
use crate::program::Folder;

fn servers() -> [(&'static str, Installed); 2] {
    let hinted = |name: &str, hints: Value| {
        json!({ "name": name, "annotations": hints, "inputSchema": { "type": "object" } })
            .to_string()
    };
    let a = Script::new("a")
        .tool(hinted("look", json!({ "readOnlyHint": true })))
        .tool(hinted("edit", json!({ "destructiveHint": false })))
        .tool(hinted("purge", json!({ "destructiveHint": true })))
        .plain_tool("unsaid")
        .prompt(r#"{"name":"p"}"#)
        .resource(r#"{"uri":"a://r","name":"r"}"#);
    let b = Script::new("b")
        .plain_tool("look")
        .prompt(r#"{"name":"p"}"#)
        .resource(r#"{"uri":"b://r","name":"r"}"#);
    [("a", a.install()), ("b", b.install())]
}

/// Returns everything that an endpoint lists, in one line.
async fn listed(session: &mut Session) -> String {
    let mut line = Vec::new();
    for (method, list, key) in [
        ("tools/list", "tools", "name"),
        ("prompts/list", "prompts", "name"),
        ("resources/list", "resources", "uri"),
    ] {
        let answer = session.call(method, json!({})).await;
        let names = column(&answer, list, key);
        line.push(names.join(" ").replace("__", "/"));
    }
    line.join("; ")
}

#[tokio::test]
async fn rules_allow_the_expected_items() {
    let exact = |tool: &str| json!({ "serverId": "a", "toolName": tool });
    let forbidden = |tool: &str| json!({ "serverId": "a", "toolName": tool, "enabled": false });
    let all = "a/look a/edit a/purge a/unsaid";
    let cases = [
        (json!({ "tools": ["a/*"] }), format!("{all}; a/p; a://r")),
        (
            json!({ "tools": ["*/*"] }),
            format!("{all} b/look; a/p b/p; a://r b://r"),
        ),
        (
            json!({ "tools": ["*/look"], "prompts": [] }),
            "a/look b/look; ; a://r b://r".to_owned(),
        ),
        (
            json!({ "tools": ["a/*e*", "!*/*g*"] }),
            "a/edit; a/p; a://r".to_owned(),
        ),
        // A server whose tools are all denied does not count as named.
        (
            json!({ "tools": ["*/*", "!b/*"] }),
            format!("{all}; a/p; a://r"),
        ),
        // The last match applies.
        (
            json!({ "tools": ["a/*", "!a/*", "a/edit"] }),
            "a/edit; a/p; a://r".to_owned(),
        ),
        (
            json!({ "tools": ["!a/edit", "a/*"] }),
            format!("{all}; a/p; a://r"),
        ),
        (
            json!({ "tools": [exact("look"), exact("edit"), forbidden("look")] }),
            "a/edit; a/p; a://r".to_owned(),
        ),
        (
            json!({ "tools": [forbidden("look"), exact("look")] }),
            "a/look; a/p; a://r".to_owned(),
        ),
        // Matching is case-sensitive, and stars have a meaning only in patterns.
        (
            json!({ "tools": ["A/*", "a/LOOK"] }),
            "; a/p; a://r".to_owned(),
        ),
        (json!({ "tools": [exact("*")] }), "; a/p; a://r".to_owned()),
        // Hints come from the tool's annotations. A missing annotation counts as the worst case.
        (
            json!({ "tools": ["a/*", "!@destructive"] }),
            "a/look a/edit; a/p; a://r".to_owned(),
        ),
        (
            json!({ "tools": ["@readonly"] }),
            "a/look; a/p b/p; a://r b://r".to_owned(),
        ),
        // `null` allows all items of the servers named anywhere, `[]` allows none.
        (
            json!({ "tools": null, "prompts": ["b/*"], "resources": null }),
            "b/look; b/p; b://r".to_owned(),
        ),
        (
            json!({ "tools": ["a/look"], "prompts": [], "resources": [] }),
            "a/look; ; ".to_owned(),
        ),
        (
            json!({ "tools": [], "prompts": [], "resources": ["a/a://*"] }),
            "; ; a://r".to_owned(),
        ),
        (
            json!({ "tools": [], "prompts": [], "resources": [{ "serverId": "b", "resourceKey": "b://r" }] }),
            "; ; b://r".to_owned(),
        ),
        (json!({ "tools": [] }), "; ; ".to_owned()),
        (json!({}), "; ; ".to_owned()),
    ];
    let servers = servers();
    let entries = servers.iter().map(|(id, server)| (*id, server.config()));
    let mut config = config(entries);
    for (at, (preset, _)) in cases.iter().enumerate() {
        config["presets"][format!("p{at}")] = preset.clone();
        config["endpoints"][format!("e{at}")] = json!({ "preset": format!("p{at}") });
    }
    let gateway = Gateway::serve(&config).await;
    for (at, (preset, expected)) in cases.iter().enumerate() {
        let mut session = gateway.session(&format!("/mcp/e{at}")).await;
        assert_eq!(listed(&mut session).await, *expected, "{preset}");
        if expected.contains("a/look") {
            let answer = session.call_tool("a__look", json!({})).await;
            assert!(text(&answer).starts_with("a called"), "{preset}: {answer}");
        } else {
            let answer = session.call_tool("a__look", json!({})).await;
            assert_eq!(answer["error"]["data"]["code"], "not_allowed", "{preset}");
        }
    }
}

/// An invalid preset file is reported and skipped. Endpoints that name it are allowed nothing, and
/// other presets are not affected.
#[tokio::test]
async fn presets_are_read_from_files() {
    let folder = Folder::new();
    let good = json!({ "id": "good", "name": "For people", "prompts": null, "resources": [],
        "tools": [{ "serverId": "a", "toolName": "look", "enabled": true }] });
    folder.write("preset_good.json", good.to_string());
    folder.write("preset_broken.json", r#"{"id": "broken", "tools": ["#);
    folder.write("preset_wrong.json", r#"{"id": "other", "tools": ["*/*"]}"#);
    folder.write("notes.txt", "ignored");
    let servers = servers();
    let entries = servers.iter().map(|(id, server)| (*id, server.config()));
    let more = json!({
        "preset_dir": folder.path(),
        "presets": { "inline": { "tools": ["b/*"] } },
        "endpoints": {
            "good": { "preset": "good" },
            "broken": { "preset": "broken" },
            "wrong": { "preset": "wrong" },
            "inline": { "preset": "inline" },
        },
    });
    let gateway = Gateway::serve(&with(config(entries), more)).await;
    for (endpoint, expected) in [
        ("good", "a/look; a/p; "),
        ("broken", "; ; "),
        ("wrong", "; ; "),
        ("inline", "b/look; b/p; b://r"),
    ] {
        let mut session = gateway.session(&format!("/mcp/{endpoint}")).await;
        assert_eq!(listed(&mut session).await, expected, "{endpoint}");
    }
    let log = gateway.program.stderr();
    for file in ["preset_broken.json", "preset_wrong.json"] {
        let mut lines = log.lines().filter(|line| line.contains(file));
        let line = lines.next().unwrap_or_else(|| panic!("no {file}: {log}"));
        assert!(line.contains("skipped"), "{line}");
    }
    assert!(!log.contains("preset_good.json"), "{log}");
    assert!(!log.contains("notes.txt"), "{log}");
}
