//! Executes and logs changes to the configuration.

use std::sync::Arc;

use super::AdminState;
use super::answer;
use super::ask::SaveOption;
use super::refusal::Refusal;
use crate::admin::{Change, Keep, TokenOrigin};

#[cfg(test)]
mod tests;

/// Executes a change. The change runs in its own task and completes even if the client disconnects,
/// because it must not be left half done.
pub(super) async fn make(
    admin: &Arc<AdminState>,
    by: TokenOrigin,
    save: &SaveOption,
    change: Change,
) -> Result<answer::ChangeResult, Refusal> {
    let keep = if save.save { Keep::File } else { Keep::Memory };
    let operations = admin.auth.operations.clone();
    let work = async move {
        let what = describe(&change);
        let made = operations.change(change, keep).await;
        let made = made.map_err(Refusal::from);
        // Entries and problems may contain secrets, so only names are logged.
        match &made {
            Ok(changed) => {
                let saved = changed.saved_to.is_some();
                tracing::info!(by = by.as_str(), what, saved, "changed");
            }
            Err(refusal) => {
                tracing::info!(by = by.as_str(), what, why = refusal.code(), "not changed");
            }
        }
        made
    };
    let made = admin.edge.tasks.spawn(work).await;
    made.unwrap_or(Err(Refusal::Broken)).map(Into::into)
}

/// Logs an operation that does not change the configuration.
pub(super) fn log(by: TokenOrigin, what: &str) {
    tracing::info!(by = by.as_str(), what, "done");
}

fn describe(change: &Change) -> String {
    match change {
        Change::AddServer { id, .. } => format!("add server {id:?}"),
        Change::ReplaceServer { id, .. } => format!("replace server {id:?}"),
        Change::RemoveServer { id } => format!("remove server {id:?}"),
        Change::EnableServer { id, enabled: true } => format!("enable server {id:?}"),
        Change::EnableServer { id, enabled: false } => format!("disable server {id:?}"),
        Change::PutPreset { id, .. } => format!("put preset {id:?}"),
        Change::RemovePreset { id } => format!("remove preset {id:?}"),
        Change::SwitchPreset {
            endpoint,
            preset: Some(preset),
        } => format!("use preset {preset:?} for endpoint {endpoint:?}"),
        Change::SwitchPreset {
            endpoint,
            preset: None,
        } => format!("use no preset for endpoint {endpoint:?}"),
    }
}
