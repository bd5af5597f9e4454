//! The settings of a gateway: checked values only. The binary reads files and
//! the environment. The settings of a module are defined in that module.

use std::collections::HashMap;
use std::ffi::OsString;
use std::time::Duration;

pub use crate::builtin::PrunerSettings;
pub use crate::catalogue::{EndpointSettings, Expose, Uris};
pub use crate::clients::{AllowedEntrypoints, ClientSettings, EntrypointName, Rate, TokenDigest};
pub use crate::facade::{Encoding, FacadeSettings, ListingDetail};
use narrows_policy::preset::{DirectPreset, Preset, ToolFilter};
pub use narrows_results::settings::{Binary, RecoverySettings, ShapeChoice, Structured};
use narrows_results::shaping::ServerShape;
use narrows_shape::Mask;
use narrows_upstream::chain::Ancestry;
pub use narrows_upstream::settings::{
    Builtin, Era, HealthSettings, ProxySettings, RemoteProtocol, RemoteSettings, Sharing,
    StdioSettings, Transport, UpstreamKind, UpstreamSettings,
};

#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The servers, in the order of the configuration, which is the order of every list.
    pub upstreams: Vec<ServerSettings>,
    /// The endpoints that join all upstreams. One of them is named `default`. The endpoint of a
    /// single upstream needs no entry.
    pub endpoints: Vec<EndpointSettings>,
    /// The longest time that `initialize` waits for upstreams that are still starting.
    pub initialize_wait: Duration,
    /// The longest time after the start of a session for which its lists wait for upstreams that
    /// are still starting.
    pub list_wait: Duration,
    /// `list_wait` for particular clients, by the name in their `clientInfo`.
    pub list_wait_by_client: HashMap<String, Duration>,
    /// The half of a result that the models of particular clients read, by the name in their
    /// `clientInfo`.
    pub model_reads_by_client: HashMap<String, ModelReads>,
    /// The maximum length of the joined instructions of all upstreams, in characters.
    pub instructions_max_chars: usize,
    pub limits: Limits,
    /// The command that ends the process groups of child processes if the gateway is killed:
    /// program and arguments. Without it, child processes survive a SIGKILL of the gateway.
    pub guard: Option<Vec<OsString>>,
    /// The command that starts a server and adopts its orphaned processes: program and first
    /// arguments. Without it, daemons that clear their environment survive their server.
    pub subreaper: Option<Vec<OsString>>,
    /// The gateways above this one.
    pub ancestry: Ancestry,
    /// The proxy settings for outgoing HTTP.
    pub proxy: ProxySettings,
    pub recovery: RecoverySettings,
    pub pruner: PrunerSettings,
    /// The handling of long results, unless a more specific setting applies.
    pub shape: ShapeChoice,
    /// Servers that are reachable only by plain JSON-RPC.
    pub rpc_servers: Vec<RpcServer>,
    /// The presets that endpoints and servers can refer to.
    pub presets: Vec<Preset>,
    /// The clients with access. If empty, access needs no token.
    pub clients: Vec<ClientSettings>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            upstreams: Vec::new(),
            endpoints: vec![EndpointSettings::named("default")],
            initialize_wait: Duration::from_secs(1),
            list_wait: Duration::from_secs(4),
            list_wait_by_client: HashMap::new(),
            model_reads_by_client: HashMap::new(),
            instructions_max_chars: 4_000,
            limits: Limits::default(),
            guard: None,
            subreaper: None,
            ancestry: Ancestry::default(),
            proxy: ProxySettings::default(),
            recovery: RecoverySettings::default(),
            pruner: PrunerSettings::default(),
            shape: ShapeChoice::default(),
            rpc_servers: Vec::new(),
            presets: Vec::new(),
            clients: Vec::new(),
        }
    }
}

/// The half of a tool result that a client passes to its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelReads {
    /// The items of `content`.
    Content,
    /// `structuredContent` instead of `content`, if present.
    Structured,
    Both,
}

impl ModelReads {
    /// Returns the name for reports and configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            ModelReads::Content => "content",
            ModelReads::Structured => "structured",
            ModelReads::Both => "both",
        }
    }
}

/// A plain JSON-RPC server that is not an upstream of the MCP endpoints.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcServer {
    pub id: String,
    pub remote: RemoteSettings,
    pub mask: Mask,
    /// The time limit of one request on the plain JSON-RPC route.
    pub timeout: Duration,
}

/// The default time limit of a request on the plain JSON-RPC route.
pub const RPC_TIMEOUT: Duration = Duration::from_secs(30);

/// Limits on everything that clients and servers could make grow.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// The maximum size of one message in bytes, in either direction.
    pub max_message_bytes: usize,
    /// The maximum size of request bodies held for all clients together, in bytes. A single client
    /// may use a quarter of it.
    pub max_request_bytes_total: usize,
    /// The same limit for responses that wait to be written to clients.
    pub max_response_bytes_total: usize,
    pub max_sessions: usize,
    /// The maximum number of open HTTP connections.
    pub max_connections: usize,
    /// The maximum number of open HTTP connections from one address outside this machine.
    pub max_connections_per_address: usize,
    /// The maximum number of messages waiting for one client. Further notices are dropped.
    pub client_queue: usize,
    /// The time without a call, a stream or a message after which a session ends.
    pub session_idle: Duration,
    /// The maximum number of calls in flight per session.
    pub calls_per_session: usize,
    /// The time for processes to end before they are killed.
    pub grace: Duration,
    /// The time for calls in flight to end at a shutdown.
    pub shutdown_grace: Duration,
    /// The maximum number of items of one kind that are read from one upstream, over all pages.
    pub max_items_per_list: usize,
}

impl Limits {
    /// Returns the limits for connections to servers.
    pub(crate) fn upstream(&self) -> narrows_upstream::settings::Limits {
        narrows_upstream::settings::Limits {
            max_message_bytes: self.max_message_bytes,
            max_items_per_list: self.max_items_per_list,
            grace: self.grace,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_message_bytes: 16 * 1024 * 1024,
            max_request_bytes_total: 256 * 1024 * 1024,
            max_response_bytes_total: 256 * 1024 * 1024,
            max_sessions: 1_000,
            max_connections: 10_000,
            max_connections_per_address: 1_000,
            client_queue: 256,
            session_idle: Duration::from_secs(30 * 60),
            calls_per_session: 256,
            grace: Duration::from_secs(5),
            shutdown_grace: Duration::from_secs(10),
            max_items_per_list: 10_000,
        }
    }
}

/// A server: its connection, and the parts that clients may see.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerSettings {
    /// The connection settings. Any change to them reconnects the server.
    pub upstream: UpstreamSettings,
    /// The time limit of one request on the plain JSON-RPC route.
    pub rpc_timeout: Duration,
    /// The masking of responses on that route.
    pub mask: Mask,
    pub shape: ShapeChoice,
    /// The shape settings of single tools, by the server's own names.
    pub tool_shapes: HashMap<String, ShapeChoice>,
    pub preset: DirectPreset,
    /// The rule on tools that applies on all entry points, in addition to presets.
    pub tool_filter: ToolFilter,
}

impl ServerSettings {
    pub fn new(id: impl Into<String>, kind: UpstreamKind) -> Self {
        UpstreamSettings::new(id, kind).into()
    }
}

impl ServerSettings {
    /// Returns the shape settings for the server's results. Results of the built-in pruner contain
    /// lines that the client requested by number, so they are not shortened unless the server's
    /// entry enables it.
    pub(crate) fn server_shape(&self) -> ServerShape<'_> {
        let mut choice = self.shape;
        if self.upstream.kind == UpstreamKind::Builtin(Builtin::Pruner) {
            choice.on = choice.on.or(Some(false));
        }
        ServerShape {
            choice,
            tools: &self.tool_shapes,
        }
    }
}

impl From<UpstreamSettings> for ServerSettings {
    fn from(upstream: UpstreamSettings) -> Self {
        ServerSettings {
            upstream,
            rpc_timeout: RPC_TIMEOUT,
            mask: Mask::default(),
            shape: ShapeChoice::default(),
            tool_shapes: HashMap::new(),
            preset: DirectPreset::AsDefault,
            tool_filter: ToolFilter::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pruner_results_are_shaped_only_if_configured() {
        let of = |which, on| {
            let mut server = ServerSettings::new("s", UpstreamKind::Builtin(which));
            server.shape.on = on;
            server.server_shape().choice.on
        };
        assert_eq!(of(Builtin::Demo, None), None);
        assert_eq!(of(Builtin::Pruner, None), Some(false));
        assert_eq!(of(Builtin::Pruner, Some(true)), Some(true));
    }
}
