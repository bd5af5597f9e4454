//! Who subscribed to which resources over an upstream's shared link, and what
//! a link is told besides calls: subscriptions and the log level.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use narrows_wire::Raw;
use parking_lot::Mutex;

use super::{Link, Outgoing, Upstream};
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

    pub(crate) fn has(&self, uri: &str) -> bool {
        self.0.lock().contains_key(uri)
    }

    pub(crate) fn uris(&self) -> Vec<String> {
        self.0.lock().keys().cloned().collect()
    }

    /// The sessions that an update of `uri` concerns, each of them once.
    pub(crate) fn of(&self, uri: &str) -> Vec<Arc<Session>> {
        let all = self.0.lock();
        let concerned = all
            .iter()
            .filter(|(subscribed, _)| concerns(uri, subscribed));
        // Somebody may have subscribed to the whole and to the part.
        let sessions: HashMap<u64, &Weak<Session>> = concerned
            .flat_map(|(_, sessions)| sessions)
            .map(|(serial, session)| (*serial, session))
            .collect();
        sessions.into_values().filter_map(Weak::upgrade).collect()
    }
}

/// Returns true if an update of `uri` is one for who subscribed to
/// `subscribed`. A server may name a part of it (MCP 2025-11-25, resources,
/// subscriptions), but not something else whose URI merely begins alike.
pub(crate) fn concerns(uri: &str, subscribed: &str) -> bool {
    uri.strip_prefix(subscribed).is_some_and(|rest| {
        rest.is_empty() || subscribed.ends_with('/') || rest.starts_with(['/', '?', '#'])
    })
}

impl Upstream {
    /// Sets the level of log messages on one link. A server that refuses it
    /// logs as it likes; nobody is hurt.
    pub(crate) async fn set_level(&self, link: &Link, level: &str) {
        let params = Raw::empty_object().with_member("level", &Raw::string(level));
        let limit = self.settings.startup_timeout;
        let call = Outgoing::own("logging/setLevel", Some(params), limit);
        if link.request(call).await.is_err() {
            tracing::debug!(server = %self.settings.id, level, "the log level was not accepted");
        }
    }

    pub(crate) async fn unsubscribe(&self, uri: &str) {
        let params = Raw::empty_object().with_member("uri", &Raw::string(uri));
        if let Ok(link) = self.shared_link() {
            let limit = self.settings.startup_timeout;
            let call = Outgoing::own("resources/unsubscribe", Some(params), limit);
            // Nobody listens any more, so nobody is hurt if it fails.
            let _ = link.request(call).await;
        }
    }

    pub(crate) async fn subscribe_again(&self, link: &Link, uri: &str) {
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
