//! A scripted MCP server: lists and answers what a test tells it to, byte for
//! byte, and misbehaves on demand.
//!
//! A test builds a [`Script`], [installs](Script::install) it and gives the
//! command line to the gateway; or has it [listen](Installed::serve_http), to be
//! spoken to by any [`Transport`]. The server is the binary `scripted-upstream`
//! of this package.
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

/// What the server is and does. JSON given as text is served byte for byte.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Script {
    pub name: String,
    /// The revision to answer `initialize` with; none: the one that was asked for.
    pub revision: Option<String>,
    pub instructions: Option<String>,
    /// None: what follows from the lists.
    pub capabilities: Option<String>,
    pub lists: Lists,
    /// Items to a page; 0: all.
    pub page_size: usize,
    pub framing: Framing,
    pub ignore_sigterm: bool,
    /// Whether to live on when stdin ends.
    pub ignore_eof: bool,
    pub http: HttpOptions,
    pub sse: SseOptions,
    pub websocket: WebSocketOptions,
    pub rpc: RpcOptions,
    /// Done once, before anybody is heard. What a listening server says here is
    /// said on every HTTP+SSE stream and WebSocket, and on the first GET of
    /// Streamable HTTP.
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

/// What is done about requests of one method, and of one tool, prompt or URI if
/// `name` is given. The first rule that fits counts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rule {
    pub method: String,
    pub name: Option<String>,
    pub steps: Vec<Step>,
}

/// One thing to do. Steps of one request run one after the other; requests run
/// side by side. A request whose steps end without an answer gets the usual one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Step {
    /// Answers with this result.
    Reply(String),
    /// Answers with this error object.
    Error(String),
    /// Answers with the text of the params as they came.
    ReplyParams,
    /// Answers with the text of a JSON array: the client's answers to what this request has asked.
    ReplyAnswers,
    /// Answers with a text of so many characters.
    ReplyLength(usize),
    /// Answers with the text of an object: `cwd`, `args`, `env`.
    ReplySurroundings,
    /// Goes on once the test has released the name.
    Wait(String),
    /// Tells the test that this step was reached.
    Reach(String),
    /// Never goes on, never answers.
    Stall,
    /// Stands still with all that it is, until the test has released the name:
    /// nothing is read meanwhile, and nothing answered.
    Block(String),
    /// From now on no request is answered any more. It still reads, and says
    /// all that is no answer.
    Mute,
    /// On stdio: closes stdout, and lives on.
    CloseOutput,
    /// Sends a notification.
    Notify { method: String, params: String },
    /// Sends progress for this request, if it has a token.
    Progress { progress: u64, total: u64 },
    /// Asks the client and waits for its answer; for ever over plain JSON-RPC,
    /// where nobody is asked.
    Ask { method: String, params: String },
    /// Sends this text as a message, whatever it is.
    Say(String),
    /// Writes so many lines to stderr.
    Complain { lines: u64, text: String },
    /// Starts a process that sleeps for long.
    Spawn(Grandchild),
    /// Replaces the lists.
    Relist(Lists),
    /// Does this the first time only, over all starts of the server.
    Once(String, Vec<Step>),
    /// Does the same so many times.
    Repeat(usize, Box<Step>),
    /// Sends bytes without a frame of any kind, on stdout, an event stream or a WebSocket.
    Bytes(Vec<u8>),
    /// On a WebSocket: sends a binary message.
    Binary(Vec<u8>),
    /// On a WebSocket: closes it, and waits for the client to do so too. There
    /// is no answer then.
    Close { code: u16, reason: String },
    /// Over HTTP: answers the POST with this status and text instead of JSON-RPC.
    Status {
        code: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
    /// Breaks the connection: that of the POST, over HTTP+SSE that of the
    /// stream, or that of the WebSocket, without a close. There is no answer then.
    HangUp,
    /// Over HTTP: forgets all sessions, also those of HTTP+SSE, whose streams stay.
    ForgetSessions,
    /// Ends the server with this status.
    Exit(i32),
    /// Ends the server by SIGKILL.
    Die,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grandchild {
    /// In the server's process group, holding its pipes open.
    InGroup,
    /// In a session and a group of its own.
    OwnSession,
}

impl Step {
    /// Answers a tool call with one text.
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
    /// A server that offers nothing yet.
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

    /// Lists a tool, as JSON text.
    pub fn tool(mut self, item: impl Into<String>) -> Script {
        self.lists.tools.push(item.into());
        self
    }

    /// Lists a tool that takes any object.
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

    /// `name` is that of a tool or prompt, or a URI.
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

    /// Writes the script where the server will find it.
    pub fn install(&self) -> Installed {
        Installed::new(self)
    }
}

/// Where a script finds the files it and its test tell each other by.
const SCRIPT: &str = "script.json";
const RECEIVED: &str = "received";
const SERVERS: &str = "servers";
const GRANDCHILDREN: &str = "grandchildren";

/// The server itself, for the binary: serves the script in this folder until its client is gone.
pub async fn run(folder: &Path, listening: bool) -> io::Result<()> {
    let script: Script = serde_json::from_slice(&std::fs::read(folder.join(SCRIPT))?)?;
    if script.ignore_sigterm {
        // A handler that nobody listens to.
        drop(tokio::signal::unix::signal(
            tokio::signal::unix::SignalKind::terminate(),
        )?);
    }
    let server = server::Server::new(script, folder);
    if listening {
        listen::serve(server).await
    } else {
        stdio::serve(server).await
    }
}
