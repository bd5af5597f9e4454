//! What operators are told, as it is written. Nothing here holds a value of an
//! environment variable, a header or an address: those carry secrets.

mod call;
mod server;
mod session;

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde::Serialize;
use utoipa::ToSchema;

pub(super) use self::call::{Call, Calls};
pub(super) use self::server::{Server, ServerDetail, ServerDetails, Servers};
pub(super) use self::session::{Session, SessionDetail, Sessions};
use crate::admin::{Changed, ConfigurationStatus};

/// An answer with a body.
pub(super) struct Answer<T>(pub(super) StatusCode, pub(super) T);

impl<T: Serialize> IntoResponse for Answer<T> {
    fn into_response(self) -> Response {
        let Answer(status, body) = self;
        // Plain structs of texts and numbers can always be written.
        let body = serde_json::to_vec(&body).expect("an answer is JSON");
        let json = HeaderValue::from_static("application/json");
        (status, [(CONTENT_TYPE, json)], body).into_response()
    }
}

/// How the whole is.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Status {
    pub(super) version: &'static str,
    pub(super) uptime_s: u64,
    /// Every server that is wanted is up or has failed, or has been waited for long enough.
    pub(super) ready: bool,
    pub(super) servers: ServerCounts,
    pub(super) sessions: usize,
    pub(super) configuration: Configuration,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ServerCounts {
    pub(super) up: usize,
    pub(super) starting: usize,
    pub(super) down: usize,
    pub(super) disabled: usize,
    /// Servers that cannot be started as they are configured.
    pub(super) left_out: usize,
}

/// Where the configuration stands.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Configuration {
    #[schema(required)]
    file: Option<String>,
    /// Whether changes of the file are taken up by themselves.
    watched: bool,
    /// When it was last taken up, RFC 3339; empty if that is not known.
    applied_at: String,
    /// Why the newest state of the file is not in force, if it is not.
    problems: Vec<String>,
    /// Changes that are not in the file, one line each.
    unsaved: Vec<String>,
}

impl From<ConfigurationStatus> for Configuration {
    fn from(status: ConfigurationStatus) -> Self {
        Configuration {
            file: status.file.map(|file| file.display().to_string()),
            watched: status.watched,
            applied_at: status.applied_at,
            problems: status.problems,
            unsaved: status.unsaved,
        }
    }
}

/// What a change came to, by names.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Change {
    /// Servers that are new.
    added: Vec<String>,
    /// Servers that are gone.
    removed: Vec<String>,
    /// Servers that were switched on.
    enabled: Vec<String>,
    /// Servers that were switched off.
    disabled: Vec<String>,
    /// Servers whose connection was made anew.
    restarted: Vec<String>,
    /// Servers that go on as they are, with other rules for their results.
    adjusted: Vec<String>,
    /// Servers that ran before and cannot be started as they are configured now.
    left_out: Vec<String>,
    /// Endpoints that are new, gone or changed.
    endpoints: Vec<String>,
    /// Presets that are new, gone or changed.
    presets: Vec<String>,
    /// Clients that are new, gone or changed.
    clients: Vec<String>,
    /// Settings for all that have changed, by their keys.
    settings: Vec<String>,
    /// What counts only after the program was started anew.
    at_next_start: Vec<String>,
    /// The file it was written to.
    #[schema(required)]
    saved_to: Option<String>,
    /// Whether this file is new: there was no configuration file before.
    created: bool,
    /// Whether the file says something else than before.
    written: bool,
    /// Whether the whole entry of a server was written that the file did not have.
    entry_created: bool,
    /// Warnings about the configuration that this change brought, or that are
    /// about the server it changed.
    warnings: Vec<String>,
}

impl From<Changed> for Change {
    fn from(changed: Changed) -> Self {
        let applied = changed.applied;
        Change {
            added: applied.added,
            removed: applied.removed,
            enabled: applied.enabled,
            disabled: applied.disabled,
            restarted: applied.restarted,
            adjusted: applied.adjusted,
            left_out: changed.left_out,
            endpoints: applied.endpoints,
            presets: applied.presets,
            clients: applied.clients,
            settings: applied.settings,
            at_next_start: applied.at_next_start,
            saved_to: changed.saved_to.map(|file| file.display().to_string()),
            created: changed.created,
            written: changed.written,
            entry_created: changed.entry_created,
            warnings: changed.warnings,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Presets {
    pub(super) presets: Vec<Preset>,
}

/// A preset, and where it is in force.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Preset {
    pub(super) id: String,
    /// The endpoints whose preset it is.
    pub(super) endpoints: Vec<String>,
    /// The sessions that it binds.
    pub(super) sessions: usize,
    /// The entries, as they are written; `null` if there is no list.
    #[schema(required)]
    pub(super) tools: Option<Vec<String>>,
    #[schema(required)]
    pub(super) prompts: Option<Vec<String>>,
    #[schema(required)]
    pub(super) resources: Option<Vec<String>>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Endpoints {
    pub(super) endpoints: Vec<Endpoint>,
}

/// A way in that joins all servers.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Endpoint {
    pub(super) name: String,
    /// Where it is, for Streamable HTTP.
    pub(super) path: String,
    #[schema(required)]
    pub(super) preset: Option<String>,
    /// How tools are offered.
    #[schema(pattern = "^(all|lazy|search)$")]
    pub(super) expose: &'static str,
    pub(super) sessions: usize,
    pub(super) tools: usize,
    pub(super) prompts: usize,
    pub(super) resources: usize,
    /// What the list of tools costs a model, estimated.
    pub(super) tokens: usize,
}

/// The tools as an endpoint lists them.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Catalogue {
    pub(super) endpoint: String,
    pub(super) tools: Vec<CatalogueTool>,
    /// What they cost a model together, estimated.
    pub(super) tokens: usize,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CatalogueTool {
    pub(super) name: String,
    /// `null` for tools of the gateway itself.
    #[schema(required)]
    pub(super) server: Option<String>,
    pub(super) tokens: usize,
    pub(super) bytes: usize,
}
