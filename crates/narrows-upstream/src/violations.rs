//! Log messages about repeated protocol violations of a server.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the protocol violations of a server. Only some of them are logged, because a server could
/// otherwise flood the log.
#[derive(Debug, Default)]
pub(crate) struct ViolationLog(AtomicU64);

impl ViolationLog {
    pub(crate) fn report(&self, server: &str, what: &dyn Display) {
        let times = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        match times {
            1 => tracing::warn!(server, "the server sent {what}"),
            _ if times.is_power_of_two() => {
                tracing::warn!(
                    server,
                    times,
                    "the server repeatedly sent invalid messages, most recently {what}"
                );
            }
            _ => {}
        }
    }
}
