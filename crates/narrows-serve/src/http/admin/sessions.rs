//! Open sessions, and operations on them.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use http::StatusCode;

use super::answer::{JsonAnswer, Session, SessionDetail, Sessions};
use super::ask::PresetChoice;
use super::description::{Always, ForBodies, ForItems, NumberInPath};
use super::given::{JsonBody, NoParams, NumberSegment};
use super::refusal::Refusal;
use super::{AdminState, change};
use crate::admin::TokenOrigin;

/// Lists all sessions, oldest first
#[utoipa::path(
    get,
    path = "/sessions",
    tag = "sessions",
    responses((status = 200, description = "The sessions", body = Sessions), Always)
)]
pub(super) async fn list_sessions(
    State(admin): State<Arc<AdminState>>,
    _: NoParams,
) -> JsonAnswer<Sessions> {
    let all = admin.gateway().sessions().into_iter();
    let sessions = all.map(Session::from).collect();
    JsonAnswer(StatusCode::OK, Sessions { sessions })
}

/// Sets the preset of a session, or restores that of its endpoint
#[utoipa::path(
    put,
    path = "/sessions/{number}/preset",
    tag = "sessions",
    params(NumberInPath),
    request_body = PresetChoice,
    responses(
        (status = 200, description = "The session after the change", body = SessionDetail),
        Always,
        ForBodies,
        ForItems
    )
)]
pub(super) async fn switch_session_preset(
    State(admin): State<Arc<AdminState>>,
    Extension(by): Extension<TokenOrigin>,
    NumberSegment(number): NumberSegment,
    _: NoParams,
    JsonBody(choice): JsonBody<PresetChoice>,
) -> Result<JsonAnswer<SessionDetail>, Refusal> {
    let gateway = admin.gateway();
    let preset = choice.preset.map(|name| name.0);
    gateway.switch_session(number, preset.as_deref())?;
    change::log(by, &format!("use preset {preset:?} for session {number}"));
    let mut all = gateway.sessions().into_iter();
    let found = all.find(|session| session.number == number);
    let session = found.ok_or_else(|| unknown(number))?.into();
    Ok(JsonAnswer(StatusCode::OK, SessionDetail { session }))
}

/// Ends a session
#[utoipa::path(
    delete,
    path = "/sessions/{number}",
    tag = "sessions",
    params(NumberInPath),
    responses((status = 204, description = "The session has ended"), Always, ForItems)
)]
pub(super) async fn end_session(
    State(admin): State<Arc<AdminState>>,
    Extension(by): Extension<TokenOrigin>,
    NumberSegment(number): NumberSegment,
    _: NoParams,
) -> Result<StatusCode, Refusal> {
    if !admin.gateway().end_session(number) {
        return Err(unknown(number));
    }
    change::log(by, &format!("end session {number}"));
    Ok(StatusCode::NO_CONTENT)
}

fn unknown(number: u64) -> Refusal {
    Refusal::Unknown {
        kind: "session",
        name: number.to_string(),
    }
}
