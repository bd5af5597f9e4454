//! The state of the check of one server: its problems, and its texts with their variables replaced.

use narrows_gateway::settings::Transport;

use super::LeftOut;
use crate::config::expand::{
    Forms, NOBODY_TO_ASK, Scope, Unexpanded, expand, only_in_editor, whole_variable,
};
use crate::config::problem::{At, Problems};
use crate::config::read::{Given, Map};

/// The check of one server.
pub(super) struct ServerCheck<'a, 'p> {
    pub(super) scope: Scope<'a>,
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
    pub(super) env_file: Option<String>,
}

impl<'a, 'p> ServerCheck<'a, 'p> {
    pub(super) fn new(
        scope: Scope<'a>,
        problems: &'a mut Problems<'p>,
        enabled: bool,
    ) -> ServerCheck<'a, 'p> {
        ServerCheck {
            scope,
            problems,
            enabled,
            said: None,
            transport: None,
            unset: Vec::new(),
            asks: false,
            editor: None,
            env_file: None,
        }
    }

    /// Why the server has to be left out, if it has to.
    pub(super) fn left_out(&self, id: &str, place: usize) -> Option<LeftOut> {
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

    /// Warns of a key that servers of this type ignore.
    pub(super) fn pointless(&mut self, at: Option<&At>, key: &str, help: &str) {
        if let (Some(at), Some(transport)) = (at, self.transport) {
            let word = transport.as_str();
            let what = format!("`{key}` means nothing to a server of type {word}");
            self.problems.warn(at, what, help);
        }
    }
}

/// The entries of a map that may be absent.
pub(super) fn pairs(
    map: Option<&Map<String>>,
) -> impl Iterator<Item = &(Given<String>, Given<String>)> {
    map.into_iter().flat_map(|map| &map.0)
}
