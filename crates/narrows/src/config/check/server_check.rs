//! The state of the check of one server: its problems, and its texts with their variables replaced.

use narrows_gateway::settings::Transport;

use super::LeftOut;
use crate::config::expand::{
    Forms, NO_USER_TO_ASK, Scope, Unexpanded, expand, only_in_editor, whole_variable,
};
use crate::config::problem::{At, Problems};
use crate::config::read::{Given, Map};

/// The state of checking one server.
pub(super) struct ServerCheck<'a, 'p> {
    pub(super) scope: Scope<'a>,
    pub(super) problems: &'a mut Problems<'p>,
    /// False for a server that is not started. Its variables may be unset.
    pub(super) enabled: bool,
    /// The transport given in the file.
    pub(super) declared: Option<Transport>,
    /// The transport as far as it is known, given or implied.
    pub(super) transport: Option<Transport>,
    /// The variables that are not set.
    unset: Vec<String>,
    /// True if a value can only be entered by a user.
    asks: bool,
    /// The reason why an editor variable has no value.
    editor: Option<String>,
    /// The reason why the env file cannot be used.
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
            declared: None,
            transport: None,
            unset: Vec::new(),
            asks: false,
            editor: None,
            env_file: None,
        }
    }

    /// Returns the server as left out, with the reasons, if it cannot be started.
    pub(super) fn left_out(&self, id: &str, place: usize) -> Option<LeftOut> {
        let mut reasons = Vec::new();
        if !self.unset.is_empty() {
            let names = self.unset.join(", ");
            reasons.push(format!("environment variable {names} is not set"));
        }
        if self.asks {
            reasons.push(NO_USER_TO_ASK.to_owned());
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

    /// Replaces the variables in a text. Returns `None` after reporting a problem.
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
                for (what, help) in unexpanded.describe() {
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
                .error(&given.at, "the value contains a NUL character", "");
            return None;
        }
        Some(expanded)
    }

    /// Returns the value of `$NAME`. An unset name stays unchanged, because it may have a meaning
    /// for another program.
    fn whole_variable(&mut self, given: &Given<String>, name: &str) -> String {
        if let Some(value) = self.scope.environment.text(name) {
            return value.to_owned();
        }
        if self.enabled {
            let what =
                format!("environment variable {name} is not set, so `${name}` is used literally");
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

    /// Warns about a key that servers of this type ignore.
    pub(super) fn pointless(&mut self, at: Option<&At>, key: &str, help: &str) {
        if let (Some(at), Some(transport)) = (at, self.transport) {
            let word = transport.as_str();
            let what = format!("`{key}` has no effect on a server of type {word}");
            self.problems.warn(at, what, help);
        }
    }
}

/// Returns the entries of an optional map.
pub(super) fn pairs(
    map: Option<&Map<String>>,
) -> impl Iterator<Item = &(Given<String>, Given<String>)> {
    map.into_iter().flat_map(|map| &map.0)
}
