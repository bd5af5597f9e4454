//! Tests of the choice of gateway and token, and of the runtime file of a real gateway.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use expect_test::expect;
use serde_json::{Value, json};

use super::api::{FakeAdminApi, announce};
use crate::program::{Folder, RunningProgram};

fn no_servers() -> FakeAdminApi {
    FakeAdminApi::json("GET /servers", 200, json!({ "servers": [] }))
}

/// Returns the path of the runtime file.
fn file(folder: &Folder, port: u16) -> PathBuf {
    let run = folder.path().join(".local/state/narrows/run");
    run.join(format!("{port}.json"))
}

#[test]
fn ambiguous_gateway_must_be_selected() {
    let api = no_servers();
    api.folder.write("own.json", "{}");
    announce(
        &api.folder,
        &api.address,
        api.folder.path().join("own.json").to_str(),
    );
    // A second gateway, which does not have to respond.
    announce(&api.folder, "127.0.0.1:1", Some("/elsewhere/narrows.json"));
    let reported = |arguments: &[&str]| {
        let shown = api.shown(&api.run(arguments));
        shown.replace(&std::process::id().to_string(), "PID")
    };
    expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: 2 gateways are running
          http://127.0.0.1:1  process PID, /elsewhere/narrows.json
          http://ADDRESS  process PID, HOME/own.json
          help: choose one with --url or --config
    "#]]
    .assert_eq(&reported(&["servers"]));
    expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: no running gateway serves 'other.json'
          http://127.0.0.1:1  process PID, /elsewhere/narrows.json
          http://ADDRESS  process PID, HOME/own.json
    "#]]
    .assert_eq(&reported(&["servers", "--config", "other.json"]));
    assert_eq!(api.asked(), "");
    for arguments in [
        &["servers", "--config", "own.json"][..],
        &["servers", "--url", &format!("http://{}", api.address)],
        &["servers", "--gateway", &api.address],
        &[
            "servers",
            "--url",
            &format!("http://{}/", api.address.replace("127.0.0.1", "localhost")),
        ],
    ] {
        let ran = api.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.shown());
    }
    assert_eq!(
        api.asked().matches("authorization: Bearer TOKEN").count(),
        4,
        "{}",
        api.asked()
    );
    assert_eq!(
        api.asked().matches("host: ADDRESS").count(),
        4,
        "{}",
        api.asked()
    );
}

#[test]
fn runtime_token_is_sent_only_to_its_gateway() {
    let api = no_servers();
    let other = no_servers();
    let url = format!("http://{}", other.address);
    let ran = api.run(&["servers", "--url", &url]);
    let shown = ran.shown().replace(&other.address, "OTHER");
    expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: there is no token for http://OTHER
          help: set one with --token-file FILE or NARROWS_ADMIN_TOKEN; `narrows token --admin` creates one
    "#]].assert_eq(&shown);
    assert_eq!((api.asked(), other.asked()), (String::new(), String::new()));
    api.folder.write("token", "nra_given");
    let ran = api.run(&["servers", "--url", &url, "--token-file", "token"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(
        other.asked().contains("authorization: Bearer nra_given"),
        "{}",
        other.asked()
    );
}

#[test]
fn token_file_overrides_variable_overrides_runtime_token() {
    let api = no_servers();
    api.folder.write("token", " nra_of-a-file\n");
    for (arguments, variable) in [
        (
            &["servers", "--token-file", "token"][..],
            "nra_of-a-variable",
        ),
        (&["servers"], "nra_of-a-variable"),
        (&["servers"], ""),
    ] {
        let mut command = api.folder.command(arguments);
        command.env("NARROWS_ADMIN_TOKEN", variable);
        assert!(command.output().expect("it can be run").status.success());
    }
    let asked = api.asked();
    let tokens: Vec<&str> = asked
        .lines()
        .filter_map(|line| line.trim().strip_prefix("authorization: Bearer "))
        .collect();
    assert_eq!(tokens, ["nra_of-a-file", "nra_of-a-variable", "TOKEN"]);
}

#[test]
fn invalid_addresses_and_token_files_are_usage_errors() {
    let api = no_servers();
    api.folder.write("empty", " \n");
    api.folder.write("long", "x".repeat(5000));
    api.folder.write("lines", "nra_a\nnra_b");
    for arguments in [
        &["--url", "ws://127.0.0.1:1"][..],
        &["--url", "http://user:hidden-word@127.0.0.1:1"],
        &["--url", "http://127.0.0.1:1/mcp"],
        &["--url", "http://127.0.0.1:1?hidden-word"],
        &["--url", ""],
        &["--token-file", "nowhere"],
        &["--token-file", "empty"],
        &["--token-file", "long"],
        &["--token-file", "lines"],
        &["--timeout", "0"],
    ] {
        let ran = api.run(&[&["servers"], arguments].concat());
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.shown());
        let reported = ran.stderr.contains("nra_") || ran.stderr.contains("hidden-word");
        assert!(!reported, "{arguments:?}: {}", ran.shown());
    }
    assert_eq!(api.asked(), "");
}

#[test]
fn plain_http_to_another_host_is_warned_about() {
    let folder = Folder::new();
    folder.write("token", "nra_given");
    // The address is not loopback, but leads to this machine.
    let ran = folder.run(&[
        "servers",
        "--url",
        "http://0.0.0.0:1",
        "--token-file",
        "token",
    ]);
    assert_eq!(ran.code, Some(1));
    let first = ran.stderr.lines().next();
    expect![
        "warning: the token is sent to http://0.0.0.0:1 in plain text; anyone on the network path can read it"
    ]
    .assert_eq(first.unwrap_or_default());
}

#[test]
fn files_readable_by_others_are_rejected() {
    let api = no_servers();
    let (_, port) = api.address.rsplit_once(':').expect("it has a port");
    let file = file(&api.folder, port.parse().expect("a port"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("it is ours");
    api.check(
        &["servers"],
        expect![[r#"
        exit 1
        --- stdout
        --- stderr
        warning: HOME/.local/state/narrows/run/PORT.json is ignored: other users can read or write it
        error: you have no gateway running on this machine
          help: start one with `narrows serve`, or use --url and --token-file for a gateway elsewhere
    "#]],
    );
    // The explicit address fails as well, because there is no token.
    let ran = api.run(&["servers", "--url", &api.address]);
    assert_eq!(ran.code, Some(2), "{}", ran.shown());
    assert!(file.exists());
}

#[test]
fn runtime_file_exists_while_the_gateway_runs() {
    let folder = Folder::with(r#"{"mcpServers": {"demo": {"type": "builtin"}}}"#);
    let start = || {
        let mut running =
            RunningProgram::start(folder.command(&["serve", "--listen", "127.0.0.1:0"]));
        let port = running.port();
        (running, port)
    };
    let (running, port) = start();
    let text = fs::read_to_string(file(&folder, port)).expect("it is there by now");
    let content: Value = serde_json::from_str(&text).expect("JSON");
    let mode = |path: PathBuf| {
        fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    };
    let path = file(&folder, port);
    assert_eq!(mode(path.clone()), 0o600);
    assert_eq!(mode(path.parent().expect("a folder").to_owned()), 0o700);
    assert_eq!(content["url"], format!("http://127.0.0.1:{port}"));
    assert_eq!(content["pid"], running.child.id());
    let config = folder.path().join("narrows.json");
    assert_eq!(content["config"], config.to_str().expect("a plain path"));
    let token = content["token"].as_str().expect("a token").to_owned();
    assert!(token.starts_with("nra_") && token.len() == 47);
    running.signal("TERM");
    let ran = running.wait();
    assert!(!path.exists(), "the file is gone with its gateway");
    assert!(!ran.shown().contains(&token), "{}", ran.shown());
    // A killed gateway leaves its file behind, and the next command removes it.
    let (running, port) = start();
    running.signal("KILL");
    running.wait();
    assert!(file(&folder, port).exists());
    let ran = folder.run(&["servers"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(!file(&folder, port).exists());
}

#[test]
fn gateway_without_a_home_runs_without_a_runtime_file() {
    let folder = Folder::new();
    let mut command =
        folder.command(&["serve", "--listen", "127.0.0.1:0", "--log-format", "human"]);
    command.env_remove("HOME");
    let mut running = RunningProgram::start(command);
    let mut byte = [0];
    // Text before the address is read together with it.
    let mut stderr = running.child.stderr.take().expect("stderr is a pipe");
    let mut reported = Vec::new();
    while !reported.ends_with(b"/ws\n") && stderr.read_exact(&mut byte).is_ok() {
        reported.push(byte[0]);
    }
    let reported = String::from_utf8_lossy(&reported);
    assert!(reported.contains("there is no runtime file"), "{reported}");
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));
}
