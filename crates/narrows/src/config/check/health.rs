//! How servers that do nothing any more are found out.

use std::time::Duration;

use narrows_gateway::settings::HealthSettings;

use super::{Least, seconds};
use crate::config::problem::Problems;
use crate::config::raw::Health;
use crate::config::read::Field;

/// Asking more often than this says nothing more of a server and disturbs it.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);

/// A server that has just started to work on something else needs a moment.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(100);

/// What is said at one place, over what holds around it. `true` where it was
/// switched off around it switches it on.
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
    if let Some(busy) = seconds(&raw.busy_s, Least::Zero, problems) {
        health.busy = busy;
    }
    if let Some(failures) = raw.failures.given() {
        match u32::try_from(failures.value) {
            Ok(count) if count > 0 => health.failures = count,
            Ok(_) => problems.error(&failures.at, "`failures` is at least 1", ""),
            Err(_) => problems.error(&failures.at, "this is too many", ""),
        }
    }
    health
}

fn at_least(least: Duration, given: &Field<f64>, problems: &mut Problems<'_>) -> Option<Duration> {
    let time = seconds(given, Least::MoreThanZero, problems)?;
    if time < least {
        let at = given.at()?;
        let told = format!("this time is at least {} s", least.as_secs_f64());
        problems.error(at, told, "");
        return None;
    }
    Some(time)
}
