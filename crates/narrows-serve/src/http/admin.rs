//! The operator's API below `/api/v1`: what runs, and changes of it.
//!
//! The routes and their description are one: a handler can only be reached
//! through the list in [`parts`], which takes the path and the method from
//! what the handler says of itself, and `/api/v1/openapi.json` tells just
//! that. `access` decides who comes in, `given` reads what they send, `refusal`
//! is where errors become statuses. What is answered is in `answer`, and what
//! is asked for in `ask`.

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
use crate::admin::AdminDesk;
use crate::error::Refused;

/// Those who brought a wrong token and wait for the answer; others are told to
/// come back later.
const MAX_WAITING: usize = 8;

/// Those who listen to what happens.
const MAX_LISTENERS: usize = 16;

/// What every request shares.
struct Office {
    edge: Arc<Edge>,
    desk: Arc<AdminDesk>,
    waiting: Semaphore,
    listeners: Arc<Semaphore>,
}

impl Office {
    fn gateway(&self) -> &Gateway {
        &self.edge.gateway
    }
}

/// The admin API of one edge. Its routes are built at the first request: most
/// gateways answer MCP alone, and the code that builds them would stay in memory.
#[derive(Clone)]
pub(super) struct AdminApi {
    edge: Arc<Edge>,
    desk: Arc<AdminDesk>,
    service: Arc<OnceLock<TowerToHyperService<Router>>>,
}

impl AdminApi {
    /// Returns `None` if the settings have no admin API.
    pub(super) fn new(edge: &Arc<Edge>) -> Option<AdminApi> {
        Some(AdminApi {
            desk: edge.settings.admin.clone()?,
            edge: edge.clone(),
            service: Arc::default(),
        })
    }

    /// Answers a request for a path below [`ADMIN`]. Its extensions have the
    /// [`RequestOrigin`](super::entry::RequestOrigin) and the client's memory shares.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let build = || TowerToHyperService::new(self.router());
        match self.service.get_or_init(build).call(request).await {
            Ok(answer) => answer.map(Body::Admin),
            Err(never) => match never {},
        }
    }

    fn router(&self) -> Router {
        let office = Arc::new(Office {
            desk: self.desk.clone(),
            edge: self.edge.clone(),
            waiting: Semaphore::new(MAX_WAITING),
            listeners: Arc::new(Semaphore::new(MAX_LISTENERS)),
        });
        let (routes, _) = parts();
        let unknown = async || Refusal::Edge(Refused::UnknownPath);
        let admitted = from_fn_with_state(office.clone(), access::check);
        let routes = routes
            .fallback(unknown)
            .method_not_allowed_fallback(async || Refusal::Edge(Refused::Method))
            .layer(admitted.clone());
        // What is nested does not hear of the prefix with nothing but a slash.
        let slash = format!("{ADMIN}/");
        let router = Router::new()
            .nest(ADMIN, routes)
            .route(&slash, any(unknown).layer(admitted));
        router.with_state(office)
    }
}

/// A refusal before any of this was asked.
pub(super) fn refused(refused: Refused) -> Response<Body> {
    Refusal::Edge(refused).into_response().map(Body::Admin)
}

/// Every route, and what is said of it; both without [`ADMIN`].
fn parts() -> (Router<Arc<Office>>, OpenApi) {
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
