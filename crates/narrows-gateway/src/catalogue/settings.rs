//! The settings of an endpoint.

use crate::facade::FacadeSettings;
use narrows_results::settings::{ShapeChoice, Structured};

/// The settings of an endpoint that joins all servers.
#[derive(Debug, Clone, PartialEq)]
pub struct EndpointSettings {
    pub name: String,
    /// The separator between server and tool in published names.
    pub separator: String,
    pub uris: Uris,
    /// The maximum length of a published name. Applies only with the separator `__`, whose names
    /// must stay within the limits of model providers.
    pub name_max: usize,
    pub shape: ShapeChoice,
    pub structured: Structured,
    /// The id of the preset in force. Without a preset, everything is allowed; with an id that does
    /// not exist, nothing is.
    pub preset: Option<String>,
    pub expose: Expose,
    pub facade: FacadeSettings,
}

impl EndpointSettings {
    pub fn named(name: impl Into<String>) -> Self {
        EndpointSettings {
            name: name.into(),
            separator: "__".into(),
            uris: Uris::Unchanged,
            name_max: 50,
            shape: ShapeChoice::default(),
            structured: Structured::Auto,
            preset: None,
            expose: Expose::All,
            facade: FacadeSettings::default(),
        }
    }
}

/// The way in which an endpoint offers tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expose {
    /// Lists every tool.
    All,
    /// Lists two tools: one that describes the others and one that calls them.
    Lazy,
    /// Like `Lazy`, with a third tool that searches.
    Search,
}

/// The way in which resource URIs are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uris {
    /// Unchanged; wrapped only if several servers publish the same URI.
    Unchanged,
    /// All wrapped. Every listed item names its server in `metadata.proxy`.
    Wrapped,
}
