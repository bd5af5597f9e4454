//! Tests of `check`, `tools` and `call` with the built-in server and with servers that fail.

mod call;
mod eras;
mod presets;
mod shaping;
mod transports;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use expect_test::{Expect, expect};

use crate::program::{Folder, ProgramOutput, RunningProgram};

const MIXED: &str = r#"{ "mcpServers": {
    "demo": { "type": "builtin" },
    "gone": { "command": "./nowhere" },
    "spaced": { "command": "no such program" },
    "loud": { "command": "sh", "args": ["-c", "echo my last words >&2; exit 3"] },
    "far": { "url": "http://127.0.0.1:1/mcp" },
    "off": { "command": "x", "disabled": true } } }"#;

/// Compares the output. Times and totals differ between runs and versions of the demo server, so
/// they are blanked.
#[track_caller]
fn check(ran: &ProgramOutput, expected: Expect) {
    let mut shown = String::new();
    for line in by_server(&ran.shown()).lines() {
        shown.push_str(&blank_numbers(line));
        shown.push('\n');
    }
    expected.assert_eq(&shown);
}

/// Sorts the output of `check` by server id, because servers appear in the order in which they are
/// ready.
fn by_server(shown: &str) -> String {
    let Some((before, rest)) = shown.split_once("configuration  ") else {
        return shown.to_owned();
    };
    let mut lines = rest.lines();
    let file = lines.next().unwrap_or_default();
    let (mut servers, mut after) = (Vec::<String>::new(), String::new());
    for line in lines {
        let is_server = ["up  ", "down  ", "disabled  ", "left out  "]
            .iter()
            .any(|word| line.starts_with(word));
        match servers.last_mut() {
            _ if !after.is_empty() => after.push_str(&format!("{line}\n")),
            _ if is_server => servers.push(format!("{line}\n")),
            Some(server) if line.starts_with("   ") => server.push_str(&format!("{line}\n")),
            _ => after.push_str(&format!("{line}\n")),
        }
    }
    servers.sort_by_key(|server| server[10..].to_owned());
    let servers = servers.concat();
    format!("{before}configuration  {file}\n{servers}{after}")
}

/// Replaces seconds, milliseconds, token counts and tool counts by `N`.
fn blank_numbers(line: &str) -> String {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let unit = |word: &str| {
        [
            "s", "s,", "ms", "tokens", "tokens,", "tools", "tools,", "bytes", "bytes,",
        ]
        .contains(&word)
    };
    let blank = |(index, word): (usize, &String)| {
        let next = words.get(index + 1).map_or("", String::as_str);
        let number = word
            .trim_start_matches('~')
            .chars()
            .all(|c| c.is_ascii_digit() || ".,".contains(c));
        if unit(next) && number && !word.is_empty() {
            "N".to_owned()
        } else {
            word.clone()
        }
    };
    words
        .iter()
        .enumerate()
        .map(blank)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn check_reports_servers_and_problems() {
    let folder = Folder::with(MIXED);
    let ran = folder.run(&["check"]);
    assert_eq!(ran.code, Some(1));
    check(
        &ran,
        expect![[r#"
            exit 1
            --- stdout
            configuration  narrows.json
            up        demo    builtin  2025-11-25 (legacy), N s, N tools, N tokens, 1 prompt, 1 resource, 1 template
            down      far     http     N s, no connection to http://127.0.0.1:1/mcp: tcp connect error: Connection refused (os error 111)
                      hint: is the server running, at 127.0.0.1 on port 1?
            down      gone    stdio    N s, './nowhere' does not exist
                      hint: check the path of the command
            down      loud    stdio    N s, exited with status 3
                      | my last words
            disabled  off     stdio    disabled in the configuration
            down      spaced  stdio    N s, 'no such program' was not found in PATH; arguments belong in 'args', not in 'command'
                      hint: write "command": "no", and the rest in "args"
            1 of 5 servers up, 1 disabled, N tools, N tokens, and recover_text of the gateway, N tokens
            --- stderr
        "#]],
    );
}

/// The line of a server appears before the slowest server has finished.
#[test]
fn check_prints_each_server_once_it_settles() {
    let waits = "while [ ! -e go ]; do sleep 0.05; done; exit 3";
    let config = serde_json::json!({ "mcpServers": {
        "slow": { "command": "sh", "args": ["-c", waits], "startup_timeout_s": 20 },
        "demo": { "type": "builtin" } } });
    let folder = Folder::with(&config.to_string());
    let mut running = RunningProgram::start(folder.command(&["check"]));
    let stdout = running.child.stdout.take().expect("stdout is a pipe");
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let mut printed = Vec::new();
    for line in lines.by_ref() {
        let is_demo = line.contains("demo");
        printed.push(line);
        if is_demo {
            break;
        }
    }
    folder.write("go", "");
    printed.extend(lines);
    let shown: Vec<String> = printed.iter().map(|line| blank_numbers(line)).collect();
    expect![[r#"
        configuration  narrows.json
        up        demo  builtin  2025-11-25 (legacy), N s, N tools, N tokens, 1 prompt, 1 resource, 1 template
        down      slow  stdio    N s, exited with status 3
                  hint: run the command by hand to see more
        1 of 2 servers up, N tools, N tokens, and recover_text of the gateway, N tokens"#]]
    .assert_eq(&shown.join("\n"));
    assert_eq!(running.wait().code, Some(1));
}

/// Starts a server that answers every connection with the same bytes, and returns its address.
fn web_server(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn check_hints_at_servers_with_invalid_responses() {
    let closed = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>";
    let nothing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let broken = "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>";
    let gone = "HTTP/1.1 410 Gone\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>";
    let servers = [
        ("closed", closed, "mcp"),
        ("page", page, "mcp"),
        ("nothing", nothing, "mcp"),
        ("broken", broken, "mcp"),
        ("gone", gone, "mcp"),
        ("old", nothing, "sse"),
    ];
    let servers = servers.map(|(id, answer, path)| {
        (
            id.to_owned(),
            serde_json::json!({ "url": format!("http://{}/{path}", web_server(answer)) }),
        )
    });
    let servers: serde_json::Map<_, _> = servers.into_iter().collect();
    let folder = Folder::with(&serde_json::json!({ "mcpServers": servers }).to_string());
    let ran = folder.run(&["check", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let hints = value["servers"].as_array().unwrap().iter();
    let hints = hints.map(|s| {
        format!(
            "{} {} {}\n",
            s["id"], s["failure"]["kind"], s["failure"]["hint"]
        )
    });
    expect![[r#"
        "closed" "sign_in" "it requires credentials: set \"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"}"
        "page" "wrong_transport" "is this the right URL? MCP servers are often at /mcp, older ones at /sse"
        "nothing" "wrong_transport" "is this the right URL? MCP servers are often at /mcp, older ones at /sse"
        "broken" "refused" "is this the right URL? MCP servers are often at /mcp, older ones at /sse"
        "gone" "wrong_transport" "is this the right URL? MCP servers are often at /mcp, older ones at /sse"
        "old" "wrong_transport" "is this the right URL? MCP servers are often at /mcp, older ones at /sse"
    "#]].assert_eq(&hints.collect::<String>());
}

#[test]
fn check_hints_at_servers_that_did_not_start_or_respond() {
    // The kernel accepts connections, but no program answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", silent.local_addr().unwrap());
    let config = serde_json::json!({ "mcpServers": {
        "nowhere": { "command": "sh", "cwd": "no/such/folder" },
        "denied": { "command": "./narrows.json", "cwd": "." },
        "quiet": { "command": "sh", "args": ["-c", "exit 3"] },
        "silent": { "url": url, "startup_timeout_s": 0.5, "connect_timeout_s": 0.4 },
        "slow": { "command": "sleep", "args": ["60"], "startup_timeout_s": 0.5 },
        "framed": { "command": "sleep", "args": ["60"], "startup_timeout_s": 0.5,
                    "stdio_mode": "content-length" } } });
    let ran = Folder::with(&config.to_string()).run(&["check", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let hints = value["servers"].as_array().unwrap().iter();
    let hints = hints.map(|s| {
        let failure = &s["failure"];
        format!("{} {} {}\n", s["id"], failure["kind"], failure["hint"])
    });
    expect![[r#"
        "nowhere" "process" "check `cwd`; a relative path starts at the folder of the configuration file"
        "denied" "process" "check its permissions: chmod +x makes a file executable"
        "quiet" "process" "run the command by hand to see more"
        "silent" "timed_out" "the server accepted the connection but did not respond"
        "slow" "timed_out" "the first start may download something; try again, or set startup_timeout_s above 0.5; a server that frames messages as language servers do needs \"stdio_mode\": \"content-length\""
        "framed" "timed_out" "the first start may download something; try again, or set startup_timeout_s above 0.5; most servers do not use \"stdio_mode\": \"content-length\""
    "#]].assert_eq(&hints.collect::<String>());
}

#[test]
fn check_succeeds_without_a_configuration() {
    let ran = Folder::new().run(&["check"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(ran.stdout.contains("2 of 2 servers up"), "{}", ran.stdout);
}

#[test]
fn check_names_an_unset_variable_and_tries_other_servers() {
    let folder = Folder::with(
        r#"{"mcpServers": {"demo": {"type": "builtin"}, "a": {"url": "https://x/", "headers": {"Authorization": "${NOT_SET}"}}}}"#,
    );
    let ran = folder.run(&["check"]);
    assert_eq!(ran.code, Some(2));
    check(
        &ran,
        expect![[r#"
            exit 2
            --- stdout
            configuration  narrows.json
            left out  a     http     environment variable NOT_SET is not set
            up        demo  builtin  2025-11-25 (legacy), N s, N tools, N tokens, 1 prompt, 1 resource, 1 template
            1 of 2 servers up, N tools, N tokens, and recover_text of the gateway, N tokens
            --- stderr
            error: narrows.json:1:102: server 'a': environment variable NOT_SET is not set
              path: mcpServers.a.headers.Authorization
              help: set it, or give a default: ${NOT_SET:-...}
            The configuration has 1 error.
        "#]],
    );
}

/// Three servers that cannot be started as configured, and two that can.
const LEFT_OUT: &str = r#"{ "servers": {
    "old": { "type": "sse", "url": "http://127.0.0.1:1/${NOT_SET}" },
    "demo": { "type": "builtin" },
    "asks": { "command": "x", "env": { "K": "${input:key}", "L": "${NOT_SET}" } },
    "wire": { "url": "ws://127.0.0.1:1/${input:path}" },
    "more": { "type": "builtin", "name": "demo" } } }"#;

#[test]
fn check_tries_other_servers_if_one_is_skipped() {
    let folder = Folder::with(LEFT_OUT);
    let ran = folder.run(&["check"]);
    check(
        &ran,
        expect![[r#"
            exit 2
            --- stdout
            configuration  narrows.json
            left out  asks  stdio    environment variable NOT_SET is not set; cannot prompt for ${input:...}
            up        demo  builtin  2025-11-25 (legacy), N s, N tools, N tokens, 1 prompt, 1 resource, 1 template
            up        more  builtin  2025-11-25 (legacy), N s, N tools, N tokens, 1 prompt, 1 resource, 1 template
            left out  old   sse      environment variable NOT_SET is not set
            left out  wire  ws       cannot prompt for ${input:...}
            2 of 5 servers up, N tools, N tokens, and recover_text of the gateway, N tokens
            --- stderr
            error: narrows.json:2:36: server 'old': environment variable NOT_SET is not set
              path: servers.old.url
              help: set it, or give a default: ${NOT_SET:-...}
            error: narrows.json:4:45: server 'asks': cannot prompt for ${input:...}
              path: servers.asks.env.K
              help: set an environment variable and refer to it as ${VAR}
            error: narrows.json:4:66: server 'asks': environment variable NOT_SET is not set
              path: servers.asks.env.L
              help: set it, or give a default: ${NOT_SET:-...}
            error: narrows.json:5:22: server 'wire': cannot prompt for ${input:...}
              path: servers.wire.url
              help: set an environment variable and refer to it as ${VAR}
            The configuration has 4 errors.
        "#]],
    );
    let ran = folder.run(&["check", "--json"]);
    assert_eq!(ran.code, Some(2));
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let servers = value["servers"].as_array().unwrap().iter().map(|s| {
        let (id, transport, state) = (&s["id"], &s["transport"], &s["state"]);
        let (configured, kind) = (&s["configured"], &s["failure"]["kind"]);
        format!("{id} {transport} {configured} {state} {kind}\n")
    });
    expect![[r#"
        "old" "sse" "sse" "left_out" "unset_variable"
        "demo" "builtin" "builtin" "up" null
        "asks" "stdio" null "left_out" "unsupported_input"
        "wire" "ws" null "left_out" "unsupported_input"
        "more" "builtin" "builtin" "up" null
    "#]]
    .assert_eq(&servers.collect::<String>());
}

#[test]
fn other_commands_run_without_skipped_servers() {
    let folder = Folder::with(LEFT_OUT);
    let ran = folder.run(&["call", "demo", "echo", r#"{"text": "hi"}"#]);
    check(
        &ran,
        expect![[r#"
            exit 0
            --- stdout
            hi
            --- stderr
            warning: running without server 'old': environment variable NOT_SET is not set
            warning: running without server 'asks': environment variable NOT_SET is not set; cannot prompt for ${input:...}
            warning: running without server 'wire': cannot prompt for ${input:...}
        "#]],
    );
    let ran = folder.run(&["call", "old", "echo"]);
    check(
        &ran,
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: server 'old' cannot be started: environment variable NOT_SET is not set
        "#]],
    );
    let ran = folder.run(&["tools"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let servers = ran.stdout.lines().filter(|line| !line.starts_with(' '));
    let servers: Vec<&str> = servers
        .filter_map(|line| line.split_once("  "))
        .map(|(id, _)| id)
        .collect();
    assert_eq!(servers, ["old", "demo", "asks", "wire", "more"]);
    assert!(
        ran.stderr.contains("warning: running without server 'old'"),
        "{}",
        ran.stderr
    );
}

#[test]
fn check_prints_json() {
    let folder = Folder::with(MIXED);
    let ran = folder.run(&["check", "--json"]);
    assert_eq!(ran.code, Some(1));
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(value["ok"], false);
    assert_eq!(value["config"], "narrows.json");
    let servers: Vec<String> = value["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| format!("{} {} {}", s["id"], s["state"], s["failure"]["kind"]))
        .collect();
    expect![[r#"
        "demo" "up" null
        "gone" "down" "not_found"
        "spaced" "down" "not_found"
        "loud" "down" "process"
        "far" "down" "connect"
        "off" "disabled" null
    "#]]
    .assert_eq(&format!("{}\n", servers.join("\n")));
    assert!(value["tools"].as_u64().unwrap() > 0 && value["tokens"].as_u64().unwrap() > 0);

    let folder = Folder::with(r#"{"mcpServers": {"a": {"command": 5}}}"#);
    let ran = folder.run(&["check", "--json"]);
    assert_eq!(ran.code, Some(2));
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let problem = &value["problems"][0];
    assert_eq!(problem["line"], 1);
    assert_eq!(problem["path"], "mcpServers.a.command");
    assert_eq!(problem["server"], "a");
}

#[test]
fn tools_lists_names_and_token_counts() {
    let ran = Folder::with(MIXED).run(&["tools"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    check(
        &ran,
        expect![[r#"
            exit 0
            --- stdout
            demo  N tools, N tokens
              demo__echo              ~70  Returns the given text unchanged.
              demo__sample_log        ~94  A long log of a web shop, the same every time, with a few errors in it.
              demo__sample_table      ~93  A large table of orders as JSON text: an array of objects with the same keys.
              demo__count            ~115  Counts slowly, with progress and log messages. Can be cancelled.
              demo__ask_name          ~63  Asks the user for a name with a form, and greets them.
              demo__touch_readme      ~64  Changes the resource demo://readme and notifies its subscribers.
            gone  down: './nowhere' does not exist
            spaced  down: 'no such program' was not found in PATH; arguments belong in 'args', not in 'command'
            loud  down: exited with status 3
            far  down: no connection to http://127.0.0.1:1/mcp: tcp connect error: Connection refused (os error 111)
            off  disabled in the configuration
            total: N tools, N tokens, and recover_text of the gateway, N tokens
            --- stderr
            4 servers are down; narrows check shows details
        "#]],
    );
    let ran = Folder::new().run(&["tools", "demo", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(value["servers"][0]["tools"][0]["published"], "demo__echo");
}

#[test]
fn suggested_commands_use_the_same_configuration() {
    let folder = Folder::new();
    folder.write("my own.json", MIXED);
    folder.write("plain.json", MIXED);
    let mut reported = String::new();
    for arguments in [
        &["call", "gone", "x", "--config", "plain.json"][..],
        &["call", "gone", "x", "--config", "my own.json"],
        &["call", "demo", "--config", "plain.json"],
        &["call", "nowhere__x", "--config", "plain.json"],
        &["tools", "--config", "my own.json"],
        &["tools", "gone", "--config", "plain.json"],
        &["tools", "gone", "x", "--config", "plain.json"],
        &["tools", "gone", "--config", "plain.json", "--json"],
    ] {
        let ran = folder.run(arguments);
        reported.push_str(&format!("{}\n{}", arguments.join(" "), ran.stderr));
    }
    expect![[r#"
        call gone x --config plain.json
        error: server 'gone' is down: './nowhere' does not exist
          help: narrows check --config plain.json shows details
        call gone x --config my own.json
        error: server 'gone' is down: './nowhere' does not exist
          help: narrows check --config 'my own.json' shows details
        call demo --config plain.json
        error: 'demo' is a server; name one of its tools
          help: narrows tools demo --config plain.json lists them
        call nowhere__x --config plain.json
        error: there is no tool 'nowhere__x'; available: demo__echo, demo__sample_log, demo__sample_table, demo__count, demo__ask_name, demo__touch_readme
          help: narrows tools --config plain.json lists them
        tools --config my own.json
        4 servers are down; narrows check --config 'my own.json' shows details
        tools gone --config plain.json
        1 server is down; narrows check --config plain.json shows details
        tools gone x --config plain.json
        error: server 'gone' is down: './nowhere' does not exist
          help: narrows check --config plain.json shows details
        tools gone --config plain.json --json
    "#]].assert_eq(&reported);
}

#[test]
fn serve_prints_addresses_for_every_transport() {
    let folder = Folder::new();
    let start = |format: &str| {
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--log-format", format];
        let mut running = RunningProgram::start(folder.command(&arguments));
        let port = running.port();
        running.signal("TERM");
        (port, running.wait().stderr)
    };
    let (port, reported) = start("human");
    for line in [
        format!("  older clients  http://127.0.0.1:{port}/sse\n"),
        format!("  WebSocket      ws://127.0.0.1:{port}/ws\n"),
    ] {
        assert!(reported.contains(&line), "{line} is not in {reported}");
    }
    let (port, reported) = start("json");
    for member in [
        format!(r#""sse":"http://127.0.0.1:{port}/sse""#),
        format!(r#""ws":"ws://127.0.0.1:{port}/ws""#),
    ] {
        assert!(reported.contains(&member), "{member} is not in {reported}");
    }
}

#[test]
fn tools_json_includes_server_states() {
    let config = MIXED.replace(
        "\"demo\"",
        r#""out": { "type": "rpc", "url": "${NOT_SET}" }, "demo""#,
    );
    let ran = Folder::with(&config).run(&["tools", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let servers = value["servers"].as_array().unwrap().iter();
    let states = servers.map(|s| format!("{} {} {}\n", s["id"], s["state"], s["reason"].is_null()));
    expect![[r#"
        "out" "left_out" false
        "demo" "up" true
        "gone" "down" false
        "spaced" "down" false
        "loud" "down" false
        "far" "down" false
        "off" "disabled" false
    "#]]
    .assert_eq(&states.collect::<String>());
}

#[test]
fn tools_uses_the_names_of_the_endpoint() {
    let folder = Folder::with(
        r#"{"mcpServers": {"demo": {"type": "builtin"}}, "endpoints": {"facade": {"separator": ":"}}}"#,
    );
    let ran = folder.run(&["tools", "--endpoint", "facade"]);
    assert!(ran.stdout.contains("demo:echo"), "{}", ran.shown());
}

#[test]
fn tool_is_shown_with_its_schema() {
    let folder = Folder::new();
    let ran = folder.run(&["tools", "demo", "echo"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(ran.stdout.contains("\"inputSchema\""), "{}", ran.stdout);
    let ran = folder.run(&["tools", "demo", "ecko"]);
    check(
        &ran,
        expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: server 'demo' has no tool 'ecko'; did you mean echo?
    "#]],
    );
    let ran = folder.run(&["tools", "dem"]);
    check(
        &ran,
        expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: there is no server 'dem'; did you mean demo?
    "#]],
    );
}

#[test]
fn why_explains_availability() {
    let folder = Folder::with(MIXED);
    for (name, code) in [
        ("demo__echo", 0),
        ("demo/echo", 0),
        ("demo__ecko", 1),
        ("gone__x", 1),
        ("off__x", 1),
    ] {
        let ran = folder.run(&["tools", "--why", name]);
        assert_eq!(ran.code, Some(code), "{name}: {}", ran.shown());
        assert!(ran.stdout.starts_with(name), "{}", ran.shown());
    }
}

#[test]
fn check_detects_a_url_of_its_own_gateway() {
    let folder = Folder::with(
        r#"{"listen": "127.0.0.1:17463", "mcpServers": {"demo": {"type": "builtin"},
            "loop": {"url": "http://localhost:17463/mcp"}}}"#,
    );
    check(
        &folder.run(&["check"]),
        expect![[r#"
        exit 1
        --- stdout
        configuration  narrows.json
        up        demo  builtin  2025-11-25 (legacy), N s, N tools, N tokens, 1 prompt, 1 resource, 1 template
        down      loop  http     N s, the url leads back to this gateway, which listens on 127.0.0.1:17463. Remove the entry, or give the gateway another address in `listen`
        1 of 2 servers up, N tools, N tokens, and recover_text of the gateway, N tokens
        --- stderr
    "#]],
    );
}

#[test]
fn hints_name_missing_modules() {
    let folder = Folder::with(
        r#"{"mcpServers": {
            "module": {"command": "sh", "args": ["-c", "echo \"python3: No module named x\" >&2; exit 1"]},
            "script": {"command": "sh", "args": ["-c", "echo \"Error: Cannot find module '/srv/x.js'\" >&2; exit 1"]},
            "package": {"command": "sh", "args": ["-c", "echo \"Error: Cannot find module 'x'\" >&2; exit 1"]},
            "echo": {"command": "cat"}}}"#,
    );
    check(
        &folder.run(&["check"]),
        expect![[r#"
        exit 1
        --- stdout
        configuration  narrows.json
        down      echo     stdio    N s, it sends back what it receives, so it is not an MCP server
                  hint: check "command" and "args": they start a different program
        down      module   stdio    N s, exited with status 1
                  | python3: No module named x
                  hint: a Python module is missing: install it for the Python of "command", or start the server with uvx, which installs its modules
        down      package  stdio    N s, exited with status 1
                  | Error: Cannot find module 'x'
                  hint: a Node.js package is missing: run npm install in the server's folder, or start it with npx
        down      script   stdio    N s, exited with status 1
                  | Error: Cannot find module '/srv/x.js'
                  hint: check the path of the script in "args": a relative path starts at "cwd"
        0 of 4 servers up, N tools, N tokens, and recover_text of the gateway, N tokens
        --- stderr
    "#]],
    );
}

#[test]
fn hidden_tools_are_counted_separately() {
    let folder =
        Folder::with(r#"{"mcpServers": {"demo": {"type": "builtin", "includeTools": []}}}"#);
    let ran = folder.run(&["check"]);
    assert!(
        ran.stdout.contains("0 tools, 6 hidden, ~0 tokens"),
        "{}",
        ran.shown()
    );
}

#[test]
fn interrupted_check_names_the_starting_servers() {
    let folder = Folder::with(
        r#"{"mcpServers": {"slow": {"command": "sh", "args": ["-c", "echo > started; sleep 60"]}},
            "limits": {"grace_s": 0.1}}"#,
    );
    let running = RunningProgram::start(folder.command(&["check"]));
    while folder.read("started").is_none() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    running.signal("INT");
    let ran = running.wait();
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    assert!(
        ran.stderr
            .contains("interrupted while waiting for 1 server: slow"),
        "{}",
        ran.shown()
    );
}
