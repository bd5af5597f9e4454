//! Where, how long and how much of what was cut is kept.

use narrows_gateway::settings::RecoverySettings;

use super::{Least, folder, seconds};
use crate::config::expand::Scope;
use crate::config::problem::Problems;
use crate::config::raw::RawRecovery;

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
    let instead = "name a folder, or leave `path` out: then it is kept in memory";
    recovery.path = path.and_then(|given| folder(given, instead, scope, problems));
    recovery
}
