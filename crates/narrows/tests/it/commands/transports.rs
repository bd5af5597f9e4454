//! Tests of `check` with remote servers: the detected transport, how it was detected, and the
//! suggested correction.

use std::net::TcpListener;

use expect_test::{Expect, expect};
use narrows_testkit::scripted::{Endpoint, Installed, Script, Served, Step, Transport};
use serde_json::{Map, Value, json};

use super::{blank_numbers, by_server, web_server};
use crate::program::{Folder, ProgramOutput};

const ALL: [Transport; 4] = [
    Transport::Http,
    Transport::Sse,
    Transport::WebSocket,
    Transport::Rpc,
];

/// A test server that runs until it is dropped.
struct TransportServer {
    served: Served,
    installed: Installed,
}

async fn serve(set: impl FnOnce(&mut Script)) -> TransportServer {
    served(Script::new("alpha").plain_tool("hammer").with(set)).await
}

async fn served(script: Script) -> TransportServer {
    let installed = script.install();
    TransportServer {
        served: installed.serve_http().await,
        installed,
    }
}

impl TransportServer {
    /// Returns an entry for `path` on this server.
    fn entry(&self, kind: Option<&str>, scheme: &str, path: &str) -> Value {
        let mut entry = json!({ "url": format!("{scheme}://{}{path}", self.served.address()) });
        if let Some(kind) = kind {
            entry["type"] = kind.into();
        }
        entry
    }
}

pub(super) fn config<'a>(servers: impl IntoIterator<Item = (&'a str, Value)>) -> Folder {
    let servers = servers
        .into_iter()
        .map(|(id, entry)| (id.to_owned(), entry));
    let servers: Map<String, Value> = servers.collect();
    Folder::with(&json!({ "mcpServers": servers }).to_string())
}

/// Compares the exit code and stdout, without the parts that differ between runs.
#[track_caller]
pub(super) fn check(ran: &ProgramOutput, expected: Expect) {
    let mut shown = format!("exit {}\n", ran.code.unwrap_or(-1));
    let stdout = by_server(&ran.stdout);
    for line in stdout.lines().chain(ran.stderr.lines()) {
        shown.push_str(&without_ports(&blank_numbers(line)));
        shown.push('\n');
    }
    expected.assert_eq(&shown);
}

fn without_ports(line: &str) -> String {
    let mut parts = line.split("127.0.0.1:");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        shown.push_str(&format!("127.0.0.1:PORT{rest}"));
    }
    shown
}

/// Returns one line for each server of `check --json`.
fn lines(folder: &Folder, show: impl Fn(&Value) -> String) -> String {
    let ran = folder.run(&["check", "--json"]);
    let value: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let servers = value["servers"].as_array().expect("servers").iter();
    servers
        .map(|server| format!("{}\n", show(server)))
        .collect()
}

fn transports(server: &Value) -> String {
    let [id, state, transport, configured, found] =
        ["id", "state", "transport", "configured", "found"].map(|key| &server[key]);
    without_ports(&format!("{id} {state} {transport} {configured} {found}"))
}

fn hints(server: &Value) -> String {
    let failure = &server["failure"];
    let [kind, speaks, hint] = ["kind", "speaks", "hint"].map(|key| &failure[key]);
    without_ports(&format!("{} {kind} {speaks} {hint}", server["id"]))
}

#[tokio::test]
async fn every_transport_is_reported() {
    let server = serve(|_| ()).await;
    let bare = |transport| json!({ "url": server.served.url_of(transport) });
    let folder = config([
        ("http", server.served.config_of(Transport::Http)),
        ("sse", server.served.config_of(Transport::Sse)),
        ("ws", server.served.config_of(Transport::WebSocket)),
        ("rpc", server.served.config_of(Transport::Rpc)),
        ("bare-http", bare(Transport::Http)),
        ("bare-ws", bare(Transport::WebSocket)),
        ("web-ws", server.entry(Some("websocket"), "http", "/ws")),
    ]);
    check(
        &folder.run(&["check"]),
        expect![[r#"
            exit 0
            configuration  narrows.json
            up        bare-http  http     2025-11-25 (legacy), N s, 1 tool, N tokens
            up        bare-ws    ws       2025-11-25 (legacy), N s, 1 tool, N tokens
            up        http       http     2025-11-25 (legacy), N s, 1 tool, N tokens
            up        rpc        rpc      2025-11-25 (legacy), N s, 1 tool, N tokens
            up        sse        sse      2025-11-25 (legacy), N s, 1 tool, N tokens
            up        web-ws     ws       2025-11-25 (legacy), N s, 1 tool, N tokens
            up        ws         ws       2025-11-25 (legacy), N s, 1 tool, N tokens
            7 of 7 servers up, N tools, N tokens, and recover_text of the gateway, N tokens
            warning: narrows.json:1:342: server 'web-ws': http:// is read as ws:// here, because the type is ws
              path: mcpServers.web-ws.url
              help: write ws:// in the url
        "#]],
    );
    expect![[r#"
        "http" "up" "http" "http" null
        "sse" "up" "sse" "sse" null
        "ws" "up" "ws" "ws" null
        "rpc" "up" "rpc" "rpc" null
        "bare-http" "up" "http" null null
        "bare-ws" "up" "ws" null null
        "web-ws" "up" "ws" "ws" null
    "#]]
    .assert_eq(&lines(&folder, transports));
    let ran = folder.run(&["call", "sse", "hammer", "{}", "--explain"]);
    assert!(
        ran.stderr.contains("server:     sse (sse)\n"),
        "{}",
        ran.shown()
    );
}

#[tokio::test]
async fn older_transport_is_detected_and_reported() {
    let server = serve(|script| {
        script.sse.at_mcp = Some(405);
        script.revision = Some("2024-11-05".into());
    })
    .await;
    let folder = config([
        ("found", server.served.config()),
        ("said", server.entry(Some("sse"), "http", "/mcp")),
        ("by-path", server.entry(None, "http", "/sse")),
    ]);
    check(
        &folder.run(&["check"]),
        expect![[r#"
            exit 0
            configuration  narrows.json
            up        by-path  sse      2024-11-05 (legacy), N s, 1 tool, N tokens
                      found: HTTP+SSE, because http://127.0.0.1:PORT/sse answered HTTP 405 Method Not Allowed; set "type": "sse" to skip the first attempt
            up        found    sse      2024-11-05 (legacy), N s, 1 tool, N tokens
                      found: HTTP+SSE, because http://127.0.0.1:PORT/mcp answered HTTP 405 Method Not Allowed; set "type": "sse" to skip the first attempt
            up        said     sse      2024-11-05 (legacy), N s, 1 tool, N tokens
            3 of 3 servers up, N tools, N tokens, and recover_text of the gateway, N tokens
        "#]],
    );
    expect![[r#"
        "found" "up" "sse" null "http://127.0.0.1:PORT/mcp answered HTTP 405 Method Not Allowed"
        "said" "up" "sse" "sse" null
        "by-path" "up" "sse" null "http://127.0.0.1:PORT/sse answered HTTP 405 Method Not Allowed"
    "#]]
    .assert_eq(&lines(&folder, transports));
}

#[tokio::test]
async fn wrong_type_gets_a_hint_with_the_right_one() {
    let server = serve(|_| ()).await;
    let older = serve(|script| script.sse.at_mcp = Some(400)).await;
    let servers = [
        ("http for sse", older.entry(Some("http"), "http", "/mcp")),
        ("http for ws", server.entry(Some("http"), "http", "/ws")),
        ("http for rpc", server.entry(Some("http"), "http", "")),
        ("sse for http", server.entry(Some("sse"), "http", "/mcp")),
        ("sse for ws", server.entry(Some("sse"), "http", "/ws")),
        ("sse for rpc", server.entry(Some("sse"), "http", "")),
        ("ws for http", server.entry(Some("ws"), "ws", "/mcp")),
        ("ws for sse", server.entry(None, "ws", "/sse")),
        ("ws for rpc", server.entry(Some("ws"), "ws", "")),
        ("rpc for http", server.entry(Some("rpc"), "http", "/mcp")),
        ("rpc for sse", server.entry(Some("rpc"), "http", "/sse")),
        ("rpc for ws", server.entry(Some("rpc"), "http", "/ws")),
        ("ws behind http", server.entry(None, "http", "/ws")),
        ("rpc behind http", server.entry(None, "http", "")),
    ];
    let folder = config(servers.clone());
    check(
        &folder.run(&["check"]),
        expect![[r#"
            exit 1
            configuration  narrows.json
            down      http for rpc     http     N s, http://127.0.0.1:PORT/ answered HTTP 404 Not Found
                      hint: it speaks rpc: set "type": "rpc"
            down      http for sse     http     N s, http://127.0.0.1:PORT/mcp answered HTTP 400 Bad Request
                      hint: it speaks sse: set "type": "sse"
            down      http for ws      http     N s, http://127.0.0.1:PORT/ws answered HTTP 405 Method Not Allowed
                      hint: it speaks ws: set "type": "ws", and write ws:// in the url
            down      rpc behind http  http     N s, http://127.0.0.1:PORT/ answered HTTP 404 Not Found
                      hint: it speaks rpc: set "type": "rpc"
            down      rpc for http     rpc      N s, http://127.0.0.1:PORT/mcp/rpc answered HTTP 404 Not Found
                      hint: it speaks http: set "type": "http"
            down      rpc for sse      rpc      N s, http://127.0.0.1:PORT/sse/rpc answered HTTP 404 Not Found
                      hint: it speaks sse: set "type": "sse"
            down      rpc for ws       rpc      N s, http://127.0.0.1:PORT/ws/rpc answered HTTP 404 Not Found
                      hint: it speaks ws: set "type": "ws", and write ws:// in the url
            down      sse for http     sse      N s, http://127.0.0.1:PORT/mcp answered HTTP 400 Bad Request: no session id
                      hint: it speaks http: set "type": "http"
            down      sse for rpc      sse      N s, http://127.0.0.1:PORT/ answered HTTP 404 Not Found
                      hint: it speaks rpc: set "type": "rpc"
            down      sse for ws       sse      N s, http://127.0.0.1:PORT/ws answered HTTP 400 Bad Request: not a WebSocket's handshake
                      hint: it speaks ws: set "type": "ws", and write ws:// in the url
            down      ws behind http   http     N s, http://127.0.0.1:PORT/ws answered HTTP 405 Method Not Allowed
                      hint: it speaks ws: set "type": "ws", and write ws:// in the url
            down      ws for http      ws       N s, ws://127.0.0.1:PORT/mcp answered HTTP 400 Bad Request instead of opening a WebSocket
                      hint: it speaks http: set "type": "http", and write http:// in the url
            down      ws for rpc       ws       N s, ws://127.0.0.1:PORT/ answered HTTP 404 Not Found instead of opening a WebSocket
                      hint: it speaks rpc: set "type": "rpc", and write http:// in the url
            down      ws for sse       ws       N s, ws://127.0.0.1:PORT/sse answered HTTP 200 OK instead of opening a WebSocket
                      hint: it speaks sse: set "type": "sse", and write http:// in the url
            0 of 14 servers up, N tools, N tokens, and recover_text of the gateway, N tokens
        "#]],
    );
    // Following the hints gives a valid configuration.
    let ran = folder.run(&["check", "--json"]);
    let value: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let mended = servers.map(|(id, mut entry)| {
        let all = value["servers"].as_array().expect("servers");
        let reported = all
            .iter()
            .find(|reported| reported["id"] == id)
            .expect("a value");
        entry["type"] = reported["failure"]["speaks"].clone();
        let hint = reported["failure"]["hint"].as_str().expect("a hint");
        if let Some((_, scheme)) = hint.split_once("write ") {
            let scheme = scheme.trim_end_matches(" in the url");
            let (_, rest) = entry["url"]
                .as_str()
                .and_then(|url| url.split_once("://"))
                .expect("a URL");
            entry["url"] = format!("{scheme}{rest}").into();
        }
        (id, entry)
    });
    let ran = config(mended).run(&["check"]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{}", ran.shown());
}

#[tokio::test]
async fn type_hint_persists_across_retries() {
    let server = serve(|_| ()).await;
    // While the slow server starts, the other is retried but not detected again.
    let slow = json!({ "command": "sleep", "args": ["60"], "startup_timeout_s": 3 });
    let folder = config([
        ("wrong", server.entry(Some("sse"), "http", "/mcp")),
        ("slow", slow),
    ]);
    let reported = lines(&folder, hints);
    let hint = r#""wrong" "wrong_transport" "http" "it speaks http: set \"type\": \"http\"""#;
    assert!(reported.starts_with(hint), "{reported}");
    let attempts = server.installed.count_received(r#""method":"GET""#);
    assert!(attempts > 2, "it was tried {attempts} times");
}

#[test]
fn hints_are_given_if_nothing_responds() {
    // The kernel accepts connections, but no program answers.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("an address");
    let mut servers = Vec::new();
    for kind in ["http", "sse", "ws", "rpc"] {
        let scheme = if kind == "ws" { "ws" } else { "http" };
        servers.push((
            format!("{kind} refused"),
            json!({ "type": kind, "url": format!("{scheme}://127.0.0.1:1/x") }),
        ));
        servers.push((
            format!("{kind} silent"),
            json!({ "type": kind, "url": format!("{scheme}://{address}/x"),
                "startup_timeout_s": 0.5, "connect_timeout_s": 0.4 }),
        ));
    }
    let folder = config(servers.iter().map(|(id, entry)| (&**id, entry.clone())));
    let hints = lines(&folder, hints);
    expect![[r#"
        "http refused" "connect" null "is the server running, at 127.0.0.1 on port 1?"
        "http silent" "timed_out" null "the server accepted the connection but did not respond"
        "sse refused" "connect" null "is the server running, at 127.0.0.1 on port 1?"
        "sse silent" "timed_out" null "the server accepted the connection but did not respond"
        "ws refused" "connect" null "is the server running, at 127.0.0.1 on port 1?"
        "ws silent" "timed_out" null "the server accepted the connection but did not respond"
        "rpc refused" "connect" null "is the server running, at 127.0.0.1 on port 1?"
        "rpc silent" "timed_out" null "the server accepted the connection but did not respond"
    "#]]
    .assert_eq(&hints);
}

#[tokio::test]
async fn hints_are_given_if_credentials_are_required() {
    let server = serve(|script| {
        script.http.required_header = Some(("x-key".into(), "right".into()));
    })
    .await;
    let entries = ALL.map(|transport| server.served.config_of(transport));
    let ids = ["http", "sse", "ws", "rpc"];
    let folder = config(ids.into_iter().zip(entries.clone()));
    expect![[r#"
        "http" "sign_in" null "it requires credentials: set \"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"}"
        "sse" "sign_in" null "it requires credentials: set \"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"}"
        "ws" "sign_in" null "it requires credentials: set \"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"}"
        "rpc" "sign_in" null "it requires credentials: set \"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"}"
    "#]].assert_eq(&lines(&folder, hints));
    let with_header = entries.map(|mut entry| {
        entry["headers"] = json!({ "X-Key": "right" });
        entry
    });
    let folder = config(ids.into_iter().zip(with_header));
    expect![[r#"
        "http" "up" "http" "http" null
        "sse" "up" "sse" "sse" null
        "ws" "up" "ws" "ws" null
        "rpc" "up" "rpc" "rpc" null
    "#]]
    .assert_eq(&lines(&folder, transports));
}

#[test]
fn hints_are_given_if_another_service_responds() {
    let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>";
    let nothing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let broken = "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>";
    let gone = "";
    let mut servers = Vec::new();
    for (name, answer) in [
        ("page", page),
        ("nothing", nothing),
        ("broken", broken),
        ("gone", gone),
    ] {
        let address = web_server(answer);
        for kind in ["http", "sse", "ws", "rpc"] {
            let scheme = if kind == "ws" { "ws" } else { "http" };
            let entry = json!({ "type": kind, "url": format!("{scheme}://{address}/") });
            servers.push((format!("{kind} {name}"), entry));
        }
    }
    let folder = config(servers.iter().map(|(id, entry)| (&**id, entry.clone())));
    expect![[r#"
        "http page" "wrong_transport" null "is this the right URL? MCP servers are often at /mcp"
        "sse page" "wrong_transport" null "is this the right URL? HTTP+SSE servers are often at /sse"
        "ws page" "wrong_transport" null "is this the right URL? WebSocket servers are often at /ws"
        "rpc page" "wrong_transport" null "is this the right URL? requests go to /rpc below it"
        "http nothing" "wrong_transport" null "is this the right URL? MCP servers are often at /mcp"
        "sse nothing" "wrong_transport" null "is this the right URL? HTTP+SSE servers are often at /sse"
        "ws nothing" "wrong_transport" null "is this the right URL? WebSocket servers are often at /ws"
        "rpc nothing" "wrong_transport" null "is this the right URL? requests go to /rpc below it"
        "http broken" "refused" null "is this the right URL? MCP servers are often at /mcp"
        "sse broken" "refused" null "is this the right URL? HTTP+SSE servers are often at /sse"
        "ws broken" "refused" null null
        "rpc broken" "refused" null "is this the right URL? requests go to /rpc below it"
        "http gone" "connect" null "the server closed the connection; its log may say why"
        "sse gone" "connect" null "the server closed the connection; its log may say why"
        "ws gone" "wrong_transport" null "is this the right URL? WebSocket servers are often at /ws"
        "rpc gone" "connect" null "the server closed the connection; its log may say why"
    "#]].assert_eq(&lines(&folder, hints));
}

#[test]
fn hints_are_given_if_a_handshake_is_forbidden() {
    let forbidden = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let closed = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let (forbidden, closed) = (web_server(forbidden), web_server(closed));
    let folder = config([
        ("ws 403", json!({ "url": format!("ws://{forbidden}/") })),
        ("ws 401", json!({ "url": format!("ws://{closed}/") })),
        ("http 403", json!({ "url": format!("http://{forbidden}/") })),
    ]);
    expect![[r#"
        "ws 403" "sign_in" null "it requires credentials: set \"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"}; or the path is wrong: WebSocket servers are often at /ws"
        "ws 401" "sign_in" null "it requires credentials: set \"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"}"
        "http 403" "sign_in" null "it requires credentials: set \"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"}"
    "#]].assert_eq(&lines(&folder, hints));
}

#[tokio::test]
async fn hints_are_given_if_rpc_is_in_the_url_twice() {
    let server = serve(|_| ()).await;
    let nothing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let folder = config([
        ("twice", server.entry(Some("rpc"), "http", "/rpc")),
        ("slash", server.entry(Some("rpc"), "http", "/rpc/")),
        (
            "nothing",
            json!({ "type": "rpc", "url": format!("http://{}/rpc", web_server(nothing)) }),
        ),
        (
            "gone",
            json!({ "type": "rpc", "url": "http://127.0.0.1:1/rpc" }),
        ),
    ]);
    expect![[r#"
        "twice" "wrong_transport" "http" "remove /rpc from the url: it is appended automatically"
        "slash" "wrong_transport" null "remove /rpc from the url: it is appended automatically"
        "nothing" "wrong_transport" null "remove /rpc from the url: it is appended automatically"
        "gone" "connect" null "is the server running, at 127.0.0.1 on port 1?"
    "#]]
    .assert_eq(&lines(&folder, hints));
}

#[tokio::test]
async fn hints_are_given_if_tls_meets_a_plain_server() {
    let server = serve(|_| ()).await;
    let folder = config([
        ("none", server.entry(None, "https", "/mcp")),
        ("http", server.entry(Some("http"), "https", "/mcp")),
        ("sse", server.entry(Some("sse"), "https", "/sse")),
        ("ws", server.entry(None, "wss", "/ws")),
        ("rpc", server.entry(Some("rpc"), "https", "")),
    ]);
    expect![[r#"
        "none" "connect" null "it does not seem to speak TLS: write http:// in the url"
        "http" "connect" null "it does not seem to speak TLS: write http:// in the url"
        "sse" "connect" null "it does not seem to speak TLS: write http:// in the url"
        "ws" "connect" null "it does not seem to speak TLS: write ws:// in the url"
        "rpc" "connect" null "it does not seem to speak TLS: write http:// in the url"
    "#]]
    .assert_eq(&lines(&folder, hints));
}

#[tokio::test]
async fn hints_are_given_if_a_server_connects_then_fails() {
    let elsewhere = serve(|script| {
        script.sse.endpoint = Endpoint::Text("http://0.0.0.0:8000/messages?session_id={id}".into());
    })
    .await;
    let close = Step::Close {
        code: 1008,
        reason: "not today".into(),
    };
    let closing = served(Script::new("alpha").on("initialize", [close])).await;
    let folder = config([
        ("elsewhere", elsewhere.served.config_of(Transport::Sse)),
        ("closing", closing.served.config_of(Transport::WebSocket)),
    ]);
    check(
        &folder.run(&["check"]),
        expect![[r#"
            exit 1
            configuration  narrows.json
            down      closing    ws       N s, ws://127.0.0.1:PORT/ws: it closed the connection (1008: not today)
                      hint: the server closed the connection; its log may say why
            down      elsewhere  sse      N s, http://127.0.0.1:PORT/sse: it expects messages at http://0.0.0.0:8000/messages, which is another site
                      hint: set "url" to the host and port that the server announces, or make it announce the address used here
            0 of 2 servers up, N tools, N tokens, and recover_text of the gateway, N tokens
        "#]],
    );
}
