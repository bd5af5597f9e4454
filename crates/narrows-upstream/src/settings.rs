//! Settings of connections to servers. Checked values only: files, environment
//! and defaults are read by the binary and handed in.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};
use narrows_wire::frame::Framing;

/// One server and how to connect to it.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamSettings {
    /// As the configuration names it; any text.
    pub id: String,
    pub kind: UpstreamKind,
    pub enabled: bool,
    pub sharing: Sharing,
    /// Links of sessions' own, besides the shared one.
    pub max_links: usize,
    pub startup_timeout: Duration,
    pub connect_timeout: Duration,
    /// For one call; every progress notice starts it anew.
    pub request_timeout: Duration,
    pub health: HealthSettings,
}

impl UpstreamSettings {
    pub fn new(id: impl Into<String>, kind: UpstreamKind) -> Self {
        UpstreamSettings {
            id: id.into(),
            kind,
            enabled: true,
            sharing: Sharing::Auto,
            max_links: 8,
            startup_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(300),
            health: HealthSettings::default(),
        }
    }
}

/// Bounds on what a server can make grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// One message, in either direction, in bytes.
    pub max_message_bytes: usize,
    /// Items of one kind that are read from one server, over all pages.
    pub max_items_per_list: usize,
    /// The time that processes get to exit by themselves before they are killed.
    pub grace: Duration,
}

/// The health checks of connected servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthSettings {
    /// A server that has said nothing for this long is asked for a sign of
    /// life; `None` never asks.
    pub interval: Option<Duration>,
    /// The limit for one check.
    pub timeout: Duration,
    /// So many failures in a row, and the connection is made anew.
    pub failures: u32,
    /// The time for which a server may be silent while it works on calls: many can
    /// do only one thing at a time.
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

/// The link that a call takes. Over a duplex link nothing ties a server's question
/// to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Clients that can be asked nothing share one link; others have their own.
    Auto,
    /// One link for all; a question with more than one possible owner is refused.
    Shared,
    /// Every session has its own.
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
    /// HTTP+SSE of 2024-11-05.
    Sse,
    WebSocket,
    /// Plain JSON-RPC, a POST for each request.
    Rpc,
    Builtin,
}

impl Transport {
    /// Those of servers at an address.
    pub const REMOTE: [Transport; 4] = [
        Transport::Http,
        Transport::Sse,
        Transport::WebSocket,
        Transport::Rpc,
    ];

    /// The word that the configuration uses.
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
    /// The whole environment of the child; nothing is inherited besides.
    pub env: Vec<(OsString, OsString)>,
    pub cwd: Option<PathBuf>,
    pub framing: Framing,
}

/// A server at an address.
#[derive(Clone, PartialEq)]
pub struct RemoteSettings {
    pub url: Uri,
    /// Sent with every request.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub protocol: RemoteProtocol,
}

/// The protocol of a server at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteProtocol {
    /// Streamable HTTP, and HTTP+SSE where the server turns out to be older.
    HttpOrSse,
    Http,
    Sse,
    WebSocket,
    /// The path `/rpc` below the URL.
    Rpc,
}

impl RemoteProtocol {
    /// Returns true if this protocol tries `transport`.
    pub fn tries(self, transport: Transport) -> bool {
        self.transport() == transport
            || (self == RemoteProtocol::HttpOrSse && transport == Transport::Sse)
    }

    /// Returns the transport that is assumed until another one is found.
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
    /// Returns the transport that is assumed until another one is found.
    pub fn transport(&self) -> Transport {
        match self {
            UpstreamKind::Stdio(_) => Transport::Stdio,
            UpstreamKind::Remote(remote) => remote.protocol.transport(),
            UpstreamKind::Builtin(_) => Transport::Builtin,
        }
    }
}

/// Servers that live in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builtin {
    /// Sample tools, a prompt and resources to try the gateway with.
    Demo,
    /// Shortens texts for a goal.
    Pruner,
}

/// As in the usual proxy variables; empty means none.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ProxySettings {
    pub http: String,
    pub https: String,
    pub no_proxy: String,
}

// Environment values, headers and proxy URLs carry secrets, so none of these
// types prints its fields.
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
