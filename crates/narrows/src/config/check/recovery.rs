//! Where, how long and how much of what was cut is kept.

use std::path::PathBuf;

use narrows_gateway::settings::RecoverySettings;

use super::{Least, seconds};
use crate::config::expand::{Forms, Scope, expand, expand_home};
use crate::config::problem::Problems;
use crate::config::raw::RawRecovery;
use crate::config::read::Given;

/// A store of less holds hardly a result that is worth cutting.
const FEW_BYTES: usize = 1024 * 1024;

pub(super) fn recovery(
    raw: Option<&RawRecovery>,
    scope: Scope<'_>,
    problems: &mut Problems<'_>,
) -> RecoverySettings {
    let mut recovery = RecoverySettings::default();
    let Some(raw) = raw else { return recovery };
    if let Some(ttl) = seconds(&raw.ttl_s, Least::MoreThanZero, problems) {
        recovery.ttl = ttl;
    }
    if let Some(max_bytes) = raw.max_bytes.given() {
        recovery.max_bytes = max_bytes.value;
        if max_bytes.value < FEW_BYTES {
            let what = "this is little: a text that does not fit cannot be kept, and so is not cut";
            let help = format!("give it {FEW_BYTES} bytes or more");
            problems.warn(&max_bytes.at, what, help);
        }
    }
    let path = raw.path.given();
    recovery.path = path.and_then(|given| folder(given, scope, problems));
    recovery
}

/// A variable that is not set is an error here, since there is no server that
/// could be left out instead.
fn folder(given: &Given<String>, scope: Scope<'_>, problems: &mut Problems<'_>) -> Option<PathBuf> {
    let text = match expand(&given.value, Forms::Dollar, scope) {
        Ok(text) => text,
        Err(unexpanded) => {
            for (what, help) in unexpanded.told() {
                problems.error(&given.at, what, help);
            }
            return None;
        }
    };
    if text.trim().is_empty() {
        let help = "name a folder, or leave `path` out: then it is kept in memory";
        problems.error(&given.at, "the `path` is empty", help);
        return None;
    }
    if text.contains('\0') {
        problems.error(&given.at, "there is a NUL character in it", "");
        return None;
    }
    Some(scope.folder.join(expand_home(&text, scope.environment)))
}
