//! The settings of a gateway: checked values only. The binary reads files and
//! the environment. The settings of a module are defined in that module.

use std::collections::HashMap;
use std::ffi::OsString;
use std::time::Duration;

pub use crate::builtin::PrunerSettings;
pub use crate::catalogue::{EndpointSettings, Expose, Uris};
pub use crate::clients::{ClientSettings, DoorName, Doors, Rate, TokenDigest};
pub use crate::facade::{Encoding, FacadeSettings, Telling};
use narrows_policy::preset::{DirectPreset, Preset, ToolFilter};
pub use narrows_results::settings::{Binary, RecoverySettings, ShapeChoice, Structured};
use narrows_results::shaping::ServerShape;
use narrows_shape::Mask;
use narrows_upstream::chain::Ancestry;
pub use narrows_upstream::settings::{
    Builtin, HealthSettings, ProxySettings, RemoteProtocol, RemoteSettings, Sharing, StdioSettings,
    Transport, UpstreamKind, UpstreamSettings,
};

#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// In the order of the configuration, which is the order of every list.
    pub upstreams: Vec<ServerSettings>,
    /// Endpoints that join all upstreams. One of them is named `default`.
    /// The endpoint of a single upstream needs no entry.
    pub endpoints: Vec<EndpointSettings>,
    /// The longest time that `initialize` waits for upstreams that are still starting.
    pub initialize_wait: Duration,
    /// The longest time after the start of a session that its lists wait for them.
    pub list_wait: Duration,
    /// The same for some clients, by the name in their `clientInfo`.
    pub list_wait_by_client: HashMap<String, Duration>,
    /// The half of a result that the models of some clients read, by the name
    /// in their `clientInfo`.
    pub model_reads_by_client: HashMap<String, ModelReads>,
    /// Joined instructions of all upstreams are cut at this many characters.
    pub instructions_max_chars: usize,
    pub limits: Limits,
    /// The command that ends our children's process groups should we be
    /// killed: program and arguments. Without it a SIGKILL leaves them behind.
    pub guard: Option<Vec<OsString>>,
    /// The command that starts a server and adopts what it leaves behind:
    /// program and first arguments. Without it daemons of servers that clear
    /// their environment are left behind.
    pub subreaper: Option<Vec<OsString>>,
    /// The gateways above this one.
    pub ancestry: Ancestry,
    /// For outgoing HTTP.
    pub proxy: ProxySettings,
    pub recovery: RecoverySettings,
    pub pruner: PrunerSettings,
    /// What becomes of long results, where nothing more special says otherwise.
    pub shape: ShapeChoice,
    /// Servers that are known to the route of plain JSON-RPC alone.
    pub rpc_servers: Vec<RpcServer>,
    /// What endpoints and servers name as theirs.
    pub presets: Vec<Preset>,
    /// Who may come in. Without any, everybody who can reach the door.
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

/// The half of a tool result that a client gives to its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelReads {
    /// The items of `content`.
    Content,
    /// `structuredContent` where there is one, instead of `content`.
    Structured,
    Both,
}

impl ModelReads {
    /// The word for people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            ModelReads::Content => "content",
            ModelReads::Structured => "structured",
            ModelReads::Both => "both",
        }
    }
}

/// A server of plain JSON-RPC that is no upstream of the MCP endpoints.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcServer {
    pub id: String,
    pub remote: RemoteSettings,
    pub mask: Mask,
    /// For one request on the route of plain JSON-RPC.
    pub timeout: Duration,
}

/// How long a request on the route of plain JSON-RPC waits where nothing else is said.
pub const RPC_TIMEOUT: Duration = Duration::from_secs(30);

/// Bounds on everything that peers can make grow.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// One message, in either direction, in bytes.
    pub max_message_bytes: usize,
    /// Request bodies that are held for all clients together, in bytes. One
    /// client may hold a quarter of it.
    pub max_request_bytes_total: usize,
    /// The same for responses that wait to be written to clients.
    pub max_response_bytes_total: usize,
    pub max_sessions: usize,
    /// Connections over HTTP that may be open at the same time.
    pub max_connections: usize,
    /// Those from one address that is not on this machine.
    pub max_connections_per_address: usize,
    /// Messages waiting for one client; notices beyond it are dropped.
    pub client_queue: usize,
    /// A session without a call, a stream or a message for this long is ended.
    pub session_idle: Duration,
    /// Calls one client may have in flight.
    pub calls_per_session: usize,
    /// How long processes get to end by themselves before they are killed.
    pub grace: Duration,
    /// The time that calls in flight get to end at a shutdown.
    pub shutdown_grace: Duration,
    /// Items of one kind that are read from one upstream, over all pages.
    pub max_items_per_list: usize,
}

impl Limits {
    /// The limits that connections to servers keep.
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

/// One server: how to connect to it, and what clients may see of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerSettings {
    /// A change of anything in here makes a new connection.
    pub upstream: UpstreamSettings,
    /// For one request on the route of plain JSON-RPC.
    pub rpc_timeout: Duration,
    /// What is cut out of answers on that route.
    pub mask: Mask,
    pub shape: ShapeChoice,
    /// By the server's own names of its tools.
    pub tool_shapes: HashMap<String, ShapeChoice>,
    pub preset: DirectPreset,
    /// Binds besides every preset, on every way in.
    pub tool_filter: ToolFilter,
}

impl ServerSettings {
    pub fn new(id: impl Into<String>, kind: UpstreamKind) -> Self {
        UpstreamSettings::new(id, kind).into()
    }
}

impl ServerSettings {
    /// The choices for its results. The built-in pruner returns lines that were
    /// asked for by number, so they are not shortened unless its entry says so.
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
    fn results_of_the_pruner_are_shortened_only_if_its_entry_says_so() {
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
