//! Checks one server and converts it to the settings of one upstream.

use std::collections::HashMap;
use std::time::Duration;

use narrows_gateway::preset::DirectPreset;
use narrows_gateway::preset::{ToolFilter, ToolList};
use narrows_gateway::settings::{
    Builtin, Era, HealthSettings, ServerSettings, Sharing, Transport, UpstreamKind,
};

use super::presets::PresetTable;
use super::remote::implied;
use super::server_check::ServerCheck;
use super::shape::{self, MaskLimits, ShapeLevel};
use super::{LeftOut, Minimum, entries, health, seconds};
use crate::config::expand::Scope;
use crate::config::problem::{At, Problems};
use crate::config::raw::{
    Entry, EraWord, PresetChoice, RawFile, RawServer, RawTools, SharingWord, TransportWord,
};
use crate::config::read::Given;

/// The built-in servers by name.
const BUILTIN: &[(&str, Builtin)] = &[("demo", Builtin::Demo), ("pruner", Builtin::Pruner)];

/// The largest `timeout` that counts as seconds. See the key in `raw.rs`.
const IN_SECONDS: Duration = Duration::from_secs(1000);

/// The settings at the top level that apply to servers without their own.
#[derive(Clone, Copy)]
pub(super) struct TopDefaults<'a> {
    pub(super) request_timeout: Option<Duration>,
    pub(super) health: HealthSettings,
    pub(super) mask: MaskLimits,
    /// The presets that servers may name.
    pub(super) presets: &'a PresetTable,
}

/// The checked servers of the file.
#[derive(Default)]
pub(super) struct CheckedServers {
    pub(super) upstreams: Vec<ServerSettings>,
    pub(super) declared: HashMap<String, Transport>,
    pub(super) left_out: Vec<LeftOut>,
}

pub(super) fn check_all(
    raw: &RawFile,
    top: TopDefaults<'_>,
    scope: Scope<'_>,
    problems: &mut Problems<'_>,
) -> CheckedServers {
    let entries = entries(raw);
    let mut servers = CheckedServers::default();
    for (index, entry) in entries.iter().enumerate() {
        check_id(&entry.id, &entries[..index], problems);
        let Some(server) = &entry.server else {
            continue;
        };
        let id = &entry.id.value;
        problems.server = Some(id.clone());
        let mut check = ServerCheck::new(scope, problems, is_enabled(server));
        let kind = check.kind(entry, server);
        let place = servers.upstreams.len() + servers.left_out.len();
        let out = check.left_out(id, place);
        if let Some(declared) = check.declared {
            servers.declared.insert(id.clone(), declared);
        }
        let common = common(server, top, problems);
        problems.server = None;
        if let Some(out) = out {
            servers.left_out.push(out);
        } else if let Some(kind) = kind {
            let id = id.clone();
            let mut server = common;
            server.upstream.id = id;
            server.upstream.kind = kind;
            servers.upstreams.push(server);
        }
    }
    servers
}

fn check_id(id: &Given<String>, before: &[&Entry], problems: &mut Problems<'_>) {
    if id.value.trim().is_empty() {
        problems.error(&id.at, "the id of a server is empty", "give it a name");
    } else if before.iter().any(|other| other.id.value == id.value) {
        let what = format!("duplicate server id '{}'", id.value);
        problems.error(&id.at, what, "give every server its own id");
    }
}

fn is_enabled(server: &RawServer) -> bool {
    server.enabled.value().copied().unwrap_or(true)
        && !server.disabled.value().copied().unwrap_or(false)
}

/// Returns the settings common to all kinds of servers. The caller sets the id and the kind.
fn common(server: &RawServer, top: TopDefaults<'_>, problems: &mut Problems<'_>) -> ServerSettings {
    let mut settings = ServerSettings::new("", UpstreamKind::Builtin(Builtin::Demo));
    let upstream = &mut settings.upstream;
    upstream.enabled = is_enabled(server);
    if let (Some(enabled), Some(disabled)) = (server.enabled.value(), server.disabled.given())
        && *enabled == disabled.value
    {
        let what = "`enabled` and `disabled` contradict each other";
        problems.error(&disabled.at, what, "keep one of them");
    }
    upstream.era = match server.era.value() {
        Some(EraWord::Legacy) => Era::Legacy,
        Some(EraWord::Modern) => Era::Modern,
        Some(EraWord::Auto) | None => Era::Auto,
    };
    upstream.sharing = match server.sharing.value() {
        Some(SharingWord::Shared) => Sharing::Shared,
        Some(SharingWord::Session) => Sharing::Session,
        Some(SharingWord::Auto) | None => Sharing::Auto,
    };
    if let Some(max_links) = server.max_links.given() {
        if max_links.value == 0 {
            problems.error(&max_links.at, "`max_links` must be at least 1", "");
        }
        upstream.max_links = max_links.value;
    }
    if let Some(time) = seconds(&server.startup_timeout_s, Minimum::MoreThanZero, problems) {
        upstream.startup_timeout = time;
    }
    if let Some(time) = seconds(&server.connect_timeout_s, Minimum::MoreThanZero, problems) {
        upstream.connect_timeout = time;
    }
    let own = seconds(&server.request_timeout_s, Minimum::MoreThanZero, problems);
    // Cline and Roo write seconds, Gemini CLI and others milliseconds. A number in the thousands
    // is never meant as seconds, because that would be hours; a small number is never meant as
    // milliseconds.
    let foreign = seconds(&server.timeout, Minimum::MoreThanZero, problems);
    let foreign = foreign.map(|time| if time > IN_SECONDS { time / 1000 } else { time });
    if let Some(time) = own.or(foreign).or(top.request_timeout) {
        upstream.request_timeout = time;
        settings.rpc_timeout = time;
    }
    upstream.health = health::health(top.health, &server.health, problems);
    settings.mask = top.mask.with(&server.shape, problems).mask();
    settings.shape = shape::choice(&server.shape, ShapeLevel::TopOrServer, problems);
    settings.tool_shapes = shape::of_tools(server, problems);
    settings.tool_filter = tool_filter(server);
    settings.preset = match server.preset.given() {
        None => DirectPreset::AsDefault,
        Some(Given { value, at }) => match value {
            PresetChoice::Free => DirectPreset::Free,
            PresetChoice::Named(id) => {
                top.presets.check_named(id, at, problems);
                DirectPreset::Named(id.clone())
            }
        },
    };
    settings
}

/// Returns the lists by which clients select the tools of a server.
fn tool_filter(server: &RawServer) -> ToolFilter {
    let list = |given: &Given<Vec<Given<String>>>| tool_list(&given.at, &given.value);
    let mut filter = ToolFilter::default();
    if let Some(Given { value, at }) = server.tools.given()
        && let RawTools::Allowed(names) = value
    {
        filter.allow(tool_list(at, names));
    }
    if let Some(Given { value, at }) = server.include_tools.given() {
        // Gemini CLI reads `name(...)` as calls to `name`.
        let name = |given: &Given<String>| given.value.split('(').next().unwrap_or("").to_owned();
        filter.allow(ToolList::new(&at.path, value.iter().map(name)));
    }
    for field in [&server.allowed_tools, &server.enabled_tools] {
        if let Some(given) = field.given() {
            filter.allow(list(given));
        }
    }
    for field in [&server.exclude_tools, &server.disabled_tools] {
        if let Some(given) = field.given() {
            filter.exclude(list(given));
        }
    }
    filter
}

fn tool_list(at: &At, names: &[Given<String>]) -> ToolList {
    ToolList::new(&at.path, names.iter().map(|name| name.value.as_str()))
}

impl ServerCheck<'_, '_> {
    fn kind(&mut self, entry: &Entry, server: &RawServer) -> Option<UpstreamKind> {
        let at = &entry.at;
        let transport = self.transport(at, server)?;
        self.transport = Some(transport);
        match transport {
            Transport::Stdio => self.stdio(at, server).map(UpstreamKind::Stdio),
            Transport::Builtin => self.builtin(entry, server).map(UpstreamKind::Builtin),
            Transport::Http | Transport::Sse | Transport::WebSocket | Transport::Rpc => {
                self.remote(at, server).map(UpstreamKind::Remote)
            }
        }
    }

    fn transport(&mut self, at: &At, server: &RawServer) -> Option<Transport> {
        let (kind, transport) = (server.kind.given(), server.transport.given());
        if let (Some(kind), Some(transport)) = (kind, transport)
            && kind.value != transport.value
        {
            let what = "`type` and `transport` contradict each other";
            self.problems.error(&transport.at, what, "keep one of them");
            return None;
        }
        self.declared = kind.or(transport).map(|given| of_word(given.value));
        let unreadable = !server.kind.is_absent() || !server.transport.is_absent();
        if self.declared.is_some() || unreadable {
            return self.declared;
        }
        match (server.command.is_absent(), server.url.is_absent()) {
            (false, true) => Some(Transport::Stdio),
            (true, false) => Some(implied(server.url.value().map_or("", String::as_str))),
            (false, false) => {
                let help = "keep one of them, or choose one with \"type\": \"stdio\" or \"type\": \"http\"";
                self.problems
                    .error(at, "there is both a `command` and a `url`", help);
                None
            }
            (true, true) => {
                let help =
                    "add \"command\": \"...\" for a program, or \"url\": \"...\" for an address";
                self.problems
                    .error(at, "there is neither a `command` nor a `url`", help);
                None
            }
        }
    }

    fn builtin(&mut self, entry: &Entry, server: &RawServer) -> Option<Builtin> {
        let name = server.name.given().unwrap_or(&entry.id);
        let found = BUILTIN.iter().find(|(known, _)| *known == name.value);
        if found.is_none() {
            let known: Vec<&str> = BUILTIN.iter().map(|(known, _)| *known).collect();
            let what = format!("there is no built-in server `{}`", name.value);
            let help = format!("available: {}", known.join(", "));
            self.problems.error(&name.at, what, help);
        }
        found.map(|(_, builtin)| *builtin)
    }
}

fn of_word(word: TransportWord) -> Transport {
    match word {
        TransportWord::Stdio => Transport::Stdio,
        TransportWord::Http => Transport::Http,
        TransportWord::Sse => Transport::Sse,
        TransportWord::WebSocket => Transport::WebSocket,
        TransportWord::Rpc => Transport::Rpc,
        TransportWord::Builtin => Transport::Builtin,
    }
}
