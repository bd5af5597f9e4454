//! The subscriptions of a session to resources.

use std::collections::HashMap;
use std::sync::Arc;

use narrows_wire::{ItemKind, Raw, token};
use parking_lot::Mutex;

use super::Session;
use crate::call::{Call, RoutedRequest};
use crate::error::Error;
use crate::permit;
use crate::subscribers::concerns;
use narrows_upstream::Upstream;
use narrows_upstream::exchange::Notice;

/// The maximum number of subscriptions. A client with more probably never unsubscribes.
const MAX: usize = 10_000;

/// Maps an upstream and its own URI to the URI that the client knows.
#[derive(Default)]
pub(super) struct Subscriptions(Mutex<HashMap<(usize, String), Raw>>);

impl Subscriptions {
    /// Removes and returns all subscriptions at the end of the session.
    pub(super) fn take(&self) -> Vec<(usize, String)> {
        std::mem::take(&mut *self.0.lock()).into_keys().collect()
    }
}

impl Session {
    /// Returns the upstream's own URIs that the client is subscribed to.
    pub(super) fn subscriptions_to(&self, upstream: usize) -> Vec<String> {
        let all = self.subscriptions.0.lock();
        let there = all.keys().filter(|(index, _)| *index == upstream);
        there.map(|(_, uri)| uri.clone()).collect()
    }

    /// Handles `resources/subscribe`.
    pub(super) async fn subscribe(&self, call: Call<'_>) -> Result<Raw, Error> {
        let (target, uri) = call.resource_target().await?;
        // Recorded first, because an update may arrive together with the response.
        let is_new = self.subscribed(&target.upstream, &target.name, &uri);
        let result = call.send(RoutedRequest::to(&target, uri)).await;
        if is_new && result.is_err() {
            self.unsubscribed(&target.upstream, &target.name);
        }
        result
    }

    /// Handles `resources/unsubscribe`.
    pub(super) async fn unsubscribe(&self, call: Call<'_>) -> Result<Raw, Error> {
        let (target, uri) = call.resource_target().await?;
        // Another session may still be subscribed over the same link.
        match self.unsubscribed(&target.upstream, &target.name) {
            true => call.send(RoutedRequest::to(&target, uri)).await,
            false => Ok(Raw::empty_object()),
        }
    }

    /// Records a subscription. Returns true if it is new for the session.
    fn subscribed(&self, upstream: &Arc<Upstream>, own: &Raw, published: &Raw) -> bool {
        let own = own.as_text().unwrap_or_default().into_owned();
        let mut all = self.subscriptions.0.lock();
        if all.len() >= MAX {
            return false;
        }
        let before = all.insert((upstream.index, own.clone()), published.clone());
        drop(all);
        // Updates on the session's own link need no lookup by URI.
        if !self.needs_own_link(upstream) {
            let subscribers = &self.services.subscribers;
            subscribers.add(upstream.index, &own, self.serial);
        }
        before.is_none()
    }

    /// Removes a subscription. Returns true if no other session is subscribed over the same link,
    /// so that the server must be notified.
    fn unsubscribed(&self, upstream: &Arc<Upstream>, own: &Raw) -> bool {
        let own = own.as_text().unwrap_or_default().into_owned();
        let subscribers = &self.services.subscribers;
        subscribers.remove(upstream.index, &own, self.serial);
        let is_last = !subscribers.has(upstream.index, &own);
        let must_unsubscribe = self.needs_own_link(upstream) || is_last;
        self.subscriptions.0.lock().remove(&(upstream.index, own));
        must_unsubscribe
    }

    /// Notifies the client of an updated resource, under the URI that the client knows.
    pub(crate) fn notify_resource_updated(&self, upstream: &Upstream, notice: &Notice) {
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
        self.emit(Notice {
            params: Some(params),
            ..notice.clone()
        });
    }

    /// Returns the client's URI for a subscribed resource, or for a part of one.
    fn published(&self, upstream: &Upstream, own: &str) -> Option<Raw> {
        let all = self.subscriptions.0.lock();
        if let Some(published) = all.get(&(upstream.index, own.to_owned())) {
            return Some(published.clone());
        }
        let whole = all
            .iter()
            .find(|((index, whole), _)| *index == upstream.index && concerns(own, whole));
        let (_, published) = whole?;
        // The client can read parts of a wrapped resource only under a wrapped URI.
        let wrapped = token::unwrap_uri(&published.as_text()?).is_some();
        wrapped.then(|| Raw::string(&token::wrap_uri(&upstream.slug, own)))
    }
}
