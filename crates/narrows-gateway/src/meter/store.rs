//! A recovery store with counters.

use std::sync::Arc;

use super::{Meter, count};
use narrows_results::recovery_store::{Fill, Owner, Receipt, Store, Unavailable};

/// Counts the texts that a store keeps and returns.
pub(crate) struct CountedStore {
    store: Arc<dyn Store>,
    meter: Arc<Meter>,
}

impl CountedStore {
    pub(crate) fn new(store: Arc<dyn Store>, meter: &Arc<Meter>) -> CountedStore {
        CountedStore {
            store,
            meter: meter.clone(),
        }
    }
}

impl Store for CountedStore {
    fn keep(&self, owner: &Owner, text: Arc<str>) -> Result<Receipt, Unavailable> {
        let kept = self.store.keep(owner, text);
        count(match kept {
            Ok(_) => &self.meter.recovery.kept,
            Err(_) => &self.meter.recovery.refused,
        });
        kept
    }

    fn fetch(&self, owner: &Owner, receipt: &str) -> Option<Arc<str>> {
        let text = self.store.fetch(owner, receipt);
        count(match text {
            Some(_) => &self.meter.recovery.found,
            None => &self.meter.recovery.missed,
        });
        text
    }

    fn renew(&self, owner: &Owner, receipt: &str) {
        self.store.renew(owner, receipt);
    }

    fn has_any(&self, owner: &Owner) -> bool {
        self.store.has_any(owner)
    }

    fn source(&self, owner: &Owner, receipt: &str) -> Option<String> {
        self.store.source(owner, receipt)
    }

    fn purge(&self) {
        self.store.purge();
    }

    fn fill(&self) -> Fill {
        self.store.fill()
    }

    fn blocks_on(&self, text: usize) -> bool {
        self.store.blocks_on(text)
    }
}
