//! The result of applying new settings.

use serde::Serialize;

/// The names of everything that new settings changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// Servers that were added.
    pub added: Vec<String>,
    /// Servers that were removed.
    pub removed: Vec<String>,
    /// Servers that were enabled.
    pub enabled: Vec<String>,
    /// Servers that were disabled.
    pub disabled: Vec<String>,
    /// Servers that were reconnected.
    pub restarted: Vec<String>,
    /// Servers that keep running, with changed rules for their results.
    pub adjusted: Vec<String>,
    /// Endpoints that were added, removed or changed.
    pub endpoints: Vec<String>,
    /// Presets that were added, removed or changed.
    pub presets: Vec<String>,
    /// Clients that were added, removed or changed.
    pub clients: Vec<String>,
    /// The keys of changed global settings.
    pub settings: Vec<String>,
    /// The keys of changed settings that take effect only after a restart.
    pub at_next_start: Vec<String>,
}

impl Applied {
    /// Returns true if nothing has changed.
    pub fn is_empty(&self) -> bool {
        *self == Applied::default()
    }
}
