//! `narrows pruner`: only the pruner, over HTTP.
//!
//! It is a gateway with one built-in server, so MCP clients can also use the pruner at `/mcp`. It
//! reads no configuration file; the variables `MCP_PRUNER_*` set its options.

use std::fmt::Display;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use narrows_gateway::settings::{
    Builtin, PrunerSettings, RecoverySettings, ServerSettings, Settings, UpstreamKind,
};
use narrows_serve::{Front, HttpSettings};
use serde_json::json;

use super::serve::{RemoteAccess, bind, reachable, run_until_signal};
use super::{Exit, Signals, start};
use crate::cli::Pruner;
use crate::config::{Environment, parse_listen};
use crate::telemetry::Telemetry;
use crate::terminal::{eprint_line, plain};

const HOST: &str = "MCP_PRUNER_HOST";
const PORT: &str = "MCP_PRUNER_PORT";
const HOSTS: &str = "MCP_PRUNER_ALLOWED_HOSTS";
const MAX_INPUT_CHARS: &str = "MCP_PRUNER_MAX_INPUT_CHARS";
const TTL: &str = "MCP_PRUNER_PRUNE_ID_TTL_S";

const DEFAULT_PORT: u16 = 8006;

pub(crate) async fn run(
    options: Pruner,
    environment: &Environment,
    telemetry: &Telemetry,
) -> anyhow::Result<Exit> {
    let Some(listen) = address(environment) else {
        let host = plain(environment.text(HOST).unwrap_or_default());
        eprint_line(format_args!("error: {HOST} '{host}' is not an address"));
        eprint_line("  help: write it as 127.0.0.1, ::1 or localhost");
        return Ok(Exit::Usage);
    };
    let settings = settings(environment);
    let beyond = match options.insecure {
        true => RemoteAccess::Allowed,
        false => RemoteAccess::Refused("listen on 127.0.0.1"),
    };
    let (listener, address) = match bind(listen, beyond, PORT).await {
        Ok(bound) => bound,
        Err(exit) => return Ok(exit),
    };
    let signals = Signals::new()?;
    announce(address, telemetry);
    let mut settings = settings;
    let held = message_bytes(&settings).saturating_mul(4);
    let limits = &mut settings.limits;
    limits.max_request_bytes_total = limits.max_request_bytes_total.max(held);
    limits.max_response_bytes_total = limits.max_response_bytes_total.max(held);
    let http = HttpSettings {
        front: Front::Pruner,
        allowed_hosts: hosts(environment, address),
        max_message_bytes: message_bytes(&settings),
        ..HttpSettings::default()
    };
    run_until_signal(listener, start(settings), http, signals).await;
    Ok(Exit::Done)
}

fn address(environment: &Environment) -> Option<SocketAddr> {
    let port = number(environment, PORT, DEFAULT_PORT);
    let host = environment.text(HOST).unwrap_or("").trim();
    match host {
        "" => Some(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port)),
        "localhost" => parse_listen(&format!("localhost:{port}")),
        host => Some(SocketAddr::new(host.parse().ok()?, port)),
    }
}

/// The default time for which a text can be recovered, in seconds.
const PRUNER_TTL_S: u64 = 600;

/// Returns the accepted host names: the listen address and those in the variable.
fn hosts(environment: &Environment, address: SocketAddr) -> Vec<String> {
    let more = environment.text(HOSTS).unwrap_or_default().split(',');
    let more = more.map(str::trim).filter(|host| !host.is_empty());
    let more = more.map(str::to_owned);
    more.chain([reachable(address).to_string()]).collect()
}

/// Returns the message size limit. It admits the longest text to prune even if every character is
/// escaped, and longer texts, which are returned unchanged rather than refused.
fn message_bytes(settings: &Settings) -> usize {
    const MOST: usize = 1 << 30;
    let longest = settings.pruner.max_input_chars.saturating_mul(8);
    let limits = &settings.limits;
    limits.max_message_bytes.max(longest.min(MOST))
}

fn settings(environment: &Environment) -> Settings {
    let (pruner, recovery) = (PrunerSettings::default(), RecoverySettings::default());
    let kind = UpstreamKind::Builtin(Builtin::Pruner);
    Settings {
        upstreams: vec![ServerSettings::new("pruner", kind)],
        pruner: PrunerSettings {
            max_input_chars: number(environment, MAX_INPUT_CHARS, pruner.max_input_chars),
        },
        recovery: RecoverySettings {
            // More than a century counts as forever. Clocks could not represent much later times.
            ttl: Duration::from_secs(
                number(environment, TTL, PRUNER_TTL_S).min(u64::from(u32::MAX)),
            ),
            ..recovery
        },
        ..Settings::default()
    }
}

/// Reads a number from a variable. An invalid value is no reason not to start, so it only logs a
/// warning.
fn number<T: FromStr + Display>(environment: &Environment, name: &str, default: T) -> T {
    let Some(text) = environment.text(name).filter(|text| !text.is_empty()) else {
        return default;
    };
    text.trim().parse().unwrap_or_else(|_| {
        let text = plain(text);
        tracing::warn!("{name} is '{text}', which is not a valid number; using {default}");
        default
    })
}

fn announce(address: SocketAddr, telemetry: &Telemetry) {
    let address = reachable(address);
    let version = env!("CARGO_PKG_VERSION");
    let [rpc, health, mcp] =
        ["rpc", "health", "mcp"].map(|path| format!("http://{address}/{path}"));
    let lines = format!(
        "narrows {version}: the pruner listens on http://{address}\n  \
         JSON-RPC  {rpc}\n  MCP       {mcp}\n  health    {health}\n"
    );
    let payload = json!({ "url": format!("http://{address}"), "rpc": rpc, "mcp": mcp, "health": health, "version": version });
    telemetry.announce(&lines, "listening", &payload);
}
