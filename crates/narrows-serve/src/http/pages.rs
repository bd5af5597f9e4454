//! Pages outside MCP: health, readiness and the index page.

use std::fmt::Write as _;

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use narrows_gateway::{Entrypoint, Principal, UpstreamReport};
use serde_json::json;

use super::answer::page;
use super::body::Body;
use super::{Edge, Front};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Answers a request for the health report.
pub(super) fn health(edge: &Edge) -> Response<Body> {
    let mut all = edge.gateway.pruner().health();
    if edge.settings.front == Front::Gateway {
        let health = edge.gateway.health();
        let admin = edge.settings.admin.as_ref();
        let left_out = admin.map_or(0, |auth| auth.operations.status().left_out.len());
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

/// Answers a readiness probe.
pub(super) fn ready(edge: &Edge) -> Response<Body> {
    let ready = edge.gateway.health().ready;
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    page(status, &json!({ "ready": ready }))
}

/// Answers a request for the index page, which lists the endpoints that the client may use.
/// Unidentified clients see neither servers nor endpoints.
pub(super) fn index(edge: &Edge, reader: Option<&Principal>) -> Response<Body> {
    let may_enter = |entrypoint: Entrypoint<'_>| {
        reader.is_some_and(|reader| edge.gateway.may_enter(reader, entrypoint))
    };
    let mut text = format!(
        "Narrows {VERSION}, an MCP gateway.\n\n\
         MCP (Streamable HTTP):\n  /mcp\n  /mcp/{{endpoint}}"
    );
    let endpoints = edge.gateway.endpoints();
    let others = endpoints.iter().map(|endpoint| endpoint.name.as_str());
    let others = others.filter(|name| *name != "default" && may_enter(Entrypoint::Endpoint(name)));
    let others: Vec<&str> = others.collect();
    if !others.is_empty() {
        let _ = write!(text, ", where endpoint is {}", others.join(" or "));
    }
    text.push('\n');
    let servers = edge.gateway.report();
    let may_see = |server: &&UpstreamReport| may_enter(Entrypoint::Server(&server.id));
    for upstream in servers.iter().filter(may_see) {
        // A slug needs no escaping in a path, and identifies its server as well as the id does.
        let _ = writeln!(text, "  /servers/{}/mcp", upstream.slug);
    }
    text.push_str(
        "\nThe same over HTTP+SSE (2024-11-05) with /sse in place of /mcp,\n\
         and over WebSocket with /ws.\n",
    );
    text.push_str("\nPlain JSON-RPC to one server, with long strings masked:\n");
    text.push_str("  /api/mcp-gateway/{server}/rpc\n");
    text.push_str("\nThe pruner (plain JSON-RPC):\n  /rpc\n");
    text.push_str("\nHealth and metrics:\n  /health\n  /ready\n  /metrics\n");
    let mut answer = Response::new(Body::whole(text.into()));
    answer.headers_mut().insert(CONTENT_TYPE, TEXT);
    answer
}
