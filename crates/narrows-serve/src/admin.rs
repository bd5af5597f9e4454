//! What an operator may ask of the program that serves: changes of what is
//! configured. Files are not this crate's matter, so whoever assembles the
//! program hands in an [`Operations`], and with it the [`AdminDesk`] that the
//! HTTP edge asks who may do so.

mod desk;

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use narrows_gateway::Applied;
use narrows_gateway::settings::Transport;
use serde_json::Value;

pub use self::desk::{AdminDesk, AdminToken, TokenOrigin};

/// A change of the configuration.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Adds a server; `entry` is what stands under its id in `mcpServers`.
    AddServer {
        id: String,
        entry: Value,
    },
    /// Puts another entry in the place of a server's.
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
    /// Adds a preset or replaces one; `entry` is what stands under its id in `presets`.
    PutPreset {
        id: String,
        entry: Value,
    },
    RemovePreset {
        id: String,
    },
    /// Gives an endpoint another preset, or none.
    SwitchPreset {
        endpoint: String,
        preset: Option<String>,
    },
}

/// How long a change lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// It is written into the configuration file.
    File,
    /// Until the program ends; a new configuration file does not undo it.
    Memory,
}

/// What a change came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    pub applied: Applied,
    /// Servers that ran before and cannot be started as they are configured now.
    pub left_out: Vec<String>,
    /// The file it was written to.
    pub saved_to: Option<PathBuf>,
    /// Whether this file is new: there was no configuration file before.
    pub created: bool,
    /// Whether the file says something else than before.
    pub written: bool,
    /// Whether the change wrote the whole entry of a server that the file did not have.
    pub entry_created: bool,
    /// Warnings that the change brought, or that are about the server it changed.
    pub warnings: Vec<String>,
}

/// Why a change was not made. Nothing has changed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    #[error("there is no {kind} '{name}'")]
    Unknown { kind: &'static str, name: String },
    #[error("there is a {kind} '{name}' already")]
    Exists { kind: &'static str, name: String },
    /// The configuration would be wrong with it: one line for each problem.
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    #[error("there is no configuration file to write to")]
    NoFile,
    #[error("the configuration file cannot be written: {0}")]
    Unwritable(String),
}

/// Where the configuration stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigurationStatus {
    pub file: Option<PathBuf>,
    pub watched: bool,
    /// When it was last taken up, RFC 3339.
    pub applied_at: String,
    /// Why the newest state of the file is not in force, if it is not.
    pub problems: Vec<String>,
    /// Changes that are not in the file, one line each.
    pub unsaved: Vec<String>,
    /// Servers that cannot be started as they are configured.
    pub left_out: Vec<LeftOutServer>,
}

/// A server of the configuration that the gateway runs without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutServer {
    pub id: String,
    /// The number of servers before it in the configuration, left out or not.
    pub place: usize,
    pub transport: Transport,
    /// One line for people; holds no secret.
    pub reason: String,
}

/// Who changes the configuration.
pub trait Operations: Send + Sync {
    fn change(&self, change: Change, keep: Keep) -> BoxFuture<'_, Result<Changed, Rejected>>;

    fn status(&self) -> ConfigurationStatus;
}
