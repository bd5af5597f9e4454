//! Servers that were added while the gateway runs.

use std::collections::HashSet;

use narrows_gateway::{Gateway, UpstreamReport};
use narrows_serve::admin::Change;
use narrows_upstream::State as UpstreamState;
use parking_lot::Mutex;

/// The ids of servers added at run time. Adding a server again before it has come up replaces it,
/// because the second command corrects the first.
#[derive(Default)]
pub(super) struct AddedServers(Mutex<HashSet<String>>);

impl AddedServers {
    /// Turns an addition into a replacement if the server was added before and has failed since.
    /// Returns other changes unchanged.
    pub(super) fn as_replacement(&self, change: Change, gateway: &Gateway) -> Change {
        match change {
            Change::AddServer { id, entry } if self.has(&id) && has_failed(gateway, &id) => {
                Change::ReplaceServer { id, entry }
            }
            change => change,
        }
    }

    /// Records a completed change.
    pub(super) fn note(&self, change: &Change) {
        let mut ids = self.0.lock();
        match change {
            Change::AddServer { id, .. } => drop(ids.insert(id.clone())),
            Change::RemoveServer { id } => drop(ids.remove(id)),
            _ => {}
        }
    }

    fn has(&self, id: &str) -> bool {
        let ids = self.0.lock();
        ids.contains(id)
    }
}

/// Returns true if a server is down and has never offered anything.
fn has_failed(gateway: &Gateway, id: &str) -> bool {
    let is_empty = |own: &UpstreamReport| {
        own.tools.is_empty() && own.prompts == 0 && own.resources == 0 && own.templates == 0
    };
    let report = gateway.report();
    let mut all = report.iter();
    all.any(|own| own.id == id && matches!(own.state, UpstreamState::Down { .. }) && is_empty(own))
}
