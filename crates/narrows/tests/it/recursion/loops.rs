//! Tests of gateways that use each other by URL.

use std::time::Duration;

use narrows_testkit::until;
use serde_json::{Value, json};

use super::demo;
use crate::gateway::{Gateway, REVISION, config, error, text};
use crate::program::Folder;

/// The member of `_meta` that names the gateways a list item has passed.
const VIA: &str = "narrows/via";

const LED_BACK: &str = "lead back to this gateway and are left out";

/// The number of lists of a server: tools, prompts, resources and resource templates.
const LISTS: usize = 4;

/// A transport to a gateway, for an entry in the configuration of another one.
#[derive(Clone, Copy)]
struct EntrypointKind {
    kind: &'static str,
    scheme: &'static str,
    path: &'static str,
}

const HTTP: EntrypointKind = EntrypointKind {
    kind: "http",
    scheme: "http",
    path: "/mcp",
};
const SSE: EntrypointKind = EntrypointKind {
    kind: "sse",
    scheme: "http",
    path: "/sse",
};
const WS: EntrypointKind = EntrypointKind {
    kind: "ws",
    scheme: "ws",
    path: "/ws",
};

impl EntrypointKind {
    fn to(self, gateway: &Gateway) -> Value {
        let url = format!("{}://{}{}", self.scheme, gateway.address(), self.path);
        json!({ "type": self.kind, "url": url })
    }
}

/// Starts a gateway whose configuration file changes later.
async fn gateway() -> Gateway {
    let folder = Folder::new();
    folder.write("narrows.json", config([demo()]).to_string());
    Gateway::serve_in(folder, &[]).await
}

fn give(gateway: &Gateway, name: &str, entry: Value) {
    let all = config([(name, entry), demo()]);
    gateway.folder().write("narrows.json", all.to_string());
}

/// Waits until a gateway lists a tool.
async fn has_tool(gateway: &Gateway, name: &str) -> Vec<String> {
    loop {
        let tools = gateway.session("/mcp").await.tool_names().await;
        if tools.iter().any(|tool| tool == name) {
            return tools;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn left_out(gateway: &Gateway) {
    until("items that lead back are left out", || {
        gateway.program.stderr().contains(LED_BACK)
    })
    .await;
}

/// Counts the warnings about omitted items. A gateway warns again when the number changes, so a
/// gateway that starts at the same time as its peer may warn once for each list.
fn warnings(log: &str) -> usize {
    log.matches(LED_BACK).count()
}

/// Waits until the gateways are quiet, because messages or lists that circulate fill their logs.
async fn settled(gateways: &[&Gateway]) {
    let lines = || -> usize {
        let logs = gateways.iter().map(|gateway| gateway.program.stderr());
        logs.map(|log| log.lines().count()).sum()
    };
    let mut before = lines();
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = lines();
        if now == before {
            return;
        }
        before = now;
    }
    panic!("still busy: {}", gateways[0].program.stderr());
}

/// Calls `echo` of the demo server behind a prefix.
async fn echo(gateway: &Gateway, prefix: &str) {
    let tool = format!("{prefix}__demo__echo");
    has_tool(gateway, &tool).await;
    let mut session = gateway.session("/mcp").await;
    let answer = session.call_tool(&tool, json!({ "text": "hi" })).await;
    assert_eq!(text(&answer), "hi", "{tool}");
}

#[tokio::test]
async fn two_gateways_that_use_each_other_have_short_lists() {
    for entrypoint in [HTTP, SSE, WS] {
        let (a, b) = tokio::join!(gateway(), gateway());
        // Concurrently, so that neither gateway is first.
        give(&a, "other", entrypoint.to(&b));
        give(&b, "other", entrypoint.to(&a));
        for gateway in [&a, &b] {
            echo(gateway, "other").await;
            left_out(gateway).await;
        }
        for gateway in [&a, &b] {
            let tools = gateway.session("/mcp").await.tool_names().await;
            let (own, others): (Vec<_>, Vec<_>) =
                tools.iter().partition(|name| name.starts_with("demo__"));
            assert_eq!(own.len(), others.len(), "{}: {tools:?}", entrypoint.kind);
            let log = gateway.program.stderr();
            assert!(warnings(&log) <= LISTS, "{log}");
            assert!(!log.contains("is down"), "{log}");
        }
    }
}

#[tokio::test]
async fn three_gateways_in_a_ring_reach_each_other() {
    let (a, b, c) = tokio::join!(gateway(), gateway(), gateway());
    give(&a, "next", HTTP.to(&b));
    give(&b, "next", HTTP.to(&c));
    give(&c, "next", HTTP.to(&a));
    for gateway in [&a, &b, &c] {
        echo(gateway, "next").await;
        echo(gateway, "next__next").await;
        left_out(gateway).await;
        let tools = gateway.session("/mcp").await.tool_names().await;
        let longest = tools.iter().any(|name| name.contains("next__next__next"));
        assert!(!longest, "{tools:?}");
    }
    settled(&[&a, &b, &c]).await;
}

#[tokio::test]
async fn gateway_may_use_one_server_of_a_gateway_that_uses_it() {
    let (a, b) = tokio::join!(gateway(), gateway());
    give(&a, "all", HTTP.to(&b));
    let leaf = EntrypointKind {
        path: "/servers/demo/mcp",
        ..HTTP
    };
    give(&b, "leaf", leaf.to(&a));
    echo(&a, "all").await;
    let mut session = b.session("/mcp").await;
    has_tool(&b, "leaf__echo").await;
    let answer = session
        .call_tool("leaf__echo", json!({ "text": "hi" }))
        .await;
    assert_eq!(text(&answer), "hi");
}

#[tokio::test]
async fn unlisted_names_do_not_loop() {
    // Each gateway has the other as its only server, so every request is forwarded.
    let (a, b) = tokio::join!(gateway(), gateway());
    for (from, to) in [(&a, &b), (&b, &a)] {
        let all = config([("other", HTTP.to(to))]);
        from.folder().write("narrows.json", all.to_string());
    }
    for gateway in [&a, &b] {
        until("the entry is up", || {
            let log = gateway.program.stderr();
            log.lines()
                .any(|line| line.contains(r#""other""#) && line.contains("server is up"))
        })
        .await;
    }
    let mut session = a.session("/mcp").await;
    let read = json!({ "uri": "no://such" });
    let answer = session.call("resources/read", read).await;
    assert!(error(&answer).contains("own_server"), "{answer}");
    session.notify("notifications/no/such", json!({})).await;
    let level = json!({ "level": "debug" });
    let answer = session.call("logging/setLevel", level).await;
    assert!(answer["result"].is_object(), "{answer}");
    // A client with capabilities gets links of its own.
    let can_be_asked = json!({ "roots": {} });
    let mut session = a.session_with("/mcp", REVISION, can_be_asked).await;
    session.tool_names().await;
    settled(&[&a, &b]).await;
}

#[tokio::test]
async fn plain_request_does_not_loop() {
    // Each entry leads to the entry for the way back at the other gateway.
    let (a, b) = tokio::join!(gateway(), gateway());
    let route = |gateway: &Gateway| {
        let url = format!("http://{}/api/mcp-gateway/other", gateway.address());
        json!({ "type": "rpc", "url": url })
    };
    give(&a, "other", route(&b));
    give(&b, "other", route(&a));
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let path = "/api/mcp-gateway/other/rpc";
    // The entry is unknown until the new configuration has been read.
    let mut answer = json!({ "error": { "data": { "code": "unknown_server" } } });
    while answer["error"]["data"]["code"] == "unknown_server" {
        tokio::task::yield_now().await;
        let mut client = a.connect().await;
        answer = client.post_mcp(path, &[], &list).await.message();
    }
    assert_eq!(answer["error"]["data"]["code"], "own_server", "{answer}");
    // Marks forged by a client do not hide those of gateways.
    for marks in ["1,2,3,4,5,6,7", "1,2,3,4,5,6,7,8", "1,2,3,4,5,6,7,8,9"] {
        let headers = [("narrows-gateway", marks)];
        let mut client = a.connect().await;
        let response = client.post_mcp(path, &headers, &list).await;
        assert_eq!(response.status, 508, "{marks}: {response:?}");
    }
}

/// Returns the mark of a gateway, which it shows to clients that are gateways.
async fn mark(gateway: &Gateway) -> String {
    let mut client = gateway.connect().await;
    let hello = json!({
        "protocolVersion": REVISION,
        "capabilities": {},
        "clientInfo": { "name": "x-through-proxy", "version": "1" },
    });
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello });
    let opened = client.post_mcp("/mcp", &[], &hello).await;
    let id = opened.header("mcp-session-id").expect("a session");
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let headers = [("mcp-session-id", id), ("mcp-protocol-version", REVISION)];
    let list = client.post_mcp("/mcp", &headers, &list).await.message();
    let mark = &list["result"]["tools"][0]["_meta"][VIA];
    mark.as_str().unwrap_or_else(|| panic!("{list}")).to_owned()
}

#[tokio::test]
async fn forged_gateway_mark_does_not_affect_others() {
    let (outer, inner) = tokio::join!(gateway(), gateway());
    give(&outer, "inner", HTTP.to(&inner));
    echo(&outer, "inner").await;
    let mut victim = outer.session("/mcp").await;
    let forged = mark(&inner).await;
    let headers = [("narrows-gateway", forged.as_str())];
    let hello = json!({
        "protocolVersion": REVISION,
        "capabilities": {},
        "clientInfo": { "name": "attacker", "version": "1" },
    });
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello });
    let mut attacker = outer.connect().await;
    let opened = attacker.post_mcp("/mcp", &headers, &hello).await;
    assert_eq!(opened.status, 200, "{opened:?}");
    let answer = victim.call_tool("inner__demo__echo", json!({ "text": "hi" }));
    assert_eq!(text(&answer.await), "hi");
    // Only gateways can see marks.
    let list = victim.call("tools/list", json!({})).await;
    assert!(!list.to_string().contains(VIA), "{list}");
}
