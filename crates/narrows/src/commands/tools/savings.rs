//! The savings from shaping by server and tool, as recorded by running gateways.
//!
//! Invalid records are ignored.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::terminal::{counted, grouped};

/// The totals of all gateways.
#[derive(Debug, Default)]
pub(super) struct Savings {
    /// The time at which the first gateway started to count.
    since: Option<String>,
    /// Savings by server and tool.
    servers: BTreeMap<String, BTreeMap<String, SavedTotals>>,
}

/// The savings for one tool, or for several together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct SavedTotals {
    /// The number of shortened results.
    results: usize,
    /// The number of results that stayed over their budget.
    failed: usize,
    chars_before: usize,
    chars_after: usize,
    tokens_before: usize,
    tokens_after: usize,
}

#[derive(Deserialize)]
struct TotalsText {
    since: String,
    tools: Vec<ToolEntry>,
}

#[derive(Deserialize)]
struct ToolEntry {
    server: String,
    tool: String,
    #[serde(flatten)]
    saved: SavedTotals,
}

impl Savings {
    pub(super) fn of(texts: &[String]) -> Savings {
        let mut savings = Savings::default();
        for text in texts {
            let Ok(text) = serde_json::from_str::<TotalsText>(text) else {
                continue;
            };
            // All times have the same format, so text order is time order.
            if is_time(&text.since) && savings.since.as_ref().is_none_or(|it| *it > text.since) {
                savings.since = Some(text.since);
            }
            for of_tool in text.tools {
                let server = savings.servers.entry(of_tool.server).or_default();
                server.entry(of_tool.tool).or_default().add(of_tool.saved);
            }
        }
        savings
    }

    /// Returns the savings for a tool, or `None` if there are none.
    pub(super) fn of_tool(&self, server: &str, tool: &str) -> Option<SavedTotals> {
        self.servers.get(server)?.get(tool).copied()
    }

    pub(super) fn of_server(&self, server: &str) -> Option<SavedTotals> {
        sum(self.servers.get(server)?.values())
    }

    /// Returns the savings for all tools, including tools that no longer exist.
    pub(super) fn of_all(&self) -> Option<SavedTotals> {
        sum(self.servers.values().flat_map(BTreeMap::values))
    }

    /// Formats the line below the list, for one server or for all.
    pub(super) fn last_line(&self, server: Option<&str>) -> Option<String> {
        let saved = match server {
            Some(server) => self.of_server(server)?,
            None => self.of_all()?,
        };
        let since = self.since.as_ref().map(|since| format!(" since {since}"));
        let (since, short) = (since.unwrap_or_default(), saved.short());
        let chars = format!(
            "{} -> {} characters, ~{} -> ~{} tokens",
            grouped(saved.chars_before),
            grouped(saved.chars_after),
            grouped(saved.tokens_before),
            grouped(saved.tokens_after),
        );
        Some(format!("saved{since}: {short}; {chars}"))
    }

    /// Returns the savings and their start time as JSON.
    pub(super) fn all_as_json(&self, server: Option<&str>) -> Value {
        let saved = match server {
            Some(server) => self.of_server(server),
            None => self.of_all(),
        };
        let mut value = json!(saved);
        if let Some(object) = value.as_object_mut() {
            object.insert("since".to_owned(), json!(self.since));
        }
        value
    }
}

impl SavedTotals {
    /// Formats the savings briefly.
    pub(super) fn short(&self) -> String {
        let saved = self.tokens_before.saturating_sub(self.tokens_after);
        let percent = (saved as f64 / self.tokens_before.max(1) as f64 * 100.0).floor();
        let mut text = format!(
            "{} shortened, ~{} tokens saved ({percent} %)",
            counted(self.results, "result"),
            grouped(saved)
        );
        if self.failed > 0 {
            text.push_str(&format!(", {} still too long", grouped(self.failed)));
        }
        text
    }

    fn add(&mut self, other: SavedTotals) {
        let SavedTotals {
            results,
            failed,
            chars_before,
            chars_after,
            tokens_before,
            tokens_after,
        } = other;
        self.results = self.results.saturating_add(results);
        self.failed = self.failed.saturating_add(failed);
        self.chars_before = self.chars_before.saturating_add(chars_before);
        self.chars_after = self.chars_after.saturating_add(chars_after);
        self.tokens_before = self.tokens_before.saturating_add(tokens_before);
        self.tokens_after = self.tokens_after.saturating_add(tokens_after);
    }
}

fn sum<'a>(saved: impl Iterator<Item = &'a SavedTotals>) -> Option<SavedTotals> {
    saved.copied().reduce(|mut sum, saved| {
        sum.add(saved);
        sum
    })
}

/// Accepts texts such as `2026-01-02T03:04:05Z`. The characters allowed cannot control a terminal.
fn is_time(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_digit() || "-:.TZ".contains(c);
    (10..=40).contains(&text.len()) && text.chars().all(fits)
}
