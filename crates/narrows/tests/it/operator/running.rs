//! Tests of the same commands against a real gateway.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;

use narrows_testkit::until;
use serde_json::json;

use crate::gateway::Gateway;
use crate::program::{Folder, ProgramOutput};

/// Runs a command in a folder other than the gateway's.
fn run_in(gateway: &Gateway, folder: &str, arguments: &[&str]) -> ProgramOutput {
    let own = gateway.folder();
    fs::create_dir_all(own.path().join(folder)).expect("a folder can be made");
    let mut command = own.command(arguments);
    command.current_dir(own.path().join(folder));
    ProgramOutput::from(command.output().expect("the program can be run"))
}

fn saved(gateway: &Gateway) -> PathBuf {
    gateway.folder().path().join(".config/narrows/narrows.json")
}

/// A command for `servers add` that records its working directory and fails.
const WHERE: [&str; 4] = [
    "--",
    "sh",
    "-c",
    "pwd > \"$OUT\"; echo \"$0\" >> \"$OUT\"; exit 3",
];

#[tokio::test]
async fn added_server_runs_in_the_callers_folder() {
    let gateway = Gateway::serve(&json!({ "mcpServers": {} })).await;
    let out = gateway.folder().path().join("out");
    let variable = format!("OUT={}", out.display());
    let mut add = vec!["servers", "add", "here", "--env", &variable];
    add.extend(WHERE);
    add.push(".");
    let ran = run_in(&gateway, "elsewhere", &add);
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    let reported = fs::read_to_string(&out).expect("it was started");
    let elsewhere = gateway.folder().path().join("elsewhere");
    let elsewhere = elsewhere.canonicalize().expect("it is there");
    assert_eq!(reported, format!("{}\n.\n", elsewhere.display()));
    // Another folder, relative to the caller's.
    fs::create_dir_all(elsewhere.join("below")).expect("a folder can be made");
    let mut add = vec![
        "servers", "add", "below", "--cwd", "below", "--env", &variable,
    ];
    add.extend(WHERE);
    let ran = run_in(&gateway, "elsewhere", &add);
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    let reported = fs::read_to_string(&out).expect("it was started");
    assert!(
        reported.starts_with(&format!("{}/below\n", elsewhere.display())),
        "{reported}"
    );
}

#[tokio::test]
async fn each_command_reports_its_result() {
    let gateway = Gateway::serve(&json!({ "mcpServers": { "demo": { "type": "builtin" } } })).await;
    let first = |arguments: &[&str]| {
        let ran = gateway.folder().run(&[&["servers"], arguments].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.shown());
        ran.stdout.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(first(&["disable", "demo"]), "disabled demo");
    assert_eq!(first(&["disable", "demo"]), "nothing has changed");
    assert_eq!(first(&["enable", "demo"]), "enabled demo");
    assert_eq!(first(&["restart", "demo"]), "restarted demo");
    let entry = r#"{"type": "builtin", "name": "demo"}"#;
    assert_eq!(first(&["add", "more", "--json", entry]), "added more");
    let entry = r#"{"type": "builtin", "name": "pruner"}"#;
    assert_eq!(
        first(&["add", "more", "--replace", "--json", entry]),
        "replaced more"
    );
    assert_eq!(first(&["remove", "more"]), "removed more");
    for line in ["disabled demo", "enabled demo", "removed more"] {
        until(format!("the log says {line}"), || {
            gateway.program.stderr().contains(line)
        })
        .await;
    }
}

#[tokio::test]
async fn change_prints_only_its_own_warnings() {
    let config = json!({ "wibble": 1, "mcpServers": {
        "demo": { "type": "builtin", "wobble": 1 }, "off": { "type": "builtin", "name": "demo", "disabled": true, "webble": 1 } } });
    let gateway = Gateway::serve(&config).await;
    let entry = r#"{"type": "builtin", "name": "demo", "wabble": 1}"#;
    let ran = gateway
        .folder()
        .run(&["servers", "add", "more", "--json", entry]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(ran.stderr.contains("wabble"), "{}", ran.shown());
    for other in ["wibble", "wobble", "webble"] {
        assert!(!ran.stderr.contains(other), "{}", ran.shown());
    }
    let ran = gateway.folder().run(&["servers", "enable", "off"]);
    assert!(ran.stderr.contains("webble"), "{}", ran.shown());
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.shown());
}

#[tokio::test]
async fn save_without_a_file_creates_the_user_file() {
    let gateway = Gateway::serve_in(Folder::new(), &[]).await;
    let file = saved(&gateway);
    let ran = gateway
        .folder()
        .run(&["servers", "disable", "demo", "--save"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (
            Some(0),
            format!(
                "disabled demo\nthe predefined servers of /api/mcp-gateway/ are gone: they exist only without a configuration file\ncreated {}\nsaved to {0}\n",
                file.display()
            )
            .as_str()
        ),
        "{}",
        ran.shown()
    );
    let text = fs::read_to_string(&file).expect("it was created");
    assert!(text.contains("pruner"), "{text}");
    // The next change is saved to the same file, which is not created again.
    let ran = gateway
        .folder()
        .run(&["servers", "enable", "demo", "--save"]);
    let reported = format!("enabled demo\nsaved to {}\n", file.display());
    assert!(ran.stdout.starts_with(&reported), "{}", ran.shown());
    // From now on the gateway follows the file.
    let text = r#"{ "mcpServers": { "demo": { "type": "builtin" } } }"#;
    fs::write(&file, text).expect("it can be written");
    until("the file is followed", || {
        gateway.program.stderr().contains("removed pruner")
    })
    .await;
    // The command finds this gateway by its configuration file.
    let path = file.display().to_string();
    let ran = gateway.folder().run(&["servers", "--config", &path]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
}

/// A file created by another program after the start is not replaced.
#[tokio::test]
async fn save_does_not_replace_an_unread_file() {
    let gateway = Gateway::serve_in(Folder::new(), &[]).await;
    let file = saved(&gateway);
    fs::create_dir_all(file.parent().expect("a folder")).expect("a folder can be made");
    fs::write(&file, "{}").expect("it can be written");
    let ran = gateway
        .folder()
        .run(&["servers", "disable", "demo", "--save"]);
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    assert!(
        ran.stderr.contains("restart the gateway"),
        "{}",
        ran.shown()
    );
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "{}");
}

#[tokio::test]
async fn index_page_lists_the_current_endpoints() {
    let config = json!({ "mcpServers": { "demo": { "type": "builtin" } },
        "endpoints": { "find": { "expose": "search" } } });
    let gateway = Gateway::serve(&config).await;
    let mut stream = TcpStream::connect(gateway.address()).expect("it listens");
    let host = gateway.address();
    let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("it answers");
    assert!(page.contains("find") && page.contains("lazy"), "{page}");
}
