//! Checks the configuration file and converts it to the gateway's settings.
//!
//! [`check`] is the entry point. All problems are added to [`Problems`]. The returned settings are
//! complete only if none of them is an error.

mod address;
pub(crate) mod clients;
mod endpoint;
mod env_file;
mod health;
mod presets;
mod recovery;
mod remote;
mod server;
mod server_check;
mod shape;
mod stdio;

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use narrows_gateway::settings::{HealthSettings, Limits, ModelReads, Settings, Transport};
use narrows_upstream::chain::Ancestry;

use super::expand::{Forms, Scope, expand, expand_home};
use super::problem::{At, Problems};
use super::raw::{ModelReadsWord, RawFile, RawLimits, Servers};
use super::read::{Field, Given, Map};
use clients::{AdminChecked, KnownNames};
use presets::ServerIds;
use shape::{MaskLimits, ShapeLevel};

pub(crate) use endpoint::built_in_endpoints;

/// The default listen address.
pub(crate) const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7420);

/// The checked configuration.
pub(crate) struct CheckedConfig {
    pub(crate) gateway: Settings,
    pub(crate) listen: SocketAddr,
    pub(crate) allowed_hosts: Vec<String>,
    pub(crate) allowed_origins: Vec<String>,
    /// The transports given in the file, by server id. Those of other servers follow from their
    /// keys.
    pub(crate) declared: HashMap<String, Transport>,
    /// Servers that cannot be started as configured, in the order of the file.
    pub(crate) left_out: Vec<LeftOut>,
    /// Presets whose files cannot be used.
    pub(crate) skipped_presets: Vec<String>,
    /// The folder with preset files.
    pub(crate) preset_folder: Option<PathBuf>,
    /// The settings of the admin API.
    pub(crate) admin: AdminChecked,
}

pub(crate) struct LeftOut {
    pub(crate) id: String,
    /// The number of servers before this one in the file, left out or not.
    pub(crate) place: usize,
    /// The transport that the server would use.
    pub(crate) transport: Transport,
    /// The stable identifier of the reason.
    pub(crate) kind: &'static str,
    /// The reason in one line.
    pub(crate) reason: String,
}

pub(crate) fn check(raw: &RawFile, scope: Scope<'_>, problems: &mut Problems<'_>) -> CheckedConfig {
    let defaults = Settings::default();
    let request_timeout = seconds(&raw.request_timeout_s, Minimum::MoreThanZero, problems);
    let ids = ServerIds::of(raw);
    let presets = presets::check_all(raw, &ids, scope, problems);
    let top = server::TopDefaults {
        request_timeout,
        health: health::health(HealthSettings::default(), &raw.health, problems),
        mask: MaskLimits::default().with(&raw.shape, problems),
        presets: &presets,
    };
    let servers = server::check_all(raw, top, scope, problems);
    let endpoints = endpoint::check_all(raw, &presets, &ids, problems);
    let known = KnownNames {
        endpoints: &endpoints,
        servers: &ids,
        presets: &presets,
    };
    let (clients, admin) = clients::check_all(raw, &known, problems);
    let gateway = Settings {
        upstreams: servers.upstreams,
        endpoints,
        initialize_wait: seconds(&raw.initialize_wait_s, Minimum::Zero, problems)
            .unwrap_or(defaults.initialize_wait),
        list_wait: seconds(&raw.list_wait_s, Minimum::Zero, problems).unwrap_or(defaults.list_wait),
        list_wait_by_client: seconds_by_name(&raw.list_wait_by_client, problems),
        model_reads_by_client: model_reads(&raw.model_reads_by_client),
        instructions_max_chars: raw
            .instructions_max_chars
            .value()
            .copied()
            .unwrap_or(defaults.instructions_max_chars),
        limits: limits(raw.limits.value(), problems),
        // The caller reads it from the environment.
        ancestry: Ancestry::default(),
        guard: None,
        subreaper: None,
        proxy: scope.environment.proxies(),
        recovery: recovery::recovery(raw.recovery.value(), scope, problems),
        pruner: defaults.pruner,
        shape: shape::choice(&raw.shape, ShapeLevel::TopOrServer, problems),
        rpc_servers: Vec::new(),
        presets: presets.all,
        clients,
    };
    check_structure(raw, problems);
    CheckedConfig {
        gateway,
        listen: listen(&raw.listen, problems),
        allowed_hosts: hosts(&raw.allowed_hosts, problems),
        allowed_origins: origins(&raw.allowed_origins, problems),
        declared: servers.declared,
        left_out: servers.left_out,
        skipped_presets: presets.skipped,
        preset_folder: presets.folder,
        admin,
    }
}

/// Parses a listen address. `localhost` is the only name accepted, because it needs no resolver.
pub(crate) fn parse_listen(text: &str) -> Option<SocketAddr> {
    if let Some(port) = text.strip_prefix("localhost:") {
        return Some(SocketAddr::new(
            Ipv4Addr::LOCALHOST.into(),
            port.parse().ok()?,
        ));
    }
    text.parse().ok()
}

fn check_structure(raw: &RawFile, problems: &mut Problems<'_>) {
    let none =
        raw.mcp_servers.is_absent() && raw.servers.is_absent() && raw.mcp_servers_list.is_absent();
    if none {
        let what =
            "there are no servers: none of `mcpServers`, `servers` and `mcp_servers` is present";
        let help = "write {\"mcpServers\": {\"files\": {\"command\": \"npx\", \"args\": [...]}}}";
        problems.error(&At::default(), what, help);
    } else if let Some(at) = raw
        .mcp_servers
        .at()
        .or(raw.servers.at())
        .or(raw.mcp_servers_list.at())
        && entries(raw).is_empty()
    {
        problems.warn(at, "there are no servers here yet", "");
    }
    if let Some(at) = raw.inputs.at() {
        let help = "set environment variables and refer to them as ${VAR} instead of ${input:...}";
        problems.note(
            at,
            "`inputs` is ignored, because no user can be prompted",
            help,
        );
    }
}

fn limits(raw: Option<&RawLimits>, problems: &mut Problems<'_>) -> Limits {
    let mut limits = Limits::default();
    let Some(raw) = raw else { return limits };
    let mut set = |field: &mut usize, given: &Field<usize>, least: usize| {
        let Some(given) = given.given() else { return };
        if given.value < least {
            problems.error(
                &given.at,
                format!("this limit must be at least {least}"),
                "",
            );
        }
        *field = given.value;
    };
    set(&mut limits.max_message_bytes, &raw.max_message_bytes, 1024);
    // One client may hold a quarter of the total, and one message must fit into that quarter.
    let least = limits.max_message_bytes.saturating_mul(4);
    limits.max_request_bytes_total = limits.max_request_bytes_total.max(least);
    limits.max_response_bytes_total = limits.max_response_bytes_total.max(least);
    set(
        &mut limits.max_request_bytes_total,
        &raw.max_request_bytes_total,
        least,
    );
    set(
        &mut limits.max_response_bytes_total,
        &raw.max_response_bytes_total,
        least,
    );
    set(&mut limits.max_sessions, &raw.max_sessions, 1);
    set(&mut limits.max_connections, &raw.max_connections, 1);
    let per_address = &raw.max_connections_per_address;
    set(&mut limits.max_connections_per_address, per_address, 1);
    set(&mut limits.client_queue, &raw.client_queue, 1);
    set(&mut limits.calls_per_session, &raw.calls_per_session, 1);
    set(&mut limits.max_items_per_list, &raw.max_items_per_list, 1);
    if let Some(idle) = seconds(&raw.session_idle_s, Minimum::MoreThanZero, problems) {
        limits.session_idle = idle;
    }
    if let Some(grace) = seconds(&raw.grace_s, Minimum::Zero, problems) {
        limits.grace = grace;
    }
    if let Some(grace) = seconds(&raw.shutdown_grace_s, Minimum::Zero, problems) {
        limits.shutdown_grace = grace;
    }
    limits
}

fn listen(given: &Field<String>, problems: &mut Problems<'_>) -> SocketAddr {
    let Some(given) = given.given() else {
        return DEFAULT_LISTEN;
    };
    parse_listen(&given.value).unwrap_or_else(|| {
        let what = format!("`{}` is not a listen address", given.value);
        problems.error(
            &given.at,
            what,
            "write address and port, as in \"127.0.0.1:7420\"",
        );
        DEFAULT_LISTEN
    })
}

fn hosts(given: &Field<Vec<Given<String>>>, problems: &mut Problems<'_>) -> Vec<String> {
    let hosts = given.value().map_or(&[][..], Vec::as_slice);
    for host in hosts {
        let authority = host.value.parse::<http::uri::Authority>();
        if authority.is_err() || host.value.contains('@') {
            let what = format!("`{}` is not a host", host.value);
            problems.error(
                &host.at,
                what,
                "write \"name\" or \"name:port\", without http://",
            );
        }
    }
    hosts.iter().map(|host| host.value.clone()).collect()
}

fn origins(given: &Field<Vec<Given<String>>>, problems: &mut Problems<'_>) -> Vec<String> {
    let origins = given.value().map_or(&[][..], Vec::as_slice);
    for origin in origins {
        let uri = origin.value.parse::<http::Uri>().ok();
        let is_origin = uri.is_some_and(|uri| uri.scheme().is_some() && uri.path() == "/");
        if !is_origin || origin.value.ends_with('/') {
            let what = format!("`{}` is not an origin", origin.value);
            problems.error(
                &origin.at,
                what,
                "write scheme and host, as in \"https://app.test\"",
            );
        }
    }
    origins.iter().map(|origin| origin.value.clone()).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Minimum {
    Zero,
    MoreThanZero,
}

/// One year, longer than any useful timeout. Sums of such times cannot overflow.
pub(super) const LONGEST: f64 = 366.0 * 24.0 * 3600.0;

pub(super) fn seconds(
    given: &Field<f64>,
    least: Minimum,
    problems: &mut Problems<'_>,
) -> Option<Duration> {
    seconds_in(given.given()?, least, problems)
}

fn seconds_by_name(
    given: &Field<Map<f64>>,
    problems: &mut Problems<'_>,
) -> HashMap<String, Duration> {
    let entries = given.value().map_or(&[][..], |map| &map.0);
    let checked = entries.iter().filter_map(|(name, given)| {
        let wait = seconds_in(given, Minimum::Zero, problems)?;
        Some((name.value.clone(), wait))
    });
    checked.collect()
}

fn model_reads(given: &Field<Map<ModelReadsWord>>) -> HashMap<String, ModelReads> {
    let entries = given.value().map_or(&[][..], |map| &map.0);
    let read = |word: ModelReadsWord| match word {
        ModelReadsWord::Content => ModelReads::Content,
        ModelReadsWord::Structured => ModelReads::Structured,
        ModelReadsWord::Both => ModelReads::Both,
    };
    let read = entries
        .iter()
        .map(|(name, given)| (name.value.clone(), read(given.value)));
    read.collect()
}

fn seconds_in(given: &Given<f64>, least: Minimum, problems: &mut Problems<'_>) -> Option<Duration> {
    let too_small = given.value < 0.0 || (given.value == 0.0 && least == Minimum::MoreThanZero);
    if too_small || given.value > LONGEST {
        let what = match least {
            Minimum::Zero => "a time in seconds must be 0 or more and less than a year",
            Minimum::MoreThanZero => "a time in seconds must be more than 0 and less than a year",
        };
        problems.error(&given.at, what, "");
        return None;
    }
    Some(Duration::from_secs_f64(given.value))
}

/// Resolves a folder relative to the file. An unset variable is an error, because no server could
/// be left out instead. `instead` is the help text for an empty name.
pub(super) fn folder(
    given: &Given<String>,
    instead: &str,
    scope: Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<PathBuf> {
    let text = match expand(&given.value, Forms::Dollar, scope) {
        Ok(text) => text,
        Err(unexpanded) => {
            for (what, help) in unexpanded.describe() {
                problems.error(&given.at, what, help);
            }
            return None;
        }
    };
    if text.trim().is_empty() {
        problems.error(&given.at, "the name of the folder is empty", instead);
        return None;
    }
    if text.contains('\0') {
        problems.error(&given.at, "the value contains a NUL character", "");
        return None;
    }
    Some(scope.folder.join(expand_home(&text, scope.environment)))
}

/// Returns the server entries of all configuration shapes, in the order of the file.
pub(super) fn entries(raw: &RawFile) -> Vec<&super::raw::Entry> {
    let by_id = raw.mcp_servers.value().map(|servers| &servers.0);
    let either = raw.servers.value().map(|Servers(entries)| entries);
    let listed = raw.mcp_servers_list.value().map(|servers| &servers.0);
    let mut entries: Vec<_> = [by_id, either, listed]
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    entries.sort_by_key(|entry| entry.id.at.offset);
    entries
}
