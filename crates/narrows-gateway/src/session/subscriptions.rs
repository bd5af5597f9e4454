//! The resources that a session subscribed to.

use std::collections::HashMap;
use std::sync::Arc;

use narrows_wire::{ItemKind, Raw, token};
use parking_lot::Mutex;

use super::Session;
use crate::permit;
use crate::subscribers::concerns;
use narrows_upstream::Upstream;
use narrows_upstream::exchange::Notice;

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
    /// The upstream's own URIs of what the client subscribed to there.
    pub(super) fn subscriptions_to(&self, upstream: usize) -> Vec<String> {
        let all = self.subscriptions.0.lock();
        let there = all.keys().filter(|(index, _)| *index == upstream);
        there.map(|(_, uri)| uri.clone()).collect()
    }

    /// True if it is news.
    pub(crate) fn subscribed(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        own: &Raw,
        published: &Raw,
    ) -> bool {
        let own = own.as_text().unwrap_or_default().into_owned();
        let mut all = self.subscriptions.0.lock();
        if all.len() >= MAX {
            return false;
        }
        let before = all.insert((upstream.index, own.clone()), published.clone());
        drop(all);
        // Over a link of its own, updates come without being looked up.
        if !self.needs_own_link(upstream)
            && let Some(gateway) = self.gateway.upgrade()
        {
            gateway.subscribers.add(upstream.index, &own, self.serial);
        }
        before.is_none()
    }

    /// True if the server is to be told: nobody else wants it over the same link.
    pub(crate) fn unsubscribed(&self, upstream: &Arc<Upstream>, own: &Raw) -> bool {
        let own = own.as_text().unwrap_or_default().into_owned();
        let is_last = self.gateway.upgrade().is_none_or(|gateway| {
            let subscribers = &gateway.subscribers;
            subscribers.remove(upstream.index, &own, self.serial);
            !subscribers.has(upstream.index, &own)
        });
        let told = self.needs_own_link(upstream) || is_last;
        self.subscriptions.0.lock().remove(&(upstream.index, own));
        told
    }

    /// Tells the client of an update, under the URI it knows.
    pub(crate) fn tell_updated(&self, upstream: &Upstream, notice: &Notice) {
        let Some(params) = &notice.params else { return };
        let Some(place) = params.member("uri") else {
            return;
        };
        let Some(own) = place.as_text() else { return };
        let face = self.preset_view();
        let rules = face.plan().rules(upstream.index);
        let (server, offer) = (permit::server_name(upstream), upstream.offer());
        if permit::named(rules, ItemKind::Resource, server, &offer, &own).is_some() {
            return;
        }
        let params = match self.published(upstream, &own) {
            Some(published) if published != place => {
                params.edit().replace(&place, published).finish()
            }
            _ => params.clone(),
        };
        self.tell(Notice {
            params: Some(params),
            ..notice.clone()
        });
    }

    /// The client's name for a resource that it subscribed to, or for a part of one.
    fn published(&self, upstream: &Upstream, own: &str) -> Option<Raw> {
        let all = self.subscriptions.0.lock();
        if let Some(published) = all.get(&(upstream.index, own.to_owned())) {
            return Some(published.clone());
        }
        let whole = all
            .iter()
            .find(|((index, whole), _)| *index == upstream.index && concerns(own, whole));
        let (_, published) = whole?;
        // Parts of what is wrapped are wrapped: only so can the client read them.
        let wrapped = token::unwrap_uri(&published.as_text()?).is_some();
        wrapped.then(|| Raw::string(&token::wrap_uri(&upstream.slug, own)))
    }
}
