//! The command line. Users and programs rely on the flags, so they do not change.

pub(crate) mod filters;
pub(crate) mod operator;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

#[derive(Debug, Parser)]
#[command(
    name = "narrows",
    version,
    about = "An MCP gateway: one endpoint for all your MCP servers",
    after_help = TOP_EXAMPLES,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) log: LogOptions,
}

#[derive(Debug, Args)]
pub(crate) struct LogOptions {
    /// Log level on stderr [default: info for serve, stdio and pruner, else error]
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) log_level: Option<LogLevel>,
    /// Log format [default: human on a terminal, else json]
    #[arg(long, global = true, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl LogLevel {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            LogLevel::Off => "off",
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
            LogLevel::Trace => "trace",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Human,
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve all configured servers over HTTP
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Serve),
    /// Serve all configured servers on stdin and stdout
    #[command(after_help = STDIO_EXAMPLES)]
    Stdio(Stdio),
    /// Serve only the pruner, over HTTP
    #[command(after_help = PRUNER_EXAMPLES)]
    Pruner(Pruner),
    /// Connect to every configured server and report problems
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Check),
    /// List the tools that the gateway offers, their token cost and the savings from shaping
    #[command(after_help = TOOLS_EXAMPLES)]
    Tools(Tools),
    /// Call one tool through the gateway
    #[command(after_help = CALL_EXAMPLES)]
    Call(Call),
    /// List and manage the servers of a running gateway
    #[command(after_help = operator::SERVERS_EXAMPLES)]
    Servers(operator::ServersCommand),
    /// List and manage the presets of a running gateway
    #[command(after_help = operator::PRESETS_EXAMPLES)]
    Presets(operator::Presets),
    /// List and end the sessions of a running gateway, and watch their calls
    #[command(after_help = operator::SESSIONS_EXAMPLES)]
    Sessions(operator::Sessions),
    /// Create a token for a client or an admin, or print the digest of a token
    #[command(after_help = TOKEN_EXAMPLES)]
    Token(Token),
    /// Cut the middle out of long strings in JSON
    #[command(after_help = filters::MASK_EXAMPLES)]
    Mask(filters::Mask),
    /// Convert JSON to TOON, or TOON to JSON
    #[command(after_help = filters::TOON_EXAMPLES)]
    Toon(filters::Toon),
    /// Convert a JSON Schema to a TypeScript type
    #[command(after_help = filters::TS_EXAMPLES)]
    Ts(filters::Ts),
    /// Shorten a text to the lines relevant to a goal
    #[command(after_help = filters::PRUNE_EXAMPLES)]
    Prune(filters::Prune),
    /// End the gateway's child processes if the gateway is killed; started by the gateway itself
    #[command(name = "__guard", hide = true)]
    Guard,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigOption {
    /// Configuration file [default: ./narrows.json, then narrows.json in the user's configuration
    /// folder, then the built-in servers]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) config: ConfigOption,
    /// Address to listen on; port 0 picks a free port [default: `listen` of the configuration, or
    /// 127.0.0.1:7420]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// Do not watch the configuration file for changes; SIGHUP still reloads it
    #[arg(long)]
    pub(crate) no_watch: bool,
    /// Listen on addresses beyond loopback without `clients` in the configuration; anyone who can
    /// reach the port may then use every tool
    #[arg(long)]
    pub(crate) insecure: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Stdio {
    #[command(flatten)]
    pub(crate) config: ConfigOption,
    /// Endpoint to serve
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) endpoint: String,
    /// Preset to apply instead of the endpoint's own
    #[arg(long, value_name = "ID")]
    pub(crate) preset: Option<String>,
    /// Which tools to list; overrides the endpoint's `expose` setting
    #[arg(long, value_name = "HOW")]
    pub(crate) expose: Option<Expose>,
    /// Do not watch the configuration file for changes; SIGHUP still reloads it
    #[arg(long)]
    pub(crate) no_watch: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Expose {
    /// List every tool
    All,
    /// List two tools: `inspect` describes the others, `exec` calls them
    Lazy,
    /// Like lazy, plus `search_tools`, which finds tools
    Search,
}

#[derive(Debug, Args)]
pub(crate) struct Pruner {
    /// Listen on addresses beyond loopback; anyone who can reach the port may then use the pruner
    #[arg(long)]
    pub(crate) insecure: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) config: ConfigOption,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Tools {
    /// Show only this server
    #[arg(value_name = "SERVER")]
    pub(crate) server: Option<String>,
    /// Show only this tool of the server, with its whole schema
    #[arg(value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    #[command(flatten)]
    pub(crate) config: ConfigOption,
    /// Endpoint whose tools to show, with the names that it publishes
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) endpoint: String,
    /// Preset to apply instead of the endpoint's own
    #[arg(long, value_name = "ID")]
    pub(crate) preset: Option<String>,
    /// Explain why the tool with this name is or is not offered
    #[arg(long, value_name = "NAME", conflicts_with = "tool")]
    pub(crate) why: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Call {
    /// Server id, or a published tool name instead of SERVER and TOOL
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    /// Tool name, either the server's own or the published one
    #[arg(value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// Arguments as a JSON object; `-` reads stdin, `@FILE` reads a file
    #[arg(value_name = "JSON")]
    pub(crate) arguments: Option<String>,
    #[command(flatten)]
    pub(crate) config: ConfigOption,
    /// Endpoint to call the tool on; its names, preset and `shape` settings apply
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) endpoint: String,
    /// Purpose of the call; if the result exceeds its budget, the relevant parts are kept
    #[arg(long, value_name = "TEXT")]
    pub(crate) goal: Option<String>,
    /// Client program to act as, by the name in its `clientInfo`; results take the form that its
    /// model reads
    #[arg(long, value_name = "NAME", default_value = "narrows-call")]
    pub(crate) client: String,
    /// Print the route of the call, its cost and the parts cut from the result to stderr
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print the whole result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Token {
    /// Client to create the token for
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Create an admin token
    #[arg(long, conflicts_with = "name")]
    pub(crate) admin: bool,
    /// Read a token from stdin and print its digest
    #[arg(long, conflicts_with_all = ["name", "admin"])]
    pub(crate) hash: bool,
}

const TOP_EXAMPLES: &str = "\
Examples:
  narrows serve                        serve ./narrows.json at http://127.0.0.1:7420/mcp
  narrows check                        connect to every server and report problems
  narrows tools                        list the tools with their token cost
  narrows call files list_directory '{\"path\": \".\"}'
  narrows servers                      list the servers of a running gateway
  narrows prune --goal 'where is it closed?' session.rs     keep the relevant lines

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration.";

const SERVE_EXAMPLES: &str = "\
Examples:
  narrows serve
  narrows serve --config ~/work/narrows.json --listen 127.0.0.1:8080
  narrows serve --listen 127.0.0.1:0   any free port; the address is printed to stderr

Clients connect to http://ADDRESS/mcp, to /mcp/lazy for the same servers through two tools,
to /mcp/NAME for another endpoint, or to /servers/ID/mcp for a single server. Clients that
support only HTTP+SSE use http://ADDRESS/sse, WebSocket clients use ws://ADDRESS/ws.
On Ctrl-C or SIGTERM, calls in flight finish; then the gateway and all processes that it
started end. A second Ctrl-C or SIGTERM ends them at once.";

const STDIO_EXAMPLES: &str = "\
Examples:
  claude mcp add narrows -- narrows stdio --config /path/to/narrows.json
  claude mcp add tools -- narrows stdio --expose lazy          two tools instead of all
  claude mcp add review -- narrows stdio --preset review       only what a preset allows
  npx @modelcontextprotocol/inspector --cli narrows stdio --method tools/list

When stdin closes, the gateway and all processes that it started end. On Ctrl-C or SIGTERM,
calls in flight finish first; a second Ctrl-C or SIGTERM ends everything at once.";

const PRUNER_EXAMPLES: &str = "\
Examples:
  narrows pruner
  MCP_PRUNER_PORT=9000 narrows pruner
  curl -s http://127.0.0.1:8006/rpc -d '{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/list\"}'

Variables:
  MCP_PRUNER_HOST             address to listen on [127.0.0.1]
  MCP_PRUNER_PORT             port to listen on; 0 picks a free port [8006]
  MCP_PRUNER_ALLOWED_HOSTS    host names accepted in addition to loopback, comma-separated
  MCP_PRUNER_MAX_INPUT_CHARS  longer texts are returned unchanged [2000000]
  MCP_PRUNER_PRUNE_ID_TTL_S   time for which texts can be recovered, in seconds [600]

The pruner serves plain JSON-RPC at /rpc and MCP at /mcp. `narrows serve` also serves /rpc, and
offers the pruner's tools if its servers include \"pruner\": {\"type\": \"builtin\"}.
Ctrl-C or SIGTERM ends it.";

const CHECK_EXAMPLES: &str = "\
Examples:
  narrows check
  narrows check --config ~/.cursor/mcp.json
  narrows check --json | jq '.servers[] | select(.state != \"up\")'

A server's `type` is stdio, http, sse, ws, rpc or builtin. For a `url` without a type, the
command tries http, then sse, and prints which one works. If a `type` is wrong, it prints the
right one.

Exit codes: 0 all servers are up, 1 a server is not up, 2 the configuration is invalid.

--json prints one object:
  ok        true if there are no errors and all enabled servers are up
  config    the configuration file, or null for the built-in default
  problems  [{severity, file, line, column, path, server, message, help}]
  servers   [{id, transport, configured, found, state, revision, era, era_found, took_ms, tools,
            hidden, prompts, resources, templates, tokens, server_info, failure}], where state is up,
            starting, down, disabled or left_out, and failure is {kind, message, hint,
            speaks, stderr}; transport is the transport in use, configured the `type` in the
            file or null, found how another transport was detected, era legacy or modern,
            era_found how it was detected, and speaks the transport that the server speaks
            instead of the configured one
  tools     the number of tools of all servers
  tokens    the estimated number of tokens in their lists";

const TOOLS_EXAMPLES: &str = "\
Examples:
  narrows tools                        all tools of all servers
  narrows tools files                  the tools of one server
  narrows tools files read_file        one tool with its schema
  narrows tools --why files__rename    why a tool is offered or not
  narrows tools --preset review        the tools that a preset allows
  narrows tools --endpoint lazy        the tools listed instead, with their tokens

Tools hidden by the preset of the endpoint are counted but not shown; --why names the entry
that hides a tool. If an endpoint does not list its tools (`expose`), the last line shows the
tools that it lists instead.

Token counts are estimates: the tokenizer of a model may count slightly more or fewer.

If the configuration sets `recovery.path`, gateways record there how much they shorten results,
and this command shows the savings per tool, per server and in total.

--json prints {endpoint, expose, preset, servers: [{id, state, reason, tokens, saved, tools:
[{name, published, description, tokens, saved}], hidden: [{name, published, reason}]}], tools,
tokens, listed, saved}, where listed is {tools, tokens} as listed to clients, or null with
SERVER; with SERVER and TOOL {server, name, published, tokens, saved, tool}; with --why {name,
there, server, tool, published, preset, rule, reason, nearest}. A server's state is up, starting,
down, disabled or left_out; saved is null or {results, failed, chars_before, chars_after,
tokens_before, tokens_after}, and the top-level one also has since.";

const CALL_EXAMPLES: &str = "\
Examples:
  narrows call demo echo '{\"text\": \"hello\"}'
  narrows call demo__echo '{\"text\": \"hello\"}'   the same by its published name
  echo '{\"path\": \".\"}' | narrows call files list_directory -
  narrows call files read_file @arguments.json --json
  narrows call files read_file '{\"path\": \"app.log\"}' --goal 'find the retry' --explain
  narrows call recover_text '{\"prune_id\": \"prn_...\", \"query\": \"retry\"}'   with `recovery.path`
  narrows call inspect '{\"server_name\": \"files\"}' --endpoint lazy

The preset of the endpoint applies to this command as to clients; --endpoint selects another
endpoint. Only the called server is started. Text goes to stdout; progress, log messages and
error results go to stderr. Requests of the server to its user are declined.

A result over its budget (`shape` in the configuration) is shortened as for clients. --explain
prints what was cut, why, and the prune_id with which `recover_text` returns it. Clients of a
gateway with the same `recovery.path` can use that id; without `recovery.path`, the text is lost
when this command exits.";

const TOKEN_EXAMPLES: &str = "\
Examples:
  narrows token cursor                 a new token for the client `cursor`
  narrows token cursor > cursor.token  the same, in a file; the entry is still shown
  narrows token --admin                a new admin token
  narrows token --hash < cursor.token  the digest of an existing token

The token is printed to stdout once and stored nowhere. The entry for the configuration is printed
to stderr and contains only the digest of the token. Clients send the token with every request:
  Authorization: Bearer TOKEN

A token is 32 random bytes. Once the configuration has a client, every client needs a token.
The only exception is an `anonymous` entry, which admits clients on this machine without one.";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
