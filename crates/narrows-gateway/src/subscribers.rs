//! The sessions that are subscribed to resources over the shared links of servers.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;

/// Subscribed sessions, by the server's number and its own URI.
#[derive(Default)]
pub(crate) struct Subscribers(Mutex<HashMap<usize, ByUri>>);

/// The serial numbers of sessions, by URI.
type ByUri = HashMap<String, HashSet<u64>>;

impl Subscribers {
    pub(crate) fn add(&self, server: usize, uri: &str, session: u64) {
        let mut all = self.0.lock();
        let by_uri = all.entry(server).or_default();
        let sessions = by_uri.entry(uri.to_owned()).or_default();
        sessions.insert(session);
    }

    /// Removes a subscription. Returns true if no session is left, so that the gateway can
    /// unsubscribe.
    pub(crate) fn remove(&self, server: usize, uri: &str, session: u64) -> bool {
        let mut all = self.0.lock();
        let Some(by_uri) = all.get_mut(&server) else {
            return false;
        };
        let Some(sessions) = by_uri.get_mut(uri) else {
            return false;
        };
        let was_there = sessions.remove(&session);
        if !sessions.is_empty() {
            return false;
        }
        by_uri.remove(uri);
        if by_uri.is_empty() {
            all.remove(&server);
        }
        was_there
    }

    pub(crate) fn has(&self, server: usize, uri: &str) -> bool {
        let all = self.0.lock();
        all.get(&server)
            .is_some_and(|by_uri| by_uri.contains_key(uri))
    }

    pub(crate) fn uris(&self, server: usize) -> Vec<String> {
        let all = self.0.lock();
        let by_uri = all.get(&server).into_iter().flatten();
        by_uri.map(|(uri, _)| uri.clone()).collect()
    }

    /// Returns the sessions that are affected by an update of `uri`.
    pub(crate) fn of(&self, server: usize, uri: &str) -> HashSet<u64> {
        let all = self.0.lock();
        let by_uri = all.get(&server).into_iter().flatten();
        // A session may be subscribed to both the whole and the part.
        by_uri
            .filter(|(subscribed, _)| concerns(uri, subscribed))
            .flat_map(|(_, sessions)| sessions.iter().copied())
            .collect()
    }
}

/// Returns true if an update of `uri` affects a subscription to `subscribed`. `uri` may name a part
/// of the resource (MCP 2025-11-25, resources, subscriptions), but an unrelated URI with the same
/// beginning does not count.
pub(crate) fn concerns(uri: &str, subscribed: &str) -> bool {
    uri.strip_prefix(subscribed).is_some_and(|rest| {
        rest.is_empty() || subscribed.ends_with('/') || rest.starts_with(['/', '?', '#'])
    })
}
