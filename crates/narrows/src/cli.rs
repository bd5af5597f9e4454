//! The command line. Flags are fixed: users and programs rely on them.

pub(crate) mod filters;
pub(crate) mod operator;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

#[derive(Debug, Parser)]
#[command(
    name = "narrows",
    version,
    about = "One door between AI agents and their tools: joins many MCP servers into one.",
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
    /// How much is logged to stderr [default: info for serve, stdio and pruner, else error]
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) log_level: Option<LogLevel>,
    /// How it is logged [default: human on a terminal, else json]
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
    pub(crate) fn word(self) -> &'static str {
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
    /// Serve all configured servers as one, over HTTP
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Serve),
    /// Serve all configured servers as one, on stdin and stdout
    #[command(after_help = STDIO_EXAMPLES)]
    Stdio(Stdio),
    /// Serve the pruner alone, over HTTP
    #[command(after_help = PRUNER_EXAMPLES)]
    Pruner(Pruner),
    /// Connect to every configured server and say what is there and what is wrong
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Check),
    /// Show the tools that the gateway would offer, what they cost and what shaping has saved
    #[command(after_help = TOOLS_EXAMPLES)]
    Tools(Tools),
    /// Call one tool through the gateway
    #[command(after_help = CALL_EXAMPLES)]
    Call(Call),
    /// Show, add, remove, switch and restart the servers of a gateway that runs
    #[command(after_help = operator::SERVERS_EXAMPLES)]
    Servers(operator::Servers),
    /// Show, change and switch the presets of a gateway that runs
    #[command(after_help = operator::PRESETS_EXAMPLES)]
    Presets(operator::Presets),
    /// Show and end the sessions of a gateway that runs, and what they do
    #[command(after_help = operator::SESSIONS_EXAMPLES)]
    Sessions(operator::Sessions),
    /// Make a token for a client, or the digest of one
    #[command(after_help = TOKEN_EXAMPLES)]
    Token(Token),
    /// Cut the middle out of long strings of a JSON text
    #[command(after_help = filters::MASK_EXAMPLES)]
    Mask(filters::Mask),
    /// Write JSON as TOON, or TOON as JSON
    #[command(after_help = filters::TOON_EXAMPLES)]
    Toon(filters::Toon),
    /// Write a JSON Schema as a TypeScript type
    #[command(after_help = filters::TS_EXAMPLES)]
    Ts(filters::Ts),
    /// Shorten a text to the lines that matter for a goal
    #[command(after_help = filters::PRUNE_EXAMPLES)]
    Prune(filters::Prune),
    /// Ends the gateway's child processes should it be killed; started by the gateway itself
    #[command(name = "__guard", hide = true)]
    Guard,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigOption {
    /// The configuration file [default: ./narrows.json, then the one in the
    /// user's configuration folder, then the built-in servers]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) config: ConfigOption,
    /// Where to listen; port 0 takes any free one [default: `listen` of the
    /// configuration, or 127.0.0.1:7420]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// Do not follow changes of the configuration file; SIGHUP has it read again all the same
    #[arg(long)]
    pub(crate) no_watch: bool,
    /// Listen beyond this machine without `clients` in the configuration, although
    /// anybody who can reach the port may use every tool
    #[arg(long)]
    pub(crate) insecure: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Stdio {
    #[command(flatten)]
    pub(crate) config: ConfigOption,
    /// The endpoint to serve
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) endpoint: String,
    /// The preset in force, in place of the endpoint's own
    #[arg(long, value_name = "ID")]
    pub(crate) preset: Option<String>,
    /// How tools are offered, in place of what the endpoint's `expose` says
    #[arg(long, value_name = "HOW")]
    pub(crate) expose: Option<Expose>,
    /// Do not follow changes of the configuration file; SIGHUP has it read again all the same
    #[arg(long)]
    pub(crate) no_watch: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Expose {
    /// Each of them is listed
    All,
    /// Two tools are listed: `inspect` tells of the others, `exec` calls them
    Lazy,
    /// The same, and `search_tools`, which finds them
    Search,
}

#[derive(Debug, Args)]
pub(crate) struct Pruner {
    /// Listen beyond this machine although anybody who can reach the port may
    /// use it
    #[arg(long)]
    pub(crate) insecure: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) config: ConfigOption,
    /// Answer in JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Tools {
    /// Only this server
    #[arg(value_name = "SERVER")]
    pub(crate) server: Option<String>,
    /// Only this tool of it, with its whole schema
    #[arg(value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    #[command(flatten)]
    pub(crate) config: ConfigOption,
    /// The endpoint whose tools are shown, under its names
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) endpoint: String,
    /// The preset in force, in place of the endpoint's own
    #[arg(long, value_name = "ID")]
    pub(crate) preset: Option<String>,
    /// Say why there is, or is not, a tool of this name
    #[arg(long, value_name = "NAME", conflicts_with = "tool")]
    pub(crate) why: Option<String>,
    /// Answer in JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Call {
    /// The server's id; or a published name in place of SERVER and TOOL
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    /// The tool, by the server's own name or by the published one
    #[arg(value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// The arguments as a JSON object; `-` reads stdin, `@FILE` reads a file
    #[arg(value_name = "JSON")]
    pub(crate) arguments: Option<String>,
    #[command(flatten)]
    pub(crate) config: ConfigOption,
    /// The endpoint to call it on, with its names, its preset and its `shape`
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) endpoint: String,
    /// What the result is read for; if it is over its budget, the parts that answer it stay
    #[arg(long, value_name = "TEXT")]
    pub(crate) goal: Option<String>,
    /// The client program to call as, by the name in its `clientInfo`: results take the form that
    /// its model reads
    #[arg(long, value_name = "NAME", default_value = "narrows-call")]
    pub(crate) client: String,
    /// Say on stderr which way the call took, what it cost, and what was cut out of the result
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print the whole result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Token {
    /// The client that it is for
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Make a token for who operates the gateway
    #[arg(long, conflicts_with = "name")]
    pub(crate) admin: bool,
    /// Read a token from stdin and print its digest
    #[arg(long, conflicts_with_all = ["name", "admin"])]
    pub(crate) hash: bool,
}

const TOP_EXAMPLES: &str = "\
Examples:
  narrows serve                        serve ./narrows.json at http://127.0.0.1:7420/mcp
  narrows check                        is everything there, and if not, why
  narrows tools                        what the gateway offers, with tokens per tool
  narrows call files list_directory '{\"path\": \".\"}'
  narrows servers                      what a gateway that runs is connected to
  narrows prune --goal 'where is it closed?' session.rs     the lines that matter

Exit codes: 0 done, 1 it did not work, 2 wrong usage or configuration.";

const SERVE_EXAMPLES: &str = "\
Examples:
  narrows serve
  narrows serve --config ~/work/narrows.json --listen 127.0.0.1:8080
  narrows serve --listen 127.0.0.1:0   any free port; the address is told on stderr

Clients connect to http://ADDRESS/mcp, to /mcp/lazy for the same through two tools, to
/mcp/NAME for another endpoint, or to /servers/ID/mcp for one server alone. Those that
know only HTTP+SSE take http://ADDRESS/sse, those of WebSocket ws://ADDRESS/ws.
Ctrl-C or SIGTERM lets calls in flight finish, then ends it and everything it
has started. A second one ends it at once.";

const STDIO_EXAMPLES: &str = "\
Examples:
  claude mcp add narrows -- narrows stdio --config /path/to/narrows.json
  claude mcp add tools -- narrows stdio --expose lazy          two tools in place of all
  claude mcp add review -- narrows stdio --preset review       what a preset allows
  npx @modelcontextprotocol/inspector --cli narrows stdio --method tools/list

The end of stdin ends it and everything it has started. Ctrl-C or SIGTERM lets
calls in flight finish before; a second one ends it at once.";

const PRUNER_EXAMPLES: &str = "\
Examples:
  narrows pruner
  MCP_PRUNER_PORT=9000 narrows pruner
  curl -s http://127.0.0.1:8006/rpc -d '{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/list\"}'

Variables:
  MCP_PRUNER_HOST             where to listen [127.0.0.1]
  MCP_PRUNER_PORT             and on which port; 0 takes any free one [8006]
  MCP_PRUNER_ALLOWED_HOSTS    names besides loopback by which it may be called, with commas
  MCP_PRUNER_MAX_INPUT_CHARS  longer texts are passed on as they are [2000000]
  MCP_PRUNER_PRUNE_ID_TTL_S   how long texts can be recovered, in seconds [600]

It speaks plain JSON-RPC at /rpc and MCP at /mcp. `narrows serve` has /rpc as well, and offers
the pruner's tools with \"pruner\": {\"type\": \"builtin\"} among its servers.
Ctrl-C or SIGTERM ends it.";

const CHECK_EXAMPLES: &str = "\
Examples:
  narrows check
  narrows check --config ~/.cursor/mcp.json
  narrows check --json | jq '.servers[] | select(.state != \"up\")'

A server's `type` is stdio, http, sse, ws, rpc or builtin. Where a `url` has none, http is
tried and then sse, and which it was is told; where a `type` is wrong, the right one is.

Exit codes: 0 all servers are up, 1 one is not, 2 the configuration is wrong.

--json prints one object:
  ok        whether everything is fine
  config    the configuration file, or null for the built-in default
  problems  [{severity, file, line, column, path, server, message, help}]
  servers   [{id, transport, configured, found, state, revision, took_ms, tools, hidden,
            prompts, resources, templates, tokens, server_info, failure}], where state is up,
            starting, down, disabled or left_out, and failure is {kind, message, hint,
            speaks, stderr}; transport is what carries the messages, configured the
            `type` of the file or null, found how another transport was found out, and
            speaks what a server speaks instead of what is configured
  tools     the number of tools that all servers offer
  tokens    the estimated tokens of their lists";

const TOOLS_EXAMPLES: &str = "\
Examples:
  narrows tools                        all tools of all servers
  narrows tools files                  the tools of one server
  narrows tools files read_file        one tool with its schema
  narrows tools --why files__rename    why is it not there?
  narrows tools --preset review        what a preset leaves of them
  narrows tools --endpoint lazy        what is listed in place of them, and its tokens

Tools that the preset of the endpoint hides are counted, not shown; --why tells which entry
hides one. Where an endpoint does not list its tools (`expose`), the last line tells what it
lists instead.

Tokens are estimates: a tokenizer of a given model counts a little more or less.

Where the configuration has a `recovery.path`, gateways keep count there of the results they
make shorter, and what that has saved is shown for each tool, each server and all of them.

--json prints {endpoint, expose, preset, servers: [{id, state, reason, tokens, saved, tools:
[{name, published, description, tokens, saved}], hidden: [{name, published, reason}]}], tools,
tokens, listed, saved}, where listed is {tools, tokens} of what clients get listed, or null with
SERVER; with SERVER and TOOL {server, name, published, tokens, saved, tool}; with --why {name,
there, server, tool, published, preset, rule, reason, nearest}. A server's state is up, starting,
down, disabled or left_out; saved is null or {results, failed, chars_before, chars_after,
tokens_before, tokens_after}, for all of them with since.";

const CALL_EXAMPLES: &str = "\
Examples:
  narrows call demo echo '{\"text\": \"hello\"}'
  narrows call demo__echo '{\"text\": \"hello\"}'   the same by its published name
  echo '{\"path\": \".\"}' | narrows call files list_directory -
  narrows call files read_file @arguments.json --json
  narrows call files read_file '{\"path\": \"app.log\"}' --goal 'find the retry' --explain
  narrows call recover_text '{\"prune_id\": \"prn_...\", \"query\": \"retry\"}'   with `recovery.path`
  narrows call inspect '{\"server_name\": \"files\"}' --endpoint lazy

The preset of the endpoint binds this command as it binds clients: --endpoint chooses another.
Only the server that is called is started. Text goes to stdout; progress, log messages and
error results go to stderr. A server that wants to ask its user something cannot.

A result over its budget (`shape` of the configuration) is made shorter, as it is for clients.
--explain tells what was cut, why, and by which prune_id `recover_text` gives it back: to
clients of a gateway with the same `recovery.path`; without one it is gone with this command.";

const TOKEN_EXAMPLES: &str = "\
Examples:
  narrows token cursor                 a new token for the client `cursor`
  narrows token cursor > cursor.token  the same, in a file; the entry is still shown
  narrows token --admin                a new token for operators
  narrows token --hash < cursor.token  the digest of a token that is there

The token goes to stdout, once; it is kept nowhere. What belongs into the configuration goes to
stderr, and holds only the digest of the token. Clients send the token with every request:
  Authorization: Bearer TOKEN

A token is 32 random bytes. As soon as the configuration has a client, nobody comes in without
a token, except `anonymous`, where there is such an entry, from this machine.";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
