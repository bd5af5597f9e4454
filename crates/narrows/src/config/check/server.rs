//! One server of the file into the settings of one upstream.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use narrows_gateway::preset::DirectPreset;
use narrows_gateway::preset::{ToolFilter, ToolList};
use narrows_gateway::settings::{
    Builtin, HealthSettings, ServerSettings, Sharing, StdioSettings, Transport, UpstreamKind,
};
use narrows_wire::frame::Framing;

use super::env_file::EnvFile;
use super::presets::Presets;
use super::remote::implied;
use super::shape::{self, MaskLimits, Standing};
use super::{Least, LeftOut, entries, health, seconds};
use crate::config::expand::{
    Forms, NOBODY_TO_ASK, Scope, Unexpanded, expand, expand_home, only_in_editor, whole_variable,
};
use crate::config::problem::{At, Problems};
use crate::config::raw::{
    Entry, InheritEnv, PresetChoice, RawFile, RawServer, SharingWord, StdioMode, Tools,
    TransportWord,
};
use crate::config::read::{Given, Map};

/// The built-in servers by name.
const BUILTIN: &[(&str, Builtin)] = &[("demo", Builtin::Demo), ("pruner", Builtin::Pruner)];

/// The largest `timeout` that counts as seconds; see the raw key.
const IN_SECONDS: Duration = Duration::from_secs(1000);

/// Lines of an env file that are told one by one.
const LINES_TOLD: usize = 5;

/// What the top of the file says for servers that do not say it themselves.
#[derive(Clone, Copy)]
pub(super) struct Top<'a> {
    pub(super) request_timeout: Option<Duration>,
    pub(super) health: HealthSettings,
    pub(super) mask: MaskLimits,
    /// What servers may name.
    pub(super) presets: &'a Presets,
}

/// What all servers of the file come to.
#[derive(Default)]
pub(super) struct Servers {
    pub(super) upstreams: Vec<ServerSettings>,
    pub(super) said: HashMap<String, Transport>,
    pub(super) left_out: Vec<LeftOut>,
}

pub(super) fn check_all(
    raw: &RawFile,
    top: Top<'_>,
    scope: Scope<'_>,
    problems: &mut Problems<'_>,
) -> Servers {
    let entries = entries(raw);
    let mut servers = Servers::default();
    for (index, entry) in entries.iter().enumerate() {
        check_id(&entry.id, &entries[..index], problems);
        let Some(server) = &entry.server else {
            continue;
        };
        let id = &entry.id.value;
        problems.server = Some(id.clone());
        let mut desk = Desk {
            scope,
            problems,
            enabled: is_enabled(server),
            said: None,
            transport: None,
            unset: Vec::new(),
            asks: false,
            editor: None,
            env_file: None,
        };
        let kind = desk.kind(entry, server);
        let place = servers.upstreams.len() + servers.left_out.len();
        let out = desk.left_out(id, place);
        if let Some(said) = desk.said {
            servers.said.insert(id.clone(), said);
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
        problems.error(&id.at, what, "every server has an id of its own");
    }
}

fn is_enabled(server: &RawServer) -> bool {
    server.enabled.value().copied().unwrap_or(true)
        && !server.disabled.value().copied().unwrap_or(false)
}

/// The settings that every kind of server has; id and kind are still to come.
fn common(server: &RawServer, top: Top<'_>, problems: &mut Problems<'_>) -> ServerSettings {
    let mut settings = ServerSettings::new("", UpstreamKind::Builtin(Builtin::Demo));
    let upstream = &mut settings.upstream;
    upstream.enabled = is_enabled(server);
    if let (Some(enabled), Some(disabled)) = (server.enabled.value(), server.disabled.given())
        && *enabled == disabled.value
    {
        let what = "`enabled` and `disabled` contradict each other";
        problems.error(&disabled.at, what, "keep one of them");
    }
    upstream.sharing = match server.sharing.value() {
        Some(SharingWord::Shared) => Sharing::Shared,
        Some(SharingWord::Session) => Sharing::Session,
        Some(SharingWord::Auto) | None => Sharing::Auto,
    };
    if let Some(max_links) = server.max_links.given() {
        if max_links.value == 0 {
            problems.error(&max_links.at, "`max_links` is at least 1", "");
        }
        upstream.max_links = max_links.value;
    }
    if let Some(time) = seconds(&server.startup_timeout_s, Least::MoreThanZero, problems) {
        upstream.startup_timeout = time;
    }
    if let Some(time) = seconds(&server.connect_timeout_s, Least::MoreThanZero, problems) {
        upstream.connect_timeout = time;
    }
    let own = seconds(&server.request_timeout_s, Least::MoreThanZero, problems);
    // Cline and Roo write seconds, Gemini CLI and others milliseconds. Nobody
    // means less than a second by thousands, or hours by a small number.
    let foreign = seconds(&server.timeout, Least::MoreThanZero, problems);
    let foreign = foreign.map(|time| if time > IN_SECONDS { time / 1000 } else { time });
    if let Some(time) = own.or(foreign).or(top.request_timeout) {
        upstream.request_timeout = time;
        settings.rpc_timeout = time;
    }
    upstream.health = health::health(top.health, &server.health, problems);
    settings.mask = top.mask.with(&server.shape, problems).mask();
    settings.shape = shape::choice(&server.shape, Standing::TopOrServer, problems);
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

/// The lists by which clients choose the tools of a server.
fn tool_filter(server: &RawServer) -> ToolFilter {
    let list = |given: &Given<Vec<Given<String>>>| tool_list(&given.at, &given.value);
    let mut filter = ToolFilter::default();
    if let Some(Given { value, at }) = server.tools.given()
        && let Tools::Allowed(names) = value
    {
        filter.allow(tool_list(at, names));
    }
    if let Some(Given { value, at }) = server.include_tools.given() {
        // Gemini CLI takes `name(...)` for calls of `name`.
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

/// What is at hand while one server is checked.
pub(super) struct Desk<'a, 'p> {
    scope: Scope<'a>,
    pub(super) problems: &'a mut Problems<'p>,
    /// A server that is not started may name variables that are not set.
    pub(super) enabled: bool,
    /// What carries its messages, where the file says so.
    pub(super) said: Option<Transport>,
    /// The same as far as it is known, said or not.
    pub(super) transport: Option<Transport>,
    /// Variables that are not set.
    unset: Vec<String>,
    /// Whether there is a value that a user would have to be asked for.
    asks: bool,
    /// Why a variable of an editor has no value.
    editor: Option<String>,
    /// Why its env file cannot be used.
    env_file: Option<String>,
}

impl Desk<'_, '_> {
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

    /// Why the server has to be left out, if it has to.
    fn left_out(&self, id: &str, place: usize) -> Option<LeftOut> {
        let mut reasons = Vec::new();
        if !self.unset.is_empty() {
            let names = self.unset.join(", ");
            reasons.push(format!("environment variable {names} is not set"));
        }
        if self.asks {
            reasons.push(NOBODY_TO_ASK.to_owned());
        }
        reasons.extend(self.editor.clone());
        reasons.extend(self.env_file.clone());
        let transport = self.transport?;
        (!reasons.is_empty()).then(|| LeftOut {
            id: id.to_owned(),
            place,
            transport,
            kind: if self.asks {
                "unsupported_input"
            } else if self.editor.is_some() {
                "editor_variable"
            } else if self.unset.is_empty() {
                "unreadable_env_file"
            } else {
                "unset_variable"
            },
            reason: reasons.join("; "),
        })
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
        self.said = kind.or(transport).map(|given| of_word(given.value));
        let unreadable = !server.kind.is_absent() || !server.transport.is_absent();
        if self.said.is_some() || unreadable {
            return self.said;
        }
        match (server.command.is_absent(), server.url.is_absent()) {
            (false, true) => Some(Transport::Stdio),
            (true, false) => Some(implied(server.url.value().map_or("", String::as_str))),
            (false, false) => {
                let help =
                    "keep one of them, or say which by \"type\": \"stdio\" or \"type\": \"http\"";
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

    fn stdio(&mut self, at: &At, server: &RawServer) -> Option<StdioSettings> {
        if server.command.is_absent() {
            let help = "add \"command\": \"npx\", \"args\": [...]";
            self.problems
                .error(at, "a stdio server needs a `command`", help);
        }
        self.pointless(server.url.at(), "url", "");
        self.pointless(server.headers.at(), "headers", "");
        let env = self.variables(server);
        let args = server.args.value().map_or(&[][..], Vec::as_slice);
        let command = server.command.value().map_or(&[][..], |command| &command.0);
        // All of them are looked at before the first that failed ends it, so
        // that every variable that is missing is told at once.
        let words: Vec<Option<String>> = command
            .iter()
            .chain(args)
            .map(|word| self.text(word, Forms::Dollar))
            .collect();
        let cwd = self.cwd(server);
        let given = server.command.given()?;
        if command
            .first()
            .is_none_or(|program| program.value.trim().is_empty())
        {
            self.problems.error(
                &given.at,
                "the `command` is empty",
                "name the program to run",
            );
            return None;
        }
        let mut words = words.into_iter().collect::<Option<Vec<String>>>()?;
        let program = words.remove(0);
        Some(StdioSettings {
            command: expand_home(&program, self.scope.environment),
            args: words,
            env: self.child_environment(server, env?),
            cwd,
            framing: match server.stdio_mode.value() {
                Some(StdioMode::ContentLength) => Framing::ContentLength,
                Some(StdioMode::Newline) | None => Framing::Newline,
            },
        })
    }

    fn builtin(&mut self, entry: &Entry, server: &RawServer) -> Option<Builtin> {
        let name = server.name.given().unwrap_or(&entry.id);
        let found = BUILTIN.iter().find(|(known, _)| *known == name.value);
        if found.is_none() {
            let known: Vec<&str> = BUILTIN.iter().map(|(known, _)| *known).collect();
            let what = format!("there is no built-in server `{}`", name.value);
            let help = format!("there is: {}", known.join(", "));
            self.problems.error(&name.at, what, help);
        }
        found.map(|(_, builtin)| *builtin)
    }

    /// The variables of the server's `envFile`, and after them its own `env`,
    /// expanded: the last of a name counts.
    fn variables(&mut self, server: &RawServer) -> Option<Vec<(String, String)>> {
        let mut variables = self.env_file(server);
        for (name, value) in pairs(server.env.value()) {
            if name.value.is_empty() || name.value.contains(['=', '\0']) {
                let what = format!("`{}` is no name for a variable", name.value);
                self.problems.error(&name.at, what, "");
            }
            match (self.text(value, Forms::DollarAndBare), &mut variables) {
                (Some(value), Some(variables)) => variables.push((name.value.clone(), value)),
                _ => variables = None,
            }
        }
        variables
    }

    /// The variables in the server's `envFile`; `None` after a problem.
    fn env_file(&mut self, server: &RawServer) -> Option<Vec<(String, String)>> {
        let Some(given) = server.env_file.given() else {
            return Some(Vec::new());
        };
        let text = self.text(given, Forms::Dollar)?;
        // A server that is not started needs none.
        if !self.enabled {
            return Some(Vec::new());
        }
        let path = expand_home(&text, self.scope.environment);
        let path = self.scope.folder.join(path);
        let name = path.display();
        match EnvFile::read(&path) {
            Ok(file) => {
                for line in file.ignored.iter().take(LINES_TOLD) {
                    let what = format!(
                        "line {line} of the env file '{name}' is not NAME=VALUE and is ignored"
                    );
                    let help = "write NAME=VALUE, or start comments with #";
                    self.problems.warn(&given.at, what, help);
                }
                let more = file.ignored.len().saturating_sub(LINES_TOLD);
                if more > 0 {
                    let lines = if more == 1 { "line is" } else { "lines are" };
                    let what = format!("{more} more {lines} ignored in the env file '{name}'");
                    self.problems.warn(&given.at, what, "");
                }
                Some(file.variables)
            }
            Err(why) => {
                let what = format!("the env file '{name}' cannot be read: {why}");
                let starts = match given.value.contains("${workspaceFolder}") {
                    true => {
                        "`${workspaceFolder}` stands for the folder of this configuration \
                             file, or the one above `.vscode` and `.cursor`"
                    }
                    false => "a relative one starts at the folder of this configuration file",
                };
                let help = format!(
                    "create it, or fix the path: {starts}; then save this file again or send \
                     SIGHUP to the gateway"
                );
                self.problems.left_out(&given.at, what.clone(), help);
                self.env_file = Some(what);
                None
            }
        }
    }

    fn child_environment(
        &self,
        server: &RawServer,
        own: Vec<(String, String)>,
    ) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
        let inherit = server.inherit_env.value().unwrap_or(&InheritEnv::Usual);
        self.scope.environment.for_child(inherit, own)
    }

    fn cwd(&mut self, server: &RawServer) -> Option<PathBuf> {
        let given = server.cwd.given()?;
        let text = self.text(given, Forms::Dollar)?;
        Some(
            self.scope
                .folder
                .join(expand_home(&text, self.scope.environment)),
        )
    }

    /// A text with its variables replaced; `None` after a problem.
    pub(super) fn text(&mut self, given: &Given<String>, forms: Forms) -> Option<String> {
        if forms == Forms::DollarAndBare
            && let Some(name) = whole_variable(&given.value)
        {
            return Some(self.whole_variable(given, name));
        }
        let expanded = match expand(&given.value, forms, self.scope) {
            Ok(expanded) => expanded,
            Err(_) if !self.enabled => given.value.clone(),
            Err(unexpanded) => {
                for (what, help) in unexpanded.told() {
                    match unexpanded {
                        Unexpanded::Malformed => self.problems.error(&given.at, what, help),
                        _ => self.problems.left_out(&given.at, what, help),
                    }
                }
                match unexpanded {
                    Unexpanded::Unset(names) => self.note_unset(names),
                    Unexpanded::Input => self.asks = true,
                    Unexpanded::Editor(name) => self.editor = Some(only_in_editor(&name)),
                    Unexpanded::Malformed => {}
                }
                return None;
            }
        };
        if expanded.contains('\0') {
            self.problems
                .error(&given.at, "there is a NUL character in it", "");
            return None;
        }
        Some(expanded)
    }

    /// The value of `$NAME`, which stays as it is if there is no such variable:
    /// other programs may mean something else by it.
    fn whole_variable(&mut self, given: &Given<String>, name: &str) -> String {
        if let Some(value) = self.scope.environment.text(name) {
            return value.to_owned();
        }
        if self.enabled {
            let what =
                format!("environment variable {name} is not set, so that `${name}` stays as it is");
            let help = format!("set it, or write ${{{name}:-...}} for a default");
            self.problems.warn(&given.at, what, help);
        }
        given.value.clone()
    }

    fn note_unset(&mut self, names: Vec<String>) {
        for name in names {
            if !self.unset.contains(&name) {
                self.unset.push(name);
            }
        }
    }

    pub(super) fn pointless(&mut self, at: Option<&At>, key: &str, help: &str) {
        if let (Some(at), Some(transport)) = (at, self.transport) {
            let word = transport.word();
            let what = format!("`{key}` means nothing to a server of type {word}");
            self.problems.warn(at, what, help);
        }
    }
}

pub(super) fn pairs(
    map: Option<&Map<String>>,
) -> impl Iterator<Item = &(Given<String>, Given<String>)> {
    map.into_iter().flat_map(|map| &map.0)
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
