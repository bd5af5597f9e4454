//! The test's side of a scripted server.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::{GRANDCHILDREN, RECEIVED, SCRIPT, SERVERS, Script, Transport};
use crate::{Folder, LIMIT, until};

/// An installed script, from which servers can be started any number of times.
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

    /// Returns an entry for `mcpServers`.
    pub fn config(&self) -> Value {
        json!({ "command": self.command(), "args": self.args() })
    }

    /// Releases every current and future [`Step::Wait`](super::Step::Wait) with this name.
    pub fn release(&self, name: &str) {
        self.folder.write(&format!("release-{name}"), "");
    }

    /// Waits until a [`Step::Reach`](super::Step::Reach) with this name has run.
    pub async fn reached(&self, name: &str) {
        let path = self.folder.file(&format!("reached-{name}"));
        until(format!("the step '{name}' is reached"), || path.exists()).await;
    }

    /// Returns every message that the server received, unchanged. Over HTTP, each request is an
    /// object with `method`, `path`, `headers` and `body`, and `query` if there is one.
    ///
    /// An HTTP+SSE stream adds `{"sse":"lost"}` when the client has disconnected. A WebSocket adds
    /// its handshake, its text messages, and `{"websocket":"ping"}`, `"pong"`, `"binary"` (with
    /// `length`), `"close"` (with `code` and `reason`, if any), `"lost"` when the client has
    /// disconnected without a close frame, and `"violation"` (with `what`).
    pub fn received(&self) -> Vec<String> {
        self.folder.read(RECEIVED).lines().map(Into::into).collect()
    }

    /// Waits for a message that contains `part`, and returns it.
    pub async fn received_with(&self, part: &str) -> String {
        let find = || self.received().into_iter().find(|line| line.contains(part));
        until(format!("the server got a message with {part:?}"), || {
            find().is_some()
        })
        .await;
        find().unwrap_or_default()
    }

    /// Returns the number of messages so far that contain `part`.
    pub fn count_received(&self, part: &str) -> usize {
        self.received()
            .iter()
            .filter(|line| line.contains(part))
            .count()
    }

    /// Returns the process ids of the servers started from this script, in order.
    pub fn server_pids(&self) -> Vec<u32> {
        self.pids(SERVERS)
    }

    pub fn grandchild_pids(&self) -> Vec<u32> {
        self.pids(GRANDCHILDREN)
    }

    pub fn all_pids(&self) -> Vec<u32> {
        [self.server_pids(), self.grandchild_pids()].concat()
    }

    /// Starts the server on its own port, where it accepts every [`Transport`].
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

/// A listening scripted server, stopped when dropped.
#[derive(Debug)]
pub struct Served {
    address: String,
    child: Child,
}

impl Served {
    /// Returns `127.0.0.1:port`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the URL of the Streamable HTTP endpoint.
    pub fn url(&self) -> String {
        self.url_of(Transport::Http)
    }

    /// Returns the URL to configure for a transport. For plain JSON-RPC, the client appends `/rpc`.
    pub fn url_of(&self, transport: Transport) -> String {
        let address = &self.address;
        match transport {
            Transport::Http => format!("http://{address}/mcp"),
            Transport::Sse => format!("http://{address}/sse"),
            Transport::WebSocket => format!("ws://{address}/ws"),
            Transport::Rpc => format!("http://{address}"),
        }
    }

    /// Returns an entry for `mcpServers` without a transport, which the gateway then detects.
    pub fn config(&self) -> Value {
        json!({ "url": self.url() })
    }

    /// Returns an entry for `mcpServers` with a transport.
    pub fn config_of(&self, transport: Transport) -> Value {
        let kind = match transport {
            Transport::Http => "http",
            Transport::Sse => "sse",
            Transport::WebSocket => "ws",
            Transport::Rpc => "rpc",
        };
        json!({ "type": kind, "url": self.url_of(transport) })
    }

    /// Stops the server and waits until its port is closed.
    pub async fn stop(mut self) {
        let _ = self.child.kill().await;
    }
}

/// Returns the path of the server binary, in the folder of the test binary or the one above,
/// where cargo puts the binaries of the workspace.
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
            "scripted-upstream not found near {}. `cargo test --workspace` builds it; \
             for one package, run `cargo build -p narrows-testkit --bin scripted-upstream` first",
            own.display()
        )
    })
}
