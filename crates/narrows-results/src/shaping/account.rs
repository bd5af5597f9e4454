//! Statistics of the savings by server and tool.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde::Serialize;

use narrows_wire::Timestamp;
use std::time::SystemTime;

/// The maximum number of tools that are listed individually.
const MAX_TOOLS: usize = 1_000;

/// Totals of all shaped results since the start.
pub struct SavingsAccount {
    since: String,
    saved: Mutex<HashMap<(String, String), Saved>>,
    /// True if there are changes since the last report.
    is_unsaved: AtomicBool,
}

/// The savings since the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Savings {
    /// The start time (RFC 3339).
    pub since: String,
    /// The sum over all tools.
    #[serde(flatten)]
    pub all: Saved,
    /// The savings of each tool, sorted by server and name.
    pub tools: Vec<ToolSavings>,
}

/// The savings of one tool's results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolSavings {
    pub server: String,
    /// The server's own name of the tool; for resources the method.
    pub tool: String,
    #[serde(flatten)]
    pub saved: Saved,
}

/// The effect of shaping.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Saved {
    /// The number of shaped results.
    pub results: u64,
    /// The number of results that should have been shaped but were returned unchanged.
    pub failed: u64,
    pub chars_before: u64,
    pub chars_after: u64,
    /// An estimate.
    pub tokens_before: u64,
    /// An estimate.
    pub tokens_after: u64,
}

impl Default for SavingsAccount {
    fn default() -> Self {
        SavingsAccount {
            since: Timestamp::from(SystemTime::now()).rfc3339(),
            saved: Mutex::default(),
            is_unsaved: AtomicBool::new(false),
        }
    }
}

impl SavingsAccount {
    /// Updates the totals of a tool. Catalogues change, so the number of tools is limited; further
    /// tools are counted together.
    pub(super) fn record(&self, server: &str, tool: &str, entry: impl FnOnce(&mut Saved)) {
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
        self.is_unsaved.store(true, Ordering::Relaxed);
    }

    /// Marks the totals as unreported, because the last report could not be written.
    pub fn mark_unsaved(&self) {
        self.is_unsaved.store(true, Ordering::Relaxed);
    }

    /// Returns the report to write; `None` if nothing has changed since the last one.
    pub fn report(&self) -> Option<String> {
        if !self.is_unsaved.swap(false, Ordering::Relaxed) {
            return None;
        }
        let Savings { since, tools, .. } = self.savings();
        Some(serde_json::json!({ "since": since, "tools": tools }).to_string())
    }

    /// Returns all totals.
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
