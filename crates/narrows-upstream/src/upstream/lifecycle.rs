//! The lifecycle of a server instance, from its start until a successor replaces it.
//!
//! The settings of an [`Upstream`] never change. If they must change, or the server must be
//! restarted, a successor replaces the instance. The successor offers the lists of its predecessor
//! until it has read its own, so that clients notice no change if nothing has changed. Calls in
//! flight finish on the old instance. New calls through the old instance are passed to the
//! successor.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::Upstream;
use super::circuit::Circuit;
use super::offer_cache::OfferCache;
use crate::error::Error;
use crate::settings::UpstreamSettings;
use crate::state::State;

/// The state of one instance, including its calls in flight and its successor.
pub(super) struct Lifecycle {
    pub(super) state: watch::Sender<State>,
    pub(super) circuit: Circuit,
    /// The next instance, once decided. Contains `None` if the server was removed.
    successor: OnceLock<Option<Arc<Upstream>>>,
    retired: AtomicBool,
    /// Cancelled when the instance is retired.
    retirement: CancellationToken,
    in_flight: AtomicUsize,
    drained: Notify,
    /// Cancelled to end the supervisor.
    end: CancellationToken,
    /// Cancelled when the supervisor and the server's process have ended.
    gone: CancellationToken,
}

/// A call in flight, which keeps its instance from ending.
pub struct InFlightGuard(Arc<Upstream>);

impl Lifecycle {
    pub(super) fn new(enabled: bool, end: CancellationToken) -> Lifecycle {
        let state = match enabled {
            true => State::Starting,
            false => State::Disabled,
        };
        Lifecycle {
            state: watch::Sender::new(state),
            circuit: Circuit::default(),
            successor: OnceLock::new(),
            retired: AtomicBool::new(false),
            retirement: CancellationToken::new(),
            in_flight: AtomicUsize::new(0),
            drained: Notify::new(),
            end,
            gone: CancellationToken::new(),
        }
    }

    /// Waits until the instance has been ended or retired.
    async fn over(&self) {
        tokio::select! {
            () = self.end.cancelled() => {}
            () = self.retirement.cancelled() => {}
        }
    }
}

impl Upstream {
    pub fn state(&self) -> State {
        self.lifecycle.state.borrow().clone()
    }

    pub fn is_settled(&self) -> bool {
        self.lifecycle.state.borrow().settled()
    }

    /// Waits until the server is up, down or disabled, or the instance has ended.
    pub async fn settled(&self) {
        let mut states = self.lifecycle.state.subscribe();
        tokio::select! {
            // The sender lives as long as `self`, so waiting cannot fail.
            _ = states.wait_for(State::settled) => {}
            // The instance may end before it has been started.
            () = self.lifecycle.over() => {}
        }
    }

    /// Returns true if this instance already has these settings and this slug.
    pub fn can_keep_running(&self, settings: &UpstreamSettings, slug: &str) -> bool {
        self.settings == *settings && *self.slug == *slug
    }

    /// Creates the successor of this instance.
    pub fn successor(&self, settings: UpstreamSettings, slug: &str) -> Upstream {
        let context = self.context.clone();
        let mut new = Upstream::new(self.index, slug, settings, context, self.observer.clone());
        if new.settings.enabled {
            new.offer_cache = OfferCache::inherited(self.offer());
        }
        new
    }

    /// Registers a call with the instance that currently accepts calls: this one or a successor.
    /// Waits for an instance that is still starting.
    pub async fn acquire(self: &Arc<Self>) -> Result<InFlightGuard, Error> {
        let mut instance = self.clone();
        loop {
            match instance.enter() {
                Some(guard) if guard.connection.shared.load().is_some() => return Ok(guard),
                Some(guard) if guard.is_settled() => return Ok(guard),
                Some(guard) => drop(guard),
                None => {
                    let successor = instance.lifecycle.successor.get().cloned().flatten();
                    instance = successor.ok_or_else(|| instance.retired_error())?;
                    continue;
                }
            }
            instance.settled().await;
            if instance.lifecycle.end.is_cancelled() && !instance.is_retired() {
                return Err(instance.down());
            }
        }
    }

    /// Makes the instance reject new calls and passes them to `successor`.
    pub fn retire(&self, successor: Option<Arc<Upstream>>) {
        let _ = self.lifecycle.successor.set(successor);
        self.lifecycle.retired.store(true, Ordering::SeqCst);
        self.lifecycle.retirement.cancel();
    }

    /// Waits until the instance is retired. A retired instance is never restarted, so callers stop
    /// waiting for it.
    pub async fn retired(&self) {
        self.lifecycle.retirement.cancelled().await;
    }

    /// Returns the error for calls that waited for an instance until it was retired.
    pub fn retired_error(&self) -> Error {
        let successor = self.lifecycle.successor.get().and_then(Option::as_ref);
        let reason = match successor {
            None => "it was removed",
            Some(successor) if !successor.settings.enabled => "it was disabled",
            Some(_) => "it was restarted while the call was waiting; call again",
        };
        Error::Down {
            server: self.settings.id.clone(),
            reason: reason.to_owned(),
            next_try: None,
        }
    }

    pub fn is_retired(&self) -> bool {
        self.lifecycle.retired.load(Ordering::SeqCst)
    }

    pub fn calls_in_flight(&self) -> usize {
        self.lifecycle.in_flight.load(Ordering::SeqCst)
    }

    /// Waits until no call is in flight.
    pub async fn drained(&self) {
        loop {
            let drained = self.lifecycle.drained.notified();
            if self.calls_in_flight() == 0 {
                return;
            }
            drained.await;
        }
    }

    /// Returns the token that stops the supervisor.
    pub fn ending(&self) -> CancellationToken {
        self.lifecycle.end.clone()
    }

    /// Stops the supervisor, which closes the shared link.
    pub fn end(&self) {
        self.lifecycle.end.cancel();
    }

    /// Records that the instance has ended completely.
    pub fn mark_gone(&self) {
        self.lifecycle.gone.cancel();
    }

    pub async fn gone(&self) {
        self.lifecycle.gone.cancelled().await;
    }

    /// Registers a call, or returns `None` if the instance is retired. Counts the call before
    /// checking, so that a caller that retires the instance and then finds no call in flight can be
    /// sure that no further call starts.
    fn enter(self: &Arc<Self>) -> Option<InFlightGuard> {
        if self.is_retired() {
            return None;
        }
        self.lifecycle.in_flight.fetch_add(1, Ordering::SeqCst);
        let guard = InFlightGuard(self.clone());
        (!self.is_retired()).then_some(guard)
    }
}

impl Deref for InFlightGuard {
    type Target = Arc<Upstream>;

    fn deref(&self) -> &Arc<Upstream> {
        &self.0
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let lifecycle = &self.0.lifecycle;
        if lifecycle.in_flight.fetch_sub(1, Ordering::SeqCst) == 1 && self.0.is_retired() {
            lifecycle.drained.notify_waiters();
        }
    }
}
