//! Who subscribed to which resources over an upstream's shared link.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use narrows_wire::Raw;

use super::{Link, Outgoing, Upstream};
use crate::lock::Mutex;
use crate::session::Session;

/// By the upstream's own URI, then by the session's serial number.
#[derive(Default)]
pub(crate) struct Subscribers(Mutex<HashMap<String, HashMap<u64, Weak<Session>>>>);

impl Subscribers {
    pub(crate) fn add(&self, uri: &str, session: &Arc<Session>) {
        self.0
            .lock()
            .entry(uri.to_owned())
            .or_default()
            .insert(session.serial(), Arc::downgrade(session));
    }

    /// True if nobody is left, so that the server can be told.
    pub(crate) fn remove(&self, uri: &str, session: u64) -> bool {
        let mut all = self.0.lock();
        let Some(sessions) = all.get_mut(uri) else {
            return false;
        };
        let was_there = sessions.remove(&session).is_some();
        if sessions.is_empty() {
            all.remove(uri);
            return was_there;
        }
        false
    }

    pub(crate) fn uris(&self) -> Vec<String> {
        self.0.lock().keys().cloned().collect()
    }

    /// The sessions that an update of `uri` concerns, each with the URI it
    /// subscribed to. A server may name a part of what was subscribed to
    /// (MCP 2025-11-25, resources, subscriptions).
    pub(crate) fn of(&self, uri: &str) -> Vec<(String, Arc<Session>)> {
        let all = self.0.lock();
        let concerned = all
            .iter()
            .filter(|(subscribed, _)| uri.starts_with(subscribed.as_str()));
        concerned
            .flat_map(|(subscribed, sessions)| {
                sessions
                    .values()
                    .filter_map(|session| Some((subscribed.clone(), session.upgrade()?)))
            })
            .collect()
    }
}

impl Upstream {
    pub(super) async fn subscribe_again(&self, link: &Link, uri: &str) {
        let params = Raw::empty_object().with_member("uri", &Raw::string(uri));
        let call = Outgoing::own(
            "resources/subscribe",
            Some(params),
            self.settings.startup_timeout,
        );
        if link.request(call).await.is_err() {
            tracing::warn!(server = %self.settings.id, uri, "could not subscribe again after a reconnect");
        }
    }
}
