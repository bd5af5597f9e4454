//! Checks `recovery`: where, how long and how much cut text is stored.

use narrows_gateway::settings::RecoverySettings;

use super::{Minimum, folder, seconds};
use crate::config::expand::Scope;
use crate::config::problem::Problems;
use crate::config::raw::RawRecovery;

/// The size below which a store can hardly hold one result worth cutting.
const FEW_BYTES: usize = 1024 * 1024;

pub(super) fn recovery(
    raw: Option<&RawRecovery>,
    scope: Scope<'_>,
    problems: &mut Problems<'_>,
) -> RecoverySettings {
    let mut recovery = RecoverySettings::default();
    let Some(raw) = raw else { return recovery };
    if let Some(ttl) = seconds(&raw.ttl_s, Minimum::MoreThanZero, problems) {
        recovery.ttl = ttl;
    }
    if let Some(max_bytes) = raw.max_bytes.given() {
        recovery.max_bytes = max_bytes.value;
        if max_bytes.value < FEW_BYTES {
            let what = "this is small: a text that does not fit cannot be stored, so it is not cut";
            let help = format!("use {FEW_BYTES} bytes or more");
            problems.warn(&max_bytes.at, what, help);
        }
    }
    let path = raw.path.given();
    let instead = "name a folder, or leave `path` out to keep text in memory";
    recovery.path = path.and_then(|given| folder(given, instead, scope, problems));
    recovery
}
