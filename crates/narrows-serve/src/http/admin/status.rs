//! The state of the gateway.

use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use narrows_upstream::State as UpstreamState;

use super::AdminState;
use super::answer::{JsonAnswer, ServerCounts, Status};
use super::description::Always;
use super::given::NoParams;

/// Returns the state of the gateway and its configuration
#[utoipa::path(
    get,
    path = "/status",
    tag = "status",
    responses((status = 200, description = "The state", body = Status), Always)
)]
pub(super) async fn get_status(
    State(admin): State<Arc<AdminState>>,
    _: NoParams,
) -> JsonAnswer<Status> {
    let gateway = admin.gateway();
    let health = gateway.health();
    let report = gateway.report();
    let is_off = |state: &UpstreamState| matches!(state, UpstreamState::Disabled);
    let configuration = admin.auth.operations.status();
    let status = Status {
        version: env!("CARGO_PKG_VERSION"),
        uptime_s: health.uptime.as_secs(),
        ready: health.ready,
        servers: ServerCounts {
            up: health.up,
            starting: health.starting,
            down: health.down,
            disabled: report.iter().filter(|server| is_off(&server.state)).count(),
            left_out: configuration.left_out.len(),
        },
        sessions: gateway.sessions().len(),
        configuration: configuration.into(),
    };
    JsonAnswer(StatusCode::OK, status)
}
