//! Changes that last until the process ends, applied on top of the file.

use std::path::Path;

use narrows_gateway::preset::DirectPreset;
use narrows_serve::admin::Change;

use super::disk::preset_path;
use crate::config::{Config, EditError, Problem, edit};

/// The maximum number of unsaved changes.
pub(super) const MOST: usize = 256;

/// The unsaved changes, in order. Each setting is changed at most once.
#[derive(Debug, Clone, Default)]
pub(super) struct Overlay(Vec<Change>);

/// A text with all changes made.
pub(super) struct LayeredText {
    pub(super) text: String,
    /// Presets whose files no longer count.
    pub(super) hidden: Vec<String>,
    /// Presets defined here that take precedence over their files.
    pub(super) covered: Vec<String>,
}

impl Overlay {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn changes(&self) -> &[Change] {
        &self.0
    }

    /// Adds a change, which replaces earlier changes to the same setting. `is_in_file` is true if
    /// the file contains the item.
    pub(super) fn with(&self, change: Change, is_in_file: bool) -> Overlay {
        let of_same = |old: &&Change| is_entry(old) && is_entry(&change) && same(old, &change);
        let former = self.0.iter().find(of_same).cloned();
        let mut all = self.without(&change);
        all.0.extend(joined(former, change, is_in_file));
        all
    }

    /// Removes the changes that another change supersedes.
    pub(super) fn without(&self, change: &Change) -> Overlay {
        let stays = |old: &&Change| !yields(old, change);
        Overlay(self.0.iter().filter(stays).cloned().collect())
    }

    /// Removes all changes to a server.
    pub(super) fn without_server(&self, id: &str) -> Overlay {
        self.without(&Change::RemoveServer { id: id.to_owned() })
    }

    /// Returns the change that added a server missing from the file.
    pub(super) fn added(&self, id: &str) -> Option<&Change> {
        let adds =
            |change: &&Change| matches!(change, Change::AddServer { id: own, .. } if own == id);
        self.0.iter().find(adds)
    }

    pub(super) fn removed_server(&self, id: &str) -> bool {
        let removes =
            |change: &Change| matches!(change, Change::RemoveServer { id: own } if own == id);
        self.0.iter().any(removes)
    }

    /// Returns the text with all changes, or the error of the first change that does not fit.
    pub(super) fn applied_to(
        &self,
        text: &str,
        presets: Option<&Path>,
    ) -> Result<LayeredText, EditError> {
        let mut layered = LayeredText {
            text: text.to_owned(),
            hidden: Vec::new(),
            covered: Vec::new(),
        };
        for change in &self.0 {
            let is_file =
                |id: &str| presets.is_some_and(|folder| preset_path(folder, id).is_some());
            match (edit(&layered.text, change), change) {
                (Ok(text), Change::RemovePreset { id }) => {
                    layered.text = text;
                    // A preset file of the same id may exist as well.
                    layered.hidden.push(id.clone());
                }
                (Ok(text), Change::PutPreset { id, .. }) => {
                    layered.text = text;
                    layered.covered.push(id.clone());
                }
                (Ok(text), _) => layered.text = text,
                (Err(EditError::Unknown { .. }), Change::RemovePreset { id }) if is_file(id) => {
                    layered.hidden.push(id.clone());
                }
                (Err(error), _) => return Err(error),
            }
        }
        Ok(layered)
    }

    /// Describes each change in one line. Entries may hold secrets, so they are not printed.
    pub(super) fn lines(&self) -> Vec<String> {
        self.0.iter().map(line).collect()
    }
}

impl LayeredText {
    /// Removes presets whose files no longer count, unless a setting names one of them.
    pub(super) fn hide(&self, config: &mut Config) -> Result<(), Vec<Problem>> {
        let settings = &mut config.checked.gateway;
        let is_hidden = |id: &str| self.hidden.iter().any(|hidden| hidden == id);
        settings.presets.retain(|preset| !is_hidden(preset.id()));
        let is_gone =
            |id: &str| is_hidden(id) && !settings.presets.iter().any(|preset| **preset.id() == *id);
        let mut problems = Vec::new();
        let mut missing = |id: &str, who: String| {
            let what = format!("preset `{id}` is used by {who}");
            let name = format!("preset_{id}.json");
            problems.push(Problem::with_file(&name, what, None));
        };
        for endpoint in &settings.endpoints {
            if let Some(id) = endpoint.preset.as_deref().filter(|id| is_gone(id)) {
                missing(id, format!("endpoint '{}'", endpoint.name));
            }
        }
        for upstream in &settings.upstreams {
            if let DirectPreset::Named(id) = &upstream.preset
                && is_gone(id)
            {
                missing(id, format!("server '{}'", upstream.upstream.id));
            }
        }
        for client in &settings.clients {
            if let Some(id) = client.preset.as_deref().filter(|id| is_gone(id)) {
                missing(id, format!("client '{}'", client.name));
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        // The user requested that the preset exist in two places.
        let of_covered = |problem: &Problem| {
            let file = problem.place.as_ref().map(|place| Path::new(&place.file));
            let name = file.and_then(Path::file_name).unwrap_or_default();
            let mut covered = self.covered.iter();
            covered.any(|id| *name == *format!("preset_{id}.json"))
        };
        config.problems.retain(|problem| !of_covered(problem));
        Ok(())
    }
}

impl FromIterator<Change> for Overlay {
    fn from_iter<I: IntoIterator<Item = Change>>(changes: I) -> Self {
        Overlay(changes.into_iter().collect())
    }
}

/// Describes a change in one line.
pub(super) fn line(change: &Change) -> String {
    match change {
        Change::AddServer { id, .. } => format!("server '{id}' is added"),
        Change::ReplaceServer { id, .. } => format!("server '{id}' is replaced"),
        Change::RemoveServer { id } => format!("server '{id}' is removed"),
        Change::EnableServer { id, enabled: true } => format!("server '{id}' is enabled"),
        Change::EnableServer { id, .. } => format!("server '{id}' is disabled"),
        Change::PutPreset { id, .. } => format!("preset '{id}' is set"),
        Change::RemovePreset { id } => format!("preset '{id}' is removed"),
        Change::SwitchPreset { endpoint, preset } => match preset {
            Some(id) => format!("endpoint '{endpoint}' has preset '{id}'"),
            None => format!("endpoint '{endpoint}' has no preset of its own"),
        },
    }
}

/// Combines an earlier and a later change to the same entry.
fn joined(former: Option<Change>, change: Change, is_in_file: bool) -> Option<Change> {
    match (former, change) {
        (Some(Change::AddServer { .. }), Change::ReplaceServer { id, entry }) => {
            Some(Change::AddServer { id, entry })
        }
        (Some(Change::AddServer { .. }), Change::RemoveServer { .. }) => None,
        (Some(Change::RemoveServer { .. }), Change::AddServer { id, entry }) => {
            Some(Change::ReplaceServer { id, entry })
        }
        (_, Change::RemovePreset { .. }) if !is_in_file => None,
        (_, change) => Some(change),
    }
}

/// Returns true if a change defines or removes a whole entry.
fn is_entry(change: &Change) -> bool {
    !matches!(change, Change::EnableServer { .. })
}

/// Returns true if `new` supersedes `old`.
fn yields(old: &Change, new: &Change) -> bool {
    same(old, new) && (is_entry(new) || !is_entry(old))
}

/// Returns true if two changes concern the same item.
fn same(one: &Change, other: &Change) -> bool {
    subject(one) == subject(other)
}

#[derive(PartialEq)]
enum Subject<'a> {
    Server(&'a str),
    Preset(&'a str),
    Endpoint(&'a str),
}

fn subject(change: &Change) -> Subject<'_> {
    match change {
        Change::AddServer { id, .. }
        | Change::ReplaceServer { id, .. }
        | Change::RemoveServer { id }
        | Change::EnableServer { id, .. } => Subject::Server(id),
        Change::PutPreset { id, .. } | Change::RemovePreset { id } => Subject::Preset(id),
        Change::SwitchPreset { endpoint, .. } => Subject::Endpoint(endpoint),
    }
}
