//! Instances of a server that follow each other.
//!
//! The settings of an [`Upstream`] never change. When they have to, or when
//! its connection is to be made anew, a successor takes its place: it offers
//! what was offered before until it knows better, so that clients notice
//! nothing if nothing has changed. Calls in flight end where they are; whoever
//! still holds the old instance is led to the new one.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::Upstream;
use crate::error::Error;
use crate::settings::UpstreamSettings;

/// From an instance's begin to its end.
pub(super) struct Tenure {
    /// Who comes after it, once that is decided; nobody where the server is
    /// not wanted any more.
    after: OnceLock<Option<Arc<Upstream>>>,
    retired: AtomicBool,
    /// Cancelled with it, for whoever waits.
    retirement: CancellationToken,
    flights: AtomicUsize,
    landed: Notify,
    /// Ends its supervisor.
    end: CancellationToken,
    /// Raised when its supervisor has ended, and its process with it.
    gone: CancellationToken,
}

/// A call on its way through an instance, which does not end meanwhile.
pub struct Flight(Arc<Upstream>);

impl Tenure {
    pub(super) fn new(end: CancellationToken) -> Tenure {
        Tenure {
            after: OnceLock::new(),
            retired: AtomicBool::new(false),
            retirement: CancellationToken::new(),
            flights: AtomicUsize::new(0),
            landed: Notify::new(),
            end,
            gone: CancellationToken::new(),
        }
    }

    /// Waits until nothing is to be expected of the instance any more.
    pub(super) async fn over(&self) {
        tokio::select! {
            () = self.end.cancelled() => {}
            () = self.retirement.cancelled() => {}
        }
    }
}

impl Upstream {
    /// Returns true if this instance can go on under other settings.
    pub fn goes_on_as(&self, settings: &UpstreamSettings, slug: &str) -> bool {
        self.settings == *settings && *self.slug == *slug
    }

    /// The instance that comes after this one.
    pub fn successor(&self, settings: UpstreamSettings, slug: &str) -> Upstream {
        let around = self.surroundings.clone();
        let new = Upstream::new(self.index, slug, settings, around, self.observer.clone());
        if new.settings.enabled {
            new.offer.store(self.offer());
        }
        new
    }

    /// The instance that takes calls now, this one or one after it. While it
    /// is starting in the place of another it is waited for.
    pub async fn board(self: &Arc<Self>) -> Result<Flight, Error> {
        let mut instance = self.clone();
        loop {
            match instance.enter() {
                Some(flight) if flight.shared.load().is_some() => return Ok(flight),
                Some(flight) if flight.is_settled() => return Ok(flight),
                Some(flight) => drop(flight),
                None => {
                    let after = instance.tenure.after.get().cloned().flatten();
                    instance = after.ok_or_else(|| instance.retired_error())?;
                    continue;
                }
            }
            instance.settled().await;
            if instance.tenure.end.is_cancelled() && !instance.is_retired() {
                return Err(instance.down());
            }
        }
    }

    /// Says that no call shall come any more, and where they go instead.
    pub fn retire(&self, after: Option<Arc<Upstream>>) {
        let _ = self.tenure.after.set(after);
        self.tenure.retired.store(true, Ordering::SeqCst);
        self.tenure.retirement.cancel();
    }

    /// Waits until the instance takes no more calls. It is never started again
    /// then, so there is nothing to wait for.
    pub async fn retired(&self) {
        self.tenure.retirement.cancelled().await;
    }

    /// The error for calls that waited for an instance that was retired.
    pub fn retired_error(&self) -> Error {
        let after = self.tenure.after.get().and_then(Option::as_ref);
        let reason = match after {
            None => "it was removed",
            Some(after) if !after.settings.enabled => "it was disabled",
            Some(_) => "it was restarted while the call waited; call again",
        };
        Error::Down {
            server: self.settings.id.clone(),
            reason: reason.to_owned(),
            next_try: None,
        }
    }

    pub fn is_retired(&self) -> bool {
        self.tenure.retired.load(Ordering::SeqCst)
    }

    pub fn calls_in_flight(&self) -> usize {
        self.tenure.flights.load(Ordering::SeqCst)
    }

    /// Ready when no call is in flight.
    pub async fn quiet(&self) {
        loop {
            let landed = self.tenure.landed.notified();
            if self.calls_in_flight() == 0 {
                return;
            }
            landed.await;
        }
    }

    /// What its supervisor stops by.
    pub fn ending(&self) -> CancellationToken {
        self.tenure.end.clone()
    }

    /// Ends its supervisor, and with it the shared link.
    pub fn end(&self) {
        self.tenure.end.cancel();
    }

    /// Says that nothing of it runs any more.
    pub fn has_gone(&self) {
        self.tenure.gone.cancel();
    }

    pub async fn gone(&self) {
        self.tenure.gone.cancelled().await;
    }

    /// `None` once it is retired. Counted first: whoever retires it and then
    /// finds no call in flight can be sure that none comes.
    fn enter(self: &Arc<Self>) -> Option<Flight> {
        if self.is_retired() {
            return None;
        }
        self.tenure.flights.fetch_add(1, Ordering::SeqCst);
        let flight = Flight(self.clone());
        (!self.is_retired()).then_some(flight)
    }
}

impl Deref for Flight {
    type Target = Arc<Upstream>;

    fn deref(&self) -> &Arc<Upstream> {
        &self.0
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if self.0.tenure.flights.fetch_sub(1, Ordering::SeqCst) == 1 && self.0.is_retired() {
            self.0.tenure.landed.notify_waiters();
        }
    }
}
