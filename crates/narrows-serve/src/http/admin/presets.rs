//! Presets and their uses.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use http::StatusCode;
use serde_json::{Map, Value};

use super::answer::{self, Answer, Preset, Presets};
use super::ask::Save;
use super::description::{Always, ForBodies, ForChanges, ForItems, IdInPath};
use super::entry::PresetConfig;
use super::given::{Given, Named, NoParams, Params};
use super::refusal::Refusal;
use super::{Office, change};
use crate::admin::{Change, TokenOrigin};

/// Lists all presets
#[utoipa::path(
    get,
    path = "/presets",
    tag = "presets",
    responses((status = 200, description = "The presets", body = Presets), Always)
)]
pub(super) async fn list_presets(
    State(office): State<Arc<Office>>,
    _: NoParams,
) -> Answer<Presets> {
    let gateway = office.gateway();
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
    Answer(StatusCode::OK, Presets { presets })
}

/// Adds or replaces a preset
#[utoipa::path(
    put,
    path = "/presets/{id}",
    tag = "presets",
    params(IdInPath, Save),
    request_body = PresetConfig,
    responses(
        (status = 200, description = "The preset was replaced", body = answer::Change),
        (status = 201, description = "The preset was added", body = answer::Change),
        Always,
        ForBodies,
        ForChanges
    )
)]
pub(super) async fn put_preset(
    State(office): State<Arc<Office>>,
    Extension(by): Extension<TokenOrigin>,
    Named(id): Named,
    Params(save): Params<Save>,
    Given(entry): Given<Map<String, Value>>,
) -> Result<Answer<answer::Change>, Refusal> {
    let presets = office.gateway().presets();
    let status = match presets.iter().any(|preset| **preset.id() == *id) {
        true => StatusCode::OK,
        false => StatusCode::CREATED,
    };
    let entry = entry.into();
    let made = change::make(&office, by, &save, Change::PutPreset { id, entry }).await?;
    Ok(Answer(status, made))
}

/// Removes a preset
#[utoipa::path(
    delete,
    path = "/presets/{id}",
    tag = "presets",
    params(IdInPath, Save),
    responses(
        (status = 200, description = "The result of the change", body = answer::Change),
        Always,
        ForItems,
        ForChanges
    )
)]
pub(super) async fn remove_preset(
    State(office): State<Arc<Office>>,
    Extension(by): Extension<TokenOrigin>,
    Named(id): Named,
    Params(save): Params<Save>,
) -> Result<Answer<answer::Change>, Refusal> {
    let made = change::make(&office, by, &save, Change::RemovePreset { id }).await?;
    Ok(Answer(StatusCode::OK, made))
}
