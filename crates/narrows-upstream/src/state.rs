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
        /// From the start of connecting until the lists were there.
        took: Duration,
        server_info: Raw,
        found: Found,
    },
    Down {
        failure: Arc<Failure>,
        /// Since it was last up for a while.
        attempts: u32,
        /// When the next one begins; in the past while it is under way. None
        /// if only another configuration could help.
        next_try: Option<Instant>,
    },
}

impl State {
    /// Up, failed or not wanted: no longer worth waiting for.
    pub fn settled(&self) -> bool {
        !matches!(self, State::Starting)
    }

    /// In one word, as operators read it.
    pub fn as_str(&self) -> &'static str {
        match self {
            State::Disabled => "disabled",
            State::Starting => "starting",
            State::Up { .. } => "up",
            State::Down { .. } => "down",
        }
    }

    /// In which time a server that is down is tried again; zero while it is
    /// being tried.
    pub fn next_try(&self) -> Option<Duration> {
        match self {
            State::Down { next_try, .. } => {
                next_try.map(|next_try| next_try.saturating_duration_since(Instant::now()))
            }
            _ => None,
        }
    }
}
