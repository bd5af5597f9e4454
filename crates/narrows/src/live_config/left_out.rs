//! Servers that cannot be started as configured.

use narrows_gateway::Applied;
use narrows_gateway::settings::Settings;
use narrows_serve::admin::LeftOutServer;

use crate::config::{CheckedConfig, LeftOut};

/// Returns the servers of a configuration that the gateway runs without.
pub(super) fn left_out_of(checked: &CheckedConfig) -> Vec<LeftOutServer> {
    let one = |out: &LeftOut| LeftOutServer {
        id: out.id.clone(),
        place: out.place,
        transport: out.transport,
        reason: out.reason.clone(),
    };
    checked.left_out.iter().map(one).collect()
}

/// Corrects the result of the gateway, which does not know servers that are left out. To the
/// gateway, a server that can be started again looks new, and one that can no longer be started
/// looks removed. Returns the latter.
pub(super) fn correct_left_out(
    applied: &mut Applied,
    before: &[LeftOutServer],
    now: &[LeftOutServer],
    settings: &Settings,
) -> Vec<String> {
    let is_in = |all: &[LeftOutServer], id: &str| all.iter().any(|out| out.id == id);
    let is_enabled = |id: &str| {
        let mut all = settings.upstreams.iter();
        all.any(|own| own.upstream.id == id && own.upstream.enabled)
    };
    for id in applied.added.extract_if(.., |id| is_in(before, id)) {
        match is_enabled(&id) {
            true => applied.enabled.push(id),
            false => applied.disabled.push(id),
        }
    }
    let removed = &mut applied.removed;
    removed.extract_if(.., |id| is_in(now, id)).collect()
}
