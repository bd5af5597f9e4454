//! Tests that every command exits with code 2 on an invalid configuration, with messages on stderr
//! and an empty stdout.

use expect_test::{Expect, expect};

use crate::program::Folder;

/// Runs `check` and every other command with an invalid configuration.
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
fn missing_file_is_reported() {
    let folder = Folder::new();
    let ran = folder.run(&["check", "--config", "nowhere.json"]);
    expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: nowhere.json: there is no such file
          help: check the path, or leave --config out to use ./narrows.json
        The configuration has 1 error.
    "#]]
    .assert_eq(&ran.shown());
}

#[test]
fn unreadable_file_is_reported() {
    let folder = Folder::new();
    let ran = folder.run(&["check", "--config", "."]);
    expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: .: the file cannot be read: Is a directory (os error 21)
        The configuration has 1 error.
    "#]]
    .assert_eq(&ran.shown());
    folder.write("latin.json", b"{\"\xe4\": 1}");
    let ran = folder.run(&["check", "--config", "latin.json"]);
    expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: latin.json: the file is not UTF-8 text
          help: save it as UTF-8
        The configuration has 1 error.
    "#]]
    .assert_eq(&ran.shown());
}

#[test]
fn invalid_json_is_reported() {
    check(
        "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" \"args\": [] }\n  }\n}",
        expect![[r#"
            error: narrows.json:3:26: this is not valid JSON: expected comma
            The configuration has 1 error.
        "#]],
    );
}

#[test]
fn invalid_structure_is_reported() {
    check(
        r#"{ "mcpServers": ["files"] }"#,
        expect![[r#"
        error: narrows.json:1:17: expected an object with a server under each id, found an array
          path: mcpServers
        The configuration has 1 error.
    "#]],
    );
    check(
        r#"{ "files": { "command": "npx" } }"#,
        expect![[r#"
        error: narrows.json:1:1: there are no servers: none of `mcpServers`, `servers` and `mcp_servers` is present
          help: write {"mcpServers": {"files": {"command": "npx", "args": [...]}}}
        warning: narrows.json:1:3: unknown key `files`
          path: files
        The configuration has 1 error.
    "#]],
    );
}

#[test]
fn stdio_server_without_a_command_is_reported() {
    check(
        r#"{ "mcpServers": { "files": { "type": "stdio" } } }"#,
        expect![[r#"
            error: narrows.json:1:19: server 'files': a stdio server needs a `command`
              path: mcpServers.files
              help: add "command": "npx", "args": [...]
            The configuration has 1 error.
        "#]],
    );
}

#[test]
fn http_server_without_a_url_is_reported() {
    check(
        r#"{ "mcp_servers": [ { "name": "search", "type": "http" } ] }"#,
        expect![[r#"
            error: narrows.json:1:20: server 'search': a server of type http needs a `url`
              path: mcp_servers[0]
              help: add "url": "https://..."
            The configuration has 1 error.
        "#]],
    );
}

#[test]
fn unknown_transport_is_reported() {
    check(
        r#"{ "servers": { "a": { "type": "carrier-pigeon", "url": "http://x" } } }"#,
        expect![[r#"
            error: narrows.json:1:31: server 'a': unknown transport `carrier-pigeon`
              path: servers.a.type
              help: use one of stdio, http, sse, ws, rpc, builtin
            The configuration has 1 error.
        "#]],
    );
}

#[test]
fn duplicate_id_is_reported() {
    check(
        r#"{ "servers": [ { "id": "a", "command": ["x"] }, { "id": "a", "command": ["y"] } ] }"#,
        expect![[r#"
            error: narrows.json:1:57: duplicate server id 'a'
              path: servers[1].id
              help: give every server its own id
            The configuration has 1 error.
        "#]],
    );
}

#[test]
fn all_problems_are_reported_at_once() {
    check(
        r#"{
  "mcpServers": {
    "a": { "command": 5 },
    "b": { "url": "ftp://x", "comand": "x" },
    "c": { "type": "stdio", "args": "x" }
  },
  "listen": "here"
}"#,
        expect![[r#"
            error: narrows.json:3:23: server 'a': expected a string or an array of strings, found a number
              path: mcpServers.a.command
            error: narrows.json:4:19: server 'b': the url scheme `ftp` is not supported
              path: mcpServers.b.url
              help: it must start with http:// or https://
            warning: narrows.json:4:30: server 'b': unknown key `comand`
              path: mcpServers.b.comand
              help: did you mean `command`?
            error: narrows.json:5:5: server 'c': a stdio server needs a `command`
              path: mcpServers.c
              help: add "command": "npx", "args": [...]
            error: narrows.json:5:37: server 'c': expected an array of strings, found a string
              path: mcpServers.c.args
              help: put the value in brackets: ["..."]
            error: narrows.json:7:13: `here` is not a listen address
              path: listen
              help: write address and port, as in "127.0.0.1:7420"
            The configuration has 5 errors.
        "#]],
    );
}
