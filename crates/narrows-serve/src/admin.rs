//! Operations of the admin API: changes to the configuration.
//!
//! This crate does not read or write configuration files. The binary supplies an [`Operations`]
//! implementation and the [`AdminAuth`] with which the HTTP edge authenticates requests.

mod auth;

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use narrows_gateway::Applied;
use narrows_gateway::settings::Transport;
use serde_json::Value;

pub use self::auth::{AdminAuth, AdminToken, TokenOrigin};

/// A change to the configuration.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Adds a server; `entry` is its value in `mcpServers`.
    AddServer {
        id: String,
        entry: Value,
    },
    /// Replaces the entry of a server.
    ReplaceServer {
        id: String,
        entry: Value,
    },
    RemoveServer {
        id: String,
    },
    EnableServer {
        id: String,
        enabled: bool,
    },
    /// Adds or replaces a preset; `entry` is its value in `presets`.
    PutPreset {
        id: String,
        entry: Value,
    },
    RemovePreset {
        id: String,
    },
    /// Sets or removes the preset of an endpoint.
    SwitchPreset {
        endpoint: String,
        preset: Option<String>,
    },
}

/// The lifetime of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Written to the configuration file.
    File,
    /// Kept until the program ends. A reload of the configuration file does not undo the change.
    Memory,
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    pub applied: Applied,
    /// Servers that ran before the change and cannot start with their new configuration.
    pub left_out: Vec<String>,
    /// The file that the change was saved to.
    pub saved_to: Option<PathBuf>,
    /// True if the file did not exist before.
    pub created: bool,
    /// True if the content of the file changed.
    pub written: bool,
    /// True if the change wrote a complete entry for a server that the file did not contain.
    pub entry_created: bool,
    /// Warnings that are new with this change or concern the changed server.
    pub warnings: Vec<String>,
}

/// The reason why a change was rejected. A rejected change has no effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    #[error("there is no {kind} '{name}'")]
    Unknown { kind: &'static str, name: String },
    #[error("{kind} '{name}' already exists")]
    Exists { kind: &'static str, name: String },
    /// The resulting configuration would be invalid: one line for each problem.
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    #[error("there is no configuration file to write to")]
    NoFile,
    #[error("the configuration file cannot be written: {0}")]
    Unwritable(String),
}

/// The state of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigurationStatus {
    pub file: Option<PathBuf>,
    pub watched: bool,
    /// Time of the last successful load, RFC 3339.
    pub applied_at: String,
    /// The reasons why the current content of the file is not in force. Empty if it is.
    pub problems: Vec<String>,
    /// Changes that are not saved to the file, one line each.
    pub unsaved: Vec<String>,
    /// Servers that cannot start with their current configuration.
    pub left_out: Vec<LeftOutServer>,
}

/// A configured server that the gateway runs without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutServer {
    pub id: String,
    /// The index of the server in the configuration; servers that are left out count.
    pub place: usize,
    pub transport: Transport,
    /// One line of text for display, without secrets.
    pub reason: String,
}

/// Executes changes to the configuration.
pub trait Operations: Send + Sync {
    fn change(&self, change: Change, keep: Keep) -> BoxFuture<'_, Result<Changed, Rejected>>;

    fn status(&self) -> ConfigurationStatus;
}
