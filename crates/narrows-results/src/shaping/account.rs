//! What was saved, by server and tool.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde::Serialize;

use narrows_wire::Timestamp;
use std::time::SystemTime;

/// So many tools are told one by one.
const MAX_TOOLS: usize = 1_000;

/// Sums over all shaped results since the start.
pub struct Account {
    since: String,
    saved: Mutex<HashMap<(String, String), Saved>>,
    /// Whether there is something that was not reported yet.
    news: AtomicBool,
}

/// What was saved since the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Savings {
    /// When it began, RFC 3339.
    pub since: String,
    /// Of all tools together.
    #[serde(flatten)]
    pub all: Saved,
    /// Of each, by server and name.
    pub tools: Vec<ToolSavings>,
}

/// What was saved of one tool's results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolSavings {
    pub server: String,
    /// The server's own name of it; for resources the method.
    pub tool: String,
    #[serde(flatten)]
    pub saved: Saved,
}

/// What shaping came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Saved {
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
            since: Timestamp::from(SystemTime::now()).rfc3339(),
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
    pub fn report_again(&self) {
        self.news.store(true, Ordering::Relaxed);
    }

    /// As it is written down; `None` if there is nothing new to tell.
    pub fn report(&self) -> Option<String> {
        if !self.news.swap(false, Ordering::Relaxed) {
            return None;
        }
        let Savings { since, tools, .. } = self.savings();
        Some(serde_json::json!({ "since": since, "tools": tools }).to_string())
    }

    /// All that there is to tell.
    pub fn savings(&self) -> Savings {
        let mut saved: Vec<_> = self.saved.lock().clone().into_iter().collect();
        saved.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut all = Saved::default();
        saved.iter().for_each(|(_, saved)| all.add(saved));
        let tools = saved
            .into_iter()
            .map(|((server, tool), saved)| ToolSavings {
                server,
                tool,
                saved,
            });
        Savings {
            since: self.since.clone(),
            all,
            tools: tools.collect(),
        }
    }
}

impl Saved {
    pub fn add(&mut self, other: &Saved) {
        self.results += other.results;
        self.failed += other.failed;
        self.chars_before += other.chars_before;
        self.chars_after += other.chars_after;
        self.tokens_before += other.tokens_before;
        self.tokens_after += other.tokens_after;
    }
}
