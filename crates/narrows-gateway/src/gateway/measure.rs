//! Measurements of a gateway: the counters of its meter and the current state.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Gateway, Inner};
use crate::meter::{self, Meter, MetricFamily, MetricLabel};
use narrows_results::shaping::{Saved, Savings};

/// The possible states of a server.
const STATES: [&str; 4] = ["up", "starting", "down", "disabled"];

impl Gateway {
    /// Returns the meter, for counting in other crates.
    pub fn meter(&self) -> &Meter {
        self.0.meter()
    }

    /// Returns all measurements. Reads `/proc` and may wait for the recovery store, so it must run
    /// on a thread that may block.
    pub fn measure(&self) -> Vec<MetricFamily> {
        let inner = &self.0;
        let build = MetricFamily::gauge("narrows_build_info", "Version of the program.");
        let version = ("version", env!("CARGO_PKG_VERSION").into());
        let mut families = vec![build.with([version], 1.0)];
        families.extend(inner.meter().families());
        families.extend(inner.of_upstreams());
        families.extend(inner.of_queues());
        families.extend(inner.of_memory());
        families.extend(inner.of_recovery());
        families.extend(inner.of_shaping());
        families.extend(meter::process());
        families
    }

    /// Returns the savings by shaping since the start.
    pub fn savings(&self) -> Savings {
        self.0.shaping.account().savings()
    }
}

impl Inner {
    pub(crate) fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    fn of_upstreams(&self) -> [MetricFamily; 2] {
        let mut states = MetricFamily::gauge(
            "narrows_upstream_state",
            "1 for the current state of a server, otherwise 0.",
        );
        let mut links =
            MetricFamily::gauge("narrows_upstream_links", "Open connections to a server.");
        for upstream in &self.config().upstreams {
            let server = ("server", MetricLabel::from(upstream.settings.id.clone()));
            let is = upstream.state().as_str();
            for state in STATES {
                let value = f64::from(u8::from(state == is));
                states.add([server.clone(), ("state", state.into())], value);
            }
            links.add([server], upstream.links());
        }
        [states, links]
    }

    fn of_queues(&self) -> [MetricFamily; 2] {
        let sessions = self.sessions.lock();
        let waiting = sessions.values().map(|session| session.waiting());
        let (sum, max) = waiting.fold((0, 0), |(sum, max), waiting| {
            (sum + waiting, waiting.max(max))
        });
        drop(sessions);
        let all = MetricFamily::gauge(
            "narrows_queued_messages",
            "Messages outside calls that wait to be sent to clients.",
        );
        let longest = MetricFamily::gauge(
            "narrows_queued_messages_max",
            "Messages outside calls that wait for the client with the longest queue.",
        );
        [all.with([], sum), longest.with([], max)]
    }

    fn of_memory(&self) -> [MetricFamily; 4] {
        let mut held = MetricFamily::gauge(
            "narrows_held_bytes",
            "Bytes held for clients: request bodies, and responses that wait to be written.",
        );
        let mut limit = MetricFamily::gauge(
            "narrows_held_bytes_limit",
            "Limit on the bytes held for all clients.",
        );
        let mut refused = MetricFamily::counter(
            "narrows_held_bytes_refused_total",
            "Messages refused because too many bytes were held.",
        );
        for (of, budget) in [
            ("requests", &self.memory.requests),
            ("responses", &self.memory.responses),
        ] {
            held.add([("of", of.into())], budget.used());
            limit.add([("of", of.into())], budget.limit());
            refused.add([("of", of.into())], budget.refused());
        }
        let closed = MetricFamily::counter(
            "narrows_slow_readers_closed_total",
            "Connections closed because their clients did not read while too many bytes were held.",
        );
        let closed = closed.with([], self.memory.responses.closed_readers());
        [held, limit, refused, closed]
    }

    fn of_recovery(&self) -> [MetricFamily; 2] {
        let usage = self.shaping.store().usage();
        let texts = MetricFamily::gauge("narrows_recovery_texts", "Texts in the recovery store.");
        let bytes = MetricFamily::gauge(
            "narrows_recovery_bytes",
            "Size of the texts in the recovery store.",
        );
        [texts.with([], usage.texts), bytes.with([], usage.bytes)]
    }

    /// Returns the shaping counters of configured servers only, because the account keeps removed
    /// servers for as long as the process runs.
    fn of_shaping(&self) -> [MetricFamily; 3] {
        let mut by_server: HashMap<String, Saved> = HashMap::new();
        for tool in self.shaping.account().savings().tools {
            by_server.entry(tool.server).or_default().add(&tool.saved);
        }
        let mut results = MetricFamily::counter(
            "narrows_shaping_results_total",
            "Results over their budget, by whether they could be shortened.",
        );
        let mut chars = MetricFamily::counter(
            "narrows_shaping_chars_total",
            "Characters of shortened results, before and after.",
        );
        let mut tokens = MetricFamily::counter(
            "narrows_shaping_tokens_total",
            "Estimated tokens of shortened results, before and after.",
        );
        for upstream in &self.config().upstreams {
            let id = &upstream.settings.id;
            let saved = by_server.remove(id).unwrap_or_default();
            let label =
                |name, word: &'static str| [("server", id.clone().into()), (name, word.into())];
            results.add(label("result", "shaped"), saved.results);
            results.add(label("result", "failed"), saved.failed);
            chars.add(label("when", "before"), saved.chars_before);
            chars.add(label("when", "after"), saved.chars_after);
            tokens.add(label("when", "before"), saved.tokens_before);
            tokens.add(label("when", "after"), saved.tokens_after);
        }
        [results, chars, tokens]
    }
}
