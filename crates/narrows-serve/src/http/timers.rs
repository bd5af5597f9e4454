//! Timers for hyper, which sets one for every request head.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use narrows_upstream::timers::{self, Timers};

#[derive(Debug, Clone, Default)]
pub(super) struct HeaderTimers(Arc<Timers>);

struct HeaderTimer(timers::Timer);

impl Timer for HeaderTimers {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(HeaderTimer(self.0.sleep(duration)))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(HeaderTimer(self.0.sleep_until(deadline.into())))
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, new_deadline: Instant) {
        if let Some(timer) = sleep.as_mut().downcast_mut_pin::<HeaderTimer>() {
            timer.get_mut().0.reset(new_deadline.into());
        }
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into()
    }
}

impl Future for HeaderTimer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl Sleep for HeaderTimer {}
