//! Reports of configurations that could not be applied.

use super::Gateway;
use crate::feed::Happening;

impl Gateway {
    /// Reports that a new configuration is invalid. Called by the crate that reads configuration
    /// files, because this crate does not.
    pub fn tell_refused(&self, problems: &[String]) {
        self.0.meter().reloaded(false);
        self.0.feed.tell(|| Happening::SettingsRefused {
            problems: problems.to_vec(),
        });
    }
}
