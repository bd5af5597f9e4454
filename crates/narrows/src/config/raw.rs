//! The structure of the configuration file. The doc comments of the tables are the reference of the
//! keys; `docs/configuration.md` describes them with examples.
//!
//! Types and key names are checked here. `check.rs` checks the meaning and the combination of
//! values. `raw/values.rs` reads values that have more than one form.

mod values;

use super::read::{Given, Map, table, words};

pub(crate) use values::{
    AnyValue, Entry, Health, InheritEnv, PresetChoice, RateChoice, RawCommand, RawTools, Selection,
    Servers, ServersById, ServersInList, Shape, TransportWord,
};

table! {
    /// The whole file.
    struct RawFile {
        /// Servers by id, in the form of Claude, Cursor and most other clients.
        "mcpServers" => mcp_servers: ServersById,
        /// Servers by id (VS Code), or a list of servers with `id`.
        "servers" => servers: Servers,
        /// A list of servers with `name` (MCPX).
        "mcp_servers" => mcp_servers_list: ServersInList,

        /// Endpoints for clients, by the name in the path: `default` is served at `/mcp`, any other
        /// at `/mcp/{name}`.
        "endpoints" => endpoints: Map<RawEndpoint>,
        /// Selections of tools, prompts and resources, by id.
        "presets" => presets: Map<RawPreset>,
        /// A folder with preset files `preset_<id>.json`, relative to this file.
        "preset_dir" => preset_dir: String,
        /// The treatment of results that exceed their budget.
        "shape" => shape: Shape,
        /// The store of cut text: its location, size and retention time.
        "recovery" => recovery: RawRecovery,

        /// The clients that may connect, by name. Without this key, anyone who can reach the
        /// gateway may connect. `anonymous` stands for clients without a token, which must be on
        /// this machine.
        "clients" => clients: Map<RawClient>,
        /// Access to the admin API.
        "admin" => admin: RawAdmin,

        /// The listen address of `narrows serve`. Default `127.0.0.1:7420`.
        "listen" => listen: String,
        /// The time for which `initialize` waits for servers that are still starting, in seconds; 0
        /// does not wait. Default 1.
        "initialize_wait_s" => initialize_wait_s: f64,
        /// The time after the start of a session for which list requests wait for servers that are
        /// still starting, in seconds; 0 does not wait. Default 4, and 20 for clients known to
        /// ignore `list_changed`.
        "list_wait_s" => list_wait_s: f64,
        /// The same for single clients, by the name in their `clientInfo`.
        "list_wait_by_client" => list_wait_by_client: Map<f64>,
        /// The half of a result that the models of single clients read, by the name in their
        /// `clientInfo`: `content`, `structured` or `both`.
        "model_reads_by_client" => model_reads_by_client: Map<ModelReadsWord>,
        /// Host names, in addition to loopback, that clients may use (`Host`).
        "allowed_hosts" => allowed_hosts: Vec<Given<String>>,
        /// Web origins, in addition to loopback, whose pages may send requests (`Origin`).
        "allowed_origins" => allowed_origins: Vec<Given<String>>,
        /// The maximum length of the joined instructions of all servers, in characters. Default
        /// 4000.
        "instructions_max_chars" => instructions_max_chars: usize,
        /// The request timeout of servers without their own, in seconds. Default 300, and 30 on the
        /// plain JSON-RPC route.
        "request_timeout_s" | "requestTimeoutSeconds" | "response_timeout" => request_timeout_s: f64,
        /// The detection of servers that no longer respond; `false` disables it.
        "health" => health: Health,
        /// Limits on everything that clients and servers can make grow.
        "limits" => limits: RawLimits,

        /// The preset of the default endpoint, in the form that broxy writes.
        "defaultPresetId" => default_preset_id: String,

        // The description of tools that are not listed, for endpoints without their own settings.
        "encoding" => encoding: Encoding,
        "schema_compression_enabled" => schema_compression_enabled: bool,
        "max_description_len" => max_description_len: usize,
        "schema_constraints" => schema_constraints: bool,
        "toon_compression_min_size" => toon_compression_min_size: usize,
        /// `false` has the meaning of `"encoding": "json"`, which takes precedence (MCPX).
        "toon_compression_enabled" => toon_compression_enabled: bool,

        /// The input prompts of VS Code. Ignored, because no user can answer them here.
        "inputs" => inputs: AnyValue,
    }
    silent [
        "health_check_enabled", "health_check_interval",
        "health_check_timeout", "health_check_failure_threshold", "healthcheck_interval",
        "healthcheck_timeout", "connectionRetryCount", "capabilitiesTimeoutSeconds",
        "capabilitiesRefreshIntervalSeconds", "authorizationTimeoutSeconds", "structured_logging",
    ]
    unused [
        "auth_token": "give every client its own token under `clients`",
        "rate_limit_per_minute": "set the `rate` of a client under `clients`",
        "log_level": "use --log-level",
        "inboundHttpPort": "use `listen`",
        "fallbackPromptsAndResourcesToTools": "prompts and resources are not converted to tools",
        "adapterMode": "use an endpoint with \"expose\": \"lazy\"",
    ]
}

table! {
    /// One server.
    struct RawServer {
        /// The server's id. In objects the key is the id and `name` is a display name. In lists the
        /// id is `id`, or else `name`. A built-in server is selected by `name`, or else by its id.
        "id" => id: String,
        "name" => name: String,
        /// The transport. Without it, `command` means `stdio`, a `url` with `ws://` or `wss://`
        /// means `ws`, and any other `url` means `http`, or `sse` if the server turns out to be
        /// older.
        "type" => kind: TransportWord,
        /// A synonym of `type`.
        "transport" => transport: TransportWord,

        /// The program of a stdio server, or program and arguments in one array.
        "command" => command: RawCommand,
        /// The arguments of the program.
        "args" => args: Vec<Given<String>>,
        /// Environment variables for the program, in addition to the inherited ones.
        "env" => env: Map<String>,
        /// A file with further variables, one `NAME=VALUE` per line, relative to the configuration
        /// file (Cursor, VS Code). `env` takes precedence.
        "envFile" => env_file: String,
        /// The gateway's variables that the program inherits in addition to the usual ones: `true`
        /// for all, or a list of names (`AWS_*` works). Default `false`.
        "inherit_env" => inherit_env: InheritEnv,
        /// The working directory, relative to the folder of the configuration file.
        "cwd" | "workingDirectory" => cwd: String,
        /// The framing of messages on stdin and stdout. Default `newline`.
        "stdio_mode" => stdio_mode: StdioMode,

        /// The URL of a remote server.
        "url" | "serverUrl" | "httpUrl" => url: String,
        /// Headers for every request to the server, and for opening a WebSocket.
        "headers" => headers: Map<String>,
        /// The time limit for connecting, in seconds. Default 5.
        "connect_timeout_s" => connect_timeout_s: f64,

        /// `false` keeps the server from being started. Default `true`.
        "enabled" => enabled: bool,
        /// The opposite of `enabled`.
        "disabled" => disabled: bool,
        /// The time limit for starting, until the lists have been read, in seconds. Default 30.
        "startup_timeout_s" | "startup_timeout" => startup_timeout_s: f64,
        /// The time limit for a call without progress, in seconds. Default 300, and 30 on the plain
        /// JSON-RPC route.
        "request_timeout_s" => request_timeout_s: f64,
        /// The same in the form that clients write. They use different units: values over 1000 are
        /// milliseconds, others are seconds.
        "timeout" => timeout: f64,
        /// The era of MCP in which the server is called: `auto`, `legacy` (with `initialize`, up to
        /// 2025-11-25) or `modern` (2026-07-28). Default `auto`.
        "era" => era: EraWord,
        /// The connection that calls use: `auto`, `shared` or `session`. Default `auto`.
        "sharing" => sharing: SharingWord,
        /// The maximum number of connections that belong to single sessions. Default 8.
        "max_links" => max_links: usize,
        /// Like the top-level `health`, for this server.
        "health" => health: Health,

        /// Like the top-level `shape`, for this server.
        "shape" => shape: Shape,
        /// Settings per tool, by the server's own tool names; or an array of the only allowed tools
        /// (Copilot CLI), `"*"` for all.
        "tools" => tools: RawTools,
        /// The only allowed tools, by the server's own names; `"*"` for all. `name(...)` counts as
        /// `name` (Gemini CLI).
        "includeTools" => include_tools: Vec<Given<String>>,
        /// A synonym of `includeTools`, without `name(...)`.
        "allowedTools" => allowed_tools: Vec<Given<String>>,
        /// A synonym of `allowedTools` (Codex and others).
        "enabledTools" | "enabled_tools" => enabled_tools: Vec<Given<String>>,
        /// Tools that may not be used, even if another list allows them (Gemini CLI).
        "excludeTools" => exclude_tools: Vec<Given<String>>,
        /// A synonym of `excludeTools` (Windsurf, Roo, Codex).
        "disabledTools" | "disabled_tools" => disabled_tools: Vec<Given<String>>,
        /// The preset of `/servers/{id}/mcp` and of the plain JSON-RPC route: an id, or `false` or
        /// `null` for none. Default: the preset of the default endpoint.
        "preset" => preset: PresetChoice,
    }
    silent [
        "alwaysAllow", "autoApprove", "description", "trust", "dev", "gallery", "version",
        "watchPaths", "icon", "tags", "shutdown_grace",
    ]
    unused [
        "auth": "put the credentials into `headers`",
        "oauth": "put the credentials into `headers`",
        "sandboxEnabled": "the server runs with the permissions of the gateway",
        "sandbox": "the server runs with the permissions of the gateway",
    ]
}

words! {
    enum StdioMode, "stdio_mode" {
        "newline" => Newline,
        "content-length" => ContentLength,
    }
}

words! {
    enum EraWord, "era" {
        "auto" => Auto,
        "legacy" => Legacy,
        "modern" => Modern,
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
    /// The settings of one tool of a server.
    struct RawTool {
        /// Like the top-level `shape`, for this tool.
        "shape" => shape: Shape,
    }
}

table! {
    /// One endpoint.
    struct RawEndpoint {
        /// The text between server and tool in published names. Default `__`, the only one that
        /// model providers accept.
        "separator" => separator: String,
        /// `plain` publishes resource URIs unchanged, `wrapped` wraps all of them. Default `plain`.
        "uris" => uris: UrisWord,
        /// The maximum length of a published name. Default 50.
        "name_max" => name_max: usize,
        /// The id of the preset to apply, or `false` or `null` for none, which allows everything.
        /// Default none, except for the endpoint `lazy`, which uses the preset of the default
        /// endpoint.
        "preset" => preset: PresetChoice,
        /// The tools to list: `all` of them, two that describe and call them (`lazy`), or those two
        /// and one that finds tools (`search`). Default `all`, and `lazy` for the endpoint of that
        /// name.
        "expose" => expose: ExposeWord,
        /// The detail about each tool in the description of `inspect` on a lazy endpoint. Default
        /// `capped`.
        "listing" => listing: ListingWord,
        /// The maximum length of that description, from 500 to 1000000 characters. Beyond it, the
        /// description gives less detail. Default 10000.
        "listing_max_chars" => listing_max_chars: usize,
        /// `true` includes the parameters of each tool in that description. Default `true`.
        "signatures" => signatures: bool,
        /// The treatment of `structuredContent`: `auto` omits it where it would exceed the budget
        /// and for clients whose models read it instead of `content`; `keep` keeps it and the
        /// output schemas; `drop` always omits it. Default `auto`.
        "structured" => structured: StructuredWord,
        /// Patterns of tools that a `search` endpoint lists anyway.
        "pin" => pin: Vec<Given<String>>,
        /// The format in which `inspect`, `exec` and `search_tools` answer: always `toon`, always
        /// `json`, or the shorter one (`auto`). Default `auto`.
        "encoding" => encoding: Encoding,
        /// `true` gives schemas as TypeScript. Default `true`.
        "schema_compression_enabled" => schema_compression_enabled: bool,
        /// The maximum length of descriptions in schemas, in characters. Default 300.
        "max_description_len" => max_description_len: usize,
        /// `true` includes constraints and defaults in schemas. Default `false`.
        "schema_constraints" => schema_constraints: bool,
        /// The minimum number of items or keys for TOON. Default 1.
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
        /// The beginning of the description of every tool.
        "capped" => Capped,
        /// Only the names of tools.
        "names" => Names,
        /// Only the servers.
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
    /// A selection of what the servers offer. Unknown keys are errors, because a list under a
    /// misspelt key would be missing, and so allow more than intended.
    struct RawPreset {
        "id" => id: String,
        /// A display name.
        "name" => name: String,
        /// Allowed tools, in order. The last match applies, and an empty list allows none.
        "tools" => tools: Selection,
        "prompts" => prompts: Selection,
        "resources" => resources: Selection,
    }
    silent ["description"]
    unknown Error
}

table! {
    /// One exact entry of a preset. Unknown keys are errors, because an entry with a misspelt
    /// `enabled` would allow what it should deny.
    struct RawSelected {
        "serverId" => server_id: String,
        "toolName" => tool_name: String,
        "promptName" => prompt_name: String,
        "resourceKey" => resource_key: String,
        /// `false` denies the item. Default `true`.
        "enabled" => enabled: bool,
    }
    unknown Error
}

table! {
    /// One client. Unknown keys are errors, because a limit or a list under a misspelt key would be
    /// missing, and so allow more than intended.
    struct RawClient {
        /// The digest of the client's token: `sha256:` and 64 hex digits, as printed by `narrows
        /// token`.
        "token" => token: String,
        /// The endpoints that the client may use: names of endpoints, `servers/ID`, `servers/*`,
        /// and `rpc` for the pruner. Default: all of them.
        "endpoints" => endpoints: Vec<Given<String>>,
        /// A preset that applies to the client in addition to that of the endpoint.
        "preset" => preset: String,
        /// The request rate: requests per minute, or that and a burst size. Default: unlimited.
        "rate" => rate: RateChoice,
        /// The maximum number of requests in flight over all sessions of the client.
        "max_calls" => max_calls: usize,
        /// The maximum number of sessions at once.
        "max_sessions" => max_sessions: usize,
    }
    unknown Error
}

table! {
    /// The request rate of a client.
    struct RawRate {
        "per_minute" => per_minute: usize,
        /// The maximum number of requests at once. Default a tenth of `per_minute`, at least 1.
        "burst" => burst: usize,
    }
    unknown Error
}

table! {
    /// Access to the admin API.
    struct RawAdmin {
        /// The digest of an admin token, in addition to the token created at every start.
        "token" => token: String,
        /// `true` admits other machines. Default `false`.
        "remote" => remote: bool,
        /// `true` serves metrics without a token. Default `false`.
        "open_metrics" => open_metrics: bool,
    }
    unknown Error
}

table! {
    /// Limits on everything that clients and servers can make grow.
    struct RawLimits {
        /// The size of one message in either direction, in bytes. Default 16777216.
        "max_message_bytes" => max_message_bytes: usize,
        /// The total size of request bodies held for all clients, in bytes; at least 4 messages.
        /// Default 268435456.
        "max_request_bytes_total" => max_request_bytes_total: usize,
        /// The total size of responses waiting to be written to all clients, in bytes; at least 4
        /// messages. Default 268435456.
        "max_response_bytes_total" => max_response_bytes_total: usize,
        /// Sessions at once. Default 1000.
        "max_sessions" => max_sessions: usize,
        /// HTTP connections at once. Default 10000.
        "max_connections" => max_connections: usize,
        /// Connections from one address, except loopback. Default 1000.
        "max_connections_per_address" => max_connections_per_address: usize,
        /// The time without activity after which a session ends, in seconds. Default 1800.
        "session_idle_s" => session_idle_s: f64,
        /// Messages waiting for one client. Default 256.
        "client_queue" => client_queue: usize,
        /// Calls in flight of one client. Default 256.
        "calls_per_session" => calls_per_session: usize,
        /// The time that child processes have to exit before they are killed, in seconds. Default
        /// 5.
        "grace_s" => grace_s: f64,
        /// The time that calls in flight have to finish at shutdown, in seconds. Default 10.
        "shutdown_grace_s" => shutdown_grace_s: f64,
        /// Items of one kind read from one server. Default 10000.
        "max_items_per_list" => max_items_per_list: usize,
    }
}

table! {
    /// The times of health checks and the number of failures after which a server counts as dead.
    struct RawHealth {
        /// The time without messages after which the server is pinged, in seconds; at least 1.
        /// Default 30.
        "interval_s" => interval_s: f64,
        /// The time limit for the response, in seconds; at least 0.1. Default 10.
        "timeout_s" => timeout_s: f64,
        /// The number of unanswered pings in a row after which the connection is replaced. Default
        /// 3.
        "failures" => failures: usize,
        /// The time for which a server may be silent while calls wait for it, in seconds. Default
        /// 300.
        "busy_s" => busy_s: f64,
    }
}

table! {
    /// The store of cut text.
    struct RawRecovery {
        /// The time for which cut text can be recovered, in seconds since its last use. Default
        /// 3600.
        "ttl_s" => ttl_s: f64,
        /// The total size of stored text, in bytes. The oldest text is removed first. Default
        /// 67108864.
        "max_bytes" => max_bytes: usize,
        /// A folder in which the text outlives the process, relative to the folder of the
        /// configuration file. Without it, text is kept in memory.
        "path" => path: String,
    }
}

table! {
    /// The budget of a result and how it is met.
    struct RawShape {
        /// The maximum number of text characters in one result, markers included; 0 or less
        /// disables the budget. Default 16000.
        "max_chars" => max_chars: i64,
        /// The same for code read without a goal. Default 48000, or `max_chars` if that is set to
        /// less than 16000.
        "code_max_chars" => code_max_chars: i64,
        /// The treatment of images, audio and blobs: `keep` neither counts nor cuts them; `note`
        /// replaces them with a text in results over the budget. Default `keep`.
        "binary" => binary: BinaryWord,
        /// `true` lists tools with the optional arguments `goal` and `find`. Default `false`.
        "goal_param" => goal_param: bool,
        /// `true` refuses calls whose arguments contain a marker of cut text. Default `true`.
        "guard" => guard: bool,
        /// The pruning of results.
        "prune" => prune: RawPrune,
        /// The masking of responses on the plain JSON-RPC route. Applies at the top level and in
        /// servers.
        "mask" => mask: RawMask,
    }
}

table! {
    /// The maximum length of strings and the parts to keep.
    struct RawMask {
        /// Longer strings are cut; 0 or less cuts none. Default 4000.
        "max_chars" => max_chars: i64,
        /// The number of characters to keep at the beginning. Default 2000.
        "head_chars" => head_chars: usize,
        /// The number of characters to keep at the end. Default 2000.
        "tail_chars" => tail_chars: usize,
    }
}

table! {
    /// The pruning of results.
    struct RawPrune {
        /// The time limit for bringing a result within its budget, in milliseconds. Default 1500.
        "timeout_ms" => timeout_ms: usize,
        // These two are options of the tool `prune_text`, whose calls set them.
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
