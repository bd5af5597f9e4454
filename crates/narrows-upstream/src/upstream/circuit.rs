//! Calls to a server that is down: the errors they receive, and the earlier reconnect that they
//! cause.
//!
//! Until the supervisor has connected, initialised the link and read the lists, every call fails
//! immediately with the reason and the time of the next attempt. A call shows that a client needs
//! the server, so it brings that attempt forward, but not closer than [`SPACING`] to the previous
//! one.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::Upstream;
use crate::error::Error;
use crate::failure::Failure;
use crate::link::Link;
use crate::state::State;

/// The minimum time between a failure and an attempt that a call brings forward.
pub(super) const SPACING: Duration = Duration::from_secs(5);

/// The maximum time until the next attempt for which a call waits.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// The state between two connection attempts.
#[derive(Default)]
pub(super) struct Circuit {
    /// The time at which the last attempt failed or the connection was lost.
    failed: Mutex<Option<Instant>>,
    /// Signalled when the next attempt has been brought forward.
    retry_requested: Notify,
}

impl Circuit {
    /// Records that an attempt has failed or the connection has been lost.
    pub(super) fn open(&self) {
        *self.failed.lock() = Some(Instant::now());
    }
}

impl Upstream {
    /// Returns the error for a call that cannot be sent, and brings the next reconnect attempt
    /// forward.
    pub fn down(&self) -> Error {
        self.retry_soon();
        let state = self.lifecycle.state.borrow();
        let reason = match &*state {
            State::Disabled => "it is disabled".to_owned(),
            State::Starting => "it is still starting".to_owned(),
            State::Up { .. } => "the connection was just lost".to_owned(),
            State::Down { failure, .. } => failure.detail.clone(),
        };
        let next_try = state.next_try();
        drop(state);
        self.refused(reason, next_try)
    }

    /// Returns the error for a call that lost its connection and was not repeated in time.
    pub fn lost(&self, failure: &Failure) -> Error {
        let next_try = self.lifecycle.state.borrow().next_try();
        self.refused(self.secrets.redact(failure.detail.clone()), next_try)
    }

    /// Returns the error for a call that failed because of `reason`.
    pub(super) fn refused(&self, mut reason: String, next_try: Option<Duration>) -> Error {
        let next_try = match next_try {
            Some(Duration::ZERO) => {
                reason.push_str("; reconnecting now");
                None
            }
            next_try => next_try,
        };
        Error::Down {
            server: self.settings.id.clone(),
            reason,
            next_try,
        }
    }

    /// Waits until the deadline for a shared link that replaces `lost`. Returns false early if a
    /// reconnect attempt fails or the next one is far away.
    pub async fn is_up_again(&self, lost: &Arc<Link>, deadline: Instant) -> bool {
        let mut states = self.lifecycle.state.subscribe();
        let mut seen = None;
        let waiting = async {
            loop {
                match &*states.borrow_and_update() {
                    State::Up { .. } => {
                        let link = self.connection.shared.load();
                        if link.as_ref().is_some_and(|link| !Arc::ptr_eq(link, lost)) {
                            return true;
                        }
                    }
                    State::Down {
                        attempts, next_try, ..
                    } => {
                        let failed = seen.is_some_and(|seen| seen != *attempts);
                        let soon = Instant::now() + MAX_WAIT;
                        if failed || next_try.is_none_or(|next_try| next_try > soon) {
                            return false;
                        }
                        seen = Some(*attempts);
                    }
                    State::Starting => {}
                    State::Disabled => return false,
                }
                if states.changed().await.is_err() {
                    return false;
                }
            }
        };
        timeout_at(deadline, waiting).await.unwrap_or(false)
    }

    /// Waits until the next attempt is due.
    pub(super) async fn next_try_due(&self) {
        loop {
            let due = match &*self.lifecycle.state.borrow() {
                State::Down { next_try, .. } => *next_try,
                _ => return,
            };
            let pause = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = pause => return,
                () = self.lifecycle.circuit.retry_requested.notified() => {}
            }
        }
    }

    fn retry_soon(&self) {
        let failed = *self.lifecycle.circuit.failed.lock();
        let Some(failed) = failed else { return };
        let earliest = (failed + SPACING).max(Instant::now());
        let nearer = self.lifecycle.state.send_if_modified(|state| match state {
            State::Down {
                next_try: Some(next_try),
                ..
            } if earliest < *next_try => {
                *next_try = earliest;
                true
            }
            _ => false,
        });
        if nearer {
            self.lifecycle.circuit.retry_requested.notify_one();
        }
    }
}
