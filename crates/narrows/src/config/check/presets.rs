//! The presets of the configuration and of files, and who names them.

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

/// What there is to name.
pub(super) struct Presets {
    pub(super) all: Vec<Preset>,
    /// Those whose files cannot be used. Whoever names one is allowed nothing.
    pub(super) skipped: Vec<String>,
    /// What to do about one that is not there.
    help: &'static str,
    /// Whether nothing can be said of one that is not there, since the folder
    /// could not be read.
    in_the_dark: bool,
}

/// The ids of all servers of the file, started or not.
pub(super) struct ServerIds<'a>(Vec<&'a str>);

pub(super) fn check_all(
    raw: &RawFile,
    servers: &ServerIds<'_>,
    scope: Scope<'_>,
    problems: &mut Problems<'_>,
) -> Presets {
    let mut presets = Presets {
        all: Vec::new(),
        skipped: Vec::new(),
        help: match (&raw.preset_dir, &raw.default_preset_id) {
            (Field::Absent, Field::Absent) => "define it under `presets`, or set `preset_dir`",
            // That is where broxy keeps them.
            (Field::Absent, _) => "set \"preset_dir\": \".\" if its file is beside this one",
            _ => "define it under `presets`, or as a file in `preset_dir`",
        },
        in_the_dark: matches!(raw.preset_dir, Field::Bad),
    };
    for (key, given) in raw.presets.value().iter().flat_map(|presets| &presets.0) {
        let id = given.value.id.given();
        if let Some(id) = id.filter(|id| id.value != key.value) {
            let what = format!("the preset `{}` calls itself `{}`", key.value, id.value);
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

impl Presets {
    /// Looks after an id that something names.
    pub(super) fn check_named(&self, id: &str, at: &At, problems: &mut Problems<'_>) {
        if self.ids().any(|known| known == id) || self.in_the_dark {
            return;
        }
        if self.skipped.iter().any(|skipped| skipped == id) {
            let what = format!("the file of preset `{id}` is skipped: nothing is allowed here");
            problems.left_out(
                at,
                what,
                "`narrows check` tells what is wrong with the file",
            );
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
        let help = "name a folder with files preset_<id>.json";
        let Some(folder) = folder(given, help, scope, problems) else {
            self.in_the_dark = true;
            return;
        };
        // In messages it stands as the file that names it does.
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
                self.in_the_dark = true;
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

    /// Warns of a pattern whose server is none of these: it can match nothing.
    pub(super) fn check_pattern(&self, pattern: &str, at: &At, problems: &mut Problems<'_>) {
        let names_one = |rule: Rule| rule.names_any_of(&self.0);
        if self.0.is_empty() || Rule::parse(pattern).is_ok_and(names_one) {
            return;
        }
        let body = pattern.strip_prefix('!').unwrap_or(pattern);
        let server = body.split('/').next().unwrap_or(body);
        let help = match nearest(server, self.0.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => String::new(),
        };
        problems.warn(at, format!("no server is called `{server}`"), help);
    }
}

/// One preset, whose problems are put where it stands.
fn preset(
    id: &str,
    raw: &RawPreset,
    at: &At,
    servers: &ServerIds<'_>,
    problems: &mut Problems<'_>,
) -> Preset {
    let mut told = HashSet::new();
    let lists = [
        (&raw.tools, "tools", "toolName"),
        (&raw.prompts, "prompts", "promptName"),
        (&raw.resources, "resources", "resourceKey"),
    ];
    let [tools, prompts, resources] = lists.map(|(given, key, item)| {
        let kind = ListKind { key, item };
        rules(given, &kind, servers, &mut told, problems)
    });
    if [&tools, &prompts, &resources]
        .iter()
        .all(|list| list.is_none())
    {
        let help = "add \"tools\": [\"*/*\"] for all of them";
        problems.warn(at, "this preset names no server: it allows nothing", help);
    }
    Preset::new(id, tools, prompts, resources)
}

/// One of the lists of a preset.
struct ListKind {
    key: &'static str,
    /// What its objects name their item by.
    item: &'static str,
}

/// The rules of a list; `None` where there is none. One that cannot be read
/// allows nothing.
fn rules<'a>(
    given: &'a Field<Selection>,
    kind: &ListKind,
    servers: &ServerIds<'_>,
    told: &mut HashSet<&'a str>,
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
                "`{}` goes by hints, which only tools have",
                selected.rule.text()
            );
            problems.error(&entry.at, what, "");
        }
        if let Some(item) = selected.key.as_ref().filter(|item| item.value != kind.item) {
            let what = format!("`{}` does not belong in `{key}`", item.value);
            problems.error(&item.at, what, format!("there it is `{}`", kind.item));
        }
        // Once for every server is enough.
        let text = selected.rule.text();
        let server = text.trim_start_matches('!').split('/').next();
        if told.insert(server.unwrap_or(text)) {
            servers.check_pattern(text, &entry.at, problems);
        }
    }
    let rules: Vec<Rule> = given
        .value
        .0
        .iter()
        .map(|entry| entry.value.rule.clone())
        .collect();
    if !rules.is_empty() && !rules.iter().any(Rule::allows) {
        let what = "this list only forbids: it allows nothing";
        problems.warn(&given.at, what, "begin it with \"*/*\"");
    }
    Some(rules)
}
