//! Tests of `narrows serve` with clients.

use narrows_testkit::raw::Http;
use serde_json::{Value, json};

use super::{config, make};
use crate::gateway::StdioGateway;
use crate::program::{Folder, RunningProgram};

fn serve(folder: &Folder, arguments: &[&str]) -> (RunningProgram, u16) {
    let arguments = [&["serve", "--listen", "127.0.0.1:0"], arguments].concat();
    let mut running = RunningProgram::start(folder.command(&arguments));
    let port = running.port();
    (running, port)
}

fn hello() -> Value {
    let client = json!({ "name": "x", "version": "1" });
    let params =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })
}

#[tokio::test]
async fn token_grants_access_to_its_entrypoints() {
    let folder = Folder::new();
    let (token, mut entry) = make(&folder, &["cursor"]);
    entry["clients"]["cursor"]["endpoints"] = json!(["lazy", "servers/demo"]);
    folder.write("narrows.json", config(&entry["clients"]));
    let (running, port) = serve(&folder, &[]);
    let mut http = Http::connect(&format!("127.0.0.1:{port}")).await;
    let bearer = format!("Bearer {token}");
    let with = [("authorization", bearer.as_str())];
    for (path, expected) in [
        ("/mcp", 403),
        ("/mcp/lazy", 200),
        ("/servers/demo/mcp", 200),
        ("/rpc", 403),
    ] {
        let answer = http.post_mcp(path, &with, &hello()).await;
        assert_eq!(answer.status, expected, "{path}: {answer:?}");
        let answer = http.post_mcp(path, &[], &hello()).await;
        assert_eq!(answer.status, 401, "{path}: {answer:?}");
    }
    assert_eq!(http.get("/health", &[]).await.status, 200);
    drop(http);
    running.signal("TERM");
    let ran = running.wait();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[tokio::test]
async fn stdio_and_cli_need_no_token() {
    let folder = Folder::new();
    let (_, entry) = make(&folder, &["cursor"]);
    folder.write("narrows.json", config(&entry["clients"]));
    let file = config(&entry["clients"]);
    let file = serde_json::from_str(&file).expect("JSON");
    let mut piped = StdioGateway::open(&file).await;
    let list = piped.call("tools/list", json!({})).await;
    assert!(list.to_string().contains("demo__echo"), "{list}");
    let ran = folder.run(&["call", "demo", "echo", r#"{"text": "here"}"#]);
    assert_eq!(ran.stdout, "here\n", "{}", ran.shown());
}

#[test]
fn tokens_allow_listening_on_other_interfaces() {
    let folder = Folder::new();
    let beyond = ["serve", "--listen", "0.0.0.0:0"];
    folder.write("narrows.json", config(&json!({ "anonymous": {} })));
    let ran = folder.run(&beyond);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("narrows token"), "{}", ran.stderr);
    let (_, entry) = make(&folder, &["cursor"]);
    folder.write("narrows.json", config(&entry["clients"]));
    let mut running = RunningProgram::start(folder.command(&beyond));
    assert_ne!(running.port(), 0);
    running.signal("TERM");
    let ran = running.wait();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("unencrypted"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("anyone"), "{}", ran.stderr);
}

#[test]
fn token_instead_of_a_digest_is_rejected_and_not_shown() {
    let folder = Folder::new();
    let (token, _) = make(&folder, &["cursor"]);
    folder.write(
        "narrows.json",
        config(&json!({ "cursor": { "token": token } })),
    );
    for command in [&["serve"][..], &["check"], &["check", "--json"], &["tools"]] {
        let ran = folder.run(command);
        assert_eq!(ran.code, Some(2), "{command:?}: {}", ran.shown());
        let text = ran.shown();
        assert!(text.contains("narrows token --hash"), "{text}");
        assert!(!text.contains(&token[4..13]), "{text}");
    }
}
