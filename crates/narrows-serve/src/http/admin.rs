//! The admin API below `/api/v1`: the state of the gateway, and operations on it.
//!
//! Routes and their OpenAPI description come from the same source: a handler is mounted only
//! through the list in [`parts`], which takes path and method from the handler's own annotation,
//! and `/api/v1/openapi.json` serves that description. `access` authenticates clients, `given`
//! parses their input, and `refusal` maps errors to statuses. Response types are in `answer`,
//! request types in `ask`.

mod access;
mod answer;
mod ask;
mod change;
mod clients;
mod description;
mod endpoints;
mod entry;
mod events;
mod given;
mod presets;
mod records;
mod refusal;
mod servers;
mod sessions;
mod status;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse as _;
use axum::routing::any;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use narrows_gateway::Gateway;
use tokio::sync::Semaphore;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::refusal::Refusal;
use super::Edge;
use super::body::Body;
use super::routes::ADMIN;
use crate::admin::AdminAuth;
use crate::error::Refused;

/// The maximum number of requests with a wrong token that wait for their delayed answer. Further
/// ones are refused at once with `Retry-After`.
const MAX_WAITING: usize = 8;

/// The maximum number of clients that read the event stream.
const MAX_LISTENERS: usize = 16;

/// The state shared by all requests.
struct AdminState {
    edge: Arc<Edge>,
    auth: Arc<AdminAuth>,
    waiting: Semaphore,
    listeners: Arc<Semaphore>,
}

impl AdminState {
    fn gateway(&self) -> &Gateway {
        &self.edge.gateway
    }
}

/// The admin API of one edge. Its routes are built at the first request, because most gateways
/// serve only MCP and would keep the code that builds the routes in memory.
#[derive(Clone)]
pub(super) struct AdminApi {
    edge: Arc<Edge>,
    auth: Arc<AdminAuth>,
    service: Arc<OnceLock<TowerToHyperService<Router>>>,
}

impl AdminApi {
    /// Returns `None` if the settings have no admin API.
    pub(super) fn new(edge: &Arc<Edge>) -> Option<AdminApi> {
        Some(AdminApi {
            auth: edge.settings.admin.clone()?,
            edge: edge.clone(),
            service: Arc::default(),
        })
    }

    /// Answers a request for a path below [`ADMIN`]. The caller puts the
    /// [`RequestOrigin`](super::entry::RequestOrigin) and the client's memory shares into the
    /// extensions.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let build = || TowerToHyperService::new(self.router());
        match self.service.get_or_init(build).call(request).await {
            Ok(answer) => answer.map(Body::Admin),
            Err(never) => match never {},
        }
    }

    fn router(&self) -> Router {
        let admin = Arc::new(AdminState {
            auth: self.auth.clone(),
            edge: self.edge.clone(),
            waiting: Semaphore::new(MAX_WAITING),
            listeners: Arc::new(Semaphore::new(MAX_LISTENERS)),
        });
        let (routes, _) = parts();
        let unknown = async || Refusal::Edge(Refused::UnknownPath);
        let admitted = from_fn_with_state(admin.clone(), access::check);
        let routes = routes
            .fallback(unknown)
            .method_not_allowed_fallback(async || Refusal::Edge(Refused::Method))
            .layer(admitted.clone());
        // A nested router does not match the prefix followed only by a slash.
        let slash = format!("{ADMIN}/");
        let router = Router::new()
            .nest(ADMIN, routes)
            .route(&slash, any(unknown).layer(admitted));
        router.with_state(admin)
    }
}

/// Returns the response to a request that is refused before it reaches the router.
pub(super) fn refused(refused: Refused) -> Response<Body> {
    Refusal::Edge(refused).into_response().map(Body::Admin)
}

/// Returns all routes and their OpenAPI description, both without the [`ADMIN`] prefix.
fn parts() -> (Router<Arc<AdminState>>, OpenApi) {
    OpenApiRouter::with_openapi(description::frame())
        .routes(routes!(status::get_status))
        .routes(routes!(servers::list_servers, servers::add_server))
        .routes(routes!(
            servers::get_server,
            servers::replace_server,
            servers::remove_server
        ))
        .routes(routes!(servers::enable_server))
        .routes(routes!(servers::disable_server))
        .routes(routes!(servers::restart_server))
        .routes(routes!(presets::list_presets))
        .routes(routes!(presets::put_preset, presets::remove_preset))
        .routes(routes!(endpoints::list_endpoints))
        .routes(routes!(endpoints::switch_endpoint_preset))
        .routes(routes!(endpoints::get_catalogue))
        .routes(routes!(clients::list_clients))
        .routes(routes!(sessions::list_sessions))
        .routes(routes!(sessions::switch_session_preset))
        .routes(routes!(sessions::end_session))
        .routes(routes!(records::list_calls))
        .routes(routes!(records::get_savings))
        .routes(routes!(events::get_events))
        .routes(routes!(description::get_description))
        .split_for_parts()
}
