//! `check`, `tools` and `call` against the built-in server and dead ones.

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
    check(&ran, expect![[""]]);
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
    check(&ran, expect![[""]]);
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
    expect![[""]].assert_eq(&format!("{}\n", servers.join("\n")));
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
    check(&ran, expect![[""]]);
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
    check(&ran, expect![[""]]);
    let ran = folder.run(&["tools", "dem"]);
    check(&ran, expect![[""]]);
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
    let arguments = r#"{"message": "hello"}"#;
    let ran = folder.run(&["call", "demo", "echo", arguments]);
    check(&ran, expect![[""]]);
    let ran = folder.run_with_input(&["call", "demo", "echo", "-"], arguments);
    check(&ran, expect![[""]]);
    folder.write("arguments.json", arguments);
    let ran = folder.run(&["call", "demo", "demo__echo", "@arguments.json", "--json"]);
    check(&ran, expect![[""]]);
    let ran = folder.run(&["call", "demo", "echo", arguments, "--explain"]);
    check(&ran, expect![[""]]);
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
    check(&folder.run(&["call", "demo", "ecko"]), expect![[""]]);
}
