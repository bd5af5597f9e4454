//! Tools that are told of and called, not listed: `inspect`, `exec` and
//! `search_tools`, over HTTP and over stdio alike.

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
struct Lazy {
    client: Any,
    /// Which of the two ways in it took, for whoever reads a failure.
    way: &'static str,
    /// What it talks to lives as long.
    _gateway: Option<Gateway>,
    _folder: Option<Folder>,
}

/// The two ways in that need no configuration of endpoints.
#[derive(Clone, Copy)]
enum Way {
    Http,
    Stdio,
}

const WAYS: [Way; 2] = [Way::Http, Way::Stdio];

impl Way {
    /// A client that has said nothing yet.
    async fn connect(self, config: &Value) -> Lazy {
        match self {
            Way::Http => {
                let gateway = Gateway::serve(config).await;
                Lazy {
                    client: Streamable::at(gateway.address(), "/mcp/lazy").boxed(),
                    way: "http",
                    _gateway: Some(gateway),
                    _folder: None,
                }
            }
            Way::Stdio => {
                let folder = Folder::with(&config.to_string());
                let command = folder.command(&["stdio", "--expose", "lazy"]);
                Lazy {
                    client: Stdio::start(&mut Command::from(command)).boxed(),
                    way: "stdio",
                    _gateway: None,
                    _folder: Some(folder),
                }
            }
        }
    }

    /// A client that can be asked nothing.
    async fn open(self, config: &Value) -> Lazy {
        self.open_with(config, json!({})).await
    }

    async fn open_with(self, config: &Value, capabilities: Value) -> Lazy {
        let mut lazy = self.connect(config).await;
        lazy.client.initialize(REVISION, capabilities).await;
        lazy
    }
}

impl Lazy {
    /// The names of the listed tools, and the description of the first.
    async fn listed(&mut self) -> (Vec<String>, String) {
        let list = self.client.call("tools/list", json!({})).await;
        let names = column(&list, "tools", "name");
        let description = list["result"]["tools"][0]["description"].as_str();
        (
            names.into_iter().map(Into::into).collect(),
            description.unwrap_or_default().to_owned(),
        )
    }

    /// The result of `inspect`.
    async fn inspect(&mut self, arguments: Value) -> Value {
        let answer = self.client.call_tool("inspect", arguments).await;
        self.result(answer)
    }

    /// The result of `exec`.
    async fn exec(&mut self, server: &str, tool: &str, arguments: Value) -> Value {
        let asked = errand(server, tool, arguments);
        let answer = self.client.call_tool("exec", asked).await;
        self.result(answer)
    }

    #[track_caller]
    fn result(&self, mut answer: Value) -> Value {
        assert!(answer["result"].is_object(), "{}: {answer}", self.way);
        answer["result"].take()
    }
}

/// The arguments of `exec`.
fn errand(server: &str, tool: &str, arguments: Value) -> Value {
    json!({ "server_name": server, "tool_name": tool, "arguments": arguments })
}

/// The text of a result that says what is wrong, as JSON.
#[track_caller]
fn wrong(result: &Value) -> Value {
    assert_eq!(result["isError"], true, "{result}");
    serde_json::from_str(said(result)).unwrap_or_else(|error| panic!("{error}: {result}"))
}

/// The only text of a result.
#[track_caller]
fn said(result: &Value) -> &str {
    assert_eq!(
        result["content"].as_array().map(Vec::len),
        Some(1),
        "{result}"
    );
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {result}"))
}

/// All texts of a result together, in characters.
fn length(result: &Value) -> usize {
    let items = result["content"].as_array().into_iter().flatten();
    let texts = items.filter_map(|item| item["text"].as_str());
    texts.map(|text| text.chars().count()).sum()
}

/// A tool with this schema, as its server lists it.
fn tool(name: &str, description: &str, schema: &Value) -> String {
    json!({ "name": name, "description": description, "inputSchema": schema }).to_string()
}

/// A server whose tools answer with these results, word for word.
fn answering(results: &[(&str, &str)]) -> Installed {
    let script = Script::new("ds");
    let add = |script: Script, (name, result): &(&str, &str)| {
        let script = script.plain_tool(name);
        script.on_tool(name, [Step::reply(*result)])
    };
    results.iter().fold(script, add).install()
}

/// A configuration of one server.
fn only(id: &str, server: &Installed) -> Value {
    config([(id, server.config())])
}

/// Settings of the endpoint of either way in.
fn endpoint(settings: Value) -> Value {
    json!({ "endpoints": { "default": settings, "lazy": settings } })
}

/// The first of the texts of a result.
#[track_caller]
fn first_text(result: &Value) -> &str {
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {result}"))
}
