//! A wrapper for a rarely ready future that is polled together with a busy one.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use narrows_upstream::WakeFlag;

/// Polls its future only after it was woken. All other polls cost only the registration of a waker
/// and one atomic load.
pub(super) struct PollWhenWoken<F> {
    future: F,
    flag: Arc<WakeFlag>,
}

impl<F: Future + Unpin> PollWhenWoken<F> {
    pub(super) fn new(future: F) -> PollWhenWoken<F> {
        let flag = WakeFlag::raised();
        PollWhenWoken { future, flag }
    }
}

impl<F: Future + Unpin> Future for PollWhenWoken<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        if !self.flag.take(cx.waker()) {
            return Poll::Pending;
        }
        let waker = Waker::from(self.flag.clone());
        Pin::new(&mut self.future).poll(&mut Context::from_waker(&waker))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use tokio_util::sync::CancellationToken;

    use super::*;

    #[tokio::test]
    async fn inner_future_is_polled_only_after_a_wake() {
        let token = CancellationToken::new();
        let mut polls = 0;
        let mut inner = Box::pin(token.cancelled());
        let counted = poll_fn(|cx| {
            polls += 1;
            inner.as_mut().poll(cx)
        });
        let mut waiting = PollWhenWoken::new(counted);
        for _ in 0..5 {
            let polled = poll_fn(|cx| Poll::Ready(Pin::new(&mut waiting).poll(cx))).await;
            assert!(polled.is_pending());
        }
        token.cancel();
        waiting.await;
        assert_eq!(polls, 2);
    }

    #[tokio::test]
    async fn inner_wake_reaches_the_waiting_task() {
        let token = CancellationToken::new();
        let waiting = token.clone();
        let task = tokio::spawn(async move {
            PollWhenWoken::new(Box::pin(waiting.cancelled())).await;
        });
        tokio::task::yield_now().await;
        token.cancel();
        let woken = tokio::time::timeout(Duration::from_secs(10), task).await;
        woken
            .expect("the task is woken")
            .expect("the task does not panic");
    }
}
