//! Tests of tools that are described and called instead of listed, through `inspect`, `exec` and
//! `search_tools`, over HTTP and stdio.

mod arguments;
mod budgets;
mod calls;
mod descriptions;
mod inspecting;
mod results;
mod searching;

use narrows_testkit::raw::{Any, Stdio, Streamable};
use narrows_testkit::scripted::{Installed, Script, Step};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::gateway::{Gateway, REVISION, column, config};
use crate::program::Folder;

/// A client of a lazy endpoint.
struct LazyClient {
    client: Any,
    /// The transport, for the message of a failed test.
    transport: &'static str,
    /// Keeps the gateway running as long as the client.
    _gateway: Option<Gateway>,
    _folder: Option<Folder>,
}

/// The two transports that need no configuration of endpoints.
#[derive(Clone, Copy)]
enum ClientTransport {
    Http,
    Stdio,
}

const WAYS: [ClientTransport; 2] = [ClientTransport::Http, ClientTransport::Stdio];

impl ClientTransport {
    /// Connects a client, without `initialize`.
    async fn connect(self, config: &Value) -> LazyClient {
        match self {
            ClientTransport::Http => {
                let gateway = Gateway::serve(config).await;
                LazyClient {
                    client: Streamable::at(gateway.address(), "/mcp/lazy").boxed(),
                    transport: "http",
                    _gateway: Some(gateway),
                    _folder: None,
                }
            }
            ClientTransport::Stdio => {
                let folder = Folder::with(&config.to_string());
                let command = folder.command(&["stdio", "--expose", "lazy"]);
                LazyClient {
                    client: Stdio::start(&mut Command::from(command)).boxed(),
                    transport: "stdio",
                    _gateway: None,
                    _folder: Some(folder),
                }
            }
        }
    }

    /// Opens a client without capabilities.
    async fn open(self, config: &Value) -> LazyClient {
        self.open_with(config, json!({})).await
    }

    async fn open_with(self, config: &Value, capabilities: Value) -> LazyClient {
        let mut lazy = self.connect(config).await;
        lazy.client.initialize(REVISION, capabilities).await;
        lazy
    }
}

impl LazyClient {
    /// Returns the names of the listed tools and the description of the first.
    async fn listed(&mut self) -> (Vec<String>, String) {
        let list = self.client.call("tools/list", json!({})).await;
        let names = column(&list, "tools", "name");
        let description = list["result"]["tools"][0]["description"].as_str();
        (
            names.into_iter().map(Into::into).collect(),
            description.unwrap_or_default().to_owned(),
        )
    }

    async fn inspect(&mut self, arguments: Value) -> Value {
        let answer = self.client.call_tool("inspect", arguments).await;
        self.result(answer)
    }

    async fn exec(&mut self, server: &str, tool: &str, arguments: Value) -> Value {
        let asked = errand(server, tool, arguments);
        let answer = self.client.call_tool("exec", asked).await;
        self.result(answer)
    }

    #[track_caller]
    fn result(&self, mut answer: Value) -> Value {
        assert!(answer["result"].is_object(), "{}: {answer}", self.transport);
        answer["result"].take()
    }
}

/// Returns the arguments of an `exec` call.
fn errand(server: &str, tool: &str, arguments: Value) -> Value {
    json!({ "server_name": server, "tool_name": tool, "arguments": arguments })
}

/// Returns the JSON text of an error result.
#[track_caller]
fn wrong(result: &Value) -> Value {
    assert_eq!(result["isError"], true, "{result}");
    serde_json::from_str(only_text(result)).unwrap_or_else(|error| panic!("{error}: {result}"))
}

/// Returns the only text of a result.
#[track_caller]
fn only_text(result: &Value) -> &str {
    assert_eq!(
        result["content"].as_array().map(Vec::len),
        Some(1),
        "{result}"
    );
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {result}"))
}

/// Returns the length of all texts of a result, in characters.
fn length(result: &Value) -> usize {
    let items = result["content"].as_array().into_iter().flatten();
    let texts = items.filter_map(|item| item["text"].as_str());
    texts.map(|text| text.chars().count()).sum()
}

/// Returns the JSON of a tool with this schema, as a server lists it.
fn tool(name: &str, description: &str, schema: &Value) -> String {
    json!({ "name": name, "description": description, "inputSchema": schema }).to_string()
}

/// A server whose tools return these results unchanged.
fn answering(results: &[(&str, &str)]) -> Installed {
    let script = Script::new("ds");
    let add = |script: Script, (name, result): &(&str, &str)| {
        let script = script.plain_tool(name);
        script.on_tool(name, [Step::reply(*result)])
    };
    results.iter().fold(script, add).install()
}

/// Returns a configuration with one server.
fn only(id: &str, server: &Installed) -> Value {
    config([(id, server.config())])
}

/// Sets the same endpoint settings for both transports.
fn endpoint(settings: Value) -> Value {
    json!({ "endpoints": { "default": settings, "lazy": settings } })
}

/// Returns the first text of a result.
#[track_caller]
fn first_text(result: &Value) -> &str {
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {result}"))
}
