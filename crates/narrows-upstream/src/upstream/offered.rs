//! The lists that a server offers, as last read, and the lists to read again.

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
use crate::offer::{Kinds, ListKind, ListReader, Offer};

/// The offer of one server, with its variants for clients that can be asked
/// questions.
#[derive(Default)]
pub(super) struct Offered {
    current: ArcSwap<Offer>,
    /// Some servers list other tools for clients that can be asked.
    variants: Mutex<HashMap<Asks, Arc<Offer>>>,
    /// Held while a variant is read, so that each is read once.
    variant_lookup: tokio::sync::Mutex<()>,
    /// The number of items that lead back to this gateway, as last logged.
    led_back: AtomicUsize,
    stale: StaleLists,
}

/// The lists that have to be read again.
#[derive(Default)]
pub(super) struct StaleLists {
    kinds: Kinds,
    signal: Notify,
}

impl Offered {
    /// Returns the offer of an instance that takes the place of another.
    pub(super) fn inherited(offer: Arc<Offer>) -> Offered {
        Offered {
            current: ArcSwap::from(offer),
            ..Offered::default()
        }
    }

    pub(super) fn stale(&self) -> &StaleLists {
        &self.stale
    }

    /// Replaces the offer and forgets the variants of the one before.
    fn replace(&self, offer: Offer) {
        self.variants.lock().clear();
        self.current.store(Arc::new(offer));
    }

    /// Logs how many items are left out because they lead back here, whenever
    /// the number changes.
    fn warn_of_items_led_back(&self, id: &str, offer: &Offer) {
        if offer.hello.is_none() {
            return;
        }
        let count: usize = offer.led_back.iter().sum();
        if self.led_back.swap(count, Ordering::Relaxed) != count && count > 0 {
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

    /// Marks lists that could not be read. They are read again with the next
    /// list that changes.
    pub(super) fn put_back(&self, kinds: Vec<ListKind>) {
        kinds.into_iter().for_each(|kind| self.kinds.insert(kind));
    }

    pub(super) fn take(&self) -> Vec<ListKind> {
        self.kinds.take()
    }

    /// Waits until a list has to be read again.
    pub(super) async fn raised(&self) {
        self.signal.notified().await;
    }
}

impl Upstream {
    pub fn offer(&self) -> Arc<Offer> {
        self.offered.current.load_full()
    }

    /// Returns the offer to other clients that can be asked the same, if it
    /// was read before.
    pub fn variant(&self, asks: Asks) -> Option<Arc<Offer>> {
        self.offered.variants.lock().get(&asks).cloned()
    }

    pub fn keep_variant(&self, asks: Asks, offer: Arc<Offer>) {
        self.offered.variants.lock().insert(asks, offer);
    }

    /// Forgets a variant if the server offers something else now.
    pub fn doubt_variant(&self, asks: Asks, now: &Offer) {
        let mut variants = self.offered.variants.lock();
        let differs = |seen: &Arc<Offer>| !seen.same_lists(now);
        if variants.get(&asks).is_some_and(differs) {
            variants.remove(&asks);
        }
    }

    /// Waits until no other caller reads a variant, and keeps others from it.
    pub async fn variant_lookup(&self) -> MutexGuard<'_, ()> {
        self.offered.variant_lookup.lock().await
    }

    /// Replaces the offer, and reports what changed.
    pub(super) fn store_offer(&self, offer: Offer) {
        self.compare_definitions(Asks::default(), &offer);
        self.offered
            .warn_of_items_led_back(&self.settings.id, &offer);
        self.offered.replace(offer);
    }

    /// Marks a list as changed: it is read again soon.
    pub fn refresh(&self, kind: ListKind) {
        self.offered.stale.insert(kind);
    }

    /// Returns a reader of the lists behind a link.
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
