//! The MCP protocol, independent of the transport: each message gets at most one answer.
//!
//! Echoed text is never decoded, and a large text is built only once, so that this server does not
//! limit a run.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Newest first. A client that requests none of them gets the newest.
const REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The maximum text length, so that a mistyped number does not exhaust memory.
const MOST_BYTES: usize = 64 << 20;

pub(super) struct Server {
    /// The result of `tools/list`.
    tools: String,
    sessions: RefCell<HashSet<Vec<u8>>>,
    last_session: Cell<u64>,
    /// The last text returned by `blob`, as JSON, with its length.
    blob: RefCell<(usize, String)>,
    /// The folder with the results that `result` returns.
    folder: Option<PathBuf>,
    stored: RefCell<HashMap<String, Bytes>>,
}

pub(super) enum Handled {
    /// The message was not a request.
    Nothing,
    /// The answer to `initialize`, which opens a session on transports with sessions.
    Welcome(String),
    Answer(String),
    /// An answer in parts, so that a large result is never copied.
    Stored([Bytes; 3]),
}

impl Handled {
    /// Returns the answer in one piece, for transports that need it.
    pub(super) fn text(self) -> Option<String> {
        match self {
            Handled::Nothing => None,
            Handled::Welcome(text) | Handled::Answer(text) => Some(text),
            Handled::Stored(parts) => String::from_utf8(parts.concat()).ok(),
        }
    }
}

impl Server {
    pub(super) fn new(more_tools: usize, folder: Option<PathBuf>) -> Server {
        let mut tools = vec![
            tool("echo", "Returns its text.", "text", "string"),
            tool("blob", "Returns so many bytes of text.", "bytes", "integer"),
        ];
        if folder.is_some() {
            tools.push(tool("result", "Returns a stored result.", "name", "string"));
        }
        tools.extend((0..more_tools).map(idle_tool));
        Server {
            tools: json!({ "tools": tools }).to_string(),
            sessions: RefCell::default(),
            last_session: Cell::default(),
            blob: RefCell::new((0, quoted(""))),
            folder,
            stored: RefCell::default(),
        }
    }

    pub(super) fn handle(&self, message: &[u8]) -> Handled {
        let Ok(message) = serde_json::from_slice::<Message<'_>>(message) else {
            return error("null", -32700, "this is no JSON-RPC message");
        };
        let (Some(id), Some(method)) = (message.id, message.method) else {
            return Handled::Nothing;
        };
        let id = id.get();
        let params = message.params.map_or("{}", RawValue::get);
        match method {
            "tools/call" => self.call(id, params),
            "tools/list" => Handled::Answer(result(id, &self.tools)),
            "ping" => Handled::Answer(result(id, "{}")),
            "initialize" => Handled::Welcome(result(id, &welcome(params))),
            _ => error(id, -32601, "there is no such method"),
        }
    }

    fn call(&self, id: &str, params: &str) -> Handled {
        let Ok(call) = serde_json::from_str::<Call<'_>>(params) else {
            return error(id, -32602, "these are no params of a call");
        };
        let arguments = call.arguments.map_or("{}", RawValue::get);
        let Ok(arguments) = serde_json::from_str::<Arguments<'_>>(arguments) else {
            return error(id, -32602, "these are no arguments of a tool");
        };
        match call.name {
            "echo" => text(id, arguments.text.map_or("\"\"", RawValue::get)),
            "blob" => {
                let bytes = arguments.bytes.min(MOST_BYTES);
                let mut blob = self.blob.borrow_mut();
                if blob.0 != bytes {
                    *blob = (bytes, quoted(&lines(bytes)));
                }
                text(id, &blob.1)
            }
            "result" => match self.stored(arguments.name.unwrap_or_default()) {
                Some(stored) => {
                    let before = [r#"{"jsonrpc":"2.0","id":"#, id, r#","result":"#].concat();
                    Handled::Stored([before.into(), stored, Bytes::from_static(b"}")])
                }
                None => error(id, -32602, "there is no such result"),
            },
            name if name.starts_with("idle_") => text(id, "\"\""),
            _ => error(id, -32602, "there is no such tool"),
        }
    }

    /// Returns the result of this name from the folder. The file is read on first use.
    fn stored(&self, name: &str) -> Option<Bytes> {
        let mut stored = self.stored.borrow_mut();
        if !stored.contains_key(name) {
            let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
            let folder = self.folder.as_ref().filter(|_| name.chars().all(plain))?;
            let read = std::fs::read(folder.join(format!("{name}.json"))).ok()?;
            stored.insert(name.to_owned(), read.into());
        }
        stored.get(name).cloned()
    }

    pub(super) fn open_session(&self) -> String {
        let number = self.last_session.get() + 1;
        self.last_session.set(number);
        let id = format!("echo-{number:08x}");
        self.sessions.borrow_mut().insert(id.clone().into());
        id
    }

    pub(super) fn has_session(&self, id: &[u8]) -> bool {
        self.sessions.borrow().contains(id)
    }

    /// Ends a session. Returns false if it did not exist.
    pub(super) fn end_session(&self, id: &[u8]) -> bool {
        self.sessions.borrow_mut().remove(id)
    }
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<&'a str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call<'a> {
    name: &'a str,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(default)]
    bytes: usize,
    name: Option<&'a str>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hello<'a> {
    protocol_version: &'a str,
}

fn welcome(params: &str) -> String {
    let asked: Hello<'_> = serde_json::from_str(params).unwrap_or_default();
    let known = REVISIONS
        .iter()
        .find(|known| **known == asked.protocol_version);
    json!({
        "protocolVersion": known.unwrap_or(&REVISIONS[0]),
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "narrows-bench", "version": env!("CARGO_PKG_VERSION") },
    })
    .to_string()
}

fn text(id: &str, text: &str) -> Handled {
    let before = r#"{"content":[{"type":"text","text":"#;
    Handled::Answer(result(id, &[before, text, "}]}"].concat()))
}

fn result(id: &str, body: &str) -> String {
    [r#"{"jsonrpc":"2.0","id":"#, id, r#","result":"#, body, "}"].concat()
}

fn error(id: &str, code: i32, message: &str) -> Handled {
    let body = json!({ "code": code, "message": message }).to_string();
    Handled::Answer([r#"{"jsonrpc":"2.0","id":"#, id, r#","error":"#, &body, "}"].concat())
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Returns text like that of a log: words, with an escape at the end of every line.
fn lines(bytes: usize) -> String {
    const LINE: &str = "2025-01-01T00:00:00Z  INFO  request served in 12 ms, 200 OK, GET /index\n";
    let mut text = LINE.repeat(bytes / LINE.len() + 1);
    text.truncate(bytes);
    text
}

fn tool(name: &str, description: &str, argument: &str, kind: &str) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": { argument: { "type": kind } },
            "required": [argument],
        },
    })
}

fn idle_tool(number: usize) -> Value {
    let name = format!("idle_{number}");
    tool(
        &name,
        "Returns nothing, for the length of the list.",
        "query",
        "string",
    )
}
