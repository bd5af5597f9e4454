//! Wrong configurations end the program with exit code 2, say what is wrong on
//! stderr, and leave stdout empty, whatever the command.

use expect_test::{Expect, expect};

use crate::program::Folder;

/// Runs `check` with a wrong configuration, and every other command too.
#[track_caller]
fn check(config: &str, expected: Expect) {
    let folder = Folder::with(config);
    let ran = folder.run(&["check"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(2), ""),
        "{}",
        ran.stderr
    );
    expected.assert_eq(&ran.stderr);
    for command in [
        &["serve", "--listen", "127.0.0.1:0"][..],
        &["stdio"],
        &["tools"],
        &["call", "a", "b"],
    ] {
        let other = folder.run(command);
        assert_eq!(
            (other.code, other.stdout.as_str()),
            (Some(2), ""),
            "{command:?}"
        );
        assert_eq!(other.stderr, ran.stderr, "{command:?}");
    }
}

#[test]
fn a_missing_file() {
    let folder = Folder::new();
    let ran = folder.run(&["check", "--config", "nowhere.json"]);
    expect![[""]].assert_eq(&ran.shown());
}

#[test]
fn a_file_that_cannot_be_read() {
    let folder = Folder::new();
    let ran = folder.run(&["check", "--config", "."]);
    expect![[""]].assert_eq(&ran.shown());
    folder.write("latin.json", b"{\"\xe4\": 1}");
    let ran = folder.run(&["check", "--config", "latin.json"]);
    expect![[""]].assert_eq(&ran.shown());
}

#[test]
fn bad_json() {
    check(
        "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" \"args\": [] }\n  }\n}",
        expect![[""]],
    );
}

#[test]
fn wrong_structure() {
    check(r#"{ "mcpServers": ["files"] }"#, expect![[""]]);
    check(r#"{ "files": { "command": "npx" } }"#, expect![[""]]);
}

#[test]
fn a_stdio_server_without_a_command() {
    check(
        r#"{ "mcpServers": { "files": { "type": "stdio" } } }"#,
        expect![[""]],
    );
}

#[test]
fn an_http_server_without_a_url() {
    check(
        r#"{ "mcp_servers": [ { "name": "search", "type": "http" } ] }"#,
        expect![[""]],
    );
}

#[test]
fn an_unknown_transport() {
    check(
        r#"{ "servers": { "a": { "type": "carrier-pigeon", "url": "http://x" } } }"#,
        expect![[""]],
    );
}

#[test]
fn a_duplicate_id() {
    check(
        r#"{ "servers": [ { "id": "a", "command": ["x"] }, { "id": "a", "command": ["y"] } ] }"#,
        expect![[""]],
    );
}

#[test]
fn a_transport_that_is_not_supported_yet() {
    check(
        r#"{ "mcpServers": { "q": { "type": "rpc", "url": "http://127.0.0.1:8005" } } }"#,
        expect![[""]],
    );
}

#[test]
fn everything_at_once() {
    check(
        r#"{
  "mcpServers": {
    "a": { "command": 5 },
    "b": { "url": "ftp://x", "comand": "x" },
    "c": { "type": "stdio", "args": "x" }
  },
  "listen": "here"
}"#,
        expect![[""]],
    );
}
