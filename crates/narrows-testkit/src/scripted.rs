//! A scripted MCP server: serves lists and answers from a test's script, byte for byte, and
//! misbehaves on demand.
//!
//! A test builds a [`Script`], [installs](Script::install) it, and passes the command line to the
//! gateway. Alternatively, it lets the server [listen](Installed::serve_http), which then accepts
//! any [`Transport`]. The server is the binary `scripted-upstream` of this package.
//!
//! ```no_run
//! use narrows_testkit::scripted::{Script, Step};
//!
//! let server = Script::new("alpha")
//!     .tool(r#"{"name":"slow","inputSchema":{"type":"object"}}"#)
//!     .on_tool("slow", [Step::Wait("go".into()), Step::text("done")])
//!     .install();
//! // ... start the gateway on server.command() and server.args(), call the tool ...
//! server.release("go");
//! ```

mod connection;
mod events;
mod http;
mod installed;
mod listen;
mod options;
mod reply;
mod rpc;
mod server;
mod sse;
mod state;
mod stdio;
mod usual;
mod websocket;

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::json;

pub use installed::{Installed, Served, path_to_binary};
pub use options::{
    Endpoint, Framing, HttpOptions, LineEnd, RpcOptions, SseOptions, Transport, WebSocketOptions,
};

/// The definition of a server and its behaviour. JSON given as text is served byte for byte.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Script {
    pub name: String,
    /// The revision in the answer to `initialize`; `None` returns the requested one.
    pub revision: Option<String>,
    pub instructions: Option<String>,
    /// The capabilities as JSON; `None` derives them from the lists.
    pub capabilities: Option<String>,
    pub lists: Lists,
    /// The number of items per page; 0 means all.
    pub page_size: usize,
    pub framing: Framing,
    pub ignore_sigterm: bool,
    /// True if the server keeps running when stdin ends.
    pub ignore_eof: bool,
    pub http: HttpOptions,
    pub sse: SseOptions,
    pub websocket: WebSocketOptions,
    pub rpc: RpcOptions,
    /// Steps to run once, before any message is handled. A listening server repeats their output on
    /// every HTTP+SSE stream and WebSocket, and on the first GET of Streamable HTTP.
    pub at_start: Vec<Step>,
    pub after_initialized: Vec<Step>,
    pub rules: Vec<Rule>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Lists {
    pub tools: Vec<String>,
    pub prompts: Vec<String>,
    pub resources: Vec<String>,
    pub templates: Vec<String>,
}

/// The steps for requests of one method, and of one tool, prompt or URI if `name` is set. The first
/// matching rule applies.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rule {
    pub method: String,
    pub name: Option<String>,
    pub steps: Vec<Step>,
}

/// One action of the server. The steps of a request run in sequence, and requests run concurrently.
/// A request without an answer after its last step gets the default answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Step {
    /// Answers with this result.
    Reply(String),
    /// Answers with this error object.
    Error(String),
    /// Answers with the params as text, unchanged.
    ReplyParams,
    /// Answers with a JSON array as text: the client's answers to the requests of this rule.
    ReplyAnswers,
    /// Answers with a text of this many characters.
    ReplyLength(usize),
    /// Answers with an object as text: `cwd`, `args`, `env`.
    ReplyEnvironment,
    /// Waits until the test releases this name.
    Wait(String),
    /// Notifies the test that this step was reached.
    Reach(String),
    /// Waits forever, without an answer.
    Stall,
    /// Blocks the whole server until the test releases this name: it neither reads nor answers
    /// messages meanwhile.
    Block(String),
    /// Stops answering requests. The server still reads messages, and sends all output other than
    /// answers.
    Mute,
    /// On stdio: closes stdout and keeps running.
    CloseOutput,
    /// Sends a notification.
    Notify { method: String, params: String },
    /// Sends a progress notification for this request, if it has a token.
    Progress { progress: u64, total: u64 },
    /// Sends a request to the client and waits for the answer; forever over plain JSON-RPC, which
    /// cannot carry such requests.
    Ask { method: String, params: String },
    /// Sends this text as a message, valid or not.
    Say(String),
    /// Writes this many lines to stderr.
    Complain { lines: u64, text: String },
    /// Starts a process that sleeps for a long time.
    Spawn(Grandchild),
    /// Replaces the lists.
    Relist(Lists),
    /// Runs these steps only once, across all starts of the server.
    Once(String, Vec<Step>),
    /// Repeats a step this many times.
    Repeat(usize, Box<Step>),
    /// Sends bytes without a frame, on stdout, an event stream or a WebSocket.
    Bytes(Vec<u8>),
    /// On a WebSocket: sends a binary message.
    Binary(Vec<u8>),
    /// On a WebSocket: sends a close frame and waits for the client's. The request gets no answer.
    Close { code: u16, reason: String },
    /// Over HTTP: answers the POST with this status and body instead of JSON-RPC.
    Status {
        code: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
    /// Breaks the connection of the POST, of the HTTP+SSE stream, or of the WebSocket (without a
    /// close frame). The request gets no answer.
    HangUp,
    /// Over HTTP: drops all sessions, including those of HTTP+SSE, whose streams stay open.
    ForgetSessions,
    /// Ends the server with this exit status.
    Exit(i32),
    /// Ends the server with SIGKILL.
    Die,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grandchild {
    /// In the server's process group, with inherited pipes.
    InGroup,
    /// In its own session and process group.
    OwnSession,
}

impl Step {
    /// Answers a tool call with a text.
    pub fn text(text: &str) -> Step {
        Step::Reply(json!({ "content": [{ "type": "text", "text": text }] }).to_string())
    }

    pub fn reply(result: impl Into<String>) -> Step {
        Step::Reply(result.into())
    }

    pub fn error(code: i64, message: &str) -> Step {
        Step::Error(json!({ "code": code, "message": message }).to_string())
    }

    pub fn notify(method: &str, params: impl Into<String>) -> Step {
        Step::Notify {
            method: method.into(),
            params: params.into(),
        }
    }

    pub fn ask(method: &str, params: impl Into<String>) -> Step {
        Step::Ask {
            method: method.into(),
            params: params.into(),
        }
    }
}

impl Script {
    /// Creates a server without tools, prompts or resources.
    pub fn new(name: &str) -> Script {
        Script {
            name: name.into(),
            revision: None,
            instructions: None,
            capabilities: None,
            lists: Lists::default(),
            page_size: 0,
            framing: Framing::Newline,
            ignore_sigterm: false,
            ignore_eof: false,
            http: HttpOptions::default(),
            sse: SseOptions::default(),
            websocket: WebSocketOptions::default(),
            rpc: RpcOptions::default(),
            at_start: Vec::new(),
            after_initialized: Vec::new(),
            rules: Vec::new(),
        }
    }

    /// Adds a tool, given as JSON text.
    pub fn tool(mut self, item: impl Into<String>) -> Script {
        self.lists.tools.push(item.into());
        self
    }

    /// Adds a tool that accepts any object.
    pub fn plain_tool(self, name: &str) -> Script {
        let item = json!({ "name": name, "description": format!("The tool {name}"),
            "inputSchema": { "type": "object" } });
        self.tool(item.to_string())
    }

    pub fn prompt(mut self, item: impl Into<String>) -> Script {
        self.lists.prompts.push(item.into());
        self
    }

    pub fn resource(mut self, item: impl Into<String>) -> Script {
        self.lists.resources.push(item.into());
        self
    }

    pub fn template(mut self, item: impl Into<String>) -> Script {
        self.lists.templates.push(item.into());
        self
    }

    pub fn on(self, method: &str, steps: impl IntoIterator<Item = Step>) -> Script {
        self.rule(method, None, steps)
    }

    pub fn on_tool(self, name: &str, steps: impl IntoIterator<Item = Step>) -> Script {
        self.rule("tools/call", Some(name), steps)
    }

    /// Adds a rule. `name` is that of a tool or prompt, or a URI.
    pub fn rule(
        mut self,
        method: &str,
        name: Option<&str>,
        steps: impl IntoIterator<Item = Step>,
    ) -> Script {
        let (method, name) = (method.into(), name.map(Into::into));
        self.rules.push(Rule {
            method,
            name,
            steps: steps.into_iter().collect(),
        });
        self
    }

    pub fn at_start(mut self, steps: impl IntoIterator<Item = Step>) -> Script {
        self.at_start.extend(steps);
        self
    }

    pub fn after_initialized(mut self, steps: impl IntoIterator<Item = Step>) -> Script {
        self.after_initialized.extend(steps);
        self
    }

    /// Sets any field: `.with(|script| script.page_size = 2)`.
    pub fn with(mut self, set: impl FnOnce(&mut Script)) -> Script {
        set(&mut self);
        self
    }

    /// Writes the script to a folder for the server.
    pub fn install(&self) -> Installed {
        Installed::new(self)
    }
}

/// The files through which a server and its test communicate.
const SCRIPT: &str = "script.json";
const RECEIVED: &str = "received";
const SERVERS: &str = "servers";
const GRANDCHILDREN: &str = "grandchildren";

/// Runs the server, for the binary: serves the script in `folder` until the client disconnects.
pub async fn run(folder: &Path, listening: bool) -> io::Result<()> {
    let script: Script = serde_json::from_slice(&std::fs::read(folder.join(SCRIPT))?)?;
    if script.ignore_sigterm {
        // Registers a handler and ignores the signal.
        drop(tokio::signal::unix::signal(
            tokio::signal::unix::SignalKind::terminate(),
        )?);
    }
    let server = server::ScriptedServer::new(script, folder);
    if listening {
        listen::serve(server).await
    } else {
        stdio::serve(server).await
    }
}
