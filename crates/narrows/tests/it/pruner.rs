//! Tests of the pruner as `narrows pruner` and as a server of the gateway.

use std::process::Command;

use narrows_testkit::raw::{Http, Stdio};
use narrows_testkit::until;
use serde_json::{Value, json};

use crate::gateway::{Gateway, config};
use crate::program::Folder;

struct Pruner {
    program: Stdio,
    port: u16,
    folder: Folder,
}

impl Pruner {
    async fn start(variables: &[(&str, &str)]) -> Pruner {
        let folder = Folder::new();
        let mut command = folder.command(&["pruner", "--log-format", "json"]);
        command
            .env("MCP_PRUNER_PORT", "0")
            .envs(variables.iter().copied());
        let program = Stdio::start(&mut command.into());
        until("the pruner says where it listens", || {
            port_in(&program.stderr()).is_some()
        })
        .await;
        let port = port_in(&program.stderr()).expect("it was just there");
        Pruner {
            program,
            port,
            folder,
        }
    }

    /// Runs a shell command with the port of this pruner in place of the default one.
    fn shell(&self, line: &str) -> String {
        let line = line.replace(":8006/", &format!(":{}/", self.port));
        let mut shell = Command::new("sh");
        let output = shell.args(["-c", &line]).output().expect("a shell");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        let mut http = Http::connect(&format!("127.0.0.1:{}", self.port)).await;
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        http.post("/rpc", &[], body.to_string().as_bytes())
            .await
            .json()
    }
}

fn port_in(stderr: &str) -> Option<u16> {
    let line = stderr
        .lines()
        .find(|line| line.contains(r#""event":"listening""#))?;
    let line: Value = serde_json::from_str(line).ok()?;
    line["payload"]["url"]
        .as_str()?
        .rsplit(':')
        .next()?
        .parse()
        .ok()
}

/// Three requests as existing clients of the pruner send them.
#[tokio::test]
async fn documented_examples_work() {
    let pruner = Pruner::start(&[]).await;
    let list = pruner.shell(
        r#"curl -sS -H 'Content-Type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}' http://127.0.0.1:8006/rpc"#,
    );
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list["result"]["tools"][0]["name"], "prune_text");
    let pruned = pruner.shell(
        r#"curl -sS -H 'Content-Type: application/json' -d '{
            "jsonrpc":"2.0", "id":2, "method":"tools/call",
            "params":{ "name":"prune_text", "arguments":{
                "text":"L1\nL2\nL3\nL4", "goal_hint":"garder L1", "source_type":"docs",
                "options":{ "max_prune_ratio":0.75, "min_keep_lines":1, "timeout_ms":1500,
                            "annotate_lines":true, "include_markers":true }
            } } }' http://127.0.0.1:8006/rpc"#,
    );
    let pruned: Value = serde_json::from_str(&pruned).unwrap();
    let pruned = &pruned["result"]["structuredContent"];
    let text = pruned["pruned_text"].as_str().unwrap();
    assert!(text.contains("1│ L1"), "{text}");
    assert!(
        pruned["stats"]["pruned_lines"].as_u64().unwrap() > 0,
        "{pruned}"
    );
    let id = pruned["prune_id"].as_str().unwrap();
    let recovered = pruner.shell(&format!(
        r#"curl -sS -H 'Content-Type: application/json' -d '{{
            "jsonrpc":"2.0", "id":3, "method":"tools/call",
            "params":{{ "name":"recover_text", "arguments":{{
                "prune_id":"{id}", "ranges":[{{"start_line":1,"end_line":50}}], "include_line_numbers":true
            }} }} }}' http://127.0.0.1:8006/rpc"#
    ));
    let recovered: Value = serde_json::from_str(&recovered).unwrap();
    let text = recovered["result"]["content"][0]["text"].as_str().unwrap();
    let recovered: Value = serde_json::from_str(text).unwrap();
    assert_eq!(recovered["raw_text"], "1│ L1\n2│ L2\n3│ L3\n4│ L4");
    assert_eq!(recovered["metadata"]["ranges"][0]["end_line"], 4);
}

#[tokio::test]
async fn variables_apply_and_invalid_numbers_are_reported() {
    let wrong = [
        ("MCP_PRUNER_PRUNE_ID_TTL_S", "soon"),
        ("MCP_PRUNER_MAX_INPUT_CHARS", "5"),
    ];
    let pruner = Pruner::start(&wrong).await;
    let options = json!({ "max_prune_ratio": 0.5, "min_keep_lines": 0, "timeout_ms": 1000,
        "annotate_lines": false, "include_markers": true });
    let arguments =
        json!({ "text": "a\nb\nc\nd", "goal_hint": "", "source_type": "docs", "options": options });
    let answer = pruner
        .ask(
            "tools/call",
            json!({ "name": "prune_text", "arguments": arguments }),
        )
        .await;
    let warnings = &answer["result"]["structuredContent"]["warnings"];
    assert_eq!(*warnings, json!(["input_too_large"]));
    let said = pruner.program.stderr();
    let reported = "MCP_PRUNER_PRUNE_ID_TTL_S is 'soon', which is not a valid number; using 600";
    assert!(said.contains(reported), "{said}");
}

#[tokio::test]
async fn pruner_stops_on_sigterm_and_listens_only_on_loopback() {
    let mut pruner = Pruner::start(&[]).await;
    pruner.shell(&format!("kill -TERM {}", pruner.program.pid()));
    assert_eq!(pruner.program.wait().await.code(), Some(0));
    for (host, message) in [
        ("0.0.0.0", "can be reached from other machines"),
        (
            "nowhere",
            "error: MCP_PRUNER_HOST 'nowhere' is not an address",
        ),
    ] {
        let mut command = pruner.folder.command(&["pruner"]);
        let output = command.env("MCP_PRUNER_HOST", host).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(message), "{said}");
    }
}

/// The announced address is the one on which the pruner listens.
#[tokio::test]
async fn another_loopback_address_is_accepted() {
    let pruner = Pruner::start(&[("MCP_PRUNER_HOST", "127.0.0.2")]).await;
    let health = pruner.shell("curl -sS http://127.0.0.2:8006/health");
    assert!(health.contains("healthy"), "{health}");
}

/// The tools over MCP, together with those of other servers and on the server's own endpoint.
#[tokio::test]
async fn pruner_works_as_a_gateway_server() {
    let servers = [
        ("demo", json!({ "type": "builtin" })),
        ("pruner", json!({ "type": "builtin" })),
    ];
    let gateway = Gateway::serve(&config(servers)).await;
    let mut all = gateway.session("/mcp").await;
    let names = all.tool_names().await;
    for name in [
        "demo__echo",
        "pruner__prune_text",
        "pruner__recover_text",
        "pruner__health",
    ] {
        assert!(names.iter().any(|known| known == name), "{names:?}");
    }
    let log = all
        .call_tool("demo__sample_log", json!({ "lines": 500 }))
        .await;
    let log = log["result"]["content"][0]["text"].as_str().unwrap();
    let options = json!({ "max_prune_ratio": 0.9, "min_keep_lines": 0, "timeout_ms": 10_000,
        "annotate_lines": false, "include_markers": true });
    let arguments = json!({ "text": log, "goal_hint": "payment errors", "source_type": "logs", "options": options });
    let pruned = all.call_tool("pruner__prune_text", arguments).await;
    let pruned = &pruned["result"]["structuredContent"];
    assert!(
        pruned["stats"]["pruned_lines"].as_u64().unwrap() > 100,
        "{pruned}"
    );
    // Stored text is available in the whole process, including on another endpoint.
    let mut alone = gateway.session("/servers/pruner/mcp").await;
    let ranges = json!([{ "start_line": 1, "end_line": 500 }]);
    let arguments =
        json!({ "prune_id": pruned["prune_id"], "ranges": ranges, "include_line_numbers": false });
    let recovered = alone.call_tool("recover_text", arguments).await;
    let raw = recovered["result"]["structuredContent"]["raw_text"]
        .as_str()
        .unwrap();
    assert_eq!(raw, log.trim_end_matches('\n'));
}
