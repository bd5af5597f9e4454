//! Checks presets in the configuration and in files, and the references to them.

mod files;

use std::collections::HashSet;
use std::path::PathBuf;

use narrows_gateway::preset::{Preset, Rule};

use super::{entries, folder};
use crate::config::expand::Scope;
use crate::config::problem::{At, Problems};
use crate::config::raw::{RawFile, RawPreset, Selection};
use crate::config::read::{Field, Given};
use crate::nearest::nearest;

/// The presets that other settings may name.
pub(super) struct PresetTable {
    pub(super) all: Vec<Preset>,
    /// Presets whose files cannot be used. A client or endpoint that names one is allowed nothing.
    pub(super) skipped: Vec<String>,
    /// The folder with the files.
    pub(super) folder: Option<PathBuf>,
    /// The help text for an unknown preset.
    help: &'static str,
    /// True if unknown presets must not be reported, because the folder could not be read.
    is_incomplete: bool,
}

/// The ids of all servers in the file, including disabled ones.
pub(super) struct ServerIds<'a>(Vec<&'a str>);

pub(super) fn check_all(
    raw: &RawFile,
    servers: &ServerIds<'_>,
    scope: Scope<'_>,
    problems: &mut Problems<'_>,
) -> PresetTable {
    let mut presets = PresetTable {
        all: Vec::new(),
        skipped: Vec::new(),
        folder: None,
        help: match (&raw.preset_dir, &raw.default_preset_id) {
            (Field::Absent, Field::Absent) => "define it under `presets`, or set `preset_dir`",
            // broxy keeps its presets in files next to the configuration.
            (Field::Absent, _) => "set \"preset_dir\": \".\" if its file is next to this one",
            _ => "define it under `presets`, or as a file in `preset_dir`",
        },
        is_incomplete: matches!(raw.preset_dir, Field::Bad),
    };
    for (key, given) in raw.presets.value().iter().flat_map(|presets| &presets.0) {
        let id = given.value.id.given();
        if let Some(id) = id.filter(|id| id.value != key.value) {
            let what = format!("the preset `{}` has the id `{}`", key.value, id.value);
            problems.error(&id.at, what, "leave `id` out, or make both the same");
        }
        let preset = preset(&key.value, &given.value, &given.at, servers, problems);
        presets.all.push(preset);
    }
    if let Some(given) = raw.preset_dir.given() {
        presets.add_files(given, servers, scope, problems);
    }
    presets
}

impl PresetTable {
    /// Checks that a preset named elsewhere exists.
    pub(super) fn check_named(&self, id: &str, at: &At, problems: &mut Problems<'_>) {
        if self.ids().any(|known| known == id) || self.is_incomplete {
            return;
        }
        if self.skipped.iter().any(|skipped| skipped == id) {
            let what = format!("the file of preset `{id}` is skipped: nothing is allowed here");
            problems.left_out(at, what, "`narrows check` shows the problem in the file");
            return;
        }
        let known = self.ids().chain(self.skipped.iter().map(String::as_str));
        let help = match nearest(id, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => self.help.to_owned(),
        };
        problems.error(at, format!("there is no preset `{id}`"), help);
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|preset| &**preset.id())
    }

    fn add_files(
        &mut self,
        given: &Given<String>,
        servers: &ServerIds<'_>,
        scope: Scope<'_>,
        problems: &mut Problems<'_>,
    ) {
        let help = "name a folder that contains preset_<id>.json files";
        let Some(folder) = folder(given, help, scope, problems) else {
            self.is_incomplete = true;
            return;
        };
        self.folder = Some(folder.clone());
        // Messages show the folder relative to the configuration file, as the user named that file.
        let beside = problems.file().parent().map(PathBuf::from);
        let relative = folder.strip_prefix(scope.folder);
        let shown = match relative {
            Ok(relative) => beside.unwrap_or_default().join(relative),
            Err(_) => folder.clone(),
        };
        match files::read_all(&folder, &shown, servers, &self.all, problems) {
            Ok(files) => {
                self.all.extend(files.presets);
                self.skipped = files.skipped;
            }
            Err(error) => {
                self.is_incomplete = true;
                let what = format!("the folder {} cannot be read: {error}", folder.display());
                problems.error(&given.at, what, "");
            }
        }
    }
}

impl<'a> ServerIds<'a> {
    pub(super) fn of(raw: &'a RawFile) -> Self {
        let entries = entries(raw);
        ServerIds(
            entries
                .iter()
                .map(|entry| entry.id.value.as_str())
                .collect(),
        )
    }

    pub(super) fn ids(&self) -> &[&'a str] {
        &self.0
    }

    /// Warns about an entry that names an unknown server, because it can match nothing. Problems
    /// recorded in `reported` are not repeated.
    pub(super) fn check_rule<'r>(
        &self,
        rule: &Rule,
        server: ServerPart<'r>,
        reported: &mut ReportedServers<'r>,
        at: &At,
        problems: &mut Problems<'_>,
    ) {
        let is_new = reported.asked.insert(server);
        if !is_new || self.0.is_empty() || rule.names_any_of(&self.0) {
            return;
        }
        let readings = server.readings(self.most_slashes());
        let nearest = |reading: &&'r str| nearest(reading, self.0.iter().copied());
        // Longer readings are more precise: in `x/b/*`, the server is probably `x/b`, similar to
        // `x/a`.
        let mut longest_first = readings.iter().rev();
        let near = longest_first.find_map(|reading| Some((*reading, nearest(reading)?)));
        let (name, help) = match (near, readings.first()) {
            (Some((reading, near)), _) => (reading, format!("did you mean `{near}`?")),
            (None, first) => (first.copied().unwrap_or_default(), String::new()),
        };
        if reported.missing.insert(name) {
            problems.warn(at, format!("no server is called `{name}`"), help);
        }
    }

    fn most_slashes(&self) -> usize {
        let slashes = self.0.iter().map(|id| id.matches('/').count());
        slashes.max().unwrap_or(0)
    }
}

/// The part of an entry that names its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ServerPart<'a> {
    /// The whole id, from an entry written as an object.
    Exact(&'a str),
    /// The whole pattern, from an entry that selects tools by a hint.
    Whole(&'a str),
    /// The part of a pattern before its last slash. The server's id ends there or at any earlier
    /// slash, because ids and item names may both contain slashes.
    Before(&'a str),
}

/// The results of earlier checks of entries.
#[derive(Default)]
pub(super) struct ReportedServers<'a> {
    asked: HashSet<ServerPart<'a>>,
    /// Names that match no server.
    missing: HashSet<&'a str>,
}

impl<'a> ServerPart<'a> {
    /// Returns the server part of an entry written as text.
    pub(super) fn of(rule: &'a Rule) -> ServerPart<'a> {
        let text = rule.text();
        let body = text.strip_prefix('!').unwrap_or(text);
        let server = body.rsplit_once('/').map_or(body, |(server, _)| server);
        match rule.is_hint() {
            true => ServerPart::Whole(server),
            false => ServerPart::Before(server),
        }
    }

    /// Returns the possible server ids, shortest first, with at most `most_slashes` slashes.
    fn readings(self, most_slashes: usize) -> Vec<&'a str> {
        match self {
            ServerPart::Exact(server) | ServerPart::Whole(server) => vec![server],
            ServerPart::Before(part) => {
                let ends = part.match_indices('/').map(|(at, _)| at);
                let ends = ends.chain([part.len()]).take(most_slashes + 1);
                ends.map(|end| &part[..end]).collect()
            }
        }
    }
}

/// Checks one preset and reports problems at its position.
fn preset(
    id: &str,
    raw: &RawPreset,
    at: &At,
    servers: &ServerIds<'_>,
    problems: &mut Problems<'_>,
) -> Preset {
    let mut reported = ReportedServers::default();
    let lists = [
        (&raw.tools, "tools", "toolName"),
        (&raw.prompts, "prompts", "promptName"),
        (&raw.resources, "resources", "resourceKey"),
    ];
    let [tools, prompts, resources] = lists.map(|(given, key, item)| {
        let kind = ListKind { key, item };
        rules(given, &kind, servers, &mut reported, problems)
    });
    if [&tools, &prompts, &resources]
        .iter()
        .all(|list| list.is_none())
    {
        let help = "add \"tools\": [\"*/*\"] to allow all tools";
        problems.warn(at, "this preset names no server: it allows nothing", help);
    }
    Preset::new(id, tools, prompts, resources)
}

/// The properties of one list of a preset.
struct ListKind {
    key: &'static str,
    /// The key by which objects name their item.
    item: &'static str,
}

/// Returns the rules of a list, or `None` if it is absent. An invalid list allows nothing.
fn rules<'a>(
    given: &'a Field<Selection>,
    kind: &ListKind,
    servers: &ServerIds<'_>,
    reported: &mut ReportedServers<'a>,
    problems: &mut Problems<'_>,
) -> Option<Vec<Rule>> {
    let given = match given {
        Field::Absent => return None,
        Field::Bad => return Some(Vec::new()),
        Field::Given(given) => given,
    };
    let key = kind.key;
    for entry in &given.value.0 {
        let selected = &entry.value;
        if selected.rule.is_hint() && key != "tools" {
            let what = format!(
                "`{}` selects by hints, which only tools have",
                selected.rule.text()
            );
            problems.error(&entry.at, what, "");
        }
        let item = selected.exact.as_ref().map(|exact| &exact.key);
        if let Some(item) = item.filter(|item| item.value != kind.item) {
            let what = format!("`{}` does not belong in `{key}`", item.value);
            problems.error(&item.at, what, format!("use `{}` there", kind.item));
        }
        let server = match &selected.exact {
            Some(exact) => ServerPart::Exact(&exact.server),
            None => ServerPart::of(&selected.rule),
        };
        servers.check_rule(&selected.rule, server, reported, &entry.at, problems);
    }
    let rules: Vec<Rule> = given
        .value
        .0
        .iter()
        .map(|entry| entry.value.rule.clone())
        .collect();
    if !rules.is_empty() && !rules.iter().any(Rule::allows) {
        let what = "this list only denies, so it allows nothing";
        problems.warn(&given.at, what, "begin it with \"*/*\"");
    }
    Some(rules)
}
