//! A cache of the texts that were read last.
//!
//! Long texts are requested in pages. Reading a text of 5 MB takes 3 ms, or 17 ms and more if
//! memory allocation is slow, so it must not be repeated for each page.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use super::super::Owner;

const COUNT: usize = 2;
/// The maximum length of a cached text. It is limited because cached texts stay in memory.
const MAX_BYTES: usize = 16 * 1024 * 1024;

#[derive(Default)]
pub(super) struct RecentTexts(Mutex<VecDeque<RecentText>>);

struct RecentText {
    receipt: Box<str>,
    owner: Owner,
    text: Arc<str>,
}

impl RecentTexts {
    pub(super) fn get(&self, owner: &Owner, receipt: &str) -> Option<Arc<str>> {
        let recent = self.0.lock();
        let read = recent.iter().find(|read| *read.receipt == *receipt)?;
        (read.owner == *owner).then(|| read.text.clone())
    }

    pub(super) fn add(&self, owner: &Owner, receipt: &str, text: &Arc<str>) {
        if text.len() > MAX_BYTES {
            return;
        }
        let mut recent = self.0.lock();
        recent.retain(|read| *read.receipt != *receipt);
        recent.truncate(COUNT - 1);
        recent.push_front(RecentText {
            receipt: receipt.into(),
            owner: owner.clone(),
            text: text.clone(),
        });
    }

    /// Removes the texts whose receipts are not `wanted`.
    pub(super) fn retain(&self, wanted: impl Fn(&str) -> bool) {
        self.0.lock().retain(|read| wanted(&read.receipt));
    }
}
