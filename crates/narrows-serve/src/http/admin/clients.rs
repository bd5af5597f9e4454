//! Configured clients and their current activity.

use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use narrows_gateway::ClientReport;
use narrows_gateway::settings::{AllowedEntrypoints, EntrypointName};
use serde::Serialize;
use utoipa::ToSchema;

use super::AdminState;
use super::answer::JsonAnswer;
use super::description::Always;
use super::given::NoParams;

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Clients {
    clients: Vec<Client>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Client {
    name: String,
    /// True if the client must send a token. Only `anonymous` needs none.
    has_token: bool,
    /// The endpoints that the client may use; `null` for all.
    #[schema(required)]
    endpoints: Option<Vec<String>>,
    /// The preset that applies in addition to that of the endpoint.
    #[schema(required)]
    preset: Option<String>,
    #[schema(required)]
    rate: Option<Rate>,
    /// The maximum number of requests in flight.
    #[schema(required)]
    max_calls: Option<usize>,
    #[schema(required)]
    max_sessions: Option<usize>,
    sessions: usize,
    calls_in_flight: usize,
    calls: u64,
    /// The number of requests refused because of the client's limits.
    refused: u64,
}

/// The request rate allowed to a client.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ClientRate)]
struct Rate {
    per_minute: u32,
    burst: u32,
}

/// Lists the configured clients; empty if clients need no token
#[utoipa::path(
    get,
    path = "/clients",
    tag = "clients",
    responses((status = 200, description = "The clients", body = Clients), Always)
)]
pub(super) async fn list_clients(
    State(admin): State<Arc<AdminState>>,
    _: NoParams,
) -> JsonAnswer<Clients> {
    let clients = admin.gateway().clients();
    let clients = clients.into_iter().map(Client::from).collect();
    JsonAnswer(StatusCode::OK, Clients { clients })
}

impl From<ClientReport> for Client {
    fn from(report: ClientReport) -> Client {
        Client {
            name: report.name,
            has_token: report.has_token,
            endpoints: match &report.entrypoints {
                AllowedEntrypoints::All => None,
                AllowedEntrypoints::These(entrypoints) => {
                    Some(entrypoints.iter().map(entrypoint_name).collect())
                }
            },
            preset: report.preset,
            rate: report.rate.map(|rate| Rate {
                per_minute: rate.per_minute,
                burst: rate.burst,
            }),
            max_calls: report.max_calls,
            max_sessions: report.max_sessions,
            sessions: report.sessions,
            calls_in_flight: report.calls_in_flight,
            calls: report.calls,
            refused: report.refused,
        }
    }
}

/// Returns the entrypoint's name in the configuration.
fn entrypoint_name(entrypoint: &EntrypointName) -> String {
    match entrypoint {
        EntrypointName::Endpoint(name) => name.clone(),
        EntrypointName::Server(id) => format!("servers/{id}"),
        EntrypointName::AnyServer => "servers/*".to_owned(),
        EntrypointName::Pruner => "rpc".to_owned(),
    }
}
