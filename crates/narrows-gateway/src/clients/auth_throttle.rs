//! Throttling of wrong tokens: counts them by address and chooses the response to the next one.
//!
//! This module does not decide on access, only on the response to requests with a wrong token. The
//! table of addresses is bounded. It has two halves: when the younger half is full, it replaces the
//! older half, whose entries are dropped unless they were used in the meantime.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::bucket::Bucket;
use super::settings::Rate;

/// The delay of a refusal that is held back.
pub(super) const HOLD: Duration = Duration::from_secs(1);

/// The number of wrong tokens of one address that are refused immediately.
pub(super) const BURST: u32 = 10;

/// The limit on wrong tokens of all addresses together.
const ALL: Rate = Rate {
    per_minute: 3_000,
    burst: 200,
};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The time without a wrong token after which the count of an address is reset.
const FORGET: Duration = Duration::from_secs(600);

/// The number of addresses in each half of the table.
pub(super) const HALF: usize = 5_000;

/// The number of refusals that are held back at the same time. Each keeps a connection open.
pub(super) const MAX_HELD: usize = 64;

/// The minimum interval between log messages about wrong tokens.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// The response to a wrong token.
#[derive(Debug)]
pub(super) enum ThrottleDecision {
    /// Refuse immediately.
    RefuseNow,
    /// Refuse after [`HOLD`]. The permit is held until then.
    RefuseDelayed(OwnedSemaphorePermit),
    /// Refuse immediately, with the time after which to retry.
    Refused { after: Duration },
}

pub(super) struct AuthThrottle {
    failures: Mutex<FailureTable>,
    all: Bucket,
    epoch: Instant,
    places: Arc<Semaphore>,
}

#[derive(Default)]
struct FailureTable {
    recent: HashMap<IpAddr, FailureRecord>,
    old: HashMap<IpAddr, FailureRecord>,
    logged: Option<Instant>,
    unlogged: u64,
}

#[derive(Debug, Clone, Copy)]
struct FailureRecord {
    count: u32,
    last: Instant,
    /// The pause after the next wrong token that is answered.
    pause: Duration,
    /// The end of the current pause.
    closed_until: Instant,
}

impl Default for AuthThrottle {
    fn default() -> Self {
        AuthThrottle {
            failures: Mutex::default(),
            all: Bucket::default(),
            epoch: Instant::now(),
            places: Arc::new(Semaphore::new(MAX_HELD)),
        }
    }
}

impl AuthThrottle {
    /// Counts a wrong token and returns the response to it.
    pub(super) fn record_failure(&self, address: IpAddr) -> ThrottleDecision {
        let now = Instant::now();
        let source = source(address);
        let (counted, log) = {
            let mut failures = self.failures.lock();
            (failures.record_failure(source, now), failures.may_log(now))
        };
        if let Some(unlogged) = log {
            tracing::warn!(peer = %source, unlogged, "refused a wrong token");
        }
        if let Penalty::Closed(after) = counted {
            return ThrottleDecision::Refused { after };
        }
        if let Err(after) = self.all.take(ALL, now.duration_since(self.epoch)) {
            let after = after.max(FIRST_PAUSE);
            return ThrottleDecision::Refused { after };
        }
        match counted {
            Penalty::Early => ThrottleDecision::RefuseNow,
            _ => match self.places.clone().try_acquire_owned() {
                Ok(place) => ThrottleDecision::RefuseDelayed(place),
                Err(_) => ThrottleDecision::Refused { after: FIRST_PAUSE },
            },
        }
    }

    #[cfg(test)]
    pub(super) fn known(&self) -> usize {
        let failures = self.failures.lock();
        failures.recent.len() + failures.old.len()
    }
}

enum Penalty {
    /// One of the first wrong tokens.
    Early,
    /// The pause has passed.
    Late,
    Closed(Duration),
}

impl FailureTable {
    fn record_failure(&mut self, source: IpAddr, now: Instant) -> Penalty {
        let known = self
            .recent
            .remove(&source)
            .or_else(|| self.old.remove(&source));
        let mut record = known
            .filter(|record| now.duration_since(record.last) < FORGET)
            .unwrap_or_else(|| FailureRecord::new(now));
        let counted = record.record_failure(now);
        if self.recent.len() >= HALF {
            self.old = std::mem::take(&mut self.recent);
        }
        self.recent.insert(source, record);
        counted
    }

    /// Returns the number of wrong tokens since the last log message, or `None` if this one is not
    /// to be logged.
    fn may_log(&mut self, now: Instant) -> Option<u64> {
        let recent = |at: Instant| now.duration_since(at) < LOG_EVERY;
        if self.logged.is_some_and(recent) {
            self.unlogged += 1;
            return None;
        }
        self.logged = Some(now);
        Some(std::mem::take(&mut self.unlogged))
    }
}

impl FailureRecord {
    fn new(now: Instant) -> FailureRecord {
        FailureRecord {
            count: 0,
            last: now,
            pause: FIRST_PAUSE,
            closed_until: now,
        }
    }

    fn record_failure(&mut self, now: Instant) -> Penalty {
        self.last = now;
        if self.count < BURST {
            self.count += 1;
            return Penalty::Early;
        }
        let left = self.closed_until.saturating_duration_since(now);
        if !left.is_zero() {
            return Penalty::Closed(left);
        }
        self.closed_until = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Penalty::Late
    }
}

/// Returns the network of an IPv6 address, because a client usually controls the whole /64.
fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) & !u128::from(u64::MAX);
            Ipv6Addr::from(network).into()
        }
        v4 => v4,
    }
}
