//! Long computations off the async threads.
//!
//! Scanning a message of many megabytes takes tens of milliseconds, during
//! which an async thread serves nobody else. So messages of [`LARGE`] bytes
//! and more are scanned on the blocking pool, where the operating system
//! divides the processor, and only a few at a time. What waits here holds its
//! message, and the bytes of messages have a budget of their own
//! ([`memory`](crate::memory)); so the queue is bounded by that.
//!
//! [`run`] is for one computation. [`polled`] is for a future with many of
//! them, such as a call: once it says [`large`], each of its polls runs on the
//! blocking pool.

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

/// Shorter messages are scanned where they are: the scan takes less time than
/// a thread switch is worth.
pub const LARGE: usize = 256 * 1024;

/// Limits the computations that run at the same time.
static COMPUTATIONS: LazyLock<Arc<Semaphore>> = LazyLock::new(threads);

/// Limits the futures that are polled at the same time. A separate semaphore,
/// because a polled future may wait for a computation.
static POLLS: LazyLock<Arc<Semaphore>> = LazyLock::new(threads);

/// One core is left to the async threads, where there is more than one.
fn threads() -> Arc<Semaphore> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Arc::new(Semaphore::new(cores.saturating_sub(1).max(1)))
}

thread_local! {
    /// The offload state of the future that this thread polls.
    static ASKED: Cell<Asked> = const { Cell::new(Asked::Cannot) };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// It is not inside of [`polled`].
    Cannot,
    No,
    Yes,
    /// It is there already.
    Away,
}

/// Runs a computation over `bytes` bytes: here, or off the async threads if
/// they are many.
pub async fn run<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
    if bytes < LARGE || ASKED.get() == Asked::Away {
        return work();
    }
    Box::pin(run_off(&COMPUTATIONS, work)).await
}

/// Runs a computation on the blocking pool when it is its turn.
///
/// A separate task waits for the turn. Turns are granted in order, and a turn
/// granted to a future that is no longer polled (the call of a client that does
/// not read) would be lost to all others.
async fn run_off<T: Send + 'static>(
    turns: &Arc<Semaphore>,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let turns = turns.clone();
    let done = AbortOnDropHandle::new(tokio::spawn(async move {
        let turn = turns.acquire_owned().await;
        let work = move || {
            // Held until the work is done, even if the caller is gone.
            let _turn = turn;
            work()
        };
        spawn_blocking(work).await
    }));
    match done.await.and_then(|done| done) {
        Ok(done) => done,
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only a runtime that ends cancels what has not begun.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Says that what follows scans `bytes` bytes. Inside of [`polled`], what
/// follows runs off the async threads if they are many.
pub async fn large(bytes: usize) {
    if bytes >= LARGE && ASKED.get() == Asked::No {
        ASKED.set(Asked::Yes);
        yield_now().await;
    }
}

/// A future that can be polled off the async threads from the moment on in
/// which it says that it works on something [`large`].
pub fn polled<T: Send + 'static>(future: BoxFuture<'static, T>) -> Polled<T> {
    Polled(State::Here(future))
}

pub struct Polled<T>(State<T>);

enum State<T> {
    /// Polled where its owner is.
    Here(BoxFuture<'static, T>),
    /// Polled on the blocking pool, the next time that it is woken.
    Idle(BoxFuture<'static, T>, Arc<WakeFlag>),
    /// Being polled there.
    Away(BoxFuture<'static, Turn<T>>, Arc<WakeFlag>),
    Over,
}

/// A future that was polled elsewhere, and what came of it.
type Turn<T> = (BoxFuture<'static, T>, Poll<T>);

impl<T: Send + 'static> Future for Polled<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        if let State::Here(future) = &mut self.0 {
            let outer = ASKED.replace(Asked::No);
            let polled = future.as_mut().poll(cx);
            if ASKED.replace(outer) != Asked::Yes || polled.is_ready() {
                return polled;
            }
            if let State::Here(future) = std::mem::replace(&mut self.0, State::Over) {
                self.0 = State::Idle(future, WakeFlag::raised());
            }
        }
        loop {
            match std::mem::replace(&mut self.0, State::Over) {
                State::Idle(future, relay) => {
                    if !relay.take(cx.waker()) {
                        self.0 = State::Idle(future, relay);
                        return Poll::Pending;
                    }
                    self.0 = State::Away(away(future, relay.clone()), relay);
                }
                State::Away(mut turn, relay) => match turn.as_mut().poll(cx) {
                    Poll::Ready((_, Poll::Ready(output))) => return Poll::Ready(output),
                    Poll::Ready((future, Poll::Pending)) => self.0 = State::Idle(future, relay),
                    Poll::Pending => {
                        self.0 = State::Away(turn, relay);
                        return Poll::Pending;
                    }
                },
                State::Here(_) | State::Over => panic!("polled after its end"),
            }
        }
    }
}

/// One poll on the blocking pool.
fn away<T: Send + 'static>(
    mut future: BoxFuture<'static, T>,
    relay: Arc<WakeFlag>,
) -> BoxFuture<'static, Turn<T>> {
    Box::pin(run_off(&POLLS, move || {
        let waker = Waker::from(relay);
        let outer = ASKED.replace(Asked::Away);
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        ASKED.set(outer);
        (future, polled)
    }))
}
