//! Checks `health`: the detection of servers that no longer respond.

use std::time::Duration;

use narrows_gateway::settings::HealthSettings;

use super::{Minimum, seconds};
use crate::config::problem::Problems;
use crate::config::raw::Health;
use crate::config::read::Field;

/// The shortest interval. More frequent pings would disturb the server without revealing more about
/// it.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);

/// The shortest timeout. A server that has just started other work needs a moment to respond.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(100);

/// Applies the settings of one level to those of the enclosing level. `true` enables checks that
/// the enclosing level disables.
pub(super) fn health(
    around: HealthSettings,
    given: &Field<Health>,
    problems: &mut Problems<'_>,
) -> HealthSettings {
    let raw = match given.value() {
        None => return around,
        Some(Health::Off) => {
            return HealthSettings {
                interval: None,
                ..around
            };
        }
        Some(Health::On(raw)) => raw,
    };
    let mut health = around;
    health.interval = health.interval.or(HealthSettings::default().interval);
    if let Some(interval) = at_least(SHORTEST_INTERVAL, &raw.interval_s, problems) {
        health.interval = Some(interval);
    }
    if let Some(timeout) = at_least(SHORTEST_TIMEOUT, &raw.timeout_s, problems) {
        health.timeout = timeout;
    }
    if let Some(busy) = seconds(&raw.busy_s, Minimum::Zero, problems) {
        health.busy = busy;
    }
    if let Some(failures) = raw.failures.given() {
        match u32::try_from(failures.value) {
            Ok(count) if count > 0 => health.failures = count,
            Ok(_) => problems.error(&failures.at, "`failures` must be at least 1", ""),
            Err(_) => problems.error(&failures.at, "this number is too large", ""),
        }
    }
    health
}

fn at_least(least: Duration, given: &Field<f64>, problems: &mut Problems<'_>) -> Option<Duration> {
    let time = seconds(given, Minimum::MoreThanZero, problems)?;
    if time < least {
        let at = given.at()?;
        let message = format!("this time must be at least {} s", least.as_secs_f64());
        problems.error(at, message, "");
        return None;
    }
    Some(time)
}
