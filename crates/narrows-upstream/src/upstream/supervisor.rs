//! Keeps one upstream's shared link open: connects, reads its lists, reads
//! them again when they change, and connects anew when the link is lost.

use std::sync::{Arc, Weak};
use std::time::Duration;

use narrows_wire::Raw;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Upstream;
use super::connect::Connected;
use crate::chain::via::has_notice_come_round;
use crate::exchange::{Ask, AskKey, ClientHello, Notice, Refusal};
use crate::failure::{Failure, FailureKind, Found};
use crate::handler::NotificationHandler;
use crate::link::Link;
use crate::offer::{ListKind, Offer};
use crate::settings::{Sharing, Transport};
use crate::state::State;

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The longest pause after failures that cannot heal by themselves.
const HOPELESS_PAUSE: Duration = Duration::from_secs(300);
/// The first interval at which repeated failures are logged as a count.
const FIRST_COUNT: Duration = Duration::from_secs(300);
const LONGEST_COUNT: Duration = Duration::from_secs(6 * 3_600);
/// The least time between two readings of changed lists.
const REREAD_INTERVAL: Duration = Duration::from_millis(50);
/// A link that lived this long was no failed attempt.
const STEADY: Duration = Duration::from_secs(30);

/// Runs until `stop`, or until the upstream is retired and has no link; the
/// link is closed when it returns.
pub async fn supervise(
    upstream: Arc<Upstream>,
    stop: CancellationToken,
    handler: Arc<dyn SharedNotificationHandler>,
) {
    let mut attempts = 0;
    let mut outage = None;
    loop {
        let mut lost = None;
        let opening = open(&upstream, &handler);
        let opened = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            // No call is on its way to a server without a link, and its
            // successor does the work now.
            () = upstream.retired() => break,
            opened = opening => opened,
        };
        let failure = match opened {
            Ok(Opened {
                link,
                offer,
                found,
                began,
            }) => {
                outage = None;
                let link = Arc::new(link);
                // Before anybody can subscribe over the new link by itself.
                let before = handler.subscribed(&upstream);
                upstream.monitor(&link);
                upstream.come_up(link.clone(), offer, found, began.elapsed());
                upstream.restore(link.clone(), handler.level(), before);
                let up = Instant::now();
                let failure = tokio::select! {
                    failure = tend(&upstream, &link) => failure,
                    () = stop.cancelled() => {
                        upstream.connection.shared.store(None);
                        link.close().await;
                        break;
                    }
                };
                if up.elapsed() > STEADY {
                    attempts = 0;
                    upstream.connection.stderr.forget();
                }
                lost = Some(link);
                failure
            }
            Err(failure) => Arc::new(failure),
        };
        if upstream.is_retired() {
            // Its successor does the work now.
            break;
        }
        let mut failure = upstream.secrets.redact_failure(&failure);
        if failure.stderr.is_empty() {
            failure.stderr = upstream.stderr();
        }
        let failure = Arc::new(failure);
        attempts += 1;
        let pause = pause(attempts, failure.kind);
        let outage = outage.get_or_insert_with(Outage::default);
        outage.log(&upstream.settings.id, &failure, attempts, pause);
        upstream.go_down(failure, attempts, pause.map(|pause| Instant::now() + pause));
        // The rest of the old process may hold what the new one needs.
        let cleared = async {
            if let Some(lost) = lost {
                lost.cleared().await;
            }
        };
        tokio::select! {
            _ = async { tokio::join!(upstream.next_try_due(), cleared) } => {}
            () = stop.cancelled() => break,
            () = upstream.retired() => break,
        }
    }
}

/// Handles the messages that come over the shared link of an upstream outside of calls.
pub trait SharedNotificationHandler: Send + Sync {
    fn notice(&self, upstream: &Arc<Upstream>, notice: Notice);
    fn ask(&self, upstream: &Arc<Upstream>, ask: Ask);
    fn withdraw(&self, upstream: &Arc<Upstream>, key: AskKey);
    /// The level of log messages that the sessions want.
    fn level(&self) -> Option<&'static str>;
    /// The URIs that sessions have subscribed to.
    fn subscribed(&self, upstream: &Upstream) -> Vec<String>;
}

/// A shared link and what the server offers over it.
struct Opened {
    link: Link,
    offer: Offer,
    found: Found,
    /// When the process was spawned, or connecting began.
    began: Instant,
}

async fn open(
    upstream: &Arc<Upstream>,
    handler: &Arc<dyn SharedNotificationHandler>,
) -> Result<Opened, Failure> {
    let limit = upstream.settings.startup_timeout;
    // Its time begins when it may start.
    let slot = upstream.start_slot().await;
    let began = Instant::now();
    let deadline = began + limit;
    // The timeout around it all is for transports that are stuck before the first request.
    let late = || {
        Failure::new(
            FailureKind::TimedOut,
            format!("not connected within {} s", limit.as_secs_f64()),
        )
    };
    let heard = Arc::new(Shared {
        upstream: Arc::downgrade(upstream),
        handler: handler.clone(),
    });
    let hello = ClientHello {
        capabilities: Raw::empty_object(),
        client_info: Raw::from_static(concat!(
            r#"{"name":"narrows-through-proxy","version":""#,
            env!("CARGO_PKG_VERSION"),
            r#""}"#
        )),
    };
    let connecting = upstream.connect_in(slot, &hello, heard, Some(&upstream.connection.stderr));
    let connected =
        tokio::time::timeout_at(deadline + Duration::from_millis(500), connecting).await;
    let Connected { link, hello, found } = match connected {
        Ok(Ok(connected)) => connected,
        Ok(Err(failure)) => return Err(upstream.explain(failure).await),
        Err(_) => return Err(late()),
    };
    let left = deadline
        .saturating_duration_since(Instant::now())
        .max(Duration::from_millis(100));
    let reading = Offer::read(upstream.list_reader(&link, left), hello);
    // The limit is for all pages together. A link that is dropped ends itself.
    let offer = tokio::time::timeout(left + Duration::from_millis(500), reading)
        .await
        .map_err(|_| late())??;
    Ok(Opened {
        link,
        offer,
        found,
        began,
    })
}

/// The log state of an outage. Each kind of failure is logged
/// when it first occurs, and repeats are counted.
#[derive(Default)]
struct Outage {
    seen: Vec<FailureKind>,
    /// Failures that were not logged.
    repeats: u32,
    /// When something was logged last.
    logged: Option<Instant>,
    /// The number of counts logged.
    counts: u32,
}

impl Outage {
    fn log(&mut self, id: &str, failure: &Failure, attempts: u32, pause: Option<Duration>) {
        let detail = &failure.detail;
        let Some(pause) = pause else {
            tracing::warn!(
                server = id,
                "server \"{id}\" is down and is not tried again: {detail}"
            );
            return;
        };
        let retry_ms = pause.as_millis() as u64;
        let speaks = failure.speaks.map(Transport::as_str);
        let now = Instant::now();
        if !self.seen.contains(&failure.kind) {
            self.seen.push(failure.kind);
            self.logged = Some(now);
            tracing::warn!(
                server = id,
                attempts,
                retry_ms,
                speaks,
                "server is down: {detail}"
            );
            return;
        }
        self.repeats += 1;
        let quiet = self.logged.map_or(Duration::ZERO, |logged| now - logged);
        if quiet >= count_interval(self.counts) {
            let (repeats, minutes) = (self.repeats, quiet.as_secs().div_ceil(60));
            tracing::warn!(
                server = id,
                attempts,
                retry_ms,
                speaks,
                "server is still down, failed again {repeats} times in {minutes} min: {detail}"
            );
            self.repeats = 0;
            self.counts += 1;
            self.logged = Some(now);
        }
    }
}

/// The time between two counts of failures: 5 minutes at first, then doubling.
fn count_interval(counts: u32) -> Duration {
    FIRST_COUNT
        .saturating_mul(1 << counts.min(10))
        .min(LONGEST_COUNT)
}

/// Follows the changes of the server's lists until the link ends.
async fn tend(upstream: &Arc<Upstream>, link: &Link) -> Arc<Failure> {
    loop {
        tokio::select! {
            failure = link.ended() => return failure,
            () = upstream.offered.stale().raised() => {}
        }
        let kinds = upstream.offered.stale().take();
        if kinds.is_empty() {
            continue;
        }
        let offer = upstream.offer();
        let reader = upstream.list_reader(link, upstream.settings.startup_timeout);
        let reading = offer.reread(reader, &kinds);
        let read = tokio::select! {
            read = reading => read,
            failure = link.ended() => return failure,
        };
        match read {
            // Announced without need: nothing that was found out counts less.
            Ok(new) if new.same_lists(&offer) && new.led_back == offer.led_back => {}
            Ok(new) => {
                upstream.store_offer(new);
                upstream.context.changes.raise();
            }
            // The old list is better than none; a dead link is noticed elsewhere.
            Err(failure) => {
                upstream.offered.stale().put_back(kinds);
                tracing::warn!(server = %upstream.settings.id, "could not read a changed list: {}", failure.detail);
            }
        }
        // A server that announces a change with every list is read no faster.
        tokio::select! {
            failure = link.ended() => return failure,
            () = tokio::time::sleep(REREAD_INTERVAL) => {}
        }
    }
}

impl Upstream {
    fn come_up(self: &Arc<Self>, link: Arc<Link>, offer: Offer, found: Found, took: Duration) {
        let hello = offer
            .hello
            .as_ref()
            .expect("an offer just read has its hello");
        let state = State::Up {
            revision: hello.revision,
            took,
            server_info: hello.server_info.clone(),
            found: found.clone(),
        };
        tracing::info!(
            server = %self.settings.id,
            transport = found.transport.as_str(),
            revision = %hello.revision,
            tools = offer.tools.len(),
            took_ms = took.as_millis() as u64,
            "server is up"
        );
        self.connection.stderr.settle();
        self.store_offer(offer);
        self.connection.shared.store(Some(link));
        self.change_state(state);
    }

    /// Restores subscriptions and the log level on a new connection.
    fn restore(
        self: &Arc<Self>,
        link: Arc<Link>,
        level: Option<&'static str>,
        subscribed: Vec<String>,
    ) {
        let upstream = self.clone();
        self.context.tasks.spawn(async move {
            let telling = async {
                if let Some(level) = level.filter(|_| upstream.offer().has("logging")) {
                    upstream.set_level(&link, level).await;
                }
                for uri in subscribed {
                    upstream.subscribe_again(&link, &uri).await;
                }
            };
            tokio::select! {
                () = telling => {}
                _ = link.ended() => {}
            }
        });
    }

    pub(super) fn go_down(&self, failure: Arc<Failure>, attempts: u32, next_try: Option<Instant>) {
        self.connection.shared.store(None);
        self.store_offer(Offer::default());
        self.lifecycle.circuit.open();
        self.change_state(State::Down {
            failure,
            attempts,
            next_try,
        });
    }

    /// Counted before and after: who wakes by the new state must find that
    /// views are old, and a view built between the two is old as well.
    fn change_state(&self, state: State) {
        self.context.changes.raise();
        self.lifecycle.state.send_replace(state);
        self.context.changes.raise();
        self.observer.state_changed(&self.state());
    }
}

/// The pause before the next attempt; none where another attempt would only
/// start the gateway itself once more. Doubles each time, with a quarter of
/// jitter either way, so that servers that died together do not come back
/// together.
fn pause(attempts: u32, kind: FailureKind) -> Option<Duration> {
    if kind == FailureKind::Recursion {
        return None;
    }
    let steps = (attempts - 1).min(10);
    // The user has to fix something first. A call or a changed entry brings
    // the next attempt forward.
    let (factor, longest): (u32, _) = match kind.heals() {
        true => (2, LONGEST_PAUSE),
        false => (4, HOPELESS_PAUSE),
    };
    let plain = FIRST_PAUSE.saturating_mul(factor.pow(steps)).min(longest);
    Some(plain.mul_f64(0.75 + fastrand::f64() / 2.0))
}

struct Shared {
    upstream: Weak<Upstream>,
    handler: Arc<dyn SharedNotificationHandler>,
}

impl NotificationHandler for Shared {
    fn notice(&self, notice: Notice) {
        let Some(upstream) = self.upstream.upgrade() else {
            return;
        };
        match &*notice.method {
            "notifications/tools/list_changed" => upstream.refresh(ListKind::Tools),
            "notifications/prompts/list_changed" => upstream.refresh(ListKind::Prompts),
            "notifications/resources/list_changed" => {
                upstream.refresh(ListKind::Resources);
                upstream.refresh(ListKind::Templates);
            }
            // The server forgot its session and has a new one now.
            "narrows/reopened" => {
                ListKind::ALL
                    .into_iter()
                    .for_each(|kind| upstream.refresh(kind));
                if let Ok(link) = upstream.shared_link() {
                    let subscribed = self.handler.subscribed(&upstream);
                    upstream.restore(link, self.handler.level(), subscribed);
                }
            }
            _ if has_notice_come_round(&notice, upstream.context.http.mark()) => {}
            _ => self.handler.notice(&upstream, notice),
        }
    }

    fn ask(&self, ask: Ask) {
        match self.upstream.upgrade() {
            // The shared link declared no capabilities, so the server has no
            // right to ask; only where sharing is forced it is heard at all.
            Some(upstream) if upstream.sharing() == Sharing::Shared => {
                self.handler.ask(&upstream, ask)
            }
            _ => ask.reply.answer(Err(Refusal::NotSupported.error())),
        }
    }

    fn withdraw(&self, key: AskKey) {
        if let Some(upstream) = self.upstream.upgrade() {
            self.handler.withdraw(&upstream, key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_heal_by_itself_is_tried_every_five_minutes() {
        use FailureKind::{NotFound, SignIn, UnsupportedRevision};
        for kind in [NotFound, SignIn, UnsupportedRevision] {
            let pauses = (1..=7).map(|attempts| pause(attempts, kind).expect("it is tried"));
            let total: Duration = pauses.sum();
            assert!(total < 4 * HOPELESS_PAUSE, "{total:?}");
            let last = pause(u32::MAX, kind).expect("it is tried");
            assert!(last >= HOPELESS_PAUSE.mul_f64(0.75), "{last:?}");
            assert!(last <= HOPELESS_PAUSE.mul_f64(1.25), "{last:?}");
        }
    }

    #[test]
    fn a_gateway_that_starts_itself_is_not_tried_again() {
        assert_eq!(pause(1, FailureKind::Recursion), None);
    }

    #[test]
    fn pauses_grow_to_a_limit_with_jitter() {
        for (attempts, plain) in [
            (1, 500),
            (2, 1_000),
            (3, 2_000),
            (8, 60_000),
            (u32::MAX, 60_000),
        ] {
            for _ in 0..100 {
                let pause = pause(attempts, FailureKind::Connect).expect("it is tried again");
                let pause = pause.as_millis();
                assert!(
                    pause >= plain * 3 / 4 && pause <= plain * 5 / 4,
                    "{attempts}: {pause}"
                );
            }
        }
    }
}
