//! What was saved, by server and tool.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::clock;
use crate::lock::Mutex;

/// Sums over all shaped results since the start.
pub(crate) struct Account {
    since: String,
    saved: Mutex<HashMap<(String, String), Saved>>,
    /// Whether there is something that was not reported yet.
    news: AtomicBool,
}

/// What shaping came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Saved {
    /// Results that were shaped.
    pub results: u64,
    /// Results that should have been and were passed on as they came.
    pub failed: u64,
    pub chars_before: u64,
    pub chars_after: u64,
    /// Estimated.
    pub tokens_before: u64,
    /// Estimated.
    pub tokens_after: u64,
}

impl Default for Account {
    fn default() -> Self {
        Account {
            since: clock::now().rfc3339(),
            saved: Mutex::default(),
            news: AtomicBool::new(false),
        }
    }
}

impl Account {
    /// `server` and `tool` are names of the catalogue, so there are no more of
    /// them than there.
    pub(super) fn enter(&self, server: &str, tool: &str, entry: impl FnOnce(&mut Saved)) {
        let mut saved = self.saved.lock();
        entry(
            saved
                .entry((server.to_owned(), tool.to_owned()))
                .or_default(),
        );
        self.news.store(true, Ordering::Relaxed);
    }

    /// As it is written down; `None` if there is nothing new to tell.
    pub(crate) fn report(&self) -> Option<String> {
        if !self.news.swap(false, Ordering::Relaxed) {
            return None;
        }
        let mut saved: Vec<_> = self.saved.lock().clone().into_iter().collect();
        saved.sort_by(|(a, _), (b, _)| a.cmp(b));
        let tools: Vec<_> = saved
            .iter()
            .map(|((server, tool), saved)| {
                json!({
                    "server": server,
                    "tool": tool,
                    "results": saved.results,
                    "failed": saved.failed,
                    "chars_before": saved.chars_before,
                    "chars_after": saved.chars_after,
                    "tokens_before": saved.tokens_before,
                    "tokens_after": saved.tokens_after,
                })
            })
            .collect();
        Some(json!({ "since": self.since, "tools": tools }).to_string())
    }
}
