//! No value of `env`, `headers`, `args` or a URL, and no variable's value, is
//! ever printed.

use crate::program::{Folder, Running};

/// Stands for `CANARY` in the texts below, and is the value of `HIDDEN`.
const CANARY: &str = "s3cr3t-bird";

#[track_caller]
fn check(config: &str) {
    let folder = Folder::with(&config.replace("CANARY", CANARY));
    let commands: &[&[&str]] = &[
        &["check", "--log-level", "trace"],
        &[
            "check",
            "--json",
            "--log-level",
            "trace",
            "--log-format",
            "human",
        ],
        &["tools", "--log-level", "trace"],
        &["tools", "--why", "a__b", "--log-level", "trace"],
        &["call", "a", "b", "--explain", "--log-level", "trace"],
        &["stdio", "--log-level", "trace"],
    ];
    for arguments in commands {
        let mut command = folder.command(arguments);
        let ran = command.env("HIDDEN", CANARY).output().unwrap();
        let text = [ran.stdout, ran.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert!(!text.contains(CANARY), "{arguments:?} printed it:\n{text}");
    }
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--log-level", "trace"];
    let mut command = folder.command(&arguments);
    command.env("HIDDEN", CANARY);
    let running = Running::start(command);
    std::thread::sleep(std::time::Duration::from_millis(500));
    running.signal("TERM");
    let ran = running.wait();
    let text = ran.shown();
    assert!(!text.contains(CANARY), "serve printed it:\n{text}");
}

#[test]
fn where_everything_is_right() {
    check(
        r#"{ "mcpServers": {
            "a": { "command": "sh", "args": ["-c", "exit 3", "CANARY"],
                   "env": { "K": "CANARY", "L": "${HIDDEN}", "M": "{HIDDEN}" } },
            "b": { "url": "http://user:CANARY@127.0.0.1:1/mcp?key=${HIDDEN}",
                   "headers": { "Authorization": "Bearer ${HIDDEN}", "X-Key": "CANARY" } } } }"#,
    );
}

#[test]
fn where_everything_is_wrong() {
    check(
        r#"{ "mcpServers": {
            "a": { "type": "http", "url": "no url CANARY", "headers": { "X": "CANARY\n", "bad name": "CANARY" } },
            "b": { "url": "gopher://CANARY@x/CANARY" },
            "c": { "command": "x", "args": ["CANARY", "${NOT_SET}", "${CANARY", "${NOT_SET:CANARY}"],
                   "env": { "K": "CANARY${NOT_SET}", "": "CANARY" } },
            "d": { "command": ["", "CANARY"], "headers": { "A": "CANARY" } },
            "e": { "type": "ws", "url": "ws://CANARY" } } }"#,
    );
    check(
        r#"{ "mcpServers": { "a": { "command": "x", "env": { "K": "CANARY", } "L": "CANARY" } } }"#,
    );
    check(r#"{ "mcpServers": { "a": { "command": "x", "env": { "K": "CANARY } } } }"#);
}

#[test]
fn where_a_variable_is_not_set() {
    check(
        r#"{ "mcpServers": {
            "a": { "command": "x", "env": { "K": "CANARY ${NOT_SET}" } },
            "b": { "url": "http://CANARY:${NOT_SET}@x", "headers": { "A": "CANARY${NOT_SET}" } } } }"#,
    );
}
