//! The resources that a session subscribed to.

use std::collections::HashMap;
use std::sync::Arc;

use narrows_wire::Raw;

use super::Session;
use crate::exchange::Notice;
use crate::lock::Mutex;
use crate::upstream::Upstream;

/// A client that subscribes to more than this forgets to unsubscribe.
const MAX: usize = 10_000;

/// By upstream and its own URI: the URI that the client knows.
#[derive(Default)]
pub(super) struct Subscriptions(Mutex<HashMap<(usize, String), Raw>>);

impl Subscriptions {
    /// Empties it, for the end of the session.
    pub(super) fn take(&self) -> Vec<(usize, String)> {
        std::mem::take(&mut *self.0.lock()).into_keys().collect()
    }
}

impl Session {
    pub(super) fn has_subscriptions(&self) -> bool {
        !self.subscriptions.0.lock().is_empty()
    }

    pub(crate) fn subscribed(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        own: &Raw,
        published: &Raw,
    ) {
        let own = own.as_text().unwrap_or_default().into_owned();
        let mut all = self.subscriptions.0.lock();
        if all.len() < MAX {
            all.insert((upstream.index, own.clone()), published.clone());
            drop(all);
            // Over a link of its own, updates come without being looked up.
            if self.links.get(upstream.index).is_none() {
                upstream.subscribers.add(&own, self);
            }
        }
    }

    /// True if the server is to be told.
    pub(crate) fn unsubscribed(&self, upstream: &Arc<Upstream>, own: &Raw) -> bool {
        let own = own.as_text().unwrap_or_default().into_owned();
        let known = self
            .subscriptions
            .0
            .lock()
            .remove(&(upstream.index, own.clone()))
            .is_some();
        if self.links.get(upstream.index).is_some() || !known {
            return true;
        }
        upstream.subscribers.remove(&own, self.serial())
    }

    /// Tells the client of an update, under the URI it knows. `subscribed` is
    /// the upstream's URI that the client subscribed to.
    pub(crate) fn tell_updated(&self, upstream: usize, subscribed: Option<&str>, notice: &Notice) {
        let Some(params) = &notice.params else { return };
        let Some(place) = params.member("uri") else {
            return;
        };
        let Some(own) = place.as_text() else { return };
        let all = self.subscriptions.0.lock();
        let published = all.get(&(upstream, own.clone().into_owned()));
        let exact = published.is_some();
        let published = published.cloned();
        drop(all);
        if !exact && subscribed.is_none() {
            // Something else under a link of its own; the server knows why.
            return self.tell(notice.clone());
        }
        let params = match published.filter(|published| published != &place) {
            Some(published) => params.edit().replace(&place, published).finish(),
            None => params.clone(),
        };
        self.tell(Notice {
            params: Some(params),
            ..notice.clone()
        });
    }
}
