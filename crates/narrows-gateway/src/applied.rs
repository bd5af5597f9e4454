//! What a change of the settings came to.

use serde::Serialize;

/// The difference that new settings made, by names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// Servers that are new.
    pub added: Vec<String>,
    /// Servers that are gone.
    pub removed: Vec<String>,
    /// Servers that were switched on.
    pub enabled: Vec<String>,
    /// Servers that were switched off.
    pub disabled: Vec<String>,
    /// Servers whose connection was made anew.
    pub restarted: Vec<String>,
    /// Servers that go on as they are, with other rules for their results.
    pub adjusted: Vec<String>,
    /// Endpoints that are new, gone or changed.
    pub endpoints: Vec<String>,
    /// Presets that are new, gone or changed.
    pub presets: Vec<String>,
    /// Clients that are new, gone or changed.
    pub clients: Vec<String>,
    /// Settings for all, by their keys.
    pub settings: Vec<String>,
    /// What counts only after the program was started anew.
    pub at_next_start: Vec<String>,
}

impl Applied {
    /// Returns true if nothing has changed.
    pub fn is_empty(&self) -> bool {
        *self == Applied::default()
    }
}
