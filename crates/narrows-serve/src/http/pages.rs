//! What is not MCP: health, readiness, a first page for people.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use axum::Extension;
use axum::Router;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::get;
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use narrows_gateway::Door;
use narrows_gateway::Principal;
use serde_json::json;

use super::answer::{page, refused_page};
use super::body::Body;
use super::{Edge, Front, admin, metrics};
use crate::error::Refused;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The pages and the admin API, built at the first request for one of them: most gateways answer
/// MCP alone, and the code that builds the routes would stay in memory.
#[derive(Clone)]
pub(super) struct Pages {
    edge: Arc<Edge>,
    service: Arc<OnceLock<TowerToHyperService<Router>>>,
}

impl Pages {
    pub(super) fn new(edge: Arc<Edge>) -> Pages {
        Pages {
            edge,
            service: Arc::default(),
        }
    }

    /// Answers a request for one of the pages.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let build = || TowerToHyperService::new(router(self.edge.clone()));
        match self.service.get_or_init(build).call(request).await {
            Ok(page) => page.map(Body::Page),
            Err(never) => match never {},
        }
    }
}

/// Returns the routes of all pages, with the admin API where the settings have one.
fn router(edge: Arc<Edge>) -> Router {
    let pages = Router::new()
        .route("/", get(index))
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics::metrics))
        .fallback(async || refused_page(&Refused::UnknownPath).map(axum::body::Body::new))
        .method_not_allowed_fallback(async || {
            refused_page(&Refused::Method).map(axum::body::Body::new)
        })
        .with_state(edge.clone());
    match admin::router(edge) {
        Some(admin) => pages.merge(admin),
        None => pages,
    }
}

/// Who reads a page, where that is known.
#[derive(Clone)]
pub(super) struct Reader(pub(super) Principal);

async fn health(State(edge): State<Arc<Edge>>) -> Response<axum::body::Body> {
    let mut all = edge.gateway.pruner().health();
    if edge.settings.front == Front::Gateway {
        let health = edge.gateway.health();
        let admin = edge.settings.admin.as_ref();
        let left_out = admin.map_or(0, |desk| desk.operations.status().left_out.len());
        all["gateway"] = json!({
            "version": VERSION,
            "uptime_s": health.uptime.as_secs(),
            "upstreams": {
                "up": health.up,
                "starting": health.starting,
                "down": health.down,
                "left_out": left_out,
            },
        });
    }
    page(StatusCode::OK, &all)
}

async fn ready(State(edge): State<Arc<Edge>>) -> Response<axum::body::Body> {
    let ready = edge.gateway.health().ready;
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    page(status, &json!({ "ready": ready }))
}

async fn index(
    State(edge): State<Arc<Edge>>,
    reader: Option<Extension<Reader>>,
) -> impl IntoResponse {
    let may_see = |server: &str| match &reader {
        Some(Extension(Reader(who))) => edge.gateway.may_enter(who, Door::Server(server)),
        // What servers there are is nobody's matter who may not use them.
        None => false,
    };
    let mut text = format!(
        "Narrows {VERSION}, an MCP gateway.\n\n\
         MCP (Streamable HTTP):\n  /mcp\n  /mcp/{{endpoint}}"
    );
    let may_enter = |endpoint: &str| match &reader {
        Some(Extension(Reader(who))) => edge.gateway.may_enter(who, Door::Endpoint(endpoint)),
        None => false,
    };
    let endpoints = edge.gateway.endpoints();
    let others = endpoints.iter().map(|endpoint| endpoint.name.as_str());
    let others = others.filter(|name| *name != "default" && may_enter(name));
    let others: Vec<&str> = others.collect();
    if !others.is_empty() {
        let _ = write!(text, ", where endpoint is {}", others.join(" or "));
    }
    text.push('\n');
    let servers = edge.gateway.report();
    for upstream in servers.iter().filter(|server| may_see(&server.id)) {
        // A slug needs no escaping in a path, and names its server as well as the id does.
        let _ = writeln!(text, "  /servers/{}/mcp", upstream.slug);
    }
    text.push_str(
        "\nThe same over HTTP+SSE (2024-11-05) with /sse in place of /mcp,\n\
         and over WebSocket with /ws.\n",
    );
    text.push_str("\nOne server over plain JSON-RPC, long strings masked:\n");
    text.push_str("  /api/mcp-gateway/{server}/rpc\n");
    text.push_str("\nThe pruner (plain JSON-RPC):\n  /rpc\n");
    text.push_str("\nHealth and figures:\n  /health\n  /ready\n  /metrics\n");
    text
}
