//! Conversion of the counters to metric families.

use std::sync::Arc;

use narrows_wire::ItemKind;

use super::family::name;
use super::labels::{Evicted, Method, Outcome, RefusedFor};
use super::{EntrypointMeter, Meter, MetricFamily, MetricLabel, ServerMeter, read};

impl Meter {
    /// Returns the families of all counters of this meter. Measurements of the current state are
    /// added elsewhere.
    pub(crate) fn families(&self) -> Vec<MetricFamily> {
        let mut families = self.of_requests();
        families.extend(self.of_servers());
        families.extend(self.of_refusals());
        families.extend(self.of_recovery());
        families
    }

    fn of_requests(&self) -> Vec<MetricFamily> {
        let mut requests = MetricFamily::counter(
            "narrows_requests_total",
            "Completed client requests, by outcome and responsible party.",
        );
        let mut open = MetricFamily::gauge("narrows_sessions", "Open sessions.");
        let mut opened = MetricFamily::counter(
            "narrows_sessions_opened_total",
            "Sessions opened since the start.",
        );
        for (entrypoint, meter) in sorted(self.entrypoints.lock().iter()) {
            meter.add_requests(&entrypoint, &mut requests);
            open.add([("endpoint", name(&entrypoint))], read(&meter.open));
            opened.add([("endpoint", name(&entrypoint))], read(&meter.opened));
        }
        let in_flight =
            MetricFamily::gauge("narrows_requests_in_flight", "Client requests in progress.");
        let inside = MetricFamily::histogram(
            "narrows_gateway_seconds",
            "Time that requests spent in the gateway, without the time of servers.",
        );
        let dropped = MetricFamily::counter(
            "narrows_messages_dropped_total",
            "Messages dropped because the client did not read.",
        );
        vec![
            requests,
            in_flight.with([], read(&self.in_flight)),
            inside.with([], self.inside.value()),
            open,
            opened,
            dropped.with([], read(&self.dropped)),
        ]
    }

    fn of_servers(&self) -> Vec<MetricFamily> {
        let mut calls = MetricFamily::counter(
            "narrows_upstream_calls_total",
            "Completed calls to servers, by outcome and responsible party.",
        );
        let mut latency = MetricFamily::histogram(
            "narrows_upstream_call_seconds",
            "Time from a call to the server's response.",
        );
        let mut restarts = MetricFamily::counter(
            "narrows_upstream_restarts_total",
            "Restarts and reconnections of a server.",
        );
        let mut failures = MetricFamily::counter(
            "narrows_upstream_failures_total",
            "Times that a server failed to start or went down.",
        );
        let mut health = MetricFamily::counter(
            "narrows_upstream_health_failures_total",
            "Health checks that a server did not answer.",
        );
        let mut tool_changes = MetricFamily::counter(
            "narrows_upstream_tool_changes_total",
            "Changes of tool definitions after the gateway first read them.",
        );
        for (id, meter) in sorted(self.servers.lock().iter()) {
            let server = || [("server", name(&id))];
            meter.add_calls(&id, &mut calls, &mut latency);
            restarts.add(server(), read(&meter.connects).saturating_sub(1));
            failures.add(server(), read(&meter.failures));
            health.add(server(), read(&meter.health_failures));
            tool_changes.add(server(), read(&meter.tool_changes));
        }
        vec![calls, latency, restarts, failures, health, tool_changes]
    }

    fn of_refusals(&self) -> Vec<MetricFamily> {
        let mut denials = MetricFamily::counter(
            "narrows_denials_total",
            "Requests refused by a preset, by kind of item.",
        );
        for (kind, count) in ItemKind::ALL.iter().zip(&self.denials) {
            denials.add([("kind", MetricLabel::from(kind.to_string()))], read(count));
        }
        let mut refusals = MetricFamily::counter(
            "narrows_refusals_total",
            "Requests refused before they were processed, by reason.",
        );
        for (reason, count) in RefusedFor::ALL.iter().zip(&self.refusals) {
            refusals.add([("reason", reason.as_str().into())], read(count));
        }
        let mut evictions = MetricFamily::counter(
            "narrows_evictions_total",
            "Idle sessions and connections closed to make room for new ones.",
        );
        for (what, count) in Evicted::ALL.iter().zip(&self.evictions) {
            evictions.add([("kind", what.as_str().into())], read(count));
        }
        let reloads = MetricFamily::counter(
            "narrows_reloads_total",
            "Changed configurations, by whether they were applied or rejected.",
        );
        let [taken, refused] = &self.reloads;
        let reloads = reloads
            .with([("result", "ok".into())], read(taken))
            .with([("result", "failed".into())], read(refused));
        vec![denials, refusals, evictions, reloads]
    }

    fn of_recovery(&self) -> Vec<MetricFamily> {
        let recovery = &self.recovery;
        let receipts = MetricFamily::counter(
            "narrows_recovery_receipts_total",
            "Texts stored before they were cut.",
        );
        let refused = MetricFamily::counter(
            "narrows_recovery_refused_total",
            "Texts that could not be stored and so were not cut.",
        );
        let fetches = MetricFamily::counter(
            "narrows_recovery_fetches_total",
            "Lookups of a text by its receipt.",
        );
        vec![
            receipts.with([], read(&recovery.kept)),
            refused.with([], read(&recovery.refused)),
            fetches
                .with([("result", "found".into())], read(&recovery.found))
                .with([("result", "missed".into())], read(&recovery.missed)),
        ]
    }
}

impl EntrypointMeter {
    /// Adds all outcomes of the methods that were used. Outcomes without requests are included as
    /// zero, so that a first error shows as a step from zero.
    fn add_requests(&self, entrypoint: &Arc<str>, requests: &mut MetricFamily) {
        for (method, outcomes) in Method::ALL.iter().zip(&self.requests) {
            let outcomes = outcomes.each_ref().map(read);
            if outcomes.iter().all(|count| *count == 0) {
                continue;
            }
            for (outcome, count) in Outcome::ALL.iter().zip(outcomes) {
                let labels = [
                    ("endpoint", name(entrypoint)),
                    ("method", method.as_str().into()),
                    ("outcome", outcome.as_str().into()),
                ];
                requests.add(labels, count);
            }
        }
    }
}

impl ServerMeter {
    fn add_calls(&self, id: &Arc<str>, calls: &mut MetricFamily, latency: &mut MetricFamily) {
        for (method, meter) in Method::ALL.iter().zip(&self.calls) {
            let Some(meter) = meter.get() else {
                continue;
            };
            let server = ("server", name(id));
            let method = ("method", MetricLabel::from(method.as_str()));
            for (outcome, count) in Outcome::ALL.iter().zip(&meter.outcomes) {
                let outcome = ("outcome", outcome.as_str().into());
                calls.add([server.clone(), method.clone(), outcome], read(count));
            }
            latency.add([server, method], meter.latency.value());
        }
    }
}

/// Sorts by name, so that scrapes are easy to compare.
fn sorted<'a, T: 'a>(
    meters: impl Iterator<Item = (&'a Arc<str>, &'a Arc<T>)>,
) -> Vec<(Arc<str>, Arc<T>)> {
    let mut meters: Vec<_> = meters
        .map(|(name, meter)| (name.clone(), meter.clone()))
        .collect();
    meters.sort_by(|(a, _), (b, _)| a.cmp(b));
    meters
}
