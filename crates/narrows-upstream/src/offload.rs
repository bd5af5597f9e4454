//! Runs long computations off the async threads.
//!
//! Scanning a message of many megabytes takes tens of milliseconds, during which an async thread
//! can serve no other task. Messages of [`LARGE`] bytes or more are therefore scanned on the
//! blocking pool, where the operating system schedules the threads, and only a few at a time. The
//! queue is bounded because each waiting computation holds its message, and the bytes of messages
//! have a budget of their own ([`memory`](crate::memory)).
//!
//! [`run`] is for a single computation. [`polled`] is for a future with several of them, such as a
//! call: after it has called [`large`], each of its polls runs on the blocking pool.

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;
use tokio::task::{spawn_blocking, yield_now};
use tokio_util::task::AbortOnDropHandle;

use crate::wake_flag::WakeFlag;

/// Messages below this size in bytes are scanned in place, because a thread switch would take
/// longer than the scan.
pub const LARGE: usize = 256 * 1024;

/// Limits the number of concurrent computations.
static COMPUTATIONS: LazyLock<Arc<Semaphore>> = LazyLock::new(threads);

/// Limits the number of futures that are polled at the same time. It is a separate semaphore
/// because a polled future may wait for a computation.
static POLLS: LazyLock<Arc<Semaphore>> = LazyLock::new(threads);

/// Creates a semaphore with one permit per core, leaving one core to the async threads if there are
/// several.
fn threads() -> Arc<Semaphore> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Arc::new(Semaphore::new(cores.saturating_sub(1).max(1)))
}

thread_local! {
    /// The offload state of the future that this thread polls.
    static OFFLOAD_STATE: Cell<OffloadState> = const { Cell::new(OffloadState::Unsupported) };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OffloadState {
    /// The future is not inside [`polled`].
    Unsupported,
    No,
    Yes,
    /// The future is already being polled on the blocking pool.
    Away,
}

/// Runs a computation over `bytes` bytes: in place, or on the blocking pool if there are many.
pub async fn run<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
    if bytes < LARGE || OFFLOAD_STATE.get() == OffloadState::Away {
        return work();
    }
    Box::pin(run_off(&COMPUTATIONS, work)).await
}

/// Runs a computation on the blocking pool once a permit is available.
///
/// A separate task waits for the permit. Permits are granted in order, and one granted to a future
/// that is no longer polled (the call of a client that does not read) would be lost to all others.
async fn run_off<T: Send + 'static>(
    turns: &Arc<Semaphore>,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let turns = turns.clone();
    let done = AbortOnDropHandle::new(tokio::spawn(async move {
        let turn = turns.acquire_owned().await;
        let work = move || {
            // The permit is held until the work is done, even if the caller has been dropped.
            let _turn = turn;
            work()
        };
        spawn_blocking(work).await
    }));
    match done.await.and_then(|done| done) {
        Ok(done) => done,
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // A task that has not started is only cancelled when the runtime shuts down.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Announces that the following code scans `bytes` bytes. Inside [`polled`], it then runs on the
/// blocking pool if there are many.
pub async fn large(bytes: usize) {
    if bytes >= LARGE && OFFLOAD_STATE.get() == OffloadState::No {
        OFFLOAD_STATE.set(OffloadState::Yes);
        yield_now().await;
    }
}

/// Wraps a future so that it is polled on the blocking pool after it has called [`large`].
pub fn polled<T: Send + 'static>(future: BoxFuture<'static, T>) -> Polled<T> {
    Polled(PolledState::Here(future))
}

pub struct Polled<T>(PolledState<T>);

enum PolledState<T> {
    /// Polled by the task that owns it.
    Here(BoxFuture<'static, T>),
    /// Polled on the blocking pool after the next wake-up.
    Idle(BoxFuture<'static, T>, Arc<WakeFlag>),
    /// Being polled on the blocking pool.
    Away(BoxFuture<'static, PollResult<T>>, Arc<WakeFlag>),
    Over,
}

/// A future that was polled on the blocking pool, and the result of the poll.
type PollResult<T> = (BoxFuture<'static, T>, Poll<T>);

impl<T: Send + 'static> Future for Polled<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        if let PolledState::Here(future) = &mut self.0 {
            let outer = OFFLOAD_STATE.replace(OffloadState::No);
            let polled = future.as_mut().poll(cx);
            if OFFLOAD_STATE.replace(outer) != OffloadState::Yes || polled.is_ready() {
                return polled;
            }
            if let PolledState::Here(future) = std::mem::replace(&mut self.0, PolledState::Over) {
                self.0 = PolledState::Idle(future, WakeFlag::raised());
            }
        }
        loop {
            match std::mem::replace(&mut self.0, PolledState::Over) {
                PolledState::Idle(future, relay) => {
                    if !relay.take(cx.waker()) {
                        self.0 = PolledState::Idle(future, relay);
                        return Poll::Pending;
                    }
                    self.0 = PolledState::Away(away(future, relay.clone()), relay);
                }
                PolledState::Away(mut turn, relay) => match turn.as_mut().poll(cx) {
                    Poll::Ready((_, Poll::Ready(output))) => return Poll::Ready(output),
                    Poll::Ready((future, Poll::Pending)) => {
                        self.0 = PolledState::Idle(future, relay)
                    }
                    Poll::Pending => {
                        self.0 = PolledState::Away(turn, relay);
                        return Poll::Pending;
                    }
                },
                PolledState::Here(_) | PolledState::Over => panic!("polled after completion"),
            }
        }
    }
}

/// Polls the future once on the blocking pool.
fn away<T: Send + 'static>(
    mut future: BoxFuture<'static, T>,
    relay: Arc<WakeFlag>,
) -> BoxFuture<'static, PollResult<T>> {
    Box::pin(run_off(&POLLS, move || {
        let waker = Waker::from(relay);
        let outer = OFFLOAD_STATE.replace(OffloadState::Away);
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        OFFLOAD_STATE.set(outer);
        (future, polled)
    }))
}
