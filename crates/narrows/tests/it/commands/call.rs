//! Tests of `narrows call`.

use expect_test::expect;

use super::{MIXED, check};
use crate::program::{Folder, ProgramOutput};

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
    let explained = [
        "call",
        "demo",
        "echo",
        arguments,
        "--explain",
        "--goal",
        "it",
    ];
    let ran = folder.run(&explained);
    check(
        &ran,
        expect![[r#"
            exit 0
            --- stdout
            hello
            --- stderr
            endpoint:   default
            client:     narrows-call, an unknown program: its model may read either half (use --client NAME to act as another)
            published:  demo__echo
            server:     demo (builtin)
            own name:   echo
            arguments:  N bytes
            time:       N ms
            result:     N bytes, N tokens
            shaped:     no
        "#]],
    );
}

#[test]
fn explain_names_the_content_a_client_model_reads() {
    let folder = Folder::new();
    let call = ["call", "demo", "echo", r#"{"text": "hi"}"#, "--explain"];
    let as_client = |name: &str| {
        let ran = folder.run(&[&call[..], &["--client", name]].concat());
        let line = ran.stderr.lines().find(|line| line.starts_with("client:"));
        line.unwrap_or_default().to_owned()
    };
    let structured = "whose model reads structuredContent instead of content";
    let expected = format!("client:     claude-code, {structured}");
    assert_eq!(as_client("claude-code"), expected);
    let expected = "client:     goose, whose model reads only content";
    assert_eq!(as_client("goose"), expected);
}

#[test]
fn explain_follows_exec_to_its_server() {
    let folder = Folder::new();
    let arguments =
        r#"{"server_name": "demo", "tool_name": "sample_log", "arguments": {"lines": 3000}}"#;
    let lazy = ["--endpoint", "lazy", "--client", "Cline"];
    let ran = folder.run(&[&["call", "exec", arguments, "--explain"], &lazy[..]].concat());
    let explained: String = ran
        .stderr
        .lines()
        .take(10)
        .map(|l| format!("{l}\n"))
        .collect();
    let ran = ProgramOutput {
        stdout: String::new(),
        stderr: explained,
        ..ran
    };
    check(
        &ran,
        expect![[r#"
        exit 0
        --- stdout
        --- stderr
        endpoint:   lazy
        client:     Cline, whose model reads content and structuredContent
        published:  exec
        server:     demo (builtin)
        own name:   sample_log
        arguments:  N bytes
        time:       N ms
        result:     N bytes, N tokens
        budget:     8,000 characters
        shaped:     209,907 -> 2,762 characters, ~103,569 -> N tokens
    "#]],
    );
    let ran = folder.run(&[&["call", "exec", arguments], &lazy[..]].concat());
    assert!(ran.stderr.contains("`recovery.path`"), "{}", ran.stderr);
}

#[test]
fn call_accepts_a_published_name() {
    let folder = Folder::with(
        r#"{"mcpServers": {"demo": {"type": "builtin"}, "io.x": {"type": "builtin", "name": "demo"},
            "off": {"command": "x", "disabled": true}, "out": {"type": "rpc", "url": "${NOT_SET}"}}}"#,
    );
    let text = r#"{"text": "hello"}"#;
    for name in [
        "demo__echo",
        "demo:echo",
        "demo::echo",
        "io_x__echo",
        "io.x:echo",
    ] {
        let ran = folder.run(&["call", name, text]);
        let (code, stdout) = (ran.code, ran.stdout.as_str());
        assert_eq!(
            (code, stdout),
            (Some(0), "hello\n"),
            "{name}: {}",
            ran.stderr
        );
    }
    let ran = folder.run_with_input(&["call", "demo__echo", "-"], text);
    assert_eq!(ran.stdout, "hello\n", "{}", ran.stderr);
    folder.write("arguments.json", text);
    let ran = folder.run(&["call", "demo__echo", "@arguments.json"]);
    assert_eq!(ran.stdout, "hello\n", "{}", ran.stderr);
    let mut reported = String::new();
    for name in [
        "demo",
        "demo__ask_name",
        "demo__ecko",
        "dem__echo",
        "off__x",
        "out__x",
    ] {
        let ran = folder.run(&["call", name]);
        assert_eq!(ran.stdout, "", "{name}");
        let stderr = ran
            .stderr
            .lines()
            .filter(|line| !line.starts_with("warning: "));
        let stderr: Vec<&str> = stderr.collect();
        reported.push_str(&format!("{} {}\n", ran.code.unwrap(), stderr.join("\n")));
    }
    expect![[r#"
        2 error: 'demo' is a server; name one of its tools
          help: narrows tools demo lists them
        1 error: the tool reports: The user cannot be asked: this client does not support elicitation
        1 error: server 'demo' has no tool 'ecko'; did you mean echo?
        1 error: there is no tool 'dem__echo'; did you mean demo__echo?
          help: narrows tools lists them
        1 error: server 'off' is disabled in the configuration
        1 error: server 'out' cannot be started: environment variable NOT_SET is not set
    "#]].assert_eq(&reported);
}

#[test]
fn call_rejects_oversized_arguments() {
    let folder = Folder::with(
        r#"{"mcpServers": {"demo": {"type": "builtin"}}, "limits": {"max_message_bytes": 2000}}"#,
    );
    let object = |length: usize| {
        let text = "x".repeat(length - r#"{"text":""}"#.len());
        format!(r#"{{"text":"{text}"}}"#)
    };
    let (fits, long) = (object(1500), object(2001));
    folder.write("fits.json", &fits);
    folder.write("long.json", &long);
    let call =
        |word: &str, input: &str| folder.run_with_input(&["call", "demo", "echo", word], input);
    for ran in [call(&fits, ""), call("-", &fits), call("@fits.json", "")] {
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    }
    let reported = "error: the arguments exceed the limit `max_message_bytes` of 2,000 bytes\n";
    for ran in [call(&long, ""), call("-", &long), call("@long.json", "")] {
        let streams = (ran.stdout.as_str(), ran.stderr.as_str());
        assert_eq!((ran.code, streams), (Some(2), ("", reported)));
    }
    let ran = folder.run(&["call", "demo", "echo", "@/dev/zero"]);
    assert_eq!(ran.code, Some(2), "{}", ran.shown());
}

#[test]
fn call_shows_progress_and_logs() {
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
fn tool_error_is_a_failure() {
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
fn call_explains_failures() {
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
