//! The options of the commands that manage a running gateway.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

/// The gateway to talk to, and the output format.
#[derive(Debug, Args)]
pub(crate) struct GatewayOptions {
    /// Gateway address, as http://HOST:PORT [default: the gateway running on this machine]
    #[arg(long, visible_alias = "gateway", value_name = "URL")]
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) connect_options: ConnectOptions,
    /// Print the gateway's response as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options to find a gateway and to authenticate.
#[derive(Debug, Args)]
pub(crate) struct ConnectOptions {
    /// Select the gateway that serves this configuration file, if several are running
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// File with the admin token [default: NARROWS_ADMIN_TOKEN, then the token of the running
    /// gateway]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Time limit for a response, in seconds
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
}

/// Options for the lifetime of a change.
#[derive(Debug, Args)]
pub(crate) struct SaveOptions {
    /// Write the change to the configuration file; otherwise it lasts until the gateway exits
    #[arg(long)]
    pub(crate) save: bool,
}

/// Options for waiting until a server is up.
#[derive(Debug, Args)]
pub(crate) struct WaitOptions {
    /// Maximum number of seconds to wait until the server is up or has failed; 0 does not wait
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub(crate) wait: u64,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ServersCommand {
    #[command(subcommand)]
    pub(crate) action: Option<ServersAction>,
    #[command(flatten)]
    pub(crate) gateway_options: GatewayOptions,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServersAction {
    /// List all servers with their state, tools, resources and prompts (the default)
    #[command(after_help = "Examples:\n  narrows servers\n  narrows servers list --json")]
    List(GatewayOptions),
    /// Show one server and its tools
    #[command(after_help = "Examples:\n  narrows servers show files")]
    Show(OneServer),
    /// Add a server and wait until it is up
    #[command(after_help = ADD_EXAMPLES)]
    Add(Box<AddServer>),
    /// Remove a server
    #[command(after_help = "Examples:\n  narrows servers remove files --save")]
    Remove(ChangeServer),
    /// Enable a server and wait until it is up
    #[command(after_help = "Examples:\n  narrows servers enable files")]
    Enable(StartServer),
    /// Disable a server
    #[command(after_help = "Examples:\n  narrows servers disable files --save")]
    Disable(ChangeServer),
    /// Reconnect to a server and wait until it is up
    #[command(after_help = "Examples:\n  narrows servers restart files --wait 60")]
    Restart(RestartServer),
}

#[derive(Debug, Args)]
pub(crate) struct OneServer {
    /// Server id
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) gateway_options: GatewayOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ChangeServer {
    /// Server id
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) save_options: SaveOptions,
    #[command(flatten)]
    pub(crate) gateway_options: GatewayOptions,
}

#[derive(Debug, Args)]
pub(crate) struct StartServer {
    /// Server id
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) save_options: SaveOptions,
    #[command(flatten)]
    pub(crate) wait_options: WaitOptions,
    #[command(flatten)]
    pub(crate) gateway_options: GatewayOptions,
}

#[derive(Debug, Args)]
pub(crate) struct RestartServer {
    /// Server id
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) wait_options: WaitOptions,
    #[command(flatten)]
    pub(crate) gateway_options: GatewayOptions,
}

/// Here `--url` and `--json` describe the server, so the options for the gateway have other names.
#[derive(Debug, Args)]
pub(crate) struct AddServer {
    /// Id of the new server
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    /// Command that starts the server; everything after it is passed to the command
    #[arg(
        long,
        value_name = "CMD",
        num_args = 1..,
        allow_hyphen_values = true,
        conflicts_with_all = ["url", "json", "line"]
    )]
    pub(crate) command: Vec<String>,
    /// URL of a remote server
    #[arg(long, value_name = "URL", conflicts_with_all = ["json", "line"])]
    pub(crate) url: Option<String>,
    /// Whole entry as in `mcpServers`; `-` reads stdin, `@FILE` reads a file
    #[arg(long, value_name = "ENTRY", conflicts_with_all = ["line", "kind", "env", "header"])]
    pub(crate) json: Option<String>,
    /// Transport of the server: stdio, http, sse, ws, rpc or builtin [default: detected]
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// Environment variable of the server; `${NAME}` expands to a variable of the gateway
    #[arg(long, value_name = "KEY=VALUE", conflicts_with_all = ["url"])]
    pub(crate) env: Vec<String>,
    /// Header to send with every request; `${NAME}` expands to a variable of the gateway
    #[arg(long, value_name = "'NAME: VALUE'", requires = "url", conflicts_with_all = ["command", "line"])]
    pub(crate) header: Vec<String>,
    /// Working directory of the command [default: the current one, if the gateway is on this
    /// machine]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["url", "json"])]
    pub(crate) cwd: Option<PathBuf>,
    /// Replace an existing server
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) save_options: SaveOptions,
    #[command(flatten)]
    pub(crate) wait_options: WaitOptions,
    /// Gateway address, as http://HOST:PORT [default: the gateway running on this machine]
    #[arg(long, value_name = "URL")]
    pub(crate) gateway: Option<String>,
    #[command(flatten)]
    pub(crate) connect_options: ConnectOptions,
    /// Print the gateway's response as JSON
    #[arg(long)]
    pub(crate) answer_json: bool,
    /// Command and arguments, as an alternative to --command
    #[arg(last = true, value_name = "CMD")]
    pub(crate) line: Vec<String>,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Presets {
    #[command(subcommand)]
    pub(crate) action: Option<PresetsAction>,
    #[command(flatten)]
    pub(crate) gateway_options: GatewayOptions,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PresetsAction {
    /// List all presets and the endpoints that use them (the default)
    #[command(after_help = "Examples:\n  narrows presets\n  narrows presets list --json")]
    List(GatewayOptions),
    /// Show one preset and its entries
    #[command(after_help = "Examples:\n  narrows presets show review")]
    Show(OnePreset),
    /// Add or replace a preset
    #[command(after_help = PUT_EXAMPLES)]
    Put(PutPreset),
    /// Delete a preset
    #[command(after_help = "Examples:\n  narrows presets delete review --save")]
    Delete(DeletePreset),
    /// Apply a preset to an endpoint or to one session
    #[command(after_help = USE_EXAMPLES)]
    Use(UsePreset),
}

#[derive(Debug, Args)]
pub(crate) struct OnePreset {
    /// Preset id
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) gateway_options: GatewayOptions,
}

#[derive(Debug, Args)]
pub(crate) struct PutPreset {
    /// Preset id
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    /// File with the preset, in the same form as an entry in `presets`; `-` reads stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) save_options: SaveOptions,
    #[command(flatten)]
    pub(crate) gateway_options: GatewayOptions,
}

#[derive(Debug, Args)]
pub(crate) struct DeletePreset {
    /// Preset id
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) save_options: SaveOptions,
    #[command(flatten)]
    pub(crate) gateway_options: GatewayOptions,
}

#[derive(Debug, Args)]
pub(crate) struct UsePreset {
    /// Preset id
    #[arg(
        value_name = "ID",
        required_unless_present = "none",
        conflicts_with = "none",
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub(crate) id: Option<String>,
    /// Apply no preset: everything is allowed unless another rule forbids it
    #[arg(long)]
    pub(crate) none: bool,
    /// Endpoint to apply the preset to
    #[arg(
        long,
        value_name = "NAME",
        required_unless_present = "session",
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub(crate) endpoint: Option<String>,
    /// Session to apply the preset to, by number; the preset applies until the session ends
    #[arg(long, value_name = "N", conflicts_with_all = ["endpoint", "save"])]
    pub(crate) session: Option<u64>,
    #[command(flatten)]
    pub(crate) save_options: SaveOptions,
    #[command(flatten)]
    pub(crate) gateway_options: GatewayOptions,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Sessions {
    #[command(subcommand)]
    pub(crate) action: Option<SessionsAction>,
    #[command(flatten)]
    pub(crate) gateway_options: GatewayOptions,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsAction {
    /// List the connected clients (the default)
    #[command(after_help = "Examples:\n  narrows sessions\n  narrows sessions list --json")]
    List(GatewayOptions),
    /// End a session; its client may start a new one
    #[command(after_help = "Examples:\n  narrows sessions end 12")]
    End(EndSession),
    /// List recent calls, newest first
    #[command(after_help = CALLS_EXAMPLES)]
    Calls(Calls),
    /// Print events as they happen, until Ctrl-C
    #[command(after_help = WATCH_EXAMPLES)]
    Watch(GatewayOptions),
}

#[derive(Debug, Args)]
pub(crate) struct EndSession {
    /// Session number
    #[arg(value_name = "N")]
    pub(crate) number: u64,
    #[command(flatten)]
    pub(crate) gateway_options: GatewayOptions,
}

#[derive(Debug, Args)]
pub(crate) struct Calls {
    /// Maximum number of calls to list
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// List only calls to this server
    #[arg(long, value_name = "ID")]
    pub(crate) server: Option<String>,
    /// List only calls from this client
    #[arg(long, value_name = "NAME")]
    pub(crate) client: Option<String>,
    /// List only calls of this method, such as tools/call
    #[arg(long, value_name = "METHOD")]
    pub(crate) method: Option<String>,
    /// List only failed calls
    #[arg(long)]
    pub(crate) failed: bool,
    #[command(flatten)]
    pub(crate) gateway_options: GatewayOptions,
}

pub(crate) const SERVERS_EXAMPLES: &str = "\
Examples:
  narrows servers                                      all servers and their state
  narrows servers show files                           one server with its tools
  narrows servers add files --command npx -y @modelcontextprotocol/server-filesystem .
  narrows servers add search --save --url https://example.test/mcp
  narrows servers disable search                       until the gateway exits
  narrows servers disable search --save                also in the configuration file

These commands talk to a running gateway (`narrows serve`): your own on this machine, or the one
at --url, with the admin token from --token-file or the variable NARROWS_ADMIN_TOKEN.

Exit codes: 0 done, 1 failed or a server did not come up, 2 wrong usage or an invalid
configuration.";

pub(crate) const PRESETS_EXAMPLES: &str = "\
Examples:
  narrows presets                                      all presets and the endpoints that use them
  narrows presets put review review.json --save
  narrows presets use review --endpoint default        for all clients of /mcp
  narrows presets use review --session 12              for one session, until it ends
  narrows presets use --none --endpoint default

These commands talk to a running gateway (`narrows serve`): your own on this machine, or the one
at --url, with the admin token from --token-file or the variable NARROWS_ADMIN_TOKEN.";

pub(crate) const SESSIONS_EXAMPLES: &str = "\
Examples:
  narrows sessions                                     the connected clients
  narrows sessions calls --failed --limit 20           recent failed calls
  narrows sessions watch                               events as they happen
  narrows sessions end 12

These commands talk to a running gateway (`narrows serve`): your own on this machine, or the one
at --url, with the admin token from --token-file or the variable NARROWS_ADMIN_TOKEN.";

const ADD_EXAMPLES: &str = "\
Examples:
  narrows servers add files --command npx -y @modelcontextprotocol/server-filesystem .
  narrows servers add git --env 'TOKEN=${GIT_TOKEN}' --save -- uvx mcp-server-git
  narrows servers add search --url https://example.test/mcp --header 'X-Key: ${SEARCH_KEY}'
  narrows servers add demo --json '{\"type\": \"builtin\"}'
  narrows servers add files --replace --json @entry.json

Put the options of this command before --command, because everything after it is passed to the
server. The command runs in the current folder, unless --cwd or the entry names another. If the
gateway is on another machine, it runs in the gateway's folder, unless --cwd names one there.
Pass secrets as variables of the gateway, such as ${SEARCH_KEY}, because other users of this
machine can read command lines.

A server that does not come up stays configured: the gateway keeps trying, and the exit code is 1.
Running the command again with other options then replaces it.
--answer-json prints the change, with the server in `server`.";

const PUT_EXAMPLES: &str = "\
Examples:
  narrows presets put review review.json
  echo '{\"tools\": [\"files/read_*\"]}' | narrows presets put review - --save

The file may contain comments and trailing commas, like the configuration.";

const USE_EXAMPLES: &str = "\
Examples:
  narrows presets use review --endpoint default --save
  narrows presets use review --session 12
  narrows presets use --none --endpoint default

Connected clients are notified that their lists have changed.";

const CALLS_EXAMPLES: &str = "\
Examples:
  narrows sessions calls
  narrows sessions calls --failed --limit 20
  narrows sessions calls --server files --json | jq '.calls[].elapsed_us'";

const WATCH_EXAMPLES: &str = "\
Examples:
  narrows sessions watch
  narrows sessions watch --json | jq 'select(.event == \"server_state\")'

Watching ends on Ctrl-C or when the gateway exits. --json prints one JSON object per line.";
