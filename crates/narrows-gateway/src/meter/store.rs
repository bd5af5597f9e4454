//! A recovery store with counters.

use std::sync::Arc;

use super::{Meter, count};
use narrows_results::recovery_store::{
    Owner, Receipt, RecoveryStore, StoreUnavailable, StoreUsage,
};

/// Counts the texts that a store keeps and returns.
pub(crate) struct CountedStore {
    store: Arc<dyn RecoveryStore>,
    meter: Arc<Meter>,
}

impl CountedStore {
    pub(crate) fn new(store: Arc<dyn RecoveryStore>, meter: &Arc<Meter>) -> CountedStore {
        CountedStore {
            store,
            meter: meter.clone(),
        }
    }
}

impl RecoveryStore for CountedStore {
    fn keep(&self, owner: &Owner, text: Arc<str>) -> Result<Receipt, StoreUnavailable> {
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

    fn usage(&self) -> StoreUsage {
        self.store.usage()
    }

    fn may_block(&self, text: usize) -> bool {
        self.store.may_block(text)
    }
}
