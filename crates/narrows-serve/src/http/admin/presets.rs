//! Presets and their uses.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use http::StatusCode;
use serde_json::{Map, Value};

use super::answer::{self, JsonAnswer, Preset, Presets};
use super::ask::SaveOption;
use super::description::{Always, ForBodies, ForChanges, ForItems, IdInPath};
use super::entry::PresetConfig;
use super::given::{JsonBody, NameSegment, NoParams, Params};
use super::refusal::Refusal;
use super::{AdminState, change};
use crate::admin::{Change, TokenOrigin};

/// Lists all presets
#[utoipa::path(
    get,
    path = "/presets",
    tag = "presets",
    responses((status = 200, description = "The presets", body = Presets), Always)
)]
pub(super) async fn list_presets(
    State(admin): State<Arc<AdminState>>,
    _: NoParams,
) -> JsonAnswer<Presets> {
    let gateway = admin.gateway();
    let (endpoints, sessions) = (gateway.endpoints(), gateway.sessions());
    let all = gateway.presets();
    let presets = all.iter().map(|preset| {
        let id = preset.id().to_string();
        let texts = |rules: Vec<&str>| rules.into_iter().map(Into::into).collect();
        let [tools, prompts, resources] = preset.rules().map(|rules| rules.map(texts));
        let has_it = endpoints
            .iter()
            .filter(|one| one.preset.as_ref() == Some(&id));
        let bound = sessions.iter().filter(|one| one.presets.contains(&id));
        Preset {
            endpoints: has_it.map(|endpoint| endpoint.name.clone()).collect(),
            sessions: bound.count(),
            tools,
            prompts,
            resources,
            id,
        }
    });
    let presets = presets.collect();
    JsonAnswer(StatusCode::OK, Presets { presets })
}

/// Adds or replaces a preset
#[utoipa::path(
    put,
    path = "/presets/{id}",
    tag = "presets",
    params(IdInPath, SaveOption),
    request_body = PresetConfig,
    responses(
        (status = 200, description = "The preset was replaced", body = answer::ChangeResult),
        (status = 201, description = "The preset was added", body = answer::ChangeResult),
        Always,
        ForBodies,
        ForChanges
    )
)]
pub(super) async fn put_preset(
    State(admin): State<Arc<AdminState>>,
    Extension(by): Extension<TokenOrigin>,
    NameSegment(id): NameSegment,
    Params(save): Params<SaveOption>,
    JsonBody(entry): JsonBody<Map<String, Value>>,
) -> Result<JsonAnswer<answer::ChangeResult>, Refusal> {
    let presets = admin.gateway().presets();
    let status = match presets.iter().any(|preset| **preset.id() == *id) {
        true => StatusCode::OK,
        false => StatusCode::CREATED,
    };
    let entry = entry.into();
    let made = change::make(&admin, by, &save, Change::PutPreset { id, entry }).await?;
    Ok(JsonAnswer(status, made))
}

/// Removes a preset
#[utoipa::path(
    delete,
    path = "/presets/{id}",
    tag = "presets",
    params(IdInPath, SaveOption),
    responses(
        (status = 200, description = "The result of the change", body = answer::ChangeResult),
        Always,
        ForItems,
        ForChanges
    )
)]
pub(super) async fn remove_preset(
    State(admin): State<Arc<AdminState>>,
    Extension(by): Extension<TokenOrigin>,
    NameSegment(id): NameSegment,
    Params(save): Params<SaveOption>,
) -> Result<JsonAnswer<answer::ChangeResult>, Refusal> {
    let made = change::make(&admin, by, &save, Change::RemovePreset { id }).await?;
    Ok(JsonAnswer(StatusCode::OK, made))
}
