//! The state of a server: whether it is connected, and if not, why.

use std::sync::Arc;
use std::time::Duration;

use narrows_wire::{Raw, Revision};
use tokio::time::Instant;

use crate::failure::{Failure, Found};

/// The state of an upstream.
#[derive(Debug, Clone)]
pub enum State {
    Disabled,
    Starting,
    Up {
        revision: Revision,
        /// The time from the start of connecting until all lists had been read.
        took: Duration,
        server_info: Raw,
        found: Found,
    },
    Down {
        failure: Arc<Failure>,
        /// The number of attempts since the server was last up for a while.
        attempts: u32,
        /// The time of the next attempt, which is in the past while the attempt is running. `None`
        /// if only a configuration change can help.
        next_try: Option<Instant>,
    },
}

impl State {
    /// Returns true if the server is up, down or disabled, so that there is no need to wait for it.
    pub fn settled(&self) -> bool {
        !matches!(self, State::Starting)
    }

    /// Returns the state as a word for operators.
    pub fn as_str(&self) -> &'static str {
        match self {
            State::Disabled => "disabled",
            State::Starting => "starting",
            State::Up { .. } => "up",
            State::Down { .. } => "down",
        }
    }

    /// Returns the time until the next connection attempt, or zero while it is running. `None` if
    /// no attempt is scheduled.
    pub fn next_try(&self) -> Option<Duration> {
        match self {
            State::Down { next_try, .. } => {
                next_try.map(|next_try| next_try.saturating_duration_since(Instant::now()))
            }
            _ => None,
        }
    }
}
