//! A scripted MCP server over Streamable HTTP.
//!
//! `echo` answers at once. A call to `hold` is handed to the test, which controls all messages on
//! the call's stream.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::within;

pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    held: mpsc::UnboundedReceiver<HeldCall>,
    /// Received notifications and responses.
    received: mpsc::UnboundedReceiver<Value>,
    /// The number of tools added since the start.
    more_tools: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

/// A pending call, controlled by the test.
pub(crate) struct HeldCall {
    pub(crate) id: Value,
    pub(crate) arguments: Value,
    token: Value,
    socket: BufReader<TcpStream>,
}

impl Upstream {
    pub(crate) async fn start() -> Upstream {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (hold, held) = mpsc::unbounded_channel();
        let (receive, received) = mpsc::unbounded_channel();
        let more_tools = Arc::new(AtomicUsize::new(0));
        let more = more_tools.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                connections.spawn(connection(
                    socket,
                    hold.clone(),
                    receive.clone(),
                    more.clone(),
                ));
            }
        });
        Upstream {
            address,
            held,
            received,
            more_tools,
            _tasks: tasks,
        }
    }

    /// Adds a tool, and sends a list change notification on the stream of `held`.
    pub(crate) async fn add_tool(&self, held: &mut HeldCall) {
        self.more_tools.fetch_add(1, Ordering::Relaxed);
        let method = "notifications/tools/list_changed";
        held.event(json!({ "jsonrpc": "2.0", "method": method }))
            .await;
    }

    /// Returns the next call to `hold`.
    pub(crate) async fn held(&mut self) -> HeldCall {
        within("a call upstream", self.held.recv()).await.unwrap()
    }

    /// Waits for the next notification or response whose `member` equals `value`.
    pub(crate) async fn received(&mut self, member: &str, value: &Value) -> Value {
        loop {
            let received = within("a message upstream", self.received.recv())
                .await
                .unwrap();
            if received[member] == *value {
                return received;
            }
        }
    }

    /// Returns all notifications and responses received but not yet consumed.
    pub(crate) fn received_so_far(&mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.received.try_recv().ok()).collect()
    }
}

impl HeldCall {
    /// Sends a progress notification for this call.
    pub(crate) async fn progress(&mut self, progress: u64) {
        let params = json!({ "progressToken": self.token, "progress": progress });
        let method = "notifications/progress";
        self.event(json!({ "jsonrpc": "2.0", "method": method, "params": params }))
            .await;
    }

    /// Sends a log message on this call's stream.
    pub(crate) async fn log(&mut self, level: &str) {
        let params = json!({ "level": level, "data": "x" });
        let method = "notifications/message";
        self.event(json!({ "jsonrpc": "2.0", "method": method, "params": params }))
            .await;
    }

    /// Sends progress notifications of a few kilobytes each.
    pub(crate) async fn progress_at_length(&mut self, range: std::ops::Range<u64>) {
        let message = "x".repeat(5_000);
        for progress in range {
            let params =
                json!({ "progressToken": self.token, "progress": progress, "message": message });
            let method = "notifications/progress";
            self.event(json!({ "jsonrpc": "2.0", "method": method, "params": params }))
                .await;
        }
    }

    /// Sends a request to the client on this call's stream.
    pub(crate) async fn ask(&mut self, id: &str) {
        let params = json!({ "message": "well?", "requestedSchema": { "type": "object" } });
        let method = "elicitation/create";
        self.event(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
    }

    pub(crate) async fn answer(mut self, text: &str) {
        let result = json!({ "content": [{ "type": "text", "text": text }] });
        self.event(json!({ "jsonrpc": "2.0", "id": self.id, "result": result }))
            .await;
    }

    /// Answers with a result that spans several lines.
    pub(crate) async fn answer_in_lines(mut self, result: &str) {
        let id = &self.id;
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        let lines: String = message
            .lines()
            .map(|line| format!("data: {line}\n"))
            .collect();
        self.write(&format!("{lines}\n")).await;
    }

    async fn event(&mut self, message: Value) {
        self.write(&format!("data: {message}\n\n")).await;
    }

    async fn write(&mut self, text: &str) {
        let written = self.socket.write_all(text.as_bytes());
        within("the gateway to read", written).await.unwrap();
    }
}

async fn connection(
    socket: TcpStream,
    hold: mpsc::UnboundedSender<HeldCall>,
    receive: mpsc::UnboundedSender<Value>,
    more_tools: Arc<AtomicUsize>,
) {
    let mut socket = BufReader::new(socket);
    while let Some((method, message)) = read(&mut socket).await {
        if method != "POST" {
            write(&mut socket, if method == "DELETE" { 200 } else { 405 }, "").await;
            continue;
        }
        if message["id"].is_null() || message["method"].is_null() {
            let _ = receive.send(message);
            write(&mut socket, 202, "").await;
            continue;
        }
        let params = &message["params"];
        let result = match (message["method"].as_str().unwrap(), params["name"].as_str()) {
            ("initialize", _) => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": { "listChanged": true }, "resources": {} },
                "serverInfo": { "name": "scripted", "version": "1" },
            }),
            ("tools/list", _) => {
                let more = (0..more_tools.load(Ordering::Relaxed)).map(|n| format!("more{n}"));
                let names = ["echo", "hold", "blob"]
                    .map(String::from)
                    .into_iter()
                    .chain(more);
                let tool = |name| json!({ "name": name, "inputSchema": { "type": "object" } });
                json!({ "tools": names.map(tool).collect::<Vec<_>>() })
            }
            ("resources/list", _) => json!({ "resources": [] }),
            ("resources/templates/list", _) => json!({ "resourceTemplates": [] }),
            ("tools/call", Some("echo")) => {
                json!({ "content": [{ "type": "text", "text": params["arguments"].to_string() }] })
            }
            ("tools/call", Some("blob")) => {
                json!({ "content": [{ "type": "text", "text": "x".repeat(300_000) }] })
            }
            ("tools/call", Some("hold")) => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                socket.write_all(head.as_bytes()).await.unwrap();
                let held = HeldCall {
                    id: message["id"].clone(),
                    arguments: params["arguments"].clone(),
                    token: params["_meta"]["progressToken"].clone(),
                    socket,
                };
                let _ = hold.send(held);
                return;
            }
            _ => json!({}),
        };
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        write(&mut socket, 200, &answer.to_string()).await;
    }
}

async fn read(socket: &mut BufReader<TcpStream>) -> Option<(String, Value)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if socket.read_line(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    socket.read_exact(&mut body).await.ok()?;
    let method = head.split(' ').next()?.to_string();
    Some((method, serde_json::from_slice(&body).unwrap_or_default()))
}

async fn write(socket: &mut BufReader<TcpStream>, status: u16, body: &str) {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nmcp-session-id: s1\r\ncontent-length: {length}\r\n\r\n"
    );
    let _ = socket.write_all(format!("{head}{body}").as_bytes()).await;
}
