//! Describes a configuration change to the user.

use std::fmt::Write;

use serde::Deserialize;

use crate::terminal::{eprint_line, plain};

/// The key of the predefined servers on the plain JSON-RPC route, which exist only without a
/// configuration file.
const RPC_SERVERS: &str = "rpc_servers";
const WITHOUT_FILE: &str = "the predefined servers of /api/mcp-gateway/ are gone: they exist only \
                            without a configuration file";

/// A change as reported by the gateway.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChangeResult {
    added: Vec<String>,
    removed: Vec<String>,
    /// Servers whose entry the command replaced. The gateway reports them in one of the lists
    /// below.
    #[serde(skip)]
    replaced: Vec<String>,
    enabled: Vec<String>,
    disabled: Vec<String>,
    restarted: Vec<String>,
    /// The effect of a saved change on the file alone, as worded by the command.
    #[serde(skip)]
    in_file: Option<String>,
    adjusted: Vec<String>,
    left_out: Vec<String>,
    endpoints: Vec<String>,
    presets: Vec<String>,
    clients: Vec<String>,
    settings: Vec<String>,
    at_next_start: Vec<String>,
    saved_to: Option<String>,
    created: bool,
    written: bool,
    entry_created: bool,
    warnings: Vec<String>,
}

impl ChangeResult {
    /// Describes the whole change, one line per kind, and how long it lasts.
    pub(super) fn for_people(&self, save: bool) -> String {
        let mut text = String::new();
        for part in self.parts() {
            let _ = writeln!(text, "{part}");
        }
        match (&self.in_file, self.written) {
            _ if !text.is_empty() => {}
            (Some(in_file), true) => {
                let _ = writeln!(text, "{in_file}");
            }
            _ => text.push_str("nothing has changed\n"),
        }
        if self.entry_created {
            text.push_str("wrote the whole entry, because the file did not have it\n");
        }
        match &self.saved_to {
            Some(file) => {
                let file = plain(file);
                if self.created {
                    let _ = writeln!(text, "created {file}");
                }
                match self.written || !self.is_empty() {
                    true => writeln!(text, "saved to {file}"),
                    false => writeln!(text, "{file} already has this setting"),
                }
                .unwrap_or_default();
            }
            None if !save => {
                text.push_str(
                    "not saved: the change lasts until the gateway exits; use --save to keep it\n",
                );
            }
            None => {}
        }
        text
    }

    /// Lists a server as replaced, whatever the new entry meant for its connection.
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

    /// Sets the text for a change that the gateway had already made without saving it, so that only
    /// the file changed. `ID` in `done` stands for the server's id.
    pub(super) fn name_in_file(&mut self, done: &str, id: &str) {
        self.in_file = Some(done.replace("ID", &plain(id)));
    }

    fn is_empty(&self) -> bool {
        self.parts().is_empty()
    }

    /// Describes the whole change in one line.
    pub(super) fn summary(&self) -> String {
        match self.parts() {
            parts if parts.is_empty() => "nothing has changed".to_owned(),
            parts => parts.join("; "),
        }
    }

    /// Prints the gateway's warnings about its current configuration.
    pub(super) fn tell_warnings(&self) {
        for warning in &self.warnings {
            eprint_line(format_args!("warning: {}", plain(warning)));
        }
    }

    fn parts(&self) -> Vec<String> {
        let settings = self.settings.iter().filter(|key| *key != RPC_SERVERS);
        let settings: Vec<String> = settings.cloned().collect();
        let kinds = [
            ("added", &self.added),
            ("removed", &self.removed),
            ("replaced", &self.replaced),
            ("enabled", &self.enabled),
            ("disabled", &self.disabled),
            ("restarted", &self.restarted),
            ("adjusted", &self.adjusted),
            ("left out", &self.left_out),
            ("endpoints changed:", &self.endpoints),
            ("presets changed:", &self.presets),
            ("clients changed:", &self.clients),
            ("settings changed:", &settings),
            ("takes effect after a restart:", &self.at_next_start),
        ];
        let kinds = kinds.into_iter().filter(|(_, names)| !names.is_empty());
        let parts = kinds.map(|(word, names)| format!("{word} {}", plain(&names.join(", "))));
        let rpc_servers = self.settings.iter().any(|key| key == RPC_SERVERS);
        parts
            .chain(rpc_servers.then(|| WITHOUT_FILE.to_owned()))
            .collect()
    }
}
