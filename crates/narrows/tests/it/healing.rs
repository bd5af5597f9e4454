//! Tests of servers that fail in different ways: they recover as configured without affecting
//! others, and calls that could do harm are never repeated.

mod failures;
mod retries;

use narrows_testkit::scripted::{Installed, Script};
use narrows_testkit::{processes, until};
use serde_json::{Value, json};

use crate::gateway::{Gateway, Session, config, text, with};

/// A configuration with short health checks and grace periods.
fn strict(servers: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let health = json!({ "interval_s": 1, "timeout_s": 0.5, "failures": 2, "busy_s": 2 });
    let limits = json!({ "grace_s": 0.5 });
    with(
        config(servers),
        json!({ "health": health, "limits": limits }),
    )
}

/// A working server with one tool.
fn good() -> Installed {
    Script::new("good").plain_tool("fine").install()
}

async fn fine(session: &mut Session) {
    let answer = session.call_tool("good__fine", json!({})).await;
    assert_eq!(text(&answer), r#"good called "fine" with {}"#);
}

/// Waits until a server has been started `times` times and all tools are back, while another server
/// keeps responding. All earlier processes must have ended.
async fn healed(gateway: &Gateway, server: &Installed, times: usize, tools: &[&str]) {
    let mut session = gateway.session("/mcp").await;
    let limit = std::time::Instant::now() + narrows_testkit::LIMIT;
    while server.server_pids().len() < times || session.tool_names().await != tools {
        fine(&mut session).await;
        assert!(std::time::Instant::now() < limit, "it never came back");
    }
    let mut pids = server.server_pids();
    assert_eq!(pids.len(), times, "it was restarted too often");
    assert!(pids.pop().is_some_and(processes::is_alive));
    until("the old ones are gone", || {
        pids.iter().all(|pid| processes::is_reaped(*pid))
    })
    .await;
}
