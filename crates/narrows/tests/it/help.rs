//! Tests of help texts and wrong usage.

use std::process::Stdio;

use crate::program::Folder;

#[test]
fn every_command_has_examples() {
    let folder = Folder::new();
    let configured = [
        "serve", "stdio", "check", "tools", "call", "servers", "presets", "sessions",
    ];
    for command in configured
        .into_iter()
        .chain(["pruner", "token", "mask", "toon", "ts", "prune"])
    {
        let ran = folder.run(&[command, "--help"]);
        assert_eq!(ran.code, Some(0));
        assert_eq!(ran.stderr, "");
        for part in ["Examples:", "--log-level", "--log-format", "narrows "] {
            assert!(
                ran.stdout.contains(part),
                "{command} --help lacks {part}:\n{}",
                ran.stdout
            );
        }
    }
    for command in configured {
        let ran = folder.run(&[command, "--help"]);
        assert!(ran.stdout.contains("--config"), "{}", ran.stdout);
    }
    let ran = folder.run(&["--help"]);
    assert!(ran.stdout.contains("Examples:") && ran.stdout.contains("Exit codes"));
    assert!(
        !ran.stdout.contains("__guard"),
        "the guard is not a command for users"
    );
}

#[test]
fn every_admin_command_has_examples_and_gateway_options() {
    let folder = Folder::new();
    let actions = [
        ("servers", "list show add remove enable disable restart"),
        ("presets", "list show put delete use"),
        ("sessions", "list end calls watch"),
    ];
    for (command, actions) in actions {
        let whole = folder.run(&[command, "--help"]).stdout;
        assert!(whole.contains("NARROWS_ADMIN_TOKEN"), "{whole}");
        for action in actions.split(' ') {
            let ran = folder.run(&[command, action, "--help"]);
            assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
            let example = format!("narrows {command} {action}");
            for part in [
                "Examples:",
                &example,
                "--gateway",
                "--token-file",
                "--config",
            ] {
                assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
            }
            assert!(whole.contains(&format!("\n  {action} ")), "{whole}");
        }
    }
}

#[test]
fn help_lists_client_addresses_and_ineffective_options() {
    let folder = Folder::new();
    let words = |command: &str| {
        let ran = folder.run(&[command, "--help"]);
        let words: Vec<&str> = ran.stdout.split_whitespace().collect();
        words.join(" ")
    };
    let serve = words("serve");
    let no_watch = "Do not watch the configuration file for changes";
    assert!(serve.contains(no_watch), "{serve}");
    for address in [
        "http://ADDRESS/mcp",
        "http://ADDRESS/sse",
        "ws://ADDRESS/ws",
    ] {
        assert!(serve.contains(address), "{address} is not in {serve}");
    }
    let stdio = words("stdio");
    for part in [
        "claude mcp add tools -- narrows stdio --expose lazy",
        "--preset <ID>",
    ] {
        assert!(stdio.contains(part), "{part} is not in {stdio}");
    }
    assert!(!stdio.contains("not in this version"), "{stdio}");
    let call = words("call");
    for part in [
        "--goal <TEXT>",
        "--goal 'find the retry' --explain",
        "`recovery.path`",
    ] {
        assert!(call.contains(part), "{part} is not in {call}");
    }
    assert!(words("tools").contains("If the configuration sets `recovery.path`"));
    for command in ["check", "tools"] {
        let text = words(command);
        let states = "state is up, starting, down, disabled or left_out";
        assert!(text.contains(states), "{text}");
    }
}

#[test]
fn help_documents_every_member_of_check_json() {
    let folder = Folder::with(r#"{"mcpServers": {"a": {"command": "./nowhere"}}}"#);
    let ran = folder.run(&["check", "--json"]);
    let whole: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let help = folder.run(&["check", "--help"]).stdout;
    let (_, help) = help
        .split_once("--json prints")
        .expect("it describes the JSON");
    // Top-level members start a line; members of their parts are in braces.
    let of_whole = help.lines().filter_map(|line| line.strip_prefix("  "));
    let of_whole = of_whole.filter_map(|line| line.split(' ').next());
    let of_parts = help.split(['{', '}']).skip(1).step_by(2);
    let of_parts = of_parts.flat_map(|part| part.split(',')).map(str::trim);
    let words: Vec<&str> = of_whole.chain(of_parts).collect();
    let server = &whole["servers"][0];
    for object in [&whole, server, &server["failure"]] {
        for key in object.as_object().expect("an object").keys() {
            assert!(words.contains(&key.as_str()), "{key} is not in the help");
        }
    }
}

#[test]
fn version_is_printed_on_stdout() {
    let ran = Folder::new().run(&["--version"]);
    let version = format!("narrows {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        (ran.code, ran.stdout, ran.stderr),
        (Some(0), version, String::new())
    );
}

#[test]
fn wrong_usage_exits_with_code_2_and_empty_stdout() {
    let folder = Folder::new();
    let cases: &[&[&str]] = &[
        &[],
        &["serv"],
        &["serve", "--lisen", "x"],
        &["serve", "--listen", "7420"],
        &["stdio", "--endpoint", "nowhere"],
        &["stdio", "--expose", "some"],
        &["stdio", "--preset", "p"],
        &["tools", "--preset", "p"],
        &["call", "demo", "echo", "--endpoint", "nowhere"],
        &["call", "demo"],
        &["call", "demo", "echo", "not json"],
        &["call", "demo", "echo", "[1]"],
        &["call", "demo", "echo", "@nowhere.json"],
        &["check", "--log-level", "loud"],
        &["tools", "--endpoint", "nowhere"],
        &["servers", "lst"],
        &["servers", "show"],
        &["servers", "--url", "ftp://x"],
        &["presets", "use", "p"],
        &["sessions", "end", "all"],
    ];
    for arguments in cases {
        let ran = folder.run(arguments);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(2), ""),
            "{arguments:?}: {}",
            ran.stderr
        );
        assert!(!ran.stderr.is_empty(), "{arguments:?} says nothing");
    }
}

#[test]
fn every_expose_mode_is_accepted() {
    for how in ["all", "lazy", "search"] {
        let ran = Folder::new().run(&["stdio", "--expose", how]);
        assert_eq!(ran.code, Some(0), "{how}: {}", ran.stderr);
    }
}

#[test]
fn closed_stdout_does_not_panic() {
    let folder = Folder::new();
    for arguments in [
        &["--help"][..],
        &["tools", "--help"],
        &["tools"],
        &["check"],
    ] {
        let mut command = folder.command(arguments);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!stderr.contains("panic"), "{arguments:?}: {stderr}");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
        let mut command = folder.command(arguments);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stderr.take());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments:?}");
    }
}
