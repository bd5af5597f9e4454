//! Tests of edits: each gives a text, a change and the expected text.

mod properties;

use expect_test::{Expect, expect};
use narrows_serve::admin::Change;
use serde_json::{Value, json};

use super::{EditError, edit, has_preset, preset_file};

#[track_caller]
fn check(text: &str, change: Change, expected: Expect) {
    let edited = match edit(text, &change) {
        Ok(edited) => edited,
        Err(error) => format!("{error:?}"),
    };
    expected.assert_eq(&edited);
}

fn add(id: &str, entry: Value) -> Change {
    let id = id.to_owned();
    Change::AddServer { id, entry }
}

fn replace(id: &str, entry: Value) -> Change {
    let id = id.to_owned();
    Change::ReplaceServer { id, entry }
}

fn remove(id: &str) -> Change {
    Change::RemoveServer { id: id.to_owned() }
}

fn enable(id: &str, enabled: bool) -> Change {
    let id = id.to_owned();
    Change::EnableServer { id, enabled }
}

fn put_preset(id: &str, entry: Value) -> Change {
    let id = id.to_owned();
    Change::PutPreset { id, entry }
}

fn switch(endpoint: &str, preset: Option<&str>) -> Change {
    Change::SwitchPreset {
        endpoint: endpoint.to_owned(),
        preset: preset.map(str::to_owned),
    }
}

const COMMENTED: &str = r#"// what we use
{
    "mcpServers": {
        // the files of the project
        "files": {
            "command": "npx", // from npm
            "args": ["-y", "server-files", "${HOME}"],
        }, // not the whole disk
        /* and the web */
        "web": { "url": "https://example.test/mcp" }, // slow
    },
    "listen": "127.0.0.1:7420" /* as always */
}
"#;

#[test]
fn server_is_added_after_the_last_comment() {
    let entry = json!({ "command": "uvx", "args": ["git"], "env": { "A": "${A}" } });
    check(
        COMMENTED,
        add("git", entry),
        expect![[r#"
            // what we use
            {
                "mcpServers": {
                    // the files of the project
                    "files": {
                        "command": "npx", // from npm
                        "args": ["-y", "server-files", "${HOME}"],
                    }, // not the whole disk
                    /* and the web */
                    "web": { "url": "https://example.test/mcp" }, // slow
                    "git": {
                        "command": "uvx",
                        "args": ["git"],
                        "env": {
                            "A": "${A}"
                        }
                    },
                },
                "listen": "127.0.0.1:7420" /* as always */
            }
        "#]],
    );
}

#[test]
fn comma_precedes_the_comment() {
    check(
        "{\n  \"servers\": {\n    \"a\": { \"command\": \"a\" } // first\n  }\n}",
        add("b", json!({})),
        expect![[r#"
            {
              "servers": {
                "a": { "command": "a" }, // first
                "b": {}
              }
            }"#]],
    );
}

#[test]
fn server_is_replaced_member_by_member() {
    check(
        COMMENTED,
        replace(
            "files",
            json!({ "command": "npx", "args": ["-y"], "cwd": "." }),
        ),
        expect![[r#"
            // what we use
            {
                "mcpServers": {
                    // the files of the project
                    "files": {
                        "command": "npx", // from npm
                        "args": ["-y"],
                        "cwd": ".",
                    }, // not the whole disk
                    /* and the web */
                    "web": { "url": "https://example.test/mcp" }, // slow
                },
                "listen": "127.0.0.1:7420" /* as always */
            }
        "#]],
    );
}

#[test]
fn server_removal_keeps_comments() {
    check(
        COMMENTED,
        remove("files"),
        expect![[r#"
            // what we use
            {
                "mcpServers": {
                    // the files of the project
                    // not the whole disk
                    /* and the web */
                    "web": { "url": "https://example.test/mcp" }, // slow
                },
                "listen": "127.0.0.1:7420" /* as always */
            }
        "#]],
    );
}

#[test]
fn removing_the_last_member_removes_the_comma_before() {
    check(
        r#"{"mcpServers":{"a":{},"b":{}}}"#,
        remove("b"),
        expect![[r#"{"mcpServers":{"a":{}}}"#]],
    );
    check(
        r#"{"mcpServers":{"a":{}}}"#,
        remove("a"),
        expect![[r#"{"mcpServers":{}}"#]],
    );
}

#[test]
fn single_line_text_stays_on_one_line() {
    check(
        r#"{ "mcpServers": { "a": { "command": "a" } } }"#,
        add("b", json!({ "command": "b", "args": [1] })),
        expect![[
            r#"{ "mcpServers": { "a": { "command": "a" }, "b": { "command": "b", "args": [1] } } }"#
        ]],
    );
    check(
        "{}",
        add("b", json!({})),
        expect![[r#"{ "mcpServers": { "b": {} } }"#]],
    );
}

#[test]
fn servers_in_arrays_are_found_by_id() {
    check(
        r#"{ "servers": [ { "id": "a", "command": ["x"] } ] }"#,
        add("b", json!({ "command": "b" })),
        expect![[
            r#"{ "servers": [ { "id": "a", "command": ["x"] }, { "id": "b", "command": "b" } ] }"#
        ]],
    );
    check(
        r#"{ "mcp_servers": [] }"#,
        add("b", json!({ "command": "b" })),
        expect![[r#"{ "mcp_servers": [ { "name": "b", "command": "b" } ] }"#]],
    );
    check(
        r#"{ "mcp_servers": [ { "name": "a", "command": "x" } ] }"#,
        replace("a", json!({ "type": "builtin", "name": "demo" })),
        expect![[r#"{ "mcp_servers": [ { "name": "demo", "id": "a", "type": "builtin" } ] }"#]],
    );
    check(
        r#"{ "mcp_servers": [ { "name": "a" }, { "id": null, "name": "b" }, { "name": 1 } ] }"#,
        remove("b"),
        expect![[r#"{ "mcp_servers": [ { "name": "a" }, { "name": 1 } ] }"#]],
    );
}

#[test]
fn servers_are_toggled_by_their_existing_key() {
    let on = |entry: &str, enabled: bool, expected: Expect| {
        let text = format!(r#"{{"mcpServers": {{"a": {entry}}}}}"#);
        check(&text, enable("a", enabled), expected);
    };
    on(
        r#"{"enabled": true}"#,
        false,
        expect![[r#"{"mcpServers": {"a": {"enabled": false}}}"#]],
    );
    on(
        r#"{"disabled": false}"#,
        false,
        expect![[r#"{"mcpServers": {"a": {"disabled": true}}}"#]],
    );
    on(
        r#"{"command": "x"}"#,
        false,
        expect![[r#"{"mcpServers": {"a": {"command": "x", "disabled": true}}}"#]],
    );
    on(
        r#"{"command": "x", "disabled": true}"#,
        true,
        expect![[r#"{"mcpServers": {"a": {"command": "x"}}}"#]],
    );
    on(
        r#"{"enabled": true, "disabled": false}"#,
        false,
        expect![[r#"{"mcpServers": {"a": {"enabled": false, "disabled": true}}}"#]],
    );
    on(
        r#"{"enabled": null}"#,
        true,
        expect![[r#"{"mcpServers": {"a": {"enabled": null}}}"#]],
    );
}

#[test]
fn presets_and_their_assignments_are_edited() {
    check(
        "{\r\n\t\"mcpServers\": {}\r\n}\r\n",
        put_preset("review", json!({ "tools": ["*/read_*"] })),
        expect![[
            "{\r\n\t\"mcpServers\": {},\r\n\t\"presets\": {\r\n\t\t\"review\": {\r\n\t\t\t\"tools\": [\"*/read_*\"]\r\n\t\t}\r\n\t}\r\n}\r\n"
        ]],
    );
    check(
        r#"{ "mcpServers": {} }"#,
        switch("lazy", Some("review")),
        expect![[r#"{ "mcpServers": {}, "endpoints": { "lazy": { "preset": "review" } } }"#]],
    );
    check(
        r#"{ "endpoints": { "default": { "preset": "a", "expose": "all" } } }"#,
        switch("default", None),
        expect![[r#"{ "endpoints": { "default": { "expose": "all" } } }"#]],
    );
    check(
        r#"{ "defaultPresetId": "a" }"#,
        switch("default", None),
        expect![[r#"{ "defaultPresetId": "a", "endpoints": { "default": { "preset": false } } }"#]],
    );
    let change = Change::RemovePreset { id: "a".into() };
    check(
        r#"{ "presets": { "b": {}, "a": {}, } }"#,
        change,
        expect![[r#"{ "presets": { "b": {}, } }"#]],
    );
    assert!(has_preset(r#"{ "presets": { "b": {} } }"#, "b"));
    assert!(!has_preset(r#"{ "presets": { "b": {} } }"#, "a"));
}

#[test]
fn preset_file_keeps_its_comments() {
    let entry = json!({ "tools": ["*/*"], "name": "All" });
    let edited = preset_file("{\n  // why\n  \"name\": \"All\"\n}\n", &entry);
    let expected = "{\n  // why\n  \"name\": \"All\",\n  \"tools\": [\"*/*\"]\n}\n";
    assert_eq!(edited.as_deref(), Ok(expected));
    let edited = preset_file("{ broken", &json!({ "tools": [] }));
    assert_eq!(edited.as_deref(), Ok("{\n  \"tools\": []\n}\n"));
}

#[test]
fn impossible_changes_are_rejected() {
    let text = r#"{ "mcpServers": { "a": {}, "b": 5 }, "presets": 1, "endpoints": { "x": [] } }"#;
    for (change, expected) in [
        (add("a", json!({})), "server 'a' exists"),
        (remove("z"), "no server 'z'"),
        (replace("z", json!({})), "no server 'z'"),
        (enable("z", true), "no server 'z'"),
        (
            enable("b", true),
            "the entry of server 'b' is not an object",
        ),
        (add("c", json!(1)), "a server must be an object"),
        (put_preset("p", json!({})), "`presets` is not an object"),
        (switch("x", Some("p")), "`x` is not an object"),
        (Change::RemovePreset { id: "p".into() }, "no preset 'p'"),
    ] {
        let outcome = match edit(text, &change) {
            Ok(edited) => edited,
            Err(EditError::Unknown { kind, name }) => format!("no {kind} '{name}'"),
            Err(EditError::Exists { kind, name }) => format!("{kind} '{name}' exists"),
            Err(EditError::Unusable(outcome)) => outcome,
        };
        assert_eq!(outcome, expected, "{change:?}");
    }
    for text in [
        "",
        " // nothing",
        "[]",
        "5",
        "{",
        "{]",
        "\u{feff}",
        "{\"a\" 1}",
    ] {
        let edited = edit(text, &add("a", json!({})));
        assert!(matches!(edited, Err(EditError::Unusable(_))), "{text}");
    }
}

#[test]
fn byte_order_mark_is_kept() {
    check(
        "\u{feff}{}",
        add("a", json!({})),
        expect![["\u{feff}{ \"mcpServers\": { \"a\": {} } }"]],
    );
}

#[test]
fn ten_thousand_levels_are_rejected() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let text = format!(r#"{{ "mcpServers": {{}}, "x": {deep} }}"#);
    let edited = edit(&text, &add("a", json!({})));
    assert!(matches!(edited, Err(EditError::Unusable(_))));
}
