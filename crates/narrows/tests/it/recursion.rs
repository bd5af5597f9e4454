//! Tests of configurations that start Narrows again, directly or through others, and of gateways
//! that use each other by URL.

mod loops;

use narrows_testkit::{processes, until};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::gateway::{Gateway, config};
use crate::program::{Folder, NARROWS};

/// The file in which scripts record their starts.
const STARTS: &str = "starts";

/// Returns an entry that runs `script`, in which `narrows` starts the gateway.
fn entry(folder: &Folder, name: &str, script: &str) -> Value {
    let script =
        format!("narrows() {{ exec {NARROWS} \"$@\"; }}\necho {name} >> {STARTS}\n{script}\n");
    folder.write(&format!("{name}.sh"), script);
    json!({ "command": "sh", "args": [format!("{name}.sh")], "cwd": folder.path() })
}

fn demo() -> (&'static str, Value) {
    ("demo", json!({ "type": "builtin" }))
}

fn starts(folder: &Folder, name: &str) -> usize {
    let all = folder.read(STARTS).unwrap_or_default();
    all.lines().filter(|line| *line == name).count()
}

/// Creates a folder whose `narrows.json` has an entry that starts the same gateway.
fn circle(arguments: &str) -> Folder {
    let folder = Folder::new();
    let again = entry(&folder, "again", &format!("narrows stdio {arguments}"));
    let all = config([("again", again), demo()]);
    folder.write("narrows.json", all.to_string());
    folder
}

#[test]
fn entry_that_starts_the_same_gateway_runs_once() {
    // The path of the file and the other arguments do not matter.
    for arguments in [
        "",
        "--config narrows.json",
        "--config link.json",
        "--expose lazy",
    ] {
        let folder = circle(arguments);
        std::os::unix::fs::symlink("narrows.json", folder.path().join("link.json"))
            .expect("a link can be made");
        let ran = folder.run(&["check"]);
        assert_eq!(starts(&folder, "again"), 1, "{arguments}: {ran:?}");
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let line = ran.stdout.lines().find(|line| line.contains("again"));
        let line = line.unwrap_or_else(|| panic!("{ran:?}"));
        assert!(line.contains("a gateway above already uses"), "{line}");
        assert!(line.contains("Remove the entry, or give"), "{line}");
    }
}

#[test]
fn cleared_environment_does_not_hide_a_gateway() {
    let folder = Folder::new();
    let script = format!("exec env -i PATH=\"$PATH\" {NARROWS} stdio");
    let again = entry(&folder, "again", &script);
    folder.write("narrows.json", config([("again", again)]).to_string());
    let ran = folder.run(&["check"]);
    assert_eq!(starts(&folder, "again"), 1, "{ran:?}");
    assert!(
        ran.stdout.contains("a gateway above already uses"),
        "{ran:?}"
    );
}

#[test]
fn empty_chain_allows_a_command_below_its_own_gateway() {
    let folder = Folder::new();
    // Below its own gateway, the same file is normally refused. The script runs once, because
    // nothing else would stop the recursion.
    let script = format!(
        "[ -e once ] && exit; : > once; NARROWS_CHAIN= {NARROWS} tools --config narrows.json > below"
    );
    let again = entry(&folder, "again", &script);
    folder.write(
        "narrows.json",
        config([("again", again), demo()]).to_string(),
    );
    folder.run(&["check"]);
    let below = folder.read("below").unwrap_or_default();
    assert!(below.contains("echo"), "{below}");
}

#[test]
fn commands_that_start_servers_do_not_recurse() {
    for command in [&["tools"][..], &["call", "demo__echo", "{\"text\":\"x\"}"]] {
        let folder = circle("");
        let ran = folder.run(command);
        assert!(starts(&folder, "again") <= 1, "{command:?}: {ran:?}");
        assert_eq!(ran.code, Some(0), "{command:?}: {ran:?}");
    }
}

#[test]
fn command_below_its_own_gateway_explains_its_refusal() {
    for command in ["check", "tools", "serve --listen 127.0.0.1:0"] {
        let folder = Folder::new();
        let script = format!("narrows {command} 2> below");
        let again = entry(&folder, "again", &script);
        folder.write("narrows.json", config([("again", again)]).to_string());
        folder.run(&["check"]);
        assert_eq!(starts(&folder, "again"), 1, "{command}");
        let below = folder.read("below").unwrap_or_default();
        assert!(
            below.contains("would start each other endlessly"),
            "{below}"
        );
        assert!(
            below.contains("set NARROWS_CHAIN to an empty value"),
            "{below}"
        );
    }
}

#[tokio::test]
async fn other_servers_work_and_one_warning_names_the_entry() {
    let gateway = Gateway::serve_in(circle(""), &["--no-watch"]).await;
    let mut session = gateway.session("/mcp").await;
    let tools = session.tool_names().await;
    assert!(
        tools.iter().all(|name| name.starts_with("demo__")),
        "{tools:?}"
    );
    assert!(!tools.is_empty());
    let given_up = r#"server \"again\" is down and will not be retried"#;
    until("the entry is given up", || {
        gateway.program.stderr().contains(given_up)
    })
    .await;
    // A call does not restart the entry.
    let answer = session.call_tool("again__x", json!({})).await;
    assert!(answer["error"].is_object(), "{answer}");
    until("nothing but the guard runs", || {
        processes::children(gateway.program.pid()).len() == 1
    })
    .await;
    assert_eq!(starts(gateway.folder(), "again"), 1);
    let log = gateway.program.stderr();
    let warns = |line: &&str| line.contains(r#""level":"warn""#) && line.contains("again");
    let warnings = log.lines().filter(warns).count();
    assert_eq!(warnings, 1, "{log}");
}

#[tokio::test]
async fn loop_through_another_gateway_is_cut() {
    let folder = Folder::new();
    let b = entry(&folder, "b", "narrows stdio --config b.json");
    let a = entry(&folder, "a", "narrows stdio --config ./narrows.json");
    folder.write("narrows.json", config([("b", b)]).to_string());
    folder.write("b.json", config([("a", a), demo()]).to_string());
    let gateway = Gateway::serve_in(folder, &["--no-watch"]).await;
    let mut session = gateway.session("/mcp").await;
    let tools = session.tool_names().await;
    assert!(
        tools.iter().any(|name| name.starts_with("b__demo__")),
        "{tools:?}"
    );
    assert!(
        !tools.iter().any(|name| name.contains("b__a__")),
        "{tools:?}"
    );
    until("the inner gateway gives the entry up", || {
        let log = gateway.program.stderr();
        log.contains("will not be retried: this entry starts Narrows with a configuration")
    })
    .await;
    let folder = gateway.folder();
    assert_eq!((starts(folder, "b"), starts(folder, "a")), (1, 1));
}

#[tokio::test]
async fn loop_over_http_and_stdio_is_cut() {
    let folder = Folder::new();
    // The address is known only when the outer gateway runs.
    let script = "until [ -e a.json ]; do sleep 0.05; done; narrows stdio --config a.json";
    let a = entry(&folder, "a", script);
    folder.write("narrows.json", config([("a", a)]).to_string());
    let gateway = Gateway::serve_in(folder, &["--no-watch"]).await;
    let folder = gateway.folder();
    let back = json!({ "url": format!("http://{}/mcp", gateway.address()) });
    folder.write("a.tmp", config([("back", back), demo()]).to_string());
    let (from, to) = (folder.path().join("a.tmp"), folder.path().join("a.json"));
    std::fs::rename(from, to).expect("a file can be renamed");
    until("the inner gateway gives the entry up", || {
        gateway
            .program
            .stderr()
            .contains("leads back to this gateway")
    })
    .await;
    let mut session = gateway.session("/mcp").await;
    let tools = session.tool_names().await;
    assert!(
        tools.iter().any(|name| name.starts_with("a__demo__")),
        "{tools:?}"
    );
    assert!(
        !tools.iter().any(|name| name.contains("a__back__")),
        "{tools:?}"
    );
    assert_eq!(starts(folder, "a"), 1);
}

#[tokio::test]
async fn recursion_through_new_configurations_is_limited() {
    let folder = Folder::new();
    let script = "new=$$.json; cp narrows.json $new; narrows stdio --config $new";
    let again = entry(&folder, "again", script);
    folder.write("narrows.json", config([("again", again)]).to_string());
    let mut command = Command::from(folder.command(&["serve", "--listen", "127.0.0.1:0"]));
    let program = narrows_testkit::raw::Stdio::start(&mut command);
    until("the deepest one is refused", || {
        program
            .stderr()
            .contains("this entry starts Narrows below 8 other gateways")
    })
    .await;
    assert_eq!(starts(&folder, "again"), 8);
}
