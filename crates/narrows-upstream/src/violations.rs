//! Log messages about what a server does wrong over and over.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts what a server does wrong over and over. Saying it each time would let
/// one server fill the log.
#[derive(Debug, Default)]
pub(crate) struct ViolationLog(AtomicU64);

impl ViolationLog {
    pub(crate) fn report(&self, server: &str, what: &dyn Display) {
        let times = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        match times {
            1 => tracing::warn!(server, "the server sent {what}"),
            _ if times.is_power_of_two() => {
                tracing::warn!(server, times, "the server sent {what}, and the like before");
            }
            _ => {}
        }
    }
}
