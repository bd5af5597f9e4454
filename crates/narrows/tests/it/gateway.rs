//! The real gateway between scripted servers and raw clients.

use std::ops::{Deref, DerefMut};

use narrows_testkit::raw::{Events, Http, MCP_HEADERS, Response, Stdio};
use narrows_testkit::scripted::Framing;
use narrows_testkit::until;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::program::Folder;

pub(crate) const REVISION: &str = "2025-11-25";

/// Returns a configuration with these servers, whose results and lists pass unchanged. Budgets have
/// their own tests.
pub(crate) fn config<'a>(servers: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let servers = servers.into_iter().map(|(id, server)| (id.into(), server));
    let servers: serde_json::Map<String, Value> = servers.collect();
    // The load on the machine must not affect the first lists that a client receives.
    let waits = json!({ "initialize_wait_s": 60, "list_wait_s": 60 });
    with(json!({ "mcpServers": servers, "shape": false }), waits)
}

/// Returns the configuration with additional members.
pub(crate) fn with(mut config: Value, more: Value) -> Value {
    for (key, value) in more.as_object().expect("an object") {
        config[key] = value.clone();
    }
    config
}

/// Returns the text of a tool's result.
#[track_caller]
pub(crate) fn text(answer: &Value) -> &str {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {answer}"))
}

/// Returns `code data.code message` of an error.
#[track_caller]
pub(crate) fn error(answer: &Value) -> String {
    let error = &answer["error"];
    assert!(error.is_object(), "no error: {answer}");
    let word = error["data"]["code"].as_str().unwrap_or("-");
    let message = error["message"].as_str().unwrap_or("-");
    format!("{} {word} {message}", error["code"])
}

/// Returns a member of every item of a list, in order.
pub(crate) fn column<'a>(answer: &'a Value, list: &str, member: &str) -> Vec<&'a str> {
    let items = answer["result"][list].as_array();
    let items = items.unwrap_or_else(|| panic!("no {list}: {answer}"));
    items
        .iter()
        .map(|item| item[member].as_str().unwrap_or_default())
        .collect()
}

/// A running `narrows serve`, killed on drop. Its guard ends the processes that it has started.
pub(crate) struct Gateway {
    pub(crate) program: Stdio,
    address: String,
    folder: Folder,
}

impl Gateway {
    pub(crate) async fn serve(config: &Value) -> Gateway {
        Gateway::serve_with(config, &[]).await
    }

    /// Starts the gateway with further command-line arguments.
    pub(crate) async fn serve_with(config: &Value, more: &[&str]) -> Gateway {
        let more = [&["--no-watch"], more].concat();
        Gateway::serve_in(Folder::with(&config.to_string()), &more).await
    }

    /// Starts the gateway in a folder that has a configuration.
    pub(crate) async fn serve_in(folder: Folder, more: &[&str]) -> Gateway {
        let arguments = [&["serve", "--listen", "127.0.0.1:0"], more].concat();
        let program = Stdio::start(&mut Command::from(folder.command(&arguments)));
        until("the gateway says where it listens", || {
            address_in(&program.stderr()).is_some()
        })
        .await;
        let address = address_in(&program.stderr()).expect("it was just there");
        Gateway {
            program,
            address,
            folder,
        }
    }

    /// Returns the working directory of the gateway.
    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Opens a session of a client without capabilities.
    pub(crate) async fn session(&self, path: &str) -> Session {
        self.session_with(path, REVISION, json!({})).await
    }

    pub(crate) async fn session_with(
        &self,
        path: &str,
        revision: &str,
        capabilities: Value,
    ) -> Session {
        let mut http = self.connect().await;
        let (id, hello) = http.initialize(path, revision, capabilities).await;
        Session {
            http,
            address: self.address.clone(),
            path: path.to_owned(),
            revision: revision.to_owned(),
            id: id.expect("a session id"),
            hello,
            last_id: 0,
        }
    }

    /// Opens a session of a client with this name.
    pub(crate) async fn session_of(&self, path: &str, client: &str) -> Session {
        let mut http = self.connect().await;
        let params = json!({
            "protocolVersion": REVISION,
            "capabilities": {},
            "clientInfo": { "name": client, "version": "1" },
        });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let answer = http.post_mcp(path, &[], &hello).await;
        Session {
            address: self.address.clone(),
            path: path.to_owned(),
            revision: REVISION.to_owned(),
            id: answer
                .header("mcp-session-id")
                .expect("a session id")
                .into(),
            hello: answer.message()["result"].take(),
            last_id: 0,
            http,
        }
    }

    /// The address as `host:port`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) async fn connect(&self) -> Http {
        Http::connect(&self.address).await
    }
}

fn address_in(log: &str) -> Option<String> {
    let (_, rest) = log.split_once(r#""url":"http://"#)?;
    rest.split_once('"').map(|(address, _)| address.to_owned())
}

/// A running `narrows stdio` with its client.
pub(crate) struct StdioGateway {
    client: Stdio,
    _folder: Folder,
}

impl StdioGateway {
    /// Starts the process, without `initialize`.
    pub(crate) fn start(config: &Value) -> StdioGateway {
        StdioGateway::start_framed(config, Framing::Newline)
    }

    pub(crate) fn start_framed(config: &Value, framing: Framing) -> StdioGateway {
        let folder = Folder::with(&config.to_string());
        let mut command = Command::from(folder.command(&["stdio"]));
        StdioGateway {
            client: Stdio::start_framed(&mut command, framing),
            _folder: folder,
        }
    }

    /// Returns the client and the folder, which must live as long as the client.
    pub(crate) fn into_parts(self) -> (Stdio, Folder) {
        (self.client, self._folder)
    }

    /// Opens a session of a client without capabilities.
    pub(crate) async fn open(config: &Value) -> StdioGateway {
        let mut piped = StdioGateway::start(config);
        piped.initialize(REVISION, json!({})).await;
        piped
    }
}

impl Deref for StdioGateway {
    type Target = Stdio;

    fn deref(&self) -> &Stdio {
        &self.client
    }
}

impl DerefMut for StdioGateway {
    fn deref_mut(&mut self) -> &mut Stdio {
        &mut self.client
    }
}

/// An initialised HTTP client. All clients number their requests from 1, so that their ids
/// coincide.
pub(crate) struct Session {
    http: Http,
    address: String,
    path: String,
    revision: String,
    pub(crate) id: String,
    /// The result of `initialize`.
    pub(crate) hello: Value,
    last_id: u64,
}

impl Session {
    /// Sends a request and waits for its whole response.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        let request = self.request(method, params);
        self.post(&request).await.message()
    }

    pub(crate) async fn call_tool(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        self.call("tools/call", params).await
    }

    pub(crate) async fn tool_names(&mut self) -> Vec<String> {
        let list = self.call("tools/list", json!({})).await;
        let names = column(&list, "tools", "name");
        names.into_iter().map(Into::into).collect()
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.send(&message).await;
    }

    /// Answers a request from a server.
    pub(crate) async fn answer(&mut self, question: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }))
            .await;
    }

    /// Sends a message that has no response.
    pub(crate) async fn send(&mut self, message: &Value) {
        let response = self.post(&message.to_string()).await;
        assert_eq!(response.status, 202, "{response:?}");
    }

    /// Posts a body unchanged.
    pub(crate) async fn post(&mut self, body: &str) -> Response {
        let headers = session_headers(&self.id, &self.revision);
        self.http.post(&self.path, &headers, body).await
    }

    /// Sends a request on a new connection without reading the response.
    pub(crate) async fn begin(&mut self, method: &str, params: Value) -> Http {
        let request = self.request(method, params);
        self.begin_text(&request).await
    }

    pub(crate) async fn begin_tool(&mut self, name: &str, arguments: Value) -> Http {
        let params = json!({ "name": name, "arguments": arguments });
        self.begin("tools/call", params).await
    }

    pub(crate) async fn begin_text(&self, body: &str) -> Http {
        let mut http = Http::connect(&self.address).await;
        let headers = session_headers(&self.id, &self.revision);
        http.send("POST", &self.path, &headers, body.as_bytes())
            .await;
        http
    }

    /// Sends a request whose response is read event by event.
    pub(crate) async fn stream(&mut self, method: &str, params: Value) -> Events {
        let request = self.request(method, params);
        let http = Http::connect(&self.address).await;
        let headers = session_headers(&self.id, &self.revision);
        let events = http.open("POST", &self.path, &headers, request.as_bytes());
        let events = events.await;
        let kind = events.head.header("content-type");
        assert_eq!(kind, Some("text/event-stream"), "{:?}", events.head);
        events
    }

    /// Opens the general event stream, optionally resuming after an event.
    pub(crate) async fn listen(&self, after: Option<&str>) -> Events {
        let mut headers = session_headers(&self.id, &self.revision);
        headers.extend(after.map(|id| ("last-event-id", id)));
        let http = Http::connect(&self.address).await;
        http.open("GET", &self.path, &headers, b"").await
    }

    /// Ends the session.
    pub(crate) async fn delete(&mut self) {
        let headers = session_headers(&self.id, &self.revision);
        let response = self.http.delete(&self.path, &headers).await;
        assert_eq!(response.status, 204, "{response:?}");
    }

    /// Returns the text of the next request.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> String {
        self.last_id += 1;
        json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params })
            .to_string()
    }
}

fn session_headers<'a>(id: &'a str, revision: &'a str) -> Vec<(&'a str, &'a str)> {
    let own = [("mcp-session-id", id), ("mcp-protocol-version", revision)];
    [MCP_HEADERS, &own].concat()
}
