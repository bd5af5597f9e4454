//! The settings of an endpoint.

use crate::facade::FacadeSettings;
use narrows_results::settings::{ShapeChoice, Structured};

/// An endpoint that joins all servers.
#[derive(Debug, Clone, PartialEq)]
pub struct EndpointSettings {
    pub name: String,
    /// Between server and tool in published names.
    pub separator: String,
    pub uris: Uris,
    /// The longest published name; counts only with the separator `__`, whose
    /// names are kept within what model providers accept.
    pub name_max: usize,
    pub shape: ShapeChoice,
    pub structured: Structured,
    /// The id of the preset in force. None allows everything, and one that is
    /// not among the presets nothing.
    pub preset: Option<String>,
    pub expose: Expose,
    pub facade: FacadeSettings,
}

impl EndpointSettings {
    pub fn named(name: impl Into<String>) -> Self {
        EndpointSettings {
            name: name.into(),
            separator: "__".into(),
            uris: Uris::AsTheyAre,
            name_max: 50,
            shape: ShapeChoice::default(),
            structured: Structured::Auto,
            preset: None,
            expose: Expose::All,
            facade: FacadeSettings::default(),
        }
    }
}

/// How an endpoint offers tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expose {
    /// Each of them is listed.
    All,
    /// Two tools are: one that tells of the others, one that calls them.
    Lazy,
    /// The same, with one more that finds them.
    Search,
}

/// How resource URIs are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uris {
    /// As they are; wrapped only where two servers publish the same one.
    AsTheyAre,
    /// All wrapped, and every listed item says in `metadata.proxy` where it is from.
    Wrapped,
}
