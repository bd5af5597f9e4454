//! Memory that is held for clients: one budget for request bodies, and one for responses that wait
//! to be written.
//!
//! Bytes are charged when they are received, and released when their last slice is dropped:
//! [`MemoryPermit::attach`] ties the charge to the [`Bytes`]. Every charge counts toward the budget
//! and toward the share of one client, which is a quarter of the budget.
//!
//! Messages of less than [`SMALL`] bytes are not charged. They cost no more than the call that they
//! belong to, and the number of calls is limited.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use narrows_wire::Raw;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Messages below this size in bytes are not charged.
pub const SMALL: usize = 4 * 1024;

/// Responses below this size in bytes never wait for memory. They are charged, and slow readers are
/// disconnected to make room for them.
pub const WAIT_ABOVE: usize = 64 * 1024;

/// Each client may hold one part in `CLIENT_FRACTION` of a budget.
const CLIENT_FRACTION: usize = 4;

/// The budgets of one gateway. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Memory {
    pub requests: Arc<MemoryBudget>,
    pub responses: Arc<MemoryBudget>,
}

impl Memory {
    pub fn new(max_request_bytes: usize, max_response_bytes: usize) -> Memory {
        Memory {
            requests: Arc::new(MemoryBudget::new(max_request_bytes)),
            responses: Arc::new(MemoryBudget::new(max_response_bytes)),
        }
    }

    /// Creates the shares of another client.
    pub fn client(&self) -> ClientMemory {
        ClientMemory {
            requests: Arc::new(MemoryShare::new(self.requests.clone())),
            responses: Arc::new(MemoryShare::new(self.responses.clone())),
        }
    }
}

/// The memory budget of all clients together.
#[derive(Debug)]
pub struct MemoryBudget {
    limit: usize,
    used: AtomicUsize,
    /// The bytes of `used` that are held by an overdraft permit.
    overdrawn: AtomicUsize,
    refused: AtomicU64,
    /// The number of slow readers that were disconnected to free memory.
    closed_readers: AtomicU64,
    /// The number of tasks that wait for memory.
    waiting: AtomicUsize,
    released: Notify,
    /// Signalled when the budget or a share is exceeded, or a task starts to wait.
    under_pressure: Notify,
    /// Prevents a deadlock in which several half-read responses fill the budget and wait for each
    /// other. The holder of the permit may exceed the limit and completes.
    overdraft: Arc<Semaphore>,
}

/// One client's share of a budget.
#[derive(Debug)]
pub struct MemoryShare {
    budget: Arc<MemoryBudget>,
    used: AtomicUsize,
    overdrawn: AtomicUsize,
}

/// The two shares of one client. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ClientMemory {
    pub requests: Arc<MemoryShare>,
    pub responses: Arc<MemoryShare>,
}

impl ClientMemory {
    /// Creates shares without a limit.
    pub fn unlimited() -> ClientMemory {
        Memory::new(usize::MAX, usize::MAX).client()
    }
}

/// A number of charged bytes, released when it is dropped.
#[must_use = "bytes are charged only while this is held"]
pub struct MemoryPermit {
    share: Arc<MemoryShare>,
    bytes: usize,
    overdraft: Option<Overdraft>,
}

/// Permission to exceed the limit, and the number of bytes charged under it.
struct Overdraft {
    share: Arc<MemoryShare>,
    bytes: usize,
    _turn: OwnedSemaphorePermit,
}

/// The error for a charge that exceeds the budget or the client's share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryFull;

impl MemoryBudget {
    fn new(limit: usize) -> MemoryBudget {
        MemoryBudget {
            limit,
            used: AtomicUsize::new(0),
            overdrawn: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
            closed_readers: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            released: Notify::new(),
            under_pressure: Notify::new(),
            overdraft: Arc::new(Semaphore::new(1)),
        }
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Returns the number of messages refused because the budget or a share was full.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    pub fn closed_readers(&self) -> u64 {
        self.closed_readers.load(Ordering::Relaxed)
    }

    /// Returns true if the limit is exceeded, not counting the overdraft.
    pub fn is_over(&self) -> bool {
        self.used()
            .saturating_sub(self.overdrawn.load(Ordering::Relaxed))
            > self.limit
    }

    /// Returns true if a response waits for memory.
    pub fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// Waits until the budget or a share is exceeded, or a task waits for memory.
    pub async fn under_pressure(&self) {
        self.under_pressure.notified().await;
    }

    pub fn count_closed_reader(&self) {
        self.closed_readers.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits while the limit is exceeded, for at most `limit`. Used by readers of connections that
    /// many clients share: they must not wait for one client, but only until a slow one is
    /// disconnected.
    pub async fn wait_below_limit(&self, limit: Duration) {
        if !self.is_over() {
            return;
        }
        self.under_pressure.notify_one();
        let settled = async {
            loop {
                let mut released = std::pin::pin!(self.released.notified());
                released.as_mut().enable();
                if !self.is_over() {
                    return;
                }
                released.await;
            }
        };
        let _waiting = WaitGuard::new(self);
        let _ = timeout(limit, settled).await;
    }

    fn take(&self, bytes: usize) -> bool {
        take(&self.used, bytes, self.limit)
    }

    fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::SeqCst);
        // Waiting tasks register before they read `used`, so none is missed.
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.released.notify_waiters();
        }
    }
}

impl MemoryShare {
    fn new(budget: Arc<MemoryBudget>) -> MemoryShare {
        MemoryShare {
            budget,
            used: AtomicUsize::new(0),
            overdrawn: AtomicUsize::new(0),
        }
    }

    pub fn budget(&self) -> &Arc<MemoryBudget> {
        &self.budget
    }

    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Returns true if the client exceeds its share.
    pub fn is_over(&self) -> bool {
        self.used()
            .saturating_sub(self.overdrawn.load(Ordering::Relaxed))
            > self.limit()
    }

    /// Checks for room without charging anything. A refusal is counted.
    pub fn check(&self, bytes: usize) -> Result<(), MemoryFull> {
        let fits = self.used().saturating_add(bytes) <= self.limit()
            && self.budget.used().saturating_add(bytes) <= self.budget.limit;
        match fits {
            true => Ok(()),
            false => Err(self.refuse()),
        }
    }

    /// Creates a permit with no charge.
    pub fn permit(self: &Arc<Self>) -> MemoryPermit {
        MemoryPermit {
            share: self.clone(),
            bytes: 0,
            overdraft: None,
        }
    }

    /// Charges bytes that are already held, even if the limit is exceeded.
    pub fn charge(self: &Arc<Self>, bytes: usize) -> MemoryPermit {
        let mut permit = self.permit();
        permit.force(bytes);
        permit
    }

    /// Charges a message until its last slice is dropped. Small messages are not charged.
    pub fn hold(self: &Arc<Self>, message: Bytes) -> Bytes {
        match message.len() {
            0..SMALL => message,
            bytes => self.charge(bytes).attach(message),
        }
    }

    /// Charges a JSON value until its last slice is dropped. Small values are not charged.
    pub fn hold_raw(self: &Arc<Self>, value: Raw) -> Raw {
        match value.len() {
            0..SMALL => value,
            bytes => value.keeping(self.charge(bytes)),
        }
    }

    fn limit(&self) -> usize {
        self.budget.limit / CLIENT_FRACTION
    }

    fn take(&self, bytes: usize) -> bool {
        if !take(&self.used, bytes, self.limit()) {
            return false;
        }
        let taken = self.budget.take(bytes);
        if !taken {
            self.used.fetch_sub(bytes, Ordering::SeqCst);
        }
        taken
    }

    fn refuse(&self) -> MemoryFull {
        self.budget.refused.fetch_add(1, Ordering::Relaxed);
        MemoryFull
    }
}

impl MemoryPermit {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Charges more bytes, or refuses them and counts the refusal.
    pub fn try_grow(&mut self, bytes: usize) -> Result<(), MemoryFull> {
        if !self.share.take(bytes) {
            return Err(self.share.refuse());
        }
        self.bytes += bytes;
        Ok(())
    }

    /// Charges more bytes, waiting until there is room.
    pub async fn grow(&mut self, bytes: usize) {
        if self.share.take(bytes) {
            self.bytes += bytes;
        } else {
            Box::pin(self.wait_for(bytes)).await;
        }
    }

    async fn wait_for(&mut self, bytes: usize) {
        if self.overdraft.is_some() {
            return self.force(bytes);
        }
        let budget = self.share.budget.clone();
        let _waiting = WaitGuard::new(&budget);
        budget.under_pressure.notify_one();
        loop {
            let mut released = std::pin::pin!(budget.released.notified());
            released.as_mut().enable();
            if self.share.take(bytes) {
                self.bytes += bytes;
                return;
            }
            tokio::select! {
                biased;
                () = released => {}
                Ok(turn) = budget.overdraft.clone().acquire_owned() => {
                    self.overdraft = Some(Overdraft {
                        share: self.share.clone(),
                        bytes: 0,
                        _turn: turn,
                    });
                    return self.force(bytes);
                }
            }
        }
    }

    /// Charges more bytes, even if the limit is exceeded.
    pub fn force(&mut self, bytes: usize) {
        self.bytes += bytes;
        if let Some(overdraft) = &mut self.overdraft {
            overdraft.extend(bytes);
        }
        let share = self.share.used.fetch_add(bytes, Ordering::SeqCst) + bytes;
        let all = self.share.budget.used.fetch_add(bytes, Ordering::SeqCst) + bytes;
        if self.overdraft.is_none() && (all > self.share.budget.limit || share > self.share.limit())
        {
            self.share.budget.under_pressure.notify_one();
        }
    }

    pub fn shrink_to(&mut self, bytes: usize) {
        if let Some(less) = self.bytes.checked_sub(bytes).filter(|less| *less > 0) {
            self.bytes = bytes;
            self.share.used.fetch_sub(less, Ordering::SeqCst);
            self.share.budget.release(less);
        }
    }

    /// Splits off `bytes` of the charge into a permit of their own.
    pub fn split(&mut self, bytes: usize) -> MemoryPermit {
        if self.bytes < bytes {
            self.force(bytes - self.bytes);
        }
        self.bytes -= bytes;
        MemoryPermit {
            share: self.share.clone(),
            bytes,
            overdraft: self.overdraft.take(),
        }
    }

    /// Changes the charge to `bytes`.
    pub fn resized(mut self, bytes: usize) -> MemoryPermit {
        if self.bytes < bytes {
            self.force(bytes - self.bytes);
        }
        self.shrink_to(bytes);
        self
    }

    /// Holds the charge until the last slice of `message` is dropped.
    pub fn attach(self, message: Bytes) -> Bytes {
        narrows_wire::keeping(message, self)
    }
}

impl Overdraft {
    fn extend(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.share.overdrawn.fetch_add(bytes, Ordering::Relaxed);
        let budget = &self.share.budget;
        budget.overdrawn.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for Overdraft {
    fn drop(&mut self) {
        self.share
            .overdrawn
            .fetch_sub(self.bytes, Ordering::Relaxed);
        let budget = &self.share.budget;
        budget.overdrawn.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Drop for MemoryPermit {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

impl fmt::Debug for MemoryPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryPermit({})", self.bytes)
    }
}

/// Counts a waiting task until it is dropped.
struct WaitGuard<'a>(&'a MemoryBudget);

impl<'a> WaitGuard<'a> {
    fn new(budget: &'a MemoryBudget) -> WaitGuard<'a> {
        budget.waiting.fetch_add(1, Ordering::SeqCst);
        WaitGuard(budget)
    }
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

fn take(used: &AtomicUsize, bytes: usize, limit: usize) -> bool {
    let more = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= limit);
    used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more)
        .is_ok()
}
