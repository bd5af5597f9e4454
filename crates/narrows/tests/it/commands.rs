//! `check`, `tools` and `call` against the built-in server and dead ones.

use std::io::{Read, Write};
use std::net::TcpListener;

use expect_test::{Expect, expect};

use crate::program::{Folder, Ran};

const MIXED: &str = r#"{ "mcpServers": {
    "demo": { "type": "builtin" },
    "gone": { "command": "./nowhere" },
    "spaced": { "command": "no such program" },
    "loud": { "command": "sh", "args": ["-c", "echo my last words >&2; exit 3"] },
    "far": { "url": "http://127.0.0.1:1/mcp" },
    "off": { "command": "x", "disabled": true } } }"#;

/// Times and totals differ between runs and versions of the demo server.
#[track_caller]
fn check(ran: &Ran, expected: Expect) {
    let mut shown = String::new();
    for line in ran.shown().lines() {
        shown.push_str(&blank_numbers(line));
        shown.push('\n');
    }
    expected.assert_eq(&shown);
}

/// Seconds, milliseconds, token and tool counts become `N`.
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
fn check_says_what_is_there_and_what_is_wrong() {
    let folder = Folder::with(MIXED);
    let ran = folder.run(&["check"]);
    assert_eq!(ran.code, Some(1));
    check(
        &ran,
        expect![[r#"
            exit 1
            --- stdout
            configuration  narrows.json
            up        demo    builtin  2025-11-25, N s, N tools, N tokens, 1 prompt, 1 resource, 1 template
            down      gone    stdio    './nowhere' is not there
                      hint: look at the path of the command
            down      spaced  stdio    'no such program' was not found in PATH (/usr/bin:/bin); arguments belong in 'args', not in 'command'
                      hint: install it, write its whole path, or mend PATH
            down      loud    stdio    exited with status 3
                      | my last words
            down      far     http     no connection to http://127.0.0.1:1/mcp: tcp connect error: Connection refused (os error 111)
                      hint: is the server running, at 127.0.0.1 on port 1?
            disabled  off     stdio    disabled in the configuration
            1 of 5 servers up, N tools, N tokens
            --- stderr
        "#]],
    );
}

/// Answers every connection with the same bytes; its address.
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
fn check_has_a_hint_for_servers_that_answer_something_else() {
    let closed = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>";
    let nothing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let servers = [("closed", closed), ("page", page), ("nothing", nothing)];
    let servers = servers.map(|(id, answer)| {
        (
            id.to_owned(),
            serde_json::json!({ "url": format!("http://{}/mcp", web_server(answer)) }),
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
        "closed" "sign_in" "it wants credentials: \"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"}"
        "page" "wrong_transport" "is this the right URL? MCP servers often sit at /mcp"
        "nothing" "wrong_transport" "is this the right URL? MCP servers often sit at /mcp"
    "#]].assert_eq(&hints.collect::<String>());
}

#[test]
fn check_without_a_configuration_is_fine() {
    let ran = Folder::new().run(&["check"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(ran.stdout.contains("1 of 1 server up"), "{}", ran.stdout);
}

#[test]
fn check_names_the_variable_that_is_not_set_and_still_tries_the_others() {
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
        up        demo  builtin  2025-11-25, N s, N tools, N tokens, 1 prompt, 1 resource, 1 template
        left out  a              environment variable NOT_SET is not set
        1 of 2 servers up, N tools, N tokens
        --- stderr
        error: narrows.json:1:102: server 'a': environment variable NOT_SET is not set
          path: mcpServers.a.headers.Authorization
          help: set it, or give a default: ${NOT_SET:-...}
        The configuration has 1 error.
    "#]],
    );
}

#[test]
fn check_answers_programs_in_json() {
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
fn tools_lists_names_and_costs() {
    let ran = Folder::with(MIXED).run(&["tools"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    check(
        &ran,
        expect![[r#"
            exit 0
            --- stdout
            demo  N tools, N tokens
              demo__echo              ~74  Gives back the text it was given.
              demo__sample_log        ~92  A long log of a web shop, the same every time, with a few errors in it.
              demo__sample_table      ~94  A large table of orders as JSON text: an array of objects with the same keys.
              demo__count            ~116  Counts slowly, with progress and log messages. Can be cancelled.
              demo__ask_name          ~62  Asks the user for a name by a form, and greets them.
              demo__touch_readme      ~75  Changes the resource demo://readme and tells who has subscribed to it.
            gone  './nowhere' is not there
            spaced  'no such program' was not found in PATH (/usr/bin:/bin); arguments belong in 'args', not in 'command'
            loud  exited with status 3
            far  no connection to http://127.0.0.1:1/mcp: tcp connect error: Connection refused (os error 111)
            off  disabled in the configuration
            in all N tools, N tokens
            --- stderr
        "#]],
    );
    let ran = Folder::new().run(&["tools", "demo", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(value["servers"][0]["tools"][0]["published"], "demo__echo");
}

#[test]
fn tools_of_another_endpoint_have_its_names() {
    let folder = Folder::with(
        r#"{"mcpServers": {"demo": {"type": "builtin"}}, "endpoints": {"facade": {"separator": ":"}}}"#,
    );
    let ran = folder.run(&["tools", "--endpoint", "facade"]);
    assert!(ran.stdout.contains("demo:echo"), "{}", ran.shown());
}

#[test]
fn one_tool_is_shown_with_its_schema() {
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
fn why_a_tool_is_there_or_not() {
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
fn call_prints_the_text() {
    let folder = Folder::with(MIXED);
    let arguments = r#"{"text": "hello"}"#;
    let ran = folder.run(&["call", "demo", "echo", arguments]);
    check(
        &ran,
        expect![[r#"
            exit 0
            --- stdout
            hello
            --- stderr
        "#]],
    );
    let ran = folder.run_with_input(&["call", "demo", "echo", "-"], arguments);
    check(
        &ran,
        expect![[r#"
            exit 0
            --- stdout
            hello
            --- stderr
        "#]],
    );
    folder.write("arguments.json", arguments);
    let ran = folder.run(&["call", "demo", "demo__echo", "@arguments.json", "--json"]);
    check(
        &ran,
        expect![[r#"
            exit 0
            --- stdout
            {"content":[{"type":"text","text":"hello"}]}
            --- stderr
        "#]],
    );
    let ran = folder.run(&["call", "demo", "echo", arguments, "--explain"]);
    check(
        &ran,
        expect![[r#"
            exit 0
            --- stdout
            hello
            --- stderr
            endpoint:   default
            published:  demo__echo
            server:     demo (builtin)
            its name:   echo
            arguments:  N bytes
            time:       N ms
            result:     N bytes, N tokens
        "#]],
    );
}

#[test]
fn call_shows_what_happens_on_the_way() {
    let folder = Folder::new();
    let ran = folder.run(&["call", "demo", "count", r#"{"steps": 2, "delay_ms": 1}"#]);
    check(
        &ran,
        expect![[r#"
        exit 0
        --- stdout
        Counted to 2
        --- stderr
        progress: 1 of 2 Step 1 of 2
        info: {"step":1,"of":2}
        progress: 2 of 2 Step 2 of 2
        info: {"step":2,"of":2}
    "#]],
    );
    let ran = folder.run(&["call", "demo", "ask_name"]);
    check(
        &ran,
        expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: the tool reports: The user cannot be asked: this client does not support elicitation
    "#]],
    );
}

#[test]
fn an_error_of_the_tool_is_no_answer() {
    let ran = Folder::new().run(&["call", "demo", "echo", r#"{"wrong": 1}"#]);
    check(
        &ran,
        expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: the tool reports: Unknown argument 'wrong': 'echo' takes text
    "#]],
    );
}

#[test]
fn call_says_why_it_did_not_work() {
    let folder = Folder::with(MIXED);
    for arguments in [
        &["call", "dmo", "echo"][..],
        &["call", "demo", "ecko"],
        &["call", "off", "x"],
        &["call", "loud", "x"],
    ] {
        let ran = folder.run(arguments);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(1), ""),
            "{arguments:?}"
        );
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    }
    check(
        &folder.run(&["call", "demo", "ecko"]),
        expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: server 'demo' has no tool 'ecko'; did you mean echo?
    "#]],
    );
}
