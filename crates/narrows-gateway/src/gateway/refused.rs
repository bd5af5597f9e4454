//! Settings that never came to be, for who listens.

use super::Gateway;
use crate::feed::Happening;

impl Gateway {
    /// Tells who listens that a new configuration cannot be used. Files are
    /// not this crate's matter, so it cannot know by itself.
    pub fn tell_refused(&self, problems: &[String]) {
        self.0.meter().reloaded(false);
        self.0.feed.tell(|| Happening::SettingsRefused {
            problems: problems.to_vec(),
        });
    }
}
