//! Tests of servers that cannot be started as configured, in a running gateway.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::gateway::Gateway;

fn config() -> Value {
    json!({ "mcpServers": {
        "b": { "command": "x", "envFile": "gone.env" },
        "demo": { "type": "builtin" } } })
}

/// Runs a command and compares the output, with the gateway's folder blanked.
#[track_caller]
fn check(gateway: &Gateway, arguments: &[&str], expected: Expect) {
    let ran = gateway.folder().run(&[&["servers"], arguments].concat());
    let folder = gateway.folder().path().display().to_string();
    let shown = ran.shown().replace(&folder, "HERE");
    // Times and pauses differ between runs.
    let is_stable = |line: &&str| !line.starts_with("up ") && !line.starts_with("down ");
    let lines: Vec<&str> = shown.lines().filter(is_stable).collect();
    expected.assert_eq(&format!("{}\n", lines.join("\n")));
}

#[tokio::test]
async fn skipped_server_is_listed_with_the_reason() {
    let gateway = Gateway::serve(&config()).await;
    check(
        &gateway,
        &[],
        expect![[r#"
        exit 0
        --- stdout
        left out  b     stdio    the env file 'HERE/gone.env' cannot be read: there is no such file
        1 of 2 servers up, 6 tools, ~499 tokens
        --- stderr
    "#]],
    );
    check(
        &gateway,
        &["show", "b"],
        expect![[r#"
        exit 0
        --- stdout
        left out  b  stdio    the env file 'HERE/gone.env' cannot be read: there is no such file
        --- stderr
    "#]],
    );
    check(
        &gateway,
        &["restart", "b"],
        expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: server 'b' cannot be started: the env file 'HERE/gone.env' cannot be read: there is no such file
    "#]],
    );
    check(
        &gateway,
        &["enable", "b"],
        expect![[r#"
        exit 1
        --- stdout
        nothing has changed
        not saved: the change lasts until the gateway exits; use --save to keep it
        left out  b  stdio    the env file 'HERE/gone.env' cannot be read: there is no such file
        --- stderr
        warning: narrows.json:1:45: server 'b': the env file 'HERE/gone.env' cannot be read: there is no such file (mcpServers.b.envFile); create it, or fix the path: a relative path starts at the folder of this configuration file; then save this file again or send SIGHUP to the gateway
        warning: running without server 'b': the env file 'HERE/gone.env' cannot be read: there is no such file
        error: server 'b' cannot be started as configured, and is left out until the configuration is corrected
    "#]],
    );
    check(
        &gateway,
        &["disable", "b", "--save"],
        expect![[r#"
        exit 0
        --- stdout
        disabled b
        saved to narrows.json
        --- stderr
    "#]],
    );
    let text = gateway.folder().read("narrows.json").expect("it is there");
    assert!(text.contains("disabled"), "{text}");
    check(
        &gateway,
        &["enable", "b", "--save"],
        expect![[r#"
        exit 1
        --- stdout
        left out b
        saved to narrows.json
        left out  b  stdio    the env file 'HERE/gone.env' cannot be read: there is no such file
        --- stderr
        warning: narrows.json:1:45: server 'b': the env file 'HERE/gone.env' cannot be read: there is no such file (mcpServers.b.envFile); create it, or fix the path: a relative path starts at the folder of this configuration file; then save this file again or send SIGHUP to the gateway
        warning: running without server 'b': the env file 'HERE/gone.env' cannot be read: there is no such file
        error: server 'b' cannot be started as configured, and is left out until the configuration is corrected
    "#]],
    );
}

#[tokio::test]
async fn save_reports_earlier_unsaved_changes() {
    let gateway = Gateway::serve(&config()).await;
    check(
        &gateway,
        &["remove", "demo"],
        expect![[r#"
        exit 0
        --- stdout
        removed demo
        not saved: the change lasts until the gateway exits; use --save to keep it
        --- stderr
    "#]],
    );
    check(
        &gateway,
        &["remove", "demo", "--save"],
        expect![[r#"
        exit 0
        --- stdout
        removed demo from the file; the gateway had already removed it
        saved to narrows.json
        --- stderr
    "#]],
    );
    let entry = r#"{"type": "builtin", "name": "demo"}"#;
    check(
        &gateway,
        &["add", "more", "--wait", "0", "--json", entry],
        expect![[r#"
            exit 0
            --- stdout
            added more
            not saved: the change lasts until the gateway exits; use --save to keep it
            --- stderr
        "#]],
    );
    check(
        &gateway,
        &["disable", "more"],
        expect![[r#"
        exit 0
        --- stdout
        disabled more
        not saved: the change lasts until the gateway exits; use --save to keep it
        --- stderr
    "#]],
    );
    check(
        &gateway,
        &["disable", "more", "--save"],
        expect![[r#"
        exit 0
        --- stdout
        disabled more in the file; the gateway had already disabled it
        wrote the whole entry, because the file did not have it
        saved to narrows.json
        --- stderr
    "#]],
    );
    check(
        &gateway,
        &["disable", "more", "--save"],
        expect![[r#"
        exit 0
        --- stdout
        nothing has changed
        narrows.json already has this setting
        --- stderr
    "#]],
    );
}

#[tokio::test]
async fn corrected_add_replaces_a_server_that_never_started() {
    let gateway = Gateway::serve(&config()).await;
    let wrong = ["add", "more", "--save", "--", "./nowhere"];
    check(
        &gateway,
        &wrong,
        expect![[r#"
        exit 1
        --- stdout
        added more
        saved to narrows.json
        --- stderr
        error: server 'more' did not come up; the gateway keeps trying
          help: `narrows servers show more` shows its state
    "#]],
    );
    let right = r#"{"type": "builtin", "name": "demo"}"#;
    check(
        &gateway,
        &["add", "more", "--save", "--json", right],
        expect![[r#"
            exit 0
            --- stdout
            replaced more
            saved to narrows.json
            --- stderr
        "#]],
    );
    // The server is up now, so adding another with its name needs `--replace`.
    check(
        &gateway,
        &["add", "more", "--json", right],
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: server 'more' already exists
              help: use --replace to replace it
        "#]],
    );
}

#[tokio::test]
async fn looping_entry_is_not_reported_as_retried() {
    let gateway = Gateway::serve(&config()).await;
    let url = format!("http://{}/mcp", gateway.address());
    let ran = gateway
        .folder()
        .run(&["servers", "add", "back", "--url", &url]);
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    expect![[r#"
        error: server 'back' did not come up, and is not retried until its entry changes
          help: `narrows servers remove back` removes it
    "#]]
    .assert_eq(&ran.stderr);
}
