//! What the gateway must be told. Checked values only: files, environment and
//! defaults are read by the binary and handed in.

use std::collections::HashMap;
use std::ffi::OsString;
use std::time::Duration;

use narrows_policy::preset::{DirectPreset, Pattern, Preset, ToolFilter};
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrunerSettings {
    /// Longer texts are passed on as they are.
    pub max_input_chars: usize,
}

impl Default for PrunerSettings {
    fn default() -> Self {
        PrunerSettings {
            max_input_chars: 2_000_000,
        }
    }
}

/// Who may come in, and what for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSettings {
    pub name: String,
    /// What its token comes to. None only for [`ClientSettings::ANONYMOUS`],
    /// which is whoever brings no token from this machine.
    pub token: Option<TokenDigest>,
    pub doors: Doors,
    /// Binds this client besides the preset of the endpoint: what either of
    /// them denies is not to be had.
    pub preset: Option<String>,
    pub rate: Option<Rate>,
    /// Requests in flight, over all of its sessions.
    pub max_calls: Option<usize>,
    pub max_sessions: Option<usize>,
}

impl ClientSettings {
    /// The name of who brings no token.
    pub const ANONYMOUS: &str = "anonymous";

    pub fn named(name: impl Into<String>) -> Self {
        ClientSettings {
            name: name.into(),
            token: None,
            doors: Doors::All,
            preset: None,
            rate: None,
            max_calls: None,
            max_sessions: None,
        }
    }
}

/// The SHA-256 of a token. Tokens are 256 random bits, so a fast digest keeps
/// them: nobody can go through all of them.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenDigest(pub [u8; 32]);

/// Where a client may come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doors {
    All,
    These(Vec<DoorName>),
}

/// One of the ways in, or several of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DoorName {
    /// An endpoint that joins all upstreams, by its name.
    Endpoint(String),
    /// The ways in of one server, by its id: `/servers/{id}` and plain JSON-RPC.
    Server(String),
    /// Those of every server.
    AnyServer,
    /// The pruner's plain JSON-RPC.
    Pruner,
}

/// How often a client may ask: so many at once, and so many a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub per_minute: u32,
    pub burst: u32,
}

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

#[derive(Debug, Clone, PartialEq)]
pub struct EndpointSettings {
    pub name: String,
    /// Between server and tool in published names.
    pub separator: String,
    pub uris: Uris,
    /// The longest published name; counts only with the separator `__`, whose
    /// names are kept within what model providers accept.
    pub name_max: usize,
    pub shape: ShapeChoice,
    pub structured: Structured,
    /// The id of the preset in force. None allows everything, and one that is
    /// not among the presets nothing.
    pub preset: Option<String>,
    pub expose: Expose,
    pub facade: FacadeSettings,
}

impl EndpointSettings {
    pub fn named(name: impl Into<String>) -> Self {
        EndpointSettings {
            name: name.into(),
            separator: "__".into(),
            uris: Uris::AsTheyAre,
            name_max: 50,
            shape: ShapeChoice::default(),
            structured: Structured::Auto,
            preset: None,
            expose: Expose::All,
            facade: FacadeSettings::default(),
        }
    }
}

/// How an endpoint offers tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expose {
    /// Each of them is listed.
    All,
    /// Two tools are: one that tells of the others, one that calls them.
    Lazy,
    /// The same, with one more that finds them.
    Search,
}

/// How tools are told of where they are not listed.
#[derive(Debug, Clone, PartialEq)]
pub struct FacadeSettings {
    /// How much of each tool the description of `inspect` tells, on lazy endpoints.
    pub listing: Telling,
    /// The longest that this description may get before it tells less.
    pub listing_max_chars: usize,
    /// True if it names the parameters of each tool.
    pub signatures: bool,
    /// Tools that are listed all the same.
    pub pin: Vec<Pattern>,
    /// The form of what `inspect`, `exec` and `search_tools` answer.
    pub encoding: Encoding,
    /// Schemas as TypeScript, not as JSON Schema.
    pub typescript: bool,
    /// Descriptions inside of schemas are cut here.
    pub max_description_len: usize,
    /// True if TypeScript tells constraints and defaults.
    pub constraints: bool,
    /// The fewest items or keys of data that are worth TOON.
    pub toon_min_size: usize,
}

impl Default for FacadeSettings {
    fn default() -> Self {
        FacadeSettings {
            listing: Telling::Capped,
            listing_max_chars: 10_000,
            signatures: true,
            pin: Vec::new(),
            encoding: Encoding::Shorter,
            typescript: true,
            max_description_len: 300,
            constraints: false,
            toon_min_size: 1,
        }
    }
}

/// How much is told of every tool, from most to least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Telling {
    /// Its whole description.
    Full,
    /// The beginning of it.
    Capped,
    /// Its name.
    Names,
    /// Nothing; only servers are told.
    Servers,
}

/// The form of data in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// TOON or compact JSON, whichever is shorter.
    Shorter,
    Toon,
    Json,
}

/// How resource URIs are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uris {
    /// As they are; wrapped only where two servers publish the same one.
    AsTheyAre,
    /// All wrapped, and every listed item says in `metadata.proxy` where it is from.
    Wrapped,
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

impl std::fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenDigest")
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
