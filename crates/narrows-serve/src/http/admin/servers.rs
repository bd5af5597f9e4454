//! Servers: their state and tools, and operations on them.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use http::StatusCode;
use narrows_gateway::{Gateway, UpstreamReport};
use narrows_upstream::State as UpstreamState;

use super::answer::{self, JsonAnswer, Server, ServerDetail, ServerDetails, Servers};
use super::ask::{NewServer, OtherServer, SaveOption};
use super::description::{Always, ForBodies, ForChanges, ForConflicts, ForItems, IdInPath};
use super::given::{JsonBody, NameSegment, NoParams, Params};
use super::refusal::Refusal;
use super::{AdminState, change};
use crate::admin::{Change, LeftOutServer, TokenOrigin};

/// Lists all servers in configuration order
#[utoipa::path(
    get,
    path = "/servers",
    tag = "servers",
    responses((status = 200, description = "The servers", body = Servers), Always)
)]
pub(super) async fn list_servers(
    State(admin): State<Arc<AdminState>>,
    _: NoParams,
) -> JsonAnswer<Servers> {
    let report = admin.gateway().report();
    let mut servers: Vec<Server> = report.iter().map(Server::from).collect();
    for out in &admin.auth.operations.status().left_out {
        servers.insert(out.place.min(servers.len()), Server::from(out));
    }
    JsonAnswer(StatusCode::OK, Servers { servers })
}

/// Adds a server
#[utoipa::path(
    post,
    path = "/servers",
    tag = "servers",
    params(SaveOption),
    request_body = NewServer,
    responses(
        (status = 201, description = "The result of the change", body = answer::ChangeResult),
        Always,
        ForBodies,
        ForChanges
    )
)]
pub(super) async fn add_server(
    State(admin): State<Arc<AdminState>>,
    Extension(by): Extension<TokenOrigin>,
    Params(save): Params<SaveOption>,
    JsonBody(server): JsonBody<NewServer>,
) -> Result<JsonAnswer<answer::ChangeResult>, Refusal> {
    let change = Change::AddServer {
        id: server.id.0,
        entry: server.config.into(),
    };
    let made = change::make(&admin, by, &save, change).await?;
    Ok(JsonAnswer(StatusCode::CREATED, made))
}

/// Returns a server and its tools
#[utoipa::path(
    get,
    path = "/servers/{id}",
    tag = "servers",
    params(IdInPath),
    responses(
        (status = 200, description = "The server", body = ServerDetails),
        Always,
        ForItems
    )
)]
pub(super) async fn get_server(
    State(admin): State<Arc<AdminState>>,
    NameSegment(id): NameSegment,
    _: NoParams,
) -> Result<JsonAnswer<ServerDetails>, Refusal> {
    let details = match left_out(&admin, &id) {
        Some(out) => ServerDetails::from(&out),
        None => ServerDetails::from(&report(admin.gateway(), id)?),
    };
    Ok(JsonAnswer(StatusCode::OK, details))
}

/// Replaces the configuration of a server
#[utoipa::path(
    put,
    path = "/servers/{id}",
    tag = "servers",
    params(IdInPath, SaveOption),
    request_body = OtherServer,
    responses(
        (status = 200, description = "The result of the change", body = answer::ChangeResult),
        Always,
        ForBodies,
        ForItems,
        ForChanges
    )
)]
pub(super) async fn replace_server(
    State(admin): State<Arc<AdminState>>,
    Extension(by): Extension<TokenOrigin>,
    NameSegment(id): NameSegment,
    Params(save): Params<SaveOption>,
    JsonBody(server): JsonBody<OtherServer>,
) -> Result<JsonAnswer<answer::ChangeResult>, Refusal> {
    let entry = server.config.into();
    let made = change::make(&admin, by, &save, Change::ReplaceServer { id, entry }).await?;
    Ok(JsonAnswer(StatusCode::OK, made))
}

/// Removes a server
#[utoipa::path(
    delete,
    path = "/servers/{id}",
    tag = "servers",
    params(IdInPath, SaveOption),
    responses(
        (status = 200, description = "The result of the change", body = answer::ChangeResult),
        Always,
        ForItems,
        ForChanges
    )
)]
pub(super) async fn remove_server(
    State(admin): State<Arc<AdminState>>,
    Extension(by): Extension<TokenOrigin>,
    NameSegment(id): NameSegment,
    Params(save): Params<SaveOption>,
) -> Result<JsonAnswer<answer::ChangeResult>, Refusal> {
    let made = change::make(&admin, by, &save, Change::RemoveServer { id }).await?;
    Ok(JsonAnswer(StatusCode::OK, made))
}

/// Enables a server
#[utoipa::path(
    post,
    path = "/servers/{id}/enable",
    tag = "servers",
    params(IdInPath, SaveOption),
    responses(
        (status = 200, description = "The result of the change", body = answer::ChangeResult),
        Always,
        ForItems,
        ForChanges
    )
)]
pub(super) async fn enable_server(
    State(admin): State<Arc<AdminState>>,
    Extension(by): Extension<TokenOrigin>,
    NameSegment(id): NameSegment,
    Params(save): Params<SaveOption>,
) -> Result<JsonAnswer<answer::ChangeResult>, Refusal> {
    let enabled = true;
    let made = change::make(&admin, by, &save, Change::EnableServer { id, enabled }).await?;
    Ok(JsonAnswer(StatusCode::OK, made))
}

/// Disables a server
#[utoipa::path(
    post,
    path = "/servers/{id}/disable",
    tag = "servers",
    params(IdInPath, SaveOption),
    responses(
        (status = 200, description = "The result of the change", body = answer::ChangeResult),
        Always,
        ForItems,
        ForChanges
    )
)]
pub(super) async fn disable_server(
    State(admin): State<Arc<AdminState>>,
    Extension(by): Extension<TokenOrigin>,
    NameSegment(id): NameSegment,
    Params(save): Params<SaveOption>,
) -> Result<JsonAnswer<answer::ChangeResult>, Refusal> {
    let enabled = false;
    let made = change::make(&admin, by, &save, Change::EnableServer { id, enabled }).await?;
    Ok(JsonAnswer(StatusCode::OK, made))
}

/// Restarts a server
#[utoipa::path(
    post,
    path = "/servers/{id}/restart",
    tag = "servers",
    params(IdInPath),
    responses(
        (status = 202, description = "The server is starting", body = ServerDetail),
        Always,
        ForItems,
        ForConflicts
    )
)]
pub(super) async fn restart_server(
    State(admin): State<Arc<AdminState>>,
    Extension(by): Extension<TokenOrigin>,
    NameSegment(id): NameSegment,
    _: NoParams,
) -> Result<JsonAnswer<ServerDetail>, Refusal> {
    if let Some(out) = left_out(&admin, &id) {
        return Err(Refusal::LeftOut(out));
    }
    let gateway = admin.gateway();
    let before = report(gateway, id)?;
    if matches!(before.state, UpstreamState::Disabled) || !gateway.restart(&before.id) {
        return Err(Refusal::Disabled(before.id));
    }
    change::log(by, &format!("restart server {:?}", before.id));
    let now = report(gateway, before.id)?;
    let server = Server::from(&now);
    Ok(JsonAnswer(StatusCode::ACCEPTED, ServerDetail { server }))
}

/// Returns the server with this id if it cannot start with its current configuration.
fn left_out(admin: &AdminState, id: &str) -> Option<LeftOutServer> {
    let all = admin.auth.operations.status().left_out;
    all.into_iter().find(|out| out.id == id)
}

fn report(gateway: &Gateway, id: String) -> Result<UpstreamReport, Refusal> {
    let mut all = gateway.report().into_iter();
    let unknown = |id| Refusal::Unknown {
        kind: "server",
        name: id,
    };
    all.find(|server| server.id == id)
        .ok_or_else(|| unknown(id))
}
