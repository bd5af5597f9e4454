//! Reports of configurations that could not be applied.

use super::Gateway;
use crate::event_bus::GatewayEvent;

impl Gateway {
    /// Reports that a new configuration is invalid. Called by the crate that reads configuration
    /// files, because this crate does not.
    pub fn publish_rejected_settings(&self, problems: &[String]) {
        self.0.meter().reloaded(false);
        self.0.event_bus.emit(|| GatewayEvent::SettingsRefused {
            problems: problems.to_vec(),
        });
    }
}
