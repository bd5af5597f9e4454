//! Tests that a receipt is valid only under the preset under which it was issued.

use narrows_testkit::scripted::{Installed, Script, Step};
use serde_json::{Value, json};

use crate::gateway::{Gateway, Session, config, text, with};
use crate::program::Folder;

fn long() -> (Installed, String) {
    let text = "a secret line of many\n".repeat(500);
    let server = Script::new("a")
        .plain_tool("get")
        .on_tool("get", [Step::text(&text)])
        .install();
    (server, text)
}

fn shaped(server: &Installed, more: Value) -> Value {
    let shape = json!({ "max_chars": 2_000, "prune": { "timeout_ms": 20_000 } });
    let config = with(config([("a", server.config())]), json!({ "shape": shape }));
    with(config, more)
}

async fn receipt(session: &mut Session) -> String {
    // The tool can be called by its name on every endpoint.
    let answer = session.call_tool("a__get", json!({})).await;
    let id = answer["result"]["_meta"]["narrows/receipt"]["prune_id"].as_str();
    id.unwrap_or_else(|| panic!("not cut: {answer:.300}"))
        .to_owned()
}

/// Returns true if a receipt is valid here. Otherwise the response must be the same as for an
/// unknown receipt.
async fn opens(session: &mut Session, id: &str, lazy: bool) -> bool {
    let recover = |id: &str| {
        let asked = json!({ "prune_id": id, "head": 1 });
        match lazy {
            false => ("recover_text", asked),
            true => (
                "exec",
                json!({ "server_name": "narrows", "tool_name": "recover_text", "arguments": asked }),
            ),
        }
    };
    let (name, asked) = recover(id);
    let answer = session.call_tool(name, asked).await;
    let uri = json!({ "uri": format!("narrows://receipt/{id}") });
    let read = session.call("resources/read", uri).await;
    if answer["result"]["isError"] != true {
        assert!(text(&answer).contains("a secret line"), "{answer}");
        assert!(read["result"].is_object(), "{read}");
        return true;
    }
    const NEVER: &str = "prn_01ARY000000000000000000042";
    let (name, asked) = recover(NEVER);
    let never = session.call_tool(name, asked).await;
    assert_eq!(text(&answer).replace(id, NEVER), text(&never));
    assert_eq!(read["error"]["data"]["code"], "unknown_resource", "{read}");
    assert!(!read.to_string().contains("a secret line"), "{read}");
    false
}

#[tokio::test]
async fn receipts_of_other_endpoints_and_presets_are_refused() {
    let (server, _) = long();
    let more = json!({
        "presets": { "guest": { "tools": ["a/*"] }, "staff": { "tools": ["a/*", "b/*"] } },
        "endpoints": {
            "default": { "preset": "guest" },
            "free": {},
            "staff": { "preset": "staff" },
            "same": { "preset": "guest" },
        },
    });
    let gateway = Gateway::serve(&shaped(&server, more)).await;
    let paths = ["/mcp", "/mcp/free", "/mcp/staff", "/mcp/same", "/mcp/lazy"];
    for from in paths {
        let id = receipt(&mut gateway.session(from).await).await;
        for to in paths {
            let mut session = gateway.session(to).await;
            let good = opens(&mut session, &id, to == "/mcp/lazy").await;
            assert_eq!(good, from == to, "from {from} to {to}");
        }
    }
}

/// The endpoint has another preset, or the preset has changed under the same id.
#[tokio::test]
async fn receipts_from_before_a_preset_change_are_refused() {
    let (server, _) = long();
    let folder = Folder::new();
    let under = |tools: Value, preset: Value| {
        shaped(
            &server,
            json!({
                "recovery": { "path": folder.path().join("kept") },
                "presets": { "guest": { "tools": tools }, "other": { "tools": ["a/*"] } },
                "endpoints": { "default": { "preset": preset } },
            }),
        )
    };
    let first = Gateway::serve(&under(json!(["a/*"]), json!("guest"))).await;
    let id = receipt(&mut first.session("/mcp").await).await;
    end(first).await;
    for (tools, preset, good) in [
        (json!(["a/*"]), json!("other"), false),
        (json!(["a/get"]), json!("guest"), false),
        (json!(["a/*"]), json!(null), false),
        (json!(["a/*"]), json!("guest"), true),
    ] {
        let gateway = Gateway::serve(&under(tools.clone(), preset.clone())).await;
        let mut session = gateway.session("/mcp").await;
        let opens = opens(&mut session, &id, false).await;
        assert_eq!(opens, good, "{preset} with {tools}");
        end(gateway).await;
    }
}

async fn end(mut gateway: Gateway) {
    let pid = gateway.program.pid().to_string();
    let sent = std::process::Command::new("kill").arg(&pid).status();
    assert!(sent.expect("kill runs").success());
    gateway.program.wait().await;
}
