//! Conversion of the counters to metric families.

use std::sync::Arc;

use narrows_wire::ItemKind;

use super::family::name;
use super::words::{Evicted, Method, Outcome, RefusedFor};
use super::{DoorMeter, Family, Label, Meter, ServerMeter, read};

impl Meter {
    /// Returns the families of all counters of this meter. Measurements of the current state are
    /// added elsewhere.
    pub(crate) fn families(&self) -> Vec<Family> {
        let mut families = self.of_requests();
        families.extend(self.of_servers());
        families.extend(self.of_refusals());
        families.extend(self.of_recovery());
        families
    }

    fn of_requests(&self) -> Vec<Family> {
        let mut requests = Family::counter(
            "narrows_requests_total",
            "Completed client requests, by outcome and responsible party.",
        );
        let mut open = Family::gauge("narrows_sessions", "Open sessions.");
        let mut opened = Family::counter(
            "narrows_sessions_opened_total",
            "Sessions opened since the start.",
        );
        for (door, meter) in sorted(self.doors.lock().iter()) {
            meter.add_requests(&door, &mut requests);
            open.add([("endpoint", name(&door))], read(&meter.open));
            opened.add([("endpoint", name(&door))], read(&meter.opened));
        }
        let in_flight = Family::gauge("narrows_requests_in_flight", "Client requests in progress.");
        let inside = Family::histogram(
            "narrows_gateway_seconds",
            "Time that requests spent in the gateway, without the time of servers.",
        );
        let dropped = Family::counter(
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

    fn of_servers(&self) -> Vec<Family> {
        let mut calls = Family::counter(
            "narrows_upstream_calls_total",
            "Completed calls to servers, by outcome and responsible party.",
        );
        let mut latency = Family::histogram(
            "narrows_upstream_call_seconds",
            "Time from a call to the server's response.",
        );
        let mut restarts = Family::counter(
            "narrows_upstream_restarts_total",
            "Restarts and reconnections of a server.",
        );
        let mut failures = Family::counter(
            "narrows_upstream_failures_total",
            "Times that a server failed to start or went down.",
        );
        let mut health = Family::counter(
            "narrows_upstream_health_failures_total",
            "Health checks that a server did not answer.",
        );
        let mut tool_changes = Family::counter(
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

    fn of_refusals(&self) -> Vec<Family> {
        let mut denials = Family::counter(
            "narrows_denials_total",
            "Requests refused by a preset, by kind of item.",
        );
        for (kind, count) in ItemKind::ALL.iter().zip(&self.denials) {
            denials.add([("kind", Label::from(kind.to_string()))], read(count));
        }
        let mut refusals = Family::counter(
            "narrows_refusals_total",
            "Requests refused before they were processed, by reason.",
        );
        for (reason, count) in RefusedFor::ALL.iter().zip(&self.refusals) {
            refusals.add([("reason", reason.word().into())], read(count));
        }
        let mut evictions = Family::counter(
            "narrows_evictions_total",
            "Idle sessions and connections closed to make room for new ones.",
        );
        for (what, count) in Evicted::ALL.iter().zip(&self.evictions) {
            evictions.add([("kind", what.word().into())], read(count));
        }
        let reloads = Family::counter(
            "narrows_reloads_total",
            "Changed configurations, by whether they were applied or rejected.",
        );
        let [taken, refused] = &self.reloads;
        let reloads = reloads
            .with([("result", "ok".into())], read(taken))
            .with([("result", "failed".into())], read(refused));
        vec![denials, refusals, evictions, reloads]
    }

    fn of_recovery(&self) -> Vec<Family> {
        let recovery = &self.recovery;
        let receipts = Family::counter(
            "narrows_recovery_receipts_total",
            "Texts stored before they were cut.",
        );
        let refused = Family::counter(
            "narrows_recovery_refused_total",
            "Texts that could not be stored and so were not cut.",
        );
        let fetches = Family::counter(
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

impl DoorMeter {
    /// Adds all outcomes of the methods that were used. Outcomes without requests are included as
    /// zero, so that a first error shows as a step from zero.
    fn add_requests(&self, door: &Arc<str>, requests: &mut Family) {
        for (method, outcomes) in Method::ALL.iter().zip(&self.requests) {
            let outcomes = outcomes.each_ref().map(read);
            if outcomes.iter().all(|count| *count == 0) {
                continue;
            }
            for (outcome, count) in Outcome::ALL.iter().zip(outcomes) {
                let labels = [
                    ("endpoint", name(door)),
                    ("method", method.word().into()),
                    ("outcome", outcome.word().into()),
                ];
                requests.add(labels, count);
            }
        }
    }
}

impl ServerMeter {
    fn add_calls(&self, id: &Arc<str>, calls: &mut Family, latency: &mut Family) {
        for (method, meter) in Method::ALL.iter().zip(&self.calls) {
            let Some(meter) = meter.get() else {
                continue;
            };
            let server = ("server", name(id));
            let method = ("method", Label::from(method.word()));
            for (outcome, count) in Outcome::ALL.iter().zip(&meter.outcomes) {
                let outcome = ("outcome", outcome.word().into());
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
