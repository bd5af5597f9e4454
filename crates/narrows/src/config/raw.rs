//! The configuration file as it is written. The doc comments of the tables are
//! the reference of the keys; `docs/configuration.md` says the same with
//! examples.
//!
//! Types and spelling are checked here; what values mean, and whether they
//! make sense together, is checked in `check.rs`. Values that can be written in
//! more than one way are read in `raw/values.rs`.

mod values;

use super::read::{Given, Map, table, words};

pub(crate) use values::{
    Anything, Command, Entry, Health, InheritEnv, PresetChoice, RateChoice, Selection, Servers,
    ServersById, ServersInList, Shape, Tools, TransportWord,
};

table! {
    /// The whole file.
    struct RawFile {
        /// Servers by id, as Claude, Cursor and most clients write them.
        "mcpServers" => mcp_servers: ServersById,
        /// Servers by id (VS Code), or a list of servers with `id`.
        "servers" => servers: Servers,
        /// A list of servers with `name` (MCPX).
        "mcp_servers" => mcp_servers_list: ServersInList,

        /// What clients see, by the name in the path: `default` is served at
        /// `/mcp`, any other at `/mcp/{name}`.
        "endpoints" => endpoints: Map<RawEndpoint>,
        /// Selections of tools, prompts and resources, by id.
        "presets" => presets: Map<RawPreset>,
        /// A folder with presets as files `preset_<id>.json`, relative to this file.
        "preset_dir" => preset_dir: String,
        /// What happens to results that are too large.
        "shape" => shape: Shape,
        /// How long, and how much of, what was cut can be had again.
        "recovery" => recovery: RawRecovery,

        /// Who may come in, by name. Without any, everybody who can reach the
        /// gateway. `anonymous` is who brings no token, from this machine only.
        "clients" => clients: Map<RawClient>,
        /// Who may operate the gateway while it runs.
        "admin" => admin: RawAdmin,

        /// Where `narrows serve` listens. Default `127.0.0.1:7420`.
        "listen" => listen: String,
        /// How long `initialize` waits for servers that are still starting,
        /// in seconds; 0 does not wait. Default 1.
        "initialize_wait_s" => initialize_wait_s: f64,
        /// How long after its session began a list waits for servers that are
        /// still starting, in seconds; 0 does not wait. Default 4, and 20 for
        /// clients known to ignore `list_changed`.
        "list_wait_s" => list_wait_s: f64,
        /// The same for single clients, by the name that they give in
        /// `clientInfo`.
        "list_wait_by_client" => list_wait_by_client: Map<f64>,
        /// The half of a result that the models of single clients read, by the
        /// name that they give in `clientInfo`: `content`, `structured` or `both`.
        "model_reads_by_client" => model_reads_by_client: Map<ModelReadsWord>,
        /// Names besides loopback that a client may call us by (`Host`).
        "allowed_hosts" => allowed_hosts: Vec<Given<String>>,
        /// Web origins besides loopback whose pages may call us (`Origin`).
        "allowed_origins" => allowed_origins: Vec<Given<String>>,
        /// The instructions of all servers, joined, are cut at this many
        /// characters. Default 4000.
        "instructions_max_chars" => instructions_max_chars: usize,
        /// The request timeout of servers that set none, in seconds. Default
        /// 300, and 30 on the route of plain JSON-RPC.
        "request_timeout_s" | "requestTimeoutSeconds" | "response_timeout" => request_timeout_s: f64,
        /// How servers that do nothing any more are found out; `false` never looks.
        "health" => health: Health,
        /// Bounds on everything that peers can make grow.
        "limits" => limits: RawLimits,

        /// The preset of the default endpoint, as broxy writes it.
        "defaultPresetId" => default_preset_id: String,

        // How tools are told of where they are not listed, for endpoints that
        // do not say it themselves.
        "encoding" => encoding: Encoding,
        "schema_compression_enabled" => schema_compression_enabled: bool,
        "max_description_len" => max_description_len: usize,
        "schema_constraints" => schema_constraints: bool,
        "toon_compression_min_size" => toon_compression_min_size: usize,
        /// `false` is MCPX's word for `"encoding": "json"`, which goes before it.
        "toon_compression_enabled" => toon_compression_enabled: bool,

        /// VS Code's questions to the user; there is nobody to ask here.
        "inputs" => inputs: Anything,
    }
    silent [
        "health_check_enabled", "health_check_interval",
        "health_check_timeout", "health_check_failure_threshold", "healthcheck_interval",
        "healthcheck_timeout", "connectionRetryCount", "capabilitiesTimeoutSeconds",
        "capabilitiesRefreshIntervalSeconds", "authorizationTimeoutSeconds", "structured_logging",
    ]
    unused [
        "auth_token": "give every client a token of its own under `clients`",
        "rate_limit_per_minute": "set the `rate` of a client under `clients`",
        "log_level": "use --log-level",
        "inboundHttpPort": "use `listen`",
        "fallbackPromptsAndResourcesToTools": "prompts and resources stay what they are",
        "adapterMode": "use an endpoint with \"expose\": \"lazy\"",
    ]
}

table! {
    /// One server.
    struct RawServer {
        /// What the server is called. In objects the key says it, and `name`
        /// is a text for people; in lists `id`, or else `name`, says it. A
        /// built-in server is chosen by `name`, or else by its id.
        "id" => id: String,
        "name" => name: String,
        /// What carries the messages. Without it `command` means `stdio`, a
        /// `url` of `ws://` or `wss://` means `ws`, and any other `url` means
        /// `http`, or `sse` where the server turns out to be older.
        "type" => kind: TransportWord,
        /// Another word for `type`.
        "transport" => transport: TransportWord,

        /// The program of a stdio server, or program and arguments in one array.
        "command" => command: Command,
        /// Its arguments.
        "args" => args: Vec<Given<String>>,
        /// Environment variables for it, besides the ones it gets anyway.
        "env" => env: Map<String>,
        /// A file with more of them, as `NAME=VALUE` in each line, relative to
        /// the configuration file (Cursor, VS Code). `env` goes before it.
        "envFile" => env_file: String,
        /// Which of our own variables it gets besides the usual ones: `true`
        /// for all of them, or a list of names (`AWS_*` works). Default `false`.
        "inherit_env" => inherit_env: InheritEnv,
        /// The folder it runs in, relative to the configuration file's.
        "cwd" | "workingDirectory" => cwd: String,
        /// How messages are framed on stdin and stdout. Default `newline`.
        "stdio_mode" => stdio_mode: StdioMode,

        /// Where a server is that is not started here.
        "url" | "serverUrl" | "httpUrl" => url: String,
        /// Headers for every request to it, and for opening a WebSocket.
        "headers" => headers: Map<String>,
        /// How long connecting may take, in seconds. Default 5.
        "connect_timeout_s" => connect_timeout_s: f64,

        /// `false` keeps the server from being started. Default `true`.
        "enabled" => enabled: bool,
        /// The same the other way round.
        "disabled" => disabled: bool,
        /// How long starting may take until its lists are there, in seconds. Default 30.
        "startup_timeout_s" | "startup_timeout" => startup_timeout_s: f64,
        /// How long a call may take without a sign of progress, in seconds.
        /// Default 300, and 30 on the route of plain JSON-RPC.
        "request_timeout_s" => request_timeout_s: f64,
        /// The same as clients write it. They do not agree on the unit: more
        /// than 1000 counts as milliseconds, anything else as seconds.
        "timeout" => timeout: f64,
        /// Whose connection a call takes: `auto`, `shared` or `session`. Default `auto`.
        "sharing" => sharing: SharingWord,
        /// How many connections of sessions' own there may be at once. Default 8.
        "max_links" => max_links: usize,
        /// Like the top-level `health`, for this server.
        "health" => health: Health,

        /// Like the top-level `shape`, for this server.
        "shape" => shape: Shape,
        /// Settings per tool, by the server's own name for it; or, as an
        /// array, the only tools that may be used (Copilot CLI), `"*"` for all.
        "tools" => tools: Tools,
        /// The only tools that may be used, by the server's own names; `"*"`
        /// for all. `name(...)` counts as `name` (Gemini CLI).
        "includeTools" => include_tools: Vec<Given<String>>,
        /// The same in another word.
        "allowedTools" => allowed_tools: Vec<Given<String>>,
        /// The same in the words of Codex and others.
        "enabledTools" | "enabled_tools" => enabled_tools: Vec<Given<String>>,
        /// Tools that may not be used, even if another list names them (Gemini CLI).
        "excludeTools" => exclude_tools: Vec<Given<String>>,
        /// The same in another word (Windsurf, Roo, Codex).
        "disabledTools" | "disabled_tools" => disabled_tools: Vec<Given<String>>,
        /// The preset of `/servers/{id}/mcp` and of the route of plain JSON-RPC:
        /// an id, or `false` or `null` for none. Default that of the default endpoint.
        "preset" => preset: PresetChoice,
    }
    silent [
        "alwaysAllow", "autoApprove", "description", "trust", "dev", "gallery", "version",
        "watchPaths", "icon", "tags", "shutdown_grace",
    ]
    unused [
        "auth": "put the credentials into `headers`",
        "oauth": "put the credentials into `headers`",
        "sandboxEnabled": "the server runs with our own rights",
        "sandbox": "the server runs with our own rights",
    ]
}

words! {
    enum StdioMode, "stdio_mode" {
        "newline" => Newline,
        "content-length" => ContentLength,
    }
}

words! {
    enum SharingWord, "sharing" {
        "auto" => Auto,
        "shared" => Shared,
        "session" => Session,
    }
}

table! {
    /// What one tool of a server is treated to.
    struct RawTool {
        /// Like the top-level `shape`, for this tool.
        "shape" => shape: Shape,
    }
}

table! {
    /// One endpoint.
    struct RawEndpoint {
        /// What stands between server and tool in published names. Default
        /// `__`, the only one that model providers accept.
        "separator" => separator: String,
        /// `plain` publishes resource URIs as they are, `wrapped` wraps them
        /// all. Default `plain`.
        "uris" => uris: UrisWord,
        /// The longest published name. Default 50.
        "name_max" => name_max: usize,
        /// The id of the preset in force, or `false` or `null` for none, which
        /// allows everything. Default none, but for the endpoint `lazy`, which
        /// has that of the default endpoint.
        "preset" => preset: PresetChoice,
        /// `all` tools are listed, or two that tell of them and call them
        /// (`lazy`), or the same and one that finds them (`search`). Default
        /// `all`, and `lazy` for the endpoint of that name.
        "expose" => expose: ExposeWord,
        /// How much of each tool the description of `inspect` tells on a lazy
        /// endpoint. Default `capped`.
        "listing" => listing: ListingWord,
        /// The longest that this description may get before it tells less,
        /// from 500 to 1000000 characters. Default 10000.
        "listing_max_chars" => listing_max_chars: usize,
        /// Whether that description names the parameters of each tool. Default
        /// `true`.
        "signatures" => signatures: bool,
        /// What becomes of `structuredContent`: `auto` leaves it out where it
        /// would pass the budget and for clients whose models read it instead of
        /// `content`, `keep` keeps it and output schemas, `drop` always leaves it
        /// out. Default `auto`.
        "structured" => structured: StructuredWord,
        /// Patterns of tools that a `search` endpoint lists all the same.
        "pin" => pin: Vec<Given<String>>,
        /// What `inspect`, `exec` and `search_tools` answer in: the shorter
        /// one (`auto`), or always the same. Default `auto`.
        "encoding" => encoding: Encoding,
        /// Whether schemas are given as TypeScript. Default `true`.
        "schema_compression_enabled" => schema_compression_enabled: bool,
        /// Descriptions in them are cut at this many characters. Default 300.
        "max_description_len" => max_description_len: usize,
        /// Whether they tell constraints and defaults. Default `false`.
        "schema_constraints" => schema_constraints: bool,
        /// The fewest items or keys that are worth TOON. Default 1.
        "toon_compression_min_size" => toon_compression_min_size: usize,
        /// Like the top-level `shape`, for this endpoint.
        "shape" => shape: Shape,
    }
}

words! {
    enum UrisWord, "form of URIs" {
        "plain" => Plain,
        "wrapped" => Wrapped,
    }
}

words! {
    enum ExposeWord, "value of `expose`" {
        "all" => All,
        "lazy" => Lazy,
        "search" => Search,
    }
}

words! {
    enum ListingWord, "value of `listing`" {
        /// The whole description of every tool.
        "full" => Full,
        /// The beginning of it.
        "capped" => Capped,
        /// Its name alone.
        "names" => Names,
        /// Servers alone.
        "servers" => Servers,
    }
}

words! {
    enum Encoding, "encoding" {
        "auto" => Auto,
        "toon" => Toon,
        "json" => Json,
    }
}

table! {
    /// A selection of what the servers offer. A list under a misspelt key would
    /// be no list, which allows more than the list does.
    struct RawPreset {
        "id" => id: String,
        /// A text for people.
        "name" => name: String,
        /// Which tools, in order, the last match wins; an empty list allows none.
        "tools" => tools: Selection,
        "prompts" => prompts: Selection,
        "resources" => resources: Selection,
    }
    silent ["description"]
    unknown Error
}

table! {
    /// One exact entry of a preset. With `enabled` misspelt it would allow what
    /// it is to forbid.
    struct RawSelected {
        "serverId" => server_id: String,
        "toolName" => tool_name: String,
        "promptName" => prompt_name: String,
        "resourceKey" => resource_key: String,
        /// `false` forbids it. Default `true`.
        "enabled" => enabled: bool,
    }
    unknown Error
}

table! {
    /// One client. A limit or a list under a misspelt key would be none, which
    /// allows more than it does.
    struct RawClient {
        /// The digest of its token: `sha256:` and 64 hex digits, as `narrows
        /// token` prints it.
        "token" => token: String,
        /// Where it may come in: names of endpoints, `servers/ID`, `servers/*`,
        /// and `rpc` for the pruner. Default: everywhere.
        "endpoints" => endpoints: Vec<Given<String>>,
        /// A preset that binds it besides that of the endpoint.
        "preset" => preset: String,
        /// How often it may ask: requests per minute, or that and how many at
        /// once. Default: as often as it likes.
        "rate" => rate: RateChoice,
        /// Requests that it may have in flight, over all of its sessions.
        "max_calls" => max_calls: usize,
        /// Sessions that it may have at once.
        "max_sessions" => max_sessions: usize,
    }
    unknown Error
}

table! {
    /// How often a client may ask.
    struct RawRate {
        "per_minute" => per_minute: usize,
        /// How many may come at once. Default a tenth of `per_minute`, at least 1.
        "burst" => burst: usize,
    }
    unknown Error
}

table! {
    /// Who may operate the gateway while it runs.
    struct RawAdmin {
        /// The digest of a token for it, besides the one that is made at every start.
        "token" => token: String,
        /// Whether other machines may. Default `false`.
        "remote" => remote: bool,
        /// Whether metrics are told without a token. Default `false`.
        "open_metrics" => open_metrics: bool,
    }
    unknown Error
}

table! {
    /// Bounds on everything that peers can make grow.
    struct RawLimits {
        /// One message in either direction, in bytes. Default 16777216.
        "max_message_bytes" => max_message_bytes: usize,
        /// Request bodies held for all clients together, in bytes; at least 4
        /// messages. Default 268435456.
        "max_request_bytes_total" => max_request_bytes_total: usize,
        /// Responses that wait to be written to all clients together, in bytes;
        /// at least 4 messages. Default 268435456.
        "max_response_bytes_total" => max_response_bytes_total: usize,
        /// Sessions at once. Default 1000.
        "max_sessions" => max_sessions: usize,
        /// Connections over HTTP at once. Default 10000.
        "max_connections" => max_connections: usize,
        /// Connections from one address, unless it is on this machine. Default 1000.
        "max_connections_per_address" => max_connections_per_address: usize,
        /// A session without a sign of life is ended after this many seconds. Default 1800.
        "session_idle_s" => session_idle_s: f64,
        /// Messages waiting for one client. Default 256.
        "client_queue" => client_queue: usize,
        /// Calls that one client may have in flight. Default 256.
        "calls_per_session" => calls_per_session: usize,
        /// How long processes get to end by themselves, in seconds. Default 5.
        "grace_s" => grace_s: f64,
        /// How long calls in flight get to end when the gateway is asked to,
        /// in seconds. Default 10.
        "shutdown_grace_s" => shutdown_grace_s: f64,
        /// Items of one kind that are read from one server. Default 10000.
        "max_items_per_list" => max_items_per_list: usize,
    }
}

table! {
    /// When a server is asked for a sign of life, and when it is given up.
    struct RawHealth {
        /// A server that has said nothing for this many seconds is asked, 1 at
        /// least. Default 30.
        "interval_s" => interval_s: f64,
        /// How long the answer may take, in seconds, 0.1 at least. Default 10.
        "timeout_s" => timeout_s: f64,
        /// So many unanswered in a row, and the connection is made anew. Default 3.
        "failures" => failures: usize,
        /// How long a server may be silent while calls wait for it, in
        /// seconds. Default 300.
        "busy_s" => busy_s: f64,
    }
}

table! {
    /// The store of what was cut.
    struct RawRecovery {
        /// How long what was cut can be had again, in seconds. Default 600.
        "ttl_s" => ttl_s: f64,
        /// All of it together, in bytes; the oldest leaves first. Default 67108864.
        "max_bytes" => max_bytes: usize,
        /// The folder in which it outlives the process, relative to this
        /// file's. Without one it is kept in memory.
        "path" => path: String,
    }
}

table! {
    /// The budget of a result and how it is met.
    struct RawShape {
        /// The most characters of text in one result, markers included; 0 or
        /// less switches the budget off. Default 16000.
        "max_chars" => max_chars: i64,
        /// The same for code that is read without a goal. Default 48000, or
        /// `max_chars` where that is set to less than 16000.
        "code_max_chars" => code_max_chars: i64,
        /// What becomes of images, audio and blobs: `keep` neither counts nor
        /// cuts them, `note` puts a text in their place in results over the
        /// budget. Default `keep`.
        "binary" => binary: BinaryWord,
        /// Whether tools are listed with optional arguments `goal` and `find`.
        /// Default `false`.
        "goal_param" => goal_param: bool,
        /// Whether a call is refused whose arguments hold a marker of cut text.
        /// Default `true`.
        "guard" => guard: bool,
        /// How results are pruned.
        "prune" => prune: RawPrune,
        /// What is cut out of answers on the route of plain JSON-RPC; at the
        /// top and for servers.
        "mask" => mask: RawMask,
    }
}

table! {
    /// Which strings are too long, and what is left of them.
    struct RawMask {
        /// Longer strings are cut; 0 or less cuts none. Default 4000.
        "max_chars" => max_chars: i64,
        /// What stays at the beginning. Default 2000.
        "head_chars" => head_chars: usize,
        /// What stays at the end. Default 2000.
        "tail_chars" => tail_chars: usize,
    }
}

table! {
    /// How results are pruned.
    struct RawPrune {
        /// How long keeping a result within its budget may take.
        "timeout_ms" => timeout_ms: usize,
        // These two are options of the tool `prune_text`, which every call of
        // it names itself.
        "max_prune_ratio" => max_prune_ratio: f64,
        "min_keep_lines" => min_keep_lines: usize,
    }
}

words! {
    enum BinaryWord, "value of `binary`" {
        "keep" => Keep,
        "note" => Note,
    }
}

words! {
    enum StructuredWord, "value of `structured`" {
        "auto" => Auto,
        "keep" => Keep,
        "drop" => Drop,
    }
}

words! {
    enum ModelReadsWord, "half of a result" {
        "content" => Content,
        "structured" => Structured,
        "both" => Both,
    }
}
