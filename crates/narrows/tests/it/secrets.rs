//! Tests that no value of `env`, `headers`, `args`, a URL or a variable is ever printed.

use std::io::{Read, Write};
use std::net::TcpListener;

use narrows_testkit::scripted::{Script, Step, Transport};
use serde_json::json;

use crate::program::{Folder, RunningProgram};

/// Replaces `CANARY` in the texts below, and is the value of `HIDDEN`.
const CANARY: &str = "s3cr3t-bird";

/// `user:` and the canary, as encoded in a header.
const ENCODED: &str = "dXNlcjpzM2NyM3QtYmlyZA";

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
        let printed = text.contains(CANARY) || text.contains(ENCODED);
        assert!(!printed, "{arguments:?} printed it:\n{text}");
    }
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--log-level", "trace"];
    let mut command = folder.command(&arguments);
    command.env("HIDDEN", CANARY);
    let running = RunningProgram::start(command);
    std::thread::sleep(std::time::Duration::from_millis(500));
    running.signal("TERM");
    let ran = running.wait();
    let text = ran.shown();
    let printed = text.contains(CANARY) || text.contains(ENCODED);
    assert!(!printed, "serve printed it:\n{text}");
}

#[test]
fn output_of_a_valid_configuration_has_no_secrets() {
    check(
        r#"{ "mcpServers": {
            "a": { "command": "sh", "args": ["-c", "exit 3", "CANARY"],
                   "env": { "K": "CANARY", "L": "${HIDDEN}", "M": "{HIDDEN}" } },
            "b": { "url": "http://user:CANARY@127.0.0.1:1/mcp?key=${HIDDEN}",
                   "headers": { "Authorization": "Bearer ${HIDDEN}", "X-Key": "CANARY" } },
            "c": { "type": "sse", "url": "http://user:CANARY@127.0.0.1:1/sse?key=${HIDDEN}",
                   "headers": { "X-Key": "CANARY" } },
            "d": { "type": "ws", "url": "ws://user:CANARY@127.0.0.1:1/ws?key=${HIDDEN}",
                   "headers": { "X-Key": "CANARY" } },
            "e": { "type": "rpc", "url": "http://user:CANARY@127.0.0.1:1/?key=${HIDDEN}",
                   "headers": { "X-Key": "CANARY" } } } }"#,
    );
}

/// Returns one server of each remote type at `address`, each as the server `a` that is called.
fn at_address(address: &str, paths: [&str; 4]) -> Vec<String> {
    let kinds = ["http", "sse", "ws", "rpc"];
    let one = |(kind, path): (&str, &str)| {
        let scheme = if kind == "ws" { "ws" } else { "http" };
        let url = format!("{scheme}://user:CANARY@{address}{path}?key=${{HIDDEN}}");
        let headers = json!({ "X-Key": "CANARY", "X-Other": "Token ${HIDDEN}" });
        let mut servers = json!({ "a": { "type": kind, "url": url, "headers": headers } });
        servers["b"] = servers["a"].clone();
        servers["b"]["headers"]["Authorization"] = "Bearer CANARY".into();
        servers["c"] = json!({ "type": kind, "url": servers["a"]["url"] });
        json!({ "mcpServers": servers }).to_string()
    };
    kinds.into_iter().zip(paths).map(one).collect()
}

#[test]
fn echoed_request_in_a_refusal_is_redacted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap_or(0);
            let length = format!("Content-Length: {read}\r\nConnection: close\r\n\r\n");
            let head = format!("HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n{length}");
            let _ = stream.write_all(&[head.as_bytes(), &request[..read]].concat());
        }
    });
    for config in at_address(&address, ["/", "/", "/", "/"]) {
        check(&config);
    }
}

#[tokio::test]
async fn secret_repeated_in_a_server_error_is_redacted() {
    let script = Script::new("alpha").on("initialize", [Step::error(-32000, CANARY)]);
    let installed = script.install();
    let served = installed.serve_http().await;
    for config in at_address(served.address(), ["/mcp", "/sse", "/ws", ""]) {
        check(&config);
    }
    let reason = format!("no {CANARY}");
    let close = Step::Close { code: 1008, reason };
    let installed = Script::new("alpha").on("initialize", [close]).install();
    let served = installed.serve_http().await;
    let mut entry = served.config_of(Transport::WebSocket);
    entry["headers"] = json!({ "X-Key": CANARY });
    check(&json!({ "mcpServers": { "a": entry } }).to_string());
}

#[tokio::test]
async fn output_of_running_servers_has_no_secrets() {
    let installed = Script::new("alpha").plain_tool("b").install();
    let served = installed.serve_http().await;
    for config in at_address(served.address(), ["/mcp", "/sse", "/ws", ""]) {
        let folder = Folder::with(&config.replace("CANARY", CANARY));
        let mut command = folder.command(&["check"]);
        let ran = command.env("HIDDEN", CANARY).output().unwrap();
        assert!(ran.status.success(), "{config}");
        check(&config);
    }
}

#[test]
fn output_of_an_invalid_configuration_has_no_secrets() {
    check(
        r#"{ "mcpServers": {
            "a": { "type": "http", "url": "no url CANARY", "headers": { "X": "CANARY\n", "bad name": "CANARY" } },
            "b": { "url": "gopher://CANARY@x/CANARY" },
            "c": { "command": "x", "args": ["CANARY", "${NOT_SET}", "${CANARY", "${NOT_SET:CANARY}"],
                   "env": { "K": "CANARY${NOT_SET}", "": "CANARY" } },
            "d": { "command": ["", "CANARY"], "headers": { "A": "CANARY" } },
            "e": { "type": "ws", "url": "ws://CANARY" },
            "f": { "type": "sse", "url": "wss://user:CANARY@x/CANARY?key=CANARY" },
            "g": { "type": "ws", "url": "https://user:CANARY@x/CANARY?key=CANARY" },
            "h": { "type": "rpc", "url": "http://user:CANARY@x/CANARY/rpc?key=CANARY" },
            "i": { "url": "/CANARY?to=http://x" }, "j": { "type": "ws", "url": "wss://:1/CANARY" },
            "k": { "url": "http://user:CANARY/mcp" }, "l": { "url": "user:CANARY@example.test/mcp" },
            "m": { "url": "example.test/CANARY?key=CANARY" }, "n": { "url": "CANARY:80/mcp" },
            "o": { "url": " http://x/CANARY" } } }"#,
    );
    check(
        r#"{ "mcpServers": { "a": { "command": "x", "env": { "K": "CANARY", } "L": "CANARY" } } }"#,
    );
    check(r#"{ "mcpServers": { "a": { "command": "x", "env": { "K": "CANARY } } } }"#);
}

#[test]
fn output_for_an_unset_variable_has_no_secrets() {
    check(
        r#"{ "mcpServers": {
            "a": { "command": "x", "env": { "K": "CANARY ${NOT_SET}" } },
            "b": { "url": "http://CANARY:${NOT_SET}@x", "headers": { "A": "CANARY${NOT_SET}" } } } }"#,
    );
}
