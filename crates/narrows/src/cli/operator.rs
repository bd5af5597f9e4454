//! The options of the commands that operate a gateway while it runs.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

/// Which gateway, and how its answer is printed.
#[derive(Debug, Args)]
pub(crate) struct Asking {
    /// The gateway, as http://HOST:PORT [default: the one that runs on this machine]
    #[arg(long, visible_alias = "gateway", value_name = "URL")]
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) reach: Reach,
    /// Print the gateway's answer in JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

/// How a gateway is found and what it is asked with.
#[derive(Debug, Args)]
pub(crate) struct Reach {
    /// Of several gateways, the one that serves this configuration file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// A file with the admin token [default: NARROWS_ADMIN_TOKEN, then that of this run]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// How long an answer may take, in seconds
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
}

/// How long a change lasts.
#[derive(Debug, Args)]
pub(crate) struct Keeping {
    /// Write the change to the configuration file; otherwise it lasts until the gateway ends
    #[arg(long)]
    pub(crate) save: bool,
}

/// How long to wait for a server.
#[derive(Debug, Args)]
pub(crate) struct Waiting {
    /// Wait so many seconds at most until the server is up or has failed; 0 does not wait
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub(crate) wait: u64,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Servers {
    #[command(subcommand)]
    pub(crate) action: Option<ServersAction>,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServersAction {
    /// All servers, their state and what they offer (the default)
    #[command(after_help = "Examples:\n  narrows servers\n  narrows servers list --json")]
    List(Asking),
    /// One server with its tools
    #[command(after_help = "Examples:\n  narrows servers show files")]
    Show(OneServer),
    /// Add a server, and wait until it is up
    #[command(after_help = ADD_EXAMPLES)]
    Add(Box<AddServer>),
    /// Take a server away
    #[command(after_help = "Examples:\n  narrows servers remove files --save")]
    Remove(ChangeServer),
    /// Switch a server on, and wait until it is up
    #[command(after_help = "Examples:\n  narrows servers enable files")]
    Enable(StartServer),
    /// Switch a server off
    #[command(after_help = "Examples:\n  narrows servers disable files --save")]
    Disable(ChangeServer),
    /// Make the connection to a server anew, and wait until it is up
    #[command(after_help = "Examples:\n  narrows servers restart files --wait 60")]
    Restart(RestartServer),
}

#[derive(Debug, Args)]
pub(crate) struct OneServer {
    /// The server's id
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Args)]
pub(crate) struct ChangeServer {
    /// The server's id
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) keeping: Keeping,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Args)]
pub(crate) struct StartServer {
    /// The server's id
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) keeping: Keeping,
    #[command(flatten)]
    pub(crate) waiting: Waiting,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Args)]
pub(crate) struct RestartServer {
    /// The server's id
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) waiting: Waiting,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// `--url` and `--json` are the server's here, so that the gateway's have other names.
#[derive(Debug, Args)]
pub(crate) struct AddServer {
    /// The id of the new server
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    /// The command that starts it, and its arguments: everything behind this is theirs
    #[arg(
        long,
        value_name = "CMD",
        num_args = 1..,
        allow_hyphen_values = true,
        conflicts_with_all = ["url", "json", "line"]
    )]
    pub(crate) command: Vec<String>,
    /// The address of a server that runs elsewhere
    #[arg(long, value_name = "URL", conflicts_with_all = ["json", "line"])]
    pub(crate) url: Option<String>,
    /// The whole entry as in `mcpServers`; `-` reads stdin, `@FILE` reads a file
    #[arg(long, value_name = "ENTRY", conflicts_with_all = ["line", "kind", "env", "header"])]
    pub(crate) json: Option<String>,
    /// What it speaks: stdio, http, sse, ws, rpc or builtin [default: found out]
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// A variable of its environment; `${NAME}` stands for one of the gateway's
    #[arg(long, value_name = "KEY=VALUE", conflicts_with_all = ["url"])]
    pub(crate) env: Vec<String>,
    /// A header of every request to it; `${NAME}` stands for a variable of the gateway's
    #[arg(long, value_name = "'NAME: VALUE'", requires = "url", conflicts_with_all = ["command", "line"])]
    pub(crate) header: Vec<String>,
    /// The folder that its command runs in [default: this one, if the gateway is on this machine]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["url", "json"])]
    pub(crate) cwd: Option<PathBuf>,
    /// Put this in the place of a server that is there
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) keeping: Keeping,
    #[command(flatten)]
    pub(crate) waiting: Waiting,
    /// The gateway, as http://HOST:PORT [default: the one that runs on this machine]
    #[arg(long, value_name = "URL")]
    pub(crate) gateway: Option<String>,
    #[command(flatten)]
    pub(crate) reach: Reach,
    /// Print the gateway's answer in JSON, for programs
    #[arg(long)]
    pub(crate) answer_json: bool,
    /// The command and its arguments, in another way
    #[arg(last = true, value_name = "CMD")]
    pub(crate) line: Vec<String>,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Presets {
    #[command(subcommand)]
    pub(crate) action: Option<PresetsAction>,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PresetsAction {
    /// All presets, and where they are in force (the default)
    #[command(after_help = "Examples:\n  narrows presets\n  narrows presets list --json")]
    List(Asking),
    /// One preset with its entries
    #[command(after_help = "Examples:\n  narrows presets show review")]
    Show(OnePreset),
    /// Add a preset, or put another in its place
    #[command(after_help = PUT_EXAMPLES)]
    Put(PutPreset),
    /// Take a preset away
    #[command(after_help = "Examples:\n  narrows presets delete review --save")]
    Delete(DeletePreset),
    /// Put a preset in force for an endpoint, or for one session
    #[command(after_help = USE_EXAMPLES)]
    Use(UsePreset),
}

#[derive(Debug, Args)]
pub(crate) struct OnePreset {
    /// The preset's id
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Args)]
pub(crate) struct PutPreset {
    /// The preset's id
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    /// The file with the preset, as it would stand under `presets`; `-` is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) keeping: Keeping,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Args)]
pub(crate) struct DeletePreset {
    /// The preset's id
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) keeping: Keeping,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Args)]
pub(crate) struct UsePreset {
    /// The preset's id
    #[arg(
        value_name = "ID",
        required_unless_present = "none",
        conflicts_with = "none",
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub(crate) id: Option<String>,
    /// No preset: everything is allowed that nothing else forbids
    #[arg(long)]
    pub(crate) none: bool,
    /// The endpoint that it is for
    #[arg(
        long,
        value_name = "NAME",
        required_unless_present = "session",
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub(crate) endpoint: Option<String>,
    /// The session that it is for, by its number; it lasts as long as the session
    #[arg(long, value_name = "N", conflicts_with_all = ["endpoint", "save"])]
    pub(crate) session: Option<u64>,
    #[command(flatten)]
    pub(crate) keeping: Keeping,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Sessions {
    #[command(subcommand)]
    pub(crate) action: Option<SessionsAction>,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsAction {
    /// Who is connected (the default)
    #[command(after_help = "Examples:\n  narrows sessions\n  narrows sessions list --json")]
    List(Asking),
    /// End a session; its client may begin another
    #[command(after_help = "Examples:\n  narrows sessions end 12")]
    End(EndSession),
    /// The last calls, the newest first
    #[command(after_help = CALLS_EXAMPLES)]
    Calls(Calls),
    /// Tell what happens, until Ctrl-C
    #[command(after_help = WATCH_EXAMPLES)]
    Watch(Asking),
}

#[derive(Debug, Args)]
pub(crate) struct EndSession {
    /// The session's number
    #[arg(value_name = "N")]
    pub(crate) number: u64,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Args)]
pub(crate) struct Calls {
    /// So many at most
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// Only those of this server
    #[arg(long, value_name = "ID")]
    pub(crate) server: Option<String>,
    /// Only those of this client
    #[arg(long, value_name = "NAME")]
    pub(crate) client: Option<String>,
    /// Only those of this method, such as tools/call
    #[arg(long, value_name = "METHOD")]
    pub(crate) method: Option<String>,
    /// Only those that failed
    #[arg(long)]
    pub(crate) failed: bool,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

pub(crate) const SERVERS_EXAMPLES: &str = "\
Examples:
  narrows servers                                      what is up, and what is not
  narrows servers show files                           one server with its tools
  narrows servers add files --command npx -y @modelcontextprotocol/server-filesystem .
  narrows servers add search --save --url https://example.test/mcp
  narrows servers disable search                       until the gateway ends
  narrows servers disable search --save                also in the configuration file

They talk to a gateway that runs (`narrows serve`): the one of this user on this machine, or
that of --url with a token in --token-file or in the variable NARROWS_ADMIN_TOKEN.

Exit codes: 0 done, 1 it did not work or a server did not come up, 2 wrong usage or a
configuration that would be wrong.";

pub(crate) const PRESETS_EXAMPLES: &str = "\
Examples:
  narrows presets                                      all of them, and where they are in force
  narrows presets put review review.json --save
  narrows presets use review --endpoint default        for all clients of /mcp
  narrows presets use review --session 12              for one session, as long as it lasts
  narrows presets use --none --endpoint default

They talk to a gateway that runs (`narrows serve`): the one of this user on this machine, or
that of --url with a token in --token-file or in the variable NARROWS_ADMIN_TOKEN.";

pub(crate) const SESSIONS_EXAMPLES: &str = "\
Examples:
  narrows sessions                                     who is connected
  narrows sessions calls --failed --limit 20           what went wrong lately
  narrows sessions watch                               what happens, line by line
  narrows sessions end 12

They talk to a gateway that runs (`narrows serve`): the one of this user on this machine, or
that of --url with a token in --token-file or in the variable NARROWS_ADMIN_TOKEN.";

const ADD_EXAMPLES: &str = "\
Examples:
  narrows servers add files --command npx -y @modelcontextprotocol/server-filesystem .
  narrows servers add git --env 'TOKEN=${GIT_TOKEN}' --save -- uvx mcp-server-git
  narrows servers add search --url https://example.test/mcp --header 'X-Key: ${SEARCH_KEY}'
  narrows servers add demo --json '{\"type\": \"builtin\"}'
  narrows servers add files --replace --json @entry.json

Options of this command come before --command, since what stands behind it is the server's.
The command runs in the folder of the caller, unless --cwd or the entry names another. On a gateway
of another machine it runs where that gateway does, unless --cwd names a folder there.
A secret is best a variable of the gateway, such as ${SEARCH_KEY}: other users of this machine
can read command lines.

A server that does not come up stays: the gateway goes on trying, and the exit code is 1. The same
command with other options then takes its place.
--answer-json prints what has changed, and the server in `server`.";

const PUT_EXAMPLES: &str = "\
Examples:
  narrows presets put review review.json
  echo '{\"tools\": [\"files/read_*\"]}' | narrows presets put review - --save

The file may have comments and trailing commas, as the configuration may.";

const USE_EXAMPLES: &str = "\
Examples:
  narrows presets use review --endpoint default --save
  narrows presets use review --session 12
  narrows presets use --none --endpoint default

Clients that are connected are told that their lists have changed.";

const CALLS_EXAMPLES: &str = "\
Examples:
  narrows sessions calls
  narrows sessions calls --failed --limit 20
  narrows sessions calls --server files --json | jq '.calls[].elapsed_us'";

const WATCH_EXAMPLES: &str = "\
Examples:
  narrows sessions watch
  narrows sessions watch --json | jq 'select(.event == \"server_state\")'

It ends with Ctrl-C, or when the gateway ends. --json prints one JSON text in each line.";
