//! Keeps the shared link of one upstream open: connects, reads the lists, reads them again when
//! they change, and reconnects when the link is lost.

use std::sync::{Arc, Weak};
use std::time::Duration;

use narrows_wire::Raw;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Upstream;
use super::connect::Connected;
use crate::chain::via::is_looped_notice;
use crate::exchange::{Ask, AskKey, ClientHello, Notice, Refusal};
use crate::failure::{Failure, FailureKind, Found};
use crate::handler::NotificationHandler;
use crate::link::Link;
use crate::offer::{ListKind, Offer};
use crate::settings::{Sharing, Transport};
use crate::state::State;

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The longest pause after failures that require user action.
const UNRECOVERABLE_PAUSE: Duration = Duration::from_secs(300);
/// The interval at which repeated failures are first logged as a count.
const FIRST_COUNT: Duration = Duration::from_secs(300);
const LONGEST_COUNT: Duration = Duration::from_secs(6 * 3_600);
/// The minimum time between two readings of changed lists.
const REREAD_INTERVAL: Duration = Duration::from_millis(50);
/// The time that a link must be up for the attempt counter to be reset.
const STEADY_TIME: Duration = Duration::from_secs(30);

/// Runs until `stop` is cancelled, or until the upstream is retired and has no link. Closes the
/// link before it returns.
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
            // A server without a link has no calls in flight, and its successor takes over.
            () = upstream.retired() => break,
            opened = opening => opened,
        };
        let failure = match opened {
            Ok(OpenedLink {
                link,
                offer,
                found,
                began,
            }) => {
                outage = None;
                let link = Arc::new(link);
                // Read before sessions can subscribe over the new link themselves.
                let before = handler.subscribed(&upstream);
                link.preset_level(handler.level());
                upstream.monitor(&link);
                upstream.mark_up(link.clone(), offer, found, began.elapsed());
                upstream.restore(link.clone(), handler.level(), before);
                let up = Instant::now();
                let failure = tokio::select! {
                    failure = follow_list_changes(&upstream, &link) => failure,
                    () = stop.cancelled() => {
                        upstream.connection.shared.store(None);
                        link.close().await;
                        break;
                    }
                };
                if up.elapsed() > STEADY_TIME {
                    attempts = 0;
                    upstream.connection.stderr.forget();
                }
                lost = Some(link);
                failure
            }
            Err(failure) => Arc::new(failure),
        };
        if upstream.is_retired() {
            // The successor takes over.
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
        upstream.mark_down(failure, attempts, pause.map(|pause| Instant::now() + pause));
        // The old process may still hold resources that the new one needs.
        let wait_for_cleanup = async {
            if let Some(lost) = lost {
                lost.wait_for_cleanup().await;
            }
        };
        tokio::select! {
            _ = async { tokio::join!(upstream.next_try_due(), wait_for_cleanup) } => {}
            () = stop.cancelled() => break,
            () = upstream.retired() => break,
        }
    }
}

/// Handles the messages that arrive over the shared link of an upstream outside any call.
pub trait SharedNotificationHandler: Send + Sync {
    fn notice(&self, upstream: &Arc<Upstream>, notice: Notice);
    fn ask(&self, upstream: &Arc<Upstream>, ask: Ask);
    fn withdraw(&self, upstream: &Arc<Upstream>, key: AskKey);
    /// Returns the log level that the sessions requested.
    fn level(&self) -> Option<&'static str>;
    /// Returns the URIs that sessions have subscribed to.
    fn subscribed(&self, upstream: &Upstream) -> Vec<String>;
}

/// A shared link and the server's lists.
struct OpenedLink {
    link: Link,
    offer: Offer,
    found: Found,
    /// The time at which the process was spawned or connecting began.
    began: Instant,
}

async fn open(
    upstream: &Arc<Upstream>,
    handler: &Arc<dyn SharedNotificationHandler>,
) -> Result<OpenedLink, Failure> {
    let limit = upstream.settings.startup_timeout;
    // The time limit begins when the server may start.
    let slot = upstream.start_slot().await;
    let began = Instant::now();
    let deadline = began + limit;
    // The outer timeout covers transports that hang before the first request.
    let late = || {
        Failure::new(
            FailureKind::TimedOut,
            format!("not connected within {} s", limit.as_secs_f64()),
        )
    };
    let heard = Arc::new(SharedHandler {
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
    // The limit covers all pages together. If it expires, the link is dropped and closes itself.
    let offer = tokio::time::timeout(left + Duration::from_millis(500), reading)
        .await
        .map_err(|_| late())??;
    Ok(OpenedLink {
        link,
        offer,
        found,
        began,
    })
}

/// The log state of an outage. Each kind of failure is logged when it first occurs; repeats are
/// counted.
#[derive(Default)]
struct Outage {
    seen: Vec<FailureKind>,
    /// The number of failures that were not logged.
    repeats: u32,
    /// The time of the last log message.
    logged: Option<Instant>,
    /// The number of logged counts.
    counts: u32,
}

impl Outage {
    fn log(&mut self, id: &str, failure: &Failure, attempts: u32, pause: Option<Duration>) {
        let detail = &failure.detail;
        let Some(pause) = pause else {
            tracing::warn!(
                server = id,
                "server \"{id}\" is down and will not be retried: {detail}"
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

/// Returns the time between two logged counts: 5 minutes at first, then doubling.
fn count_interval(counts: u32) -> Duration {
    FIRST_COUNT
        .saturating_mul(1 << counts.min(10))
        .min(LONGEST_COUNT)
}

/// Reads changed lists again until the link ends.
async fn follow_list_changes(upstream: &Arc<Upstream>, link: &Link) -> Arc<Failure> {
    loop {
        tokio::select! {
            failure = link.ended() => return failure,
            () = upstream.offer_cache.stale().raised() => {}
        }
        let kinds = upstream.offer_cache.stale().take();
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
            // The lists have not changed, so the variants remain valid.
            Ok(new) if new.same_lists(&offer) && new.looped == offer.looped => {}
            Ok(new) => {
                upstream.store_offer(new);
                upstream.context.changes.raise();
            }
            // The old list is kept. A dead link is detected elsewhere.
            Err(failure) => {
                upstream.offer_cache.stale().put_back(kinds);
                tracing::warn!(server = %upstream.settings.id, "could not read a changed list: {}", failure.detail);
            }
        }
        // Limits the rate for a server that announces a change with every list.
        tokio::select! {
            failure = link.ended() => return failure,
            () = tokio::time::sleep(REREAD_INTERVAL) => {}
        }
    }
}

impl Upstream {
    fn mark_up(self: &Arc<Self>, link: Arc<Link>, offer: Offer, found: Found, took: Duration) {
        let hello = offer
            .hello
            .as_ref()
            .expect("a newly read offer has the hello of its server");
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
        self.connection.stderr.mark_connected();
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
            let restoring = async {
                if let Some(level) = level.filter(|_| upstream.offer().has("logging")) {
                    upstream.set_level(&link, level).await;
                }
                for uri in subscribed {
                    upstream.subscribe_again(&link, &uri).await;
                }
            };
            tokio::select! {
                () = restoring => {}
                _ = link.ended() => {}
            }
        });
    }

    pub(super) fn mark_down(
        &self,
        failure: Arc<Failure>,
        attempts: u32,
        next_try: Option<Instant>,
    ) {
        self.connection.shared.store(None);
        self.store_offer(Offer::default());
        self.lifecycle.circuit.open();
        self.change_state(State::Down {
            failure,
            attempts,
            next_try,
        });
    }

    /// Changes the state. The change counter is incremented before and after: a task that is woken
    /// by the new state must find that views are outdated, and so is a view built between the two
    /// steps.
    fn change_state(&self, state: State) {
        self.context.changes.raise();
        self.lifecycle.state.send_replace(state);
        self.context.changes.raise();
        self.observer.state_changed(&self.state());
    }
}

/// Returns the pause before the next attempt, or `None` if another attempt would only start this
/// gateway again. The pause doubles with each attempt (it quadruples if the user must act) and has
/// 25 % jitter, so that servers that failed together do not reconnect at the same time.
fn pause(attempts: u32, kind: FailureKind) -> Option<Duration> {
    if kind == FailureKind::Recursion {
        return None;
    }
    let steps = (attempts - 1).min(10);
    // The user must fix something first. A call or a changed configuration entry brings the next
    // attempt forward.
    let (factor, longest): (u32, _) = match kind.is_recoverable() {
        true => (2, LONGEST_PAUSE),
        false => (4, UNRECOVERABLE_PAUSE),
    };
    let plain = FIRST_PAUSE.saturating_mul(factor.pow(steps)).min(longest);
    Some(plain.mul_f64(0.75 + fastrand::f64() / 2.0))
}

struct SharedHandler {
    upstream: Weak<Upstream>,
    handler: Arc<dyn SharedNotificationHandler>,
}

impl NotificationHandler for SharedHandler {
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
            // The session had expired and has been replaced.
            "narrows/reopened" => {
                ListKind::ALL
                    .into_iter()
                    .for_each(|kind| upstream.refresh(kind));
                if let Ok(link) = upstream.shared_link() {
                    let subscribed = self.handler.subscribed(&upstream);
                    upstream.restore(link, self.handler.level(), subscribed);
                }
            }
            _ if is_looped_notice(&notice, upstream.context.http.mark()) => {}
            _ => self.handler.notice(&upstream, notice),
        }
    }

    fn ask(&self, ask: Ask) {
        match self.upstream.upgrade() {
            // The shared link declares no capabilities, so the server may not send requests. They
            // are only delivered if a shared link is configured.
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
    fn unrecoverable_failures_are_retried_every_five_minutes() {
        use FailureKind::{NotFound, SignIn, UnsupportedRevision};
        for kind in [NotFound, SignIn, UnsupportedRevision] {
            let pauses = (1..=7).map(|attempts| pause(attempts, kind).expect("it is tried"));
            let total: Duration = pauses.sum();
            assert!(total < 4 * UNRECOVERABLE_PAUSE, "{total:?}");
            let last = pause(u32::MAX, kind).expect("it is tried");
            assert!(last >= UNRECOVERABLE_PAUSE.mul_f64(0.75), "{last:?}");
            assert!(last <= UNRECOVERABLE_PAUSE.mul_f64(1.25), "{last:?}");
        }
    }

    #[test]
    fn self_referencing_gateway_is_not_retried() {
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
