//! Servers as the admin API reports them.

use std::time::Duration;

use narrows_gateway::settings::Transport;
use narrows_gateway::{ToolReport, UpstreamReport};
use narrows_shape::estimate_tokens;
use narrows_upstream::State as UpstreamState;
use narrows_wire::{Kind, Raw};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::admin::LeftOutServer;

#[cfg(test)]
mod tests;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Servers {
    pub(crate) servers: Vec<Server>,
}

/// A server, as returned by operations on it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ServerDetail {
    pub(crate) server: Server,
}

/// A server and its tools.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ServerDetails {
    #[serde(flatten)]
    server: Server,
    tool_list: Vec<Tool>,
    /// The last lines that the server process wrote to stderr, with secrets redacted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    stderr: Vec<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Server {
    id: String,
    /// The form of the id used in tool names and paths; empty for a server that is left out.
    slug: String,
    #[schema(value_type = TransportWord)]
    transport: &'static str,
    state: State,
    /// The reason why the server is down or left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<String>,
    /// The number of failed connection attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    attempts: Option<u32>,
    /// Seconds until the next connection attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next_try_s: Option<u64>,
    /// The negotiated MCP revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    revision: Option<&'static str>,
    /// The `serverInfo` that the server sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    server_info: Option<Map<String, Value>>,
    /// Startup time in milliseconds, including reading the server's lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    took_ms: Option<u64>,
    /// The number of tools that the default endpoint lists.
    tools: usize,
    /// The number of tools that the default endpoint does not list, because a preset or tool list
    /// denies them or because they run only as a task.
    hidden: usize,
    prompts: usize,
    resources: usize,
    templates: usize,
    /// Estimated number of model tokens that the listed tools take.
    tokens: usize,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ServerTool)]
struct Tool {
    /// The tool name that the server uses.
    name: String,
    /// The name published on the default endpoint; empty if the tool is not listed there.
    published: String,
    /// Estimated number of model tokens that the tool takes.
    tokens: usize,
    /// The reason why the default endpoint does not list the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    denied: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ServerState)]
enum State {
    Up,
    Starting,
    Down,
    Disabled,
    /// The server cannot start with its current configuration.
    LeftOut,
}

/// The transport of a server.
#[derive(ToSchema)]
#[schema(as = ServerTransport, rename_all = "lowercase")]
#[expect(
    dead_code,
    reason = "used only for the OpenAPI description; `Transport` supplies the names"
)]
enum TransportWord {
    Stdio,
    Http,
    Sse,
    Ws,
    Rpc,
    Builtin,
}

impl From<&UpstreamReport> for Server {
    fn from(report: &UpstreamReport) -> Server {
        let transport: Transport = report.transport;
        let offered = || report.tools.iter().filter(|tool| tool.is_usable());
        let server = Server {
            id: report.id.clone(),
            slug: report.slug.clone(),
            transport: transport.as_str(),
            state: State::Disabled,
            reason: None,
            attempts: None,
            next_try_s: None,
            revision: None,
            server_info: None,
            took_ms: None,
            tools: offered().count(),
            hidden: report.tools.len() - offered().count(),
            prompts: report.prompts,
            resources: report.resources,
            templates: report.templates,
            tokens: offered().map(tokens).sum(),
        };
        match &report.state {
            UpstreamState::Disabled => server,
            UpstreamState::Starting => Server {
                state: State::Starting,
                ..server
            },
            UpstreamState::Up {
                revision,
                took,
                server_info,
                ..
            } => Server {
                state: State::Up,
                revision: Some(revision.as_str()),
                server_info: object(server_info),
                took_ms: Some(u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
                ..server
            },
            UpstreamState::Down {
                failure, attempts, ..
            } => Server {
                state: State::Down,
                reason: Some(failure.detail.clone()),
                attempts: Some(*attempts),
                next_try_s: report.state.next_try().map(rounded_up),
                ..server
            },
        }
    }
}

impl From<&LeftOutServer> for Server {
    fn from(out: &LeftOutServer) -> Server {
        Server {
            id: out.id.clone(),
            slug: String::new(),
            transport: out.transport.as_str(),
            state: State::LeftOut,
            reason: Some(out.reason.clone()),
            attempts: None,
            next_try_s: None,
            revision: None,
            server_info: None,
            took_ms: None,
            tools: 0,
            hidden: 0,
            prompts: 0,
            resources: 0,
            templates: 0,
            tokens: 0,
        }
    }
}

impl From<&LeftOutServer> for ServerDetails {
    fn from(out: &LeftOutServer) -> ServerDetails {
        ServerDetails {
            server: out.into(),
            tool_list: Vec::new(),
            stderr: Vec::new(),
        }
    }
}

impl From<&UpstreamReport> for ServerDetails {
    fn from(report: &UpstreamReport) -> ServerDetails {
        let tool = |tool: &ToolReport| Tool {
            name: tool.name.clone(),
            published: tool.published.clone(),
            tokens: tokens(tool),
            denied: tool.hidden_because(),
        };
        ServerDetails {
            server: report.into(),
            tool_list: report.tools.iter().map(tool).collect(),
            stderr: report.stderr.clone(),
        }
    }
}

/// Rounds up to whole seconds, so that a client that waits this long does not retry too early.
fn rounded_up(pause: Duration) -> u64 {
    pause
        .as_millis()
        .div_ceil(1_000)
        .try_into()
        .unwrap_or(u64::MAX)
}

fn tokens(tool: &ToolReport) -> usize {
    estimate_tokens(tool.raw.as_str())
}

/// Parses `raw` as a JSON object; `None` if it is not one, or is nested too deeply for the parser.
fn object(raw: &Raw) -> Option<Map<String, Value>> {
    let is_object = raw.kind() == Kind::Object;
    is_object.then(|| raw.decode().ok()).flatten()
}
