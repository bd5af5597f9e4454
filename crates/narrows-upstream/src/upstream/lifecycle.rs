//! The states of an instance of a server, from its start to its successor.
//!
//! The settings of an [`Upstream`] never change. When they have to, or when
//! its connection is to be made anew, a successor takes its place: it offers
//! what was offered before until it has read its own lists, so that clients
//! see no change if nothing has changed. Calls in flight end where they are;
//! a caller that still holds the old instance gets the new one.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::Upstream;
use super::circuit::Circuit;
use super::offered::Offered;
use crate::error::Error;
use crate::settings::UpstreamSettings;
use crate::state::State;

/// The state of one instance, its calls in flight, its end and its successor.
pub(super) struct Lifecycle {
    pub(super) state: watch::Sender<State>,
    pub(super) circuit: Circuit,
    /// The next instance, once that is decided; `None` in it where the server
    /// is not wanted any more.
    successor: OnceLock<Option<Arc<Upstream>>>,
    retired: AtomicBool,
    /// Cancelled when the instance is retired.
    retirement: CancellationToken,
    in_flight: AtomicUsize,
    drained: Notify,
    /// Ends the supervisor.
    end: CancellationToken,
    /// Cancelled when the supervisor has ended, and its process with it.
    gone: CancellationToken,
}

/// A call in flight. The instance that serves it does not end meanwhile.
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

    /// Waits until the instance is ended or retired.
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

    /// Waits until the server is up, has failed, or is not wanted.
    pub async fn settled(&self) {
        let mut states = self.lifecycle.state.subscribe();
        tokio::select! {
            // The sender lives as long as `self`, so this cannot fail.
            _ = states.wait_for(State::settled) => {}
            // It may end before it ever began.
            () = self.lifecycle.over() => {}
        }
    }

    /// Returns true if this instance can go on under other settings.
    pub fn goes_on_as(&self, settings: &UpstreamSettings, slug: &str) -> bool {
        self.settings == *settings && *self.slug == *slug
    }

    /// Creates the instance that comes after this one.
    pub fn successor(&self, settings: UpstreamSettings, slug: &str) -> Upstream {
        let context = self.context.clone();
        let mut new = Upstream::new(self.index, slug, settings, context, self.observer.clone());
        if new.settings.enabled {
            new.offered = Offered::inherited(self.offer());
        }
        new
    }

    /// Enters a call into the instance that takes calls now: this one or a
    /// successor. Waits for an instance that is starting in the place of another.
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

    /// Stops the instance from taking calls, and sends later ones to `successor`.
    pub fn retire(&self, successor: Option<Arc<Upstream>>) {
        let _ = self.lifecycle.successor.set(successor);
        self.lifecycle.retired.store(true, Ordering::SeqCst);
        self.lifecycle.retirement.cancel();
    }

    /// Waits until the instance takes no more calls. It is never started again
    /// then, so there is nothing to wait for.
    pub async fn retired(&self) {
        self.lifecycle.retirement.cancelled().await;
    }

    /// The error for calls that waited for an instance that was retired.
    pub fn retired_error(&self) -> Error {
        let successor = self.lifecycle.successor.get().and_then(Option::as_ref);
        let reason = match successor {
            None => "it was removed",
            Some(successor) if !successor.settings.enabled => "it was disabled",
            Some(_) => "it was restarted while the call waited; call again",
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

    /// The token that stops the supervisor.
    pub fn ending(&self) -> CancellationToken {
        self.lifecycle.end.clone()
    }

    /// Ends the supervisor, and with it the shared link.
    pub fn end(&self) {
        self.lifecycle.end.cancel();
    }

    /// Notes that nothing of the instance runs any more.
    pub fn has_gone(&self) {
        self.lifecycle.gone.cancel();
    }

    pub async fn gone(&self) {
        self.lifecycle.gone.cancelled().await;
    }

    /// Enters a call, or returns `None` if the instance is retired. Counts before
    /// it looks: a caller that retires the instance and then finds no call in
    /// flight can be sure that none comes.
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
