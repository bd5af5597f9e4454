//! Response types of the admin API. They contain no values of environment variables, headers or
//! URLs, because those may contain secrets.

mod call;
mod server;
mod session;

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde::Serialize;
use utoipa::ToSchema;

pub(super) use self::call::{Calls, RecordedCall};
pub(super) use self::server::{Server, ServerDetail, ServerDetails, Servers};
pub(super) use self::session::{Session, SessionDetail, Sessions};
use crate::admin::{Changed, ConfigurationStatus};

/// A response with a JSON body.
pub(super) struct JsonAnswer<T>(pub(super) StatusCode, pub(super) T);

impl<T: Serialize> IntoResponse for JsonAnswer<T> {
    fn into_response(self) -> Response {
        let JsonAnswer(status, body) = self;
        // Structs of strings and numbers always serialize.
        let body = serde_json::to_vec(&body).expect("responses serialize");
        let json = HeaderValue::from_static("application/json");
        (status, [(CONTENT_TYPE, json)], body).into_response()
    }
}

/// The state of the gateway.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Status {
    pub(super) version: &'static str,
    pub(super) uptime_s: u64,
    /// True once every enabled server is up or has failed, or the wait for it has timed out.
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
    /// The number of servers that cannot start with their current configuration.
    pub(super) left_out: usize,
}

/// The state of the configuration.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Configuration {
    #[schema(required)]
    file: Option<String>,
    /// True if the gateway reloads the file when it changes.
    watched: bool,
    /// Time of the last successful load, RFC 3339; empty if unknown.
    applied_at: String,
    /// The reasons why the current content of the file is not in force. Empty if it is.
    problems: Vec<String>,
    /// Changes that are not saved to the file, one line each.
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

/// The result of a change. Each list holds names.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ChangeResult {
    /// New servers.
    added: Vec<String>,
    /// Removed servers.
    removed: Vec<String>,
    /// Servers that were enabled.
    enabled: Vec<String>,
    /// Servers that were disabled.
    disabled: Vec<String>,
    /// Servers whose connection was reopened.
    restarted: Vec<String>,
    /// Servers that keep their connection but have new rules for their results.
    adjusted: Vec<String>,
    /// Servers that ran before and cannot start with their new configuration.
    left_out: Vec<String>,
    /// Endpoints that were added, removed or changed.
    endpoints: Vec<String>,
    /// Presets that were added, removed or changed.
    presets: Vec<String>,
    /// Clients that were added, removed or changed.
    clients: Vec<String>,
    /// Keys of global settings that changed.
    settings: Vec<String>,
    /// Settings that take effect only after a restart.
    at_next_start: Vec<String>,
    /// The file that the change was saved to.
    #[schema(required)]
    saved_to: Option<String>,
    /// True if the file did not exist before.
    created: bool,
    /// True if the content of the file changed.
    written: bool,
    /// True if the change wrote a complete entry for a server that the file did not contain.
    entry_created: bool,
    /// Warnings about the configuration that are new with this change or concern the changed
    /// server.
    warnings: Vec<String>,
}

impl From<Changed> for ChangeResult {
    fn from(changed: Changed) -> Self {
        let applied = changed.applied;
        ChangeResult {
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

/// A preset and its uses.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Preset {
    pub(super) id: String,
    /// The endpoints that use the preset.
    pub(super) endpoints: Vec<String>,
    /// The number of sessions that the preset applies to.
    pub(super) sessions: usize,
    /// The entries as written in the configuration; `null` if there is no list.
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

/// An endpoint that joins all servers.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Endpoint {
    pub(super) name: String,
    /// The path for Streamable HTTP.
    pub(super) path: String,
    #[schema(required)]
    pub(super) preset: Option<String>,
    /// The way tools are listed: `all`, `lazy` or `search`.
    #[schema(pattern = "^(all|lazy|search)$")]
    pub(super) expose: &'static str,
    pub(super) sessions: usize,
    pub(super) tools: usize,
    pub(super) prompts: usize,
    pub(super) resources: usize,
    /// Estimated number of model tokens that the tool list takes.
    pub(super) tokens: usize,
}

/// The tools that an endpoint lists.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Catalogue {
    pub(super) endpoint: String,
    pub(super) tools: Vec<CatalogueTool>,
    /// Estimated number of model tokens that all tools take together.
    pub(super) tokens: usize,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CatalogueTool {
    pub(super) name: String,
    /// `null` for the gateway's own tools.
    #[schema(required)]
    pub(super) server: Option<String>,
    pub(super) tokens: usize,
    pub(super) bytes: usize,
}
