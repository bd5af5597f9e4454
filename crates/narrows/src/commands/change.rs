//! What a change came to, told to people.

use std::fmt::Write;

use serde::Deserialize;

use crate::terminal::{plain, say};

/// A change as the gateway tells it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Change {
    added: Vec<String>,
    removed: Vec<String>,
    /// Not of the gateway's telling, which knows them as one of the next.
    #[serde(skip)]
    replaced: Vec<String>,
    enabled: Vec<String>,
    disabled: Vec<String>,
    restarted: Vec<String>,
    adjusted: Vec<String>,
    endpoints: Vec<String>,
    presets: Vec<String>,
    clients: Vec<String>,
    settings: Vec<String>,
    at_next_start: Vec<String>,
    saved_to: Option<String>,
    created: bool,
    warnings: Vec<String>,
}

impl Change {
    /// All of it, a line for each kind, and whether it will last.
    pub(super) fn for_people(&self, save: bool) -> String {
        let mut text = String::new();
        for part in self.parts() {
            let _ = writeln!(text, "{part}");
        }
        if text.is_empty() {
            text.push_str("nothing has changed\n");
        }
        match &self.saved_to {
            Some(file) => {
                let file = plain(file);
                if self.created {
                    let _ = writeln!(text, "created {file}");
                }
                let _ = writeln!(text, "saved to {file}");
            }
            None if !save => {
                text.push_str("not saved: it lasts until the gateway ends; --save keeps it\n");
            }
            None => {}
        }
        text
    }

    /// Names a server by what the command did to it: its entry was replaced,
    /// whatever that meant for its connection.
    pub(super) fn name_replaced(&mut self, id: &str) {
        let lists = [
            &mut self.enabled,
            &mut self.disabled,
            &mut self.restarted,
            &mut self.adjusted,
        ];
        for list in lists {
            if let Some(at) = list.iter().position(|name| name == id) {
                self.replaced.push(list.remove(at));
            }
        }
    }

    /// All of it in a line.
    pub(super) fn summary(&self) -> String {
        match self.parts() {
            parts if parts.is_empty() => "nothing has changed".to_owned(),
            parts => parts.join("; "),
        }
    }

    /// What the gateway has to say about its configuration as it is now.
    pub(super) fn tell_warnings(&self) {
        for warning in &self.warnings {
            say(format_args!("warning: {}", plain(warning)));
        }
    }

    fn parts(&self) -> Vec<String> {
        let kinds = [
            ("added", &self.added),
            ("removed", &self.removed),
            ("replaced", &self.replaced),
            ("enabled", &self.enabled),
            ("disabled", &self.disabled),
            ("restarted", &self.restarted),
            ("adjusted", &self.adjusted),
            ("endpoints changed:", &self.endpoints),
            ("presets changed:", &self.presets),
            ("clients changed:", &self.clients),
            ("settings changed:", &self.settings),
            ("counts from the next start on:", &self.at_next_start),
        ];
        let kinds = kinds.into_iter().filter(|(_, names)| !names.is_empty());
        kinds
            .map(|(word, names)| format!("{word} {}", plain(&names.join(", "))))
            .collect()
    }
}
