//! A future that is hardly ever ready, beside one that is polled often.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// Polls its future only when that has been woken. A task whose other futures
/// wake it for every message asks this one at the price of two atomic reads.
pub(super) struct Rarely<F> {
    future: F,
    signal: Arc<Signal>,
}

struct Signal {
    is_woken: AtomicBool,
    task: AtomicWaker,
}

impl<F: Future + Unpin> Rarely<F> {
    pub(super) fn new(future: F) -> Rarely<F> {
        let signal = Arc::new(Signal {
            is_woken: AtomicBool::new(true),
            task: AtomicWaker::new(),
        });
        Rarely { future, signal }
    }
}

impl<F: Future + Unpin> Future for Rarely<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // Registered before the look, so that no wake-up is missed.
        self.signal.task.register(cx.waker());
        // Nearly always false, and a plain read costs less than a swap.
        if !self.signal.is_woken.load(Ordering::Acquire) {
            return Poll::Pending;
        }
        self.signal.is_woken.store(false, Ordering::Release);
        let waker = Waker::from(self.signal.clone());
        Pin::new(&mut self.future).poll(&mut Context::from_waker(&waker))
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        self.task.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio_util::sync::CancellationToken;

    use super::*;

    #[tokio::test]
    async fn it_is_polled_again_only_when_woken() {
        let token = CancellationToken::new();
        let mut polls = 0;
        let mut inner = Box::pin(token.cancelled());
        let counted = poll_fn(|cx| {
            polls += 1;
            inner.as_mut().poll(cx)
        });
        let mut rarely = Rarely::new(counted);
        for _ in 0..5 {
            let polled = poll_fn(|cx| Poll::Ready(Pin::new(&mut rarely).poll(cx))).await;
            assert!(polled.is_pending());
        }
        token.cancel();
        rarely.await;
        assert_eq!(polls, 2);
    }

    #[tokio::test]
    async fn it_wakes_the_task_that_waits() {
        let token = CancellationToken::new();
        let waiting = token.clone();
        let task = tokio::spawn(async move {
            Rarely::new(Box::pin(waiting.cancelled())).await;
        });
        tokio::task::yield_now().await;
        token.cancel();
        task.await.expect("it does not panic");
    }
}
