//! Settings of connections to servers. They contain validated values only: the binary reads files,
//! environment and defaults.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};
use narrows_wire::frame::Framing;

/// One server and how to connect to it.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamSettings {
    /// The id in the configuration, which may be any text.
    pub id: String,
    pub kind: UpstreamKind,
    pub enabled: bool,
    pub era: Era,
    pub sharing: Sharing,
    /// The maximum number of links of single sessions, not counting the shared one.
    pub max_links: usize,
    pub startup_timeout: Duration,
    pub connect_timeout: Duration,
    /// The limit for one call. Every progress notification restarts it.
    pub request_timeout: Duration,
    pub health: HealthSettings,
}

impl UpstreamSettings {
    pub fn new(id: impl Into<String>, kind: UpstreamKind) -> Self {
        UpstreamSettings {
            id: id.into(),
            kind,
            enabled: true,
            era: Era::Auto,
            sharing: Sharing::Auto,
            max_links: 8,
            startup_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(300),
            health: HealthSettings::default(),
        }
    }
}

/// Limits on the resources that a server can consume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum size of a message in either direction, in bytes.
    pub max_message_bytes: usize,
    /// The maximum number of items of one kind from one server, over all pages.
    pub max_items_per_list: usize,
    /// The time that processes have to exit before they are killed.
    pub grace: Duration,
}

/// Settings for the health checks of connected servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthSettings {
    /// The time of silence after which a server is pinged. `None` disables pings.
    pub interval: Option<Duration>,
    /// The limit for one check.
    pub timeout: Duration,
    /// The number of failures in a row after which the gateway reconnects.
    pub failures: u32,
    /// The time that a server may be silent while it works on calls, because many servers handle
    /// one request at a time.
    pub busy: Duration,
}

impl Default for HealthSettings {
    fn default() -> Self {
        HealthSettings {
            interval: Some(Duration::from_secs(30)),
            timeout: Duration::from_secs(10),
            failures: 3,
            busy: Duration::from_secs(300),
        }
    }
}

/// The era of MCP in which a server is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Era {
    /// The era is detected.
    #[default]
    Auto,
    /// The revisions with `initialize`, up to 2025-11-25.
    Legacy,
    /// The revisions without, from 2026-07-28.
    Modern,
}

/// Determines the link that a call uses. On a duplex link, nothing ties a server request to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Clients without support for server requests share one link; each other client has its own.
    Auto,
    /// All clients share one link. Server requests that could be meant for several clients are
    /// rejected.
    Shared,
    /// Every session has its own link.
    Session,
}

#[derive(Debug, Clone, PartialEq)]
pub enum UpstreamKind {
    Stdio(StdioSettings),
    Remote(RemoteSettings),
    Builtin(Builtin),
}

/// The transport of an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE of MCP 2024-11-05.
    Sse,
    WebSocket,
    /// Plain JSON-RPC with one POST per request.
    Rpc,
    Builtin,
}

impl Transport {
    /// The transports of remote servers.
    pub const REMOTE: [Transport; 4] = [
        Transport::Http,
        Transport::Sse,
        Transport::WebSocket,
        Transport::Rpc,
    ];

    /// Returns the name used in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Transport::Stdio => "stdio",
            Transport::Http => "http",
            Transport::Sse => "sse",
            Transport::WebSocket => "ws",
            Transport::Rpc => "rpc",
            Transport::Builtin => "builtin",
        }
    }
}

#[derive(Clone, PartialEq)]
pub struct StdioSettings {
    pub command: String,
    pub args: Vec<String>,
    /// The complete environment of the child process. It inherits no other variables.
    pub env: Vec<(OsString, OsString)>,
    pub cwd: Option<PathBuf>,
    pub framing: Framing,
}

/// A server at a URL.
#[derive(Clone, PartialEq)]
pub struct RemoteSettings {
    pub url: Uri,
    /// Headers sent with every request.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub protocol: RemoteProtocol,
}

/// The protocol of a remote server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteProtocol {
    /// Streamable HTTP, or HTTP+SSE if the server only supports that.
    HttpOrSse,
    Http,
    Sse,
    WebSocket,
    /// Plain JSON-RPC at the path `/rpc` below the URL.
    Rpc,
}

impl RemoteProtocol {
    /// Returns true if this protocol tries `transport`.
    pub fn tries(self, transport: Transport) -> bool {
        self.transport() == transport
            || (self == RemoteProtocol::HttpOrSse && transport == Transport::Sse)
    }

    /// Returns the transport that is assumed until another one is detected.
    pub fn transport(self) -> Transport {
        match self {
            RemoteProtocol::HttpOrSse | RemoteProtocol::Http => Transport::Http,
            RemoteProtocol::Sse => Transport::Sse,
            RemoteProtocol::WebSocket => Transport::WebSocket,
            RemoteProtocol::Rpc => Transport::Rpc,
        }
    }
}

impl UpstreamKind {
    /// Returns the transport that is assumed until another one is detected.
    pub fn transport(&self) -> Transport {
        match self {
            UpstreamKind::Stdio(_) => Transport::Stdio,
            UpstreamKind::Remote(remote) => remote.protocol.transport(),
            UpstreamKind::Builtin(_) => Transport::Builtin,
        }
    }
}

/// Servers that run inside the gateway's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builtin {
    /// Sample tools, a prompt and resources for trying out the gateway.
    Demo,
    /// A tool that shortens texts with regard to a goal.
    Pruner,
}

/// The values of the usual proxy variables. An empty value means that it is not set.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ProxySettings {
    pub http: String,
    pub https: String,
    pub no_proxy: String,
}

// Environment values, headers and proxy URLs contain secrets, so these types do not print them.
impl std::fmt::Debug for StdioSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StdioSettings")
            .field("command", &self.command)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for RemoteSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteSettings")
            .field("protocol", &self.protocol)
            .field("host", &self.url.host())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for ProxySettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProxySettings")
    }
}
