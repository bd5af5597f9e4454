//! The lists that a server offers, and the lists that must be read again.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::{MutexGuard, Notify};

use super::Upstream;
use crate::exchange::Asks;
use crate::link::Link;
use crate::offer::{ListKind, ListKindSet, ListReader, Offer};

/// The offer of one server, and its variants for clients that support server requests.
#[derive(Default)]
pub(super) struct OfferCache {
    current: ArcSwap<Offer>,
    /// The offers for clients that support server requests, because some servers list different
    /// tools for them.
    variants: Mutex<HashMap<Asks, Arc<Offer>>>,
    /// Locked while a variant is read, so that each variant is read only once.
    variant_lookup: tokio::sync::Mutex<()>,
    /// The number of items that lead back to this gateway, as last logged.
    looped: AtomicUsize,
    stale: StaleLists,
}

/// The lists that must be read again.
#[derive(Default)]
pub(super) struct StaleLists {
    kinds: ListKindSet,
    signal: Notify,
}

impl OfferCache {
    /// Creates the lists of a successor, which start as those of its predecessor.
    pub(super) fn inherited(offer: Arc<Offer>) -> OfferCache {
        OfferCache {
            current: ArcSwap::from(offer),
            ..OfferCache::default()
        }
    }

    pub(super) fn stale(&self) -> &StaleLists {
        &self.stale
    }

    /// Replaces the offer and forgets its variants.
    fn replace(&self, offer: Offer) {
        self.variants.lock().clear();
        self.current.store(Arc::new(offer));
    }

    /// Logs the number of items left out because they lead back to this gateway, if it has changed.
    fn warn_of_looped_items(&self, id: &str, offer: &Offer) {
        if offer.hello.is_none() {
            return;
        }
        let count: usize = offer.looped.iter().sum();
        if self.looped.swap(count, Ordering::Relaxed) != count && count > 0 {
            tracing::warn!(
                "server \"{id}\": {count} items lead back to this gateway and are left out"
            );
        }
    }
}

impl StaleLists {
    fn insert(&self, kind: ListKind) {
        self.kinds.insert(kind);
        self.signal.notify_one();
    }

    /// Marks lists that could not be read. They are read again when another list changes.
    pub(super) fn put_back(&self, kinds: Vec<ListKind>) {
        kinds.into_iter().for_each(|kind| self.kinds.insert(kind));
    }

    pub(super) fn take(&self) -> Vec<ListKind> {
        self.kinds.take()
    }

    /// Waits until a list must be read again.
    pub(super) async fn raised(&self) {
        self.signal.notified().await;
    }
}

impl Upstream {
    pub fn offer(&self) -> Arc<Offer> {
        self.offer_cache.current.load_full()
    }

    /// Returns the offer for clients with the same capabilities, if it has already been read.
    pub fn variant(&self, asks: Asks) -> Option<Arc<Offer>> {
        self.offer_cache.variants.lock().get(&asks).cloned()
    }

    pub fn keep_variant(&self, asks: Asks, offer: Arc<Offer>) {
        self.offer_cache.variants.lock().insert(asks, offer);
    }

    /// Forgets the variant for `asks` if it differs from `now`, the lists just read.
    pub fn doubt_variant(&self, asks: Asks, now: &Offer) {
        let mut variants = self.offer_cache.variants.lock();
        let differs = |seen: &Arc<Offer>| !seen.same_lists(now);
        if variants.get(&asks).is_some_and(differs) {
            variants.remove(&asks);
        }
    }

    /// Locks the reading of variants, waiting until no other caller reads one.
    pub async fn variant_lookup(&self) -> MutexGuard<'_, ()> {
        self.offer_cache.variant_lookup.lock().await
    }

    /// Replaces the offer, and reports changed tool definitions.
    pub(super) fn store_offer(&self, offer: Offer) {
        self.report_changed_definitions(Asks::default(), &offer);
        self.offer_cache
            .warn_of_looped_items(&self.settings.id, &offer);
        self.offer_cache.replace(offer);
    }

    /// Marks a list as changed, so that it is read again soon.
    pub fn refresh(&self, kind: ListKind) {
        self.offer_cache.stale.insert(kind);
    }

    /// Returns a reader for the lists of the server behind a link.
    pub fn list_reader<'a>(&'a self, link: &'a Link, timeout: Duration) -> ListReader<'a> {
        ListReader {
            link,
            server: &self.slug,
            limits: &self.context.limits,
            timeout,
            mark: self.context.http.mark(),
            secrets: &self.secrets,
        }
    }
}
