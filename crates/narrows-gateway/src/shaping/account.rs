//! What was saved, by server and tool.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::clock;
use crate::lock::Mutex;

/// So many tools are told one by one.
const MAX_TOOLS: usize = 1_000;

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
    /// Catalogues change, so that there may be more names in time than anybody
    /// wants to read; those go together.
    pub(super) fn enter(&self, server: &str, tool: &str, entry: impl FnOnce(&mut Saved)) {
        let mut saved = self.saved.lock();
        let is_new = !saved.contains_key(&(server.to_owned(), tool.to_owned()));
        let tool = match is_new && saved.len() >= MAX_TOOLS {
            true => "(others)",
            false => tool,
        };
        entry(
            saved
                .entry((server.to_owned(), tool.to_owned()))
                .or_default(),
        );
        self.news.store(true, Ordering::Relaxed);
    }

    /// Has it told once more, since it was not written down.
    pub(crate) fn report_again(&self) {
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
