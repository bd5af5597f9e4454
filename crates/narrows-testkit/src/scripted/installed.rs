//! The test's side of a scripted server.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::{GRANDCHILDREN, RECEIVED, SCRIPT, SERVERS, Script, Transport};
use crate::{Folder, LIMIT, until};

/// A script in its folder, ready to be started, any number of times.
#[derive(Debug)]
pub struct Installed {
    folder: Folder,
}

impl Installed {
    pub(super) fn new(script: &Script) -> Installed {
        let folder = Folder::new();
        folder.write(
            SCRIPT,
            serde_json::to_vec(script).expect("a script has a JSON form"),
        );
        Installed { folder }
    }

    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    pub fn command(&self) -> String {
        path_to_binary().display().to_string()
    }

    pub fn args(&self) -> Vec<String> {
        vec![self.folder.path().display().to_string()]
    }

    /// As an entry of `mcpServers`.
    pub fn config(&self) -> Value {
        json!({ "command": self.command(), "args": self.args() })
    }

    /// Lets every [`Step::Wait`](super::Step::Wait) of this name go on, also those to come.
    pub fn release(&self, name: &str) {
        self.folder.write(&format!("release-{name}"), "");
    }

    /// Waits until a [`Step::Reach`](super::Step::Reach) of this name was done.
    pub async fn reached(&self, name: &str) {
        let path = self.folder.file(&format!("reached-{name}"));
        until(format!("the step '{name}' is reached"), || path.exists()).await;
    }

    /// Every message the server got, as it came. Over HTTP every request is an
    /// object of `method`, `path`, `headers` and `body`, and `query` if it has one.
    ///
    /// Of a stream of HTTP+SSE there is `{"sse":"lost"}` when the client has left
    /// it. Of a WebSocket there is the handshake, its text messages, and
    /// `{"websocket":"ping"}`, `"pong"`, `"binary"` (with `length`), `"close"`
    /// (with `code` and `reason`, if any), `"lost"` when the client has gone
    /// without a close, and `"violation"` (with `what`).
    pub fn received(&self) -> Vec<String> {
        self.folder.read(RECEIVED).lines().map(Into::into).collect()
    }

    /// Waits for a message that contains `part`, and gives it.
    pub async fn received_with(&self, part: &str) -> String {
        let find = || self.received().into_iter().find(|line| line.contains(part));
        until(format!("the server got a message with {part:?}"), || {
            find().is_some()
        })
        .await;
        find().unwrap_or_default()
    }

    /// How many messages contained `part` so far.
    pub fn count_received(&self, part: &str) -> usize {
        self.received()
            .iter()
            .filter(|line| line.contains(part))
            .count()
    }

    /// The servers that were started on this script, in their order.
    pub fn server_pids(&self) -> Vec<u32> {
        self.pids(SERVERS)
    }

    pub fn grandchild_pids(&self) -> Vec<u32> {
        self.pids(GRANDCHILDREN)
    }

    pub fn all_pids(&self) -> Vec<u32> {
        [self.server_pids(), self.grandchild_pids()].concat()
    }

    /// Starts the server on a port of its own, to be spoken to by every [`Transport`].
    pub async fn serve_http(&self) -> Served {
        let mut child = Command::new(path_to_binary())
            .args(["--http".to_owned()].iter().chain(&self.args()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the scripted server starts");
        let stdout = child.stdout.take().expect("it is piped");
        let mut line = String::new();
        let mut stdout = BufReader::new(stdout);
        let read = tokio::time::timeout(LIMIT, stdout.read_line(&mut line)).await;
        read.expect("the address comes in time")
            .expect("stdout can be read");
        Served {
            address: line.trim().to_owned(),
            child,
        }
    }

    fn pids(&self, file: &str) -> Vec<u32> {
        self.folder
            .read(file)
            .lines()
            .filter_map(|line| line.parse().ok())
            .collect()
    }
}

/// A scripted server that listens; ended when dropped.
#[derive(Debug)]
pub struct Served {
    address: String,
    child: Child,
}

impl Served {
    /// `127.0.0.1:port`
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The endpoint of Streamable HTTP.
    pub fn url(&self) -> String {
        self.url_of(Transport::Http)
    }

    /// As a client has to be told; over plain JSON-RPC it adds `/rpc` itself.
    pub fn url_of(&self, transport: Transport) -> String {
        let address = &self.address;
        match transport {
            Transport::Http => format!("http://{address}/mcp"),
            Transport::Sse => format!("http://{address}/sse"),
            Transport::WebSocket => format!("ws://{address}/ws"),
            Transport::Rpc => format!("http://{address}"),
        }
    }

    /// As an entry of `mcpServers` that leaves the transport to be found out.
    pub fn config(&self) -> Value {
        json!({ "url": self.url() })
    }

    /// As an entry of `mcpServers` that says the transport.
    pub fn config_of(&self, transport: Transport) -> Value {
        let kind = match transport {
            Transport::Http => "http",
            Transport::Sse => "sse",
            Transport::WebSocket => "ws",
            Transport::Rpc => "rpc",
        };
        json!({ "type": kind, "url": self.url_of(transport) })
    }

    /// Ends the server, and waits until its port is closed.
    pub async fn stop(mut self) {
        let _ = self.child.kill().await;
    }
}

/// The server's program. It lies beside the tests' own folder, where cargo puts
/// the programs of the workspace.
pub fn path_to_binary() -> PathBuf {
    let own = std::env::current_exe().expect("we run");
    let places = own
        .ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join("scripted-upstream"));
    let found = places
        .into_iter()
        .find(|path| fs::metadata(path).is_ok_and(|file| file.is_file()));
    found.unwrap_or_else(|| {
        panic!(
            "the program 'scripted-upstream' is not beside {}: `cargo test --workspace` builds it, \
             for the tests of one package run `cargo build -p narrows-testkit --bin scripted-upstream` first",
            own.display()
        )
    })
}
