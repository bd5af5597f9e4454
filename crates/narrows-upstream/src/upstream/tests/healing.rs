//! Tests health checks of servers that stop responding, and calls to a server that is down.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use narrows_wire::Raw;
use narrows_wire::frame::Framing;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::super::circuit::SPACING;
use super::super::{StartSlots, Upstream, UpstreamContext, supervise};
use super::transport_detection::{RefusingSharedHandler, context, upstream, upstream_with};
use crate::error::Error;
use crate::failure::{Failure, FailureKind, LinkError};
use crate::link::Link;
use crate::request::Outgoing;
use crate::settings::{
    HealthSettings, RemoteProtocol, StdioSettings, UpstreamKind, UpstreamSettings,
};
use crate::state::State;
use crate::testing::server::{Reply, Seen, Server, events, hello, json_reply, status};
use crate::testing::{Addressed, LONG, NoObserver, soon};

/// For servers that do not respond: pinged often and given up soon.
const STRICT: HealthSettings = HealthSettings {
    interval: Some(Duration::from_millis(20)),
    timeout: Duration::from_millis(100),
    failures: 2,
    busy: Duration::ZERO,
};

/// For servers that do respond: pinged as often, but given enough time for slow machines.
const PATIENT: HealthSettings = HealthSettings {
    timeout: LONG,
    failures: 1,
    ..STRICT
};

struct Running {
    upstream: Arc<Upstream>,
    supervisor: AbortOnDropHandle<()>,
}

impl Running {
    async fn start(protocol: RemoteProtocol, server: &Server, health: HealthSettings) -> Running {
        let set = |settings: &mut UpstreamSettings| settings.health = health;
        let upstream = upstream_with(protocol, server.settings(), set);
        let stop = CancellationToken::new();
        let supervisor = supervise(upstream.clone(), stop, Arc::new(RefusingSharedHandler));
        let running = Running {
            upstream,
            supervisor: AbortOnDropHandle::new(tokio::spawn(supervisor)),
        };
        running
            .until(|state| matches!(state, State::Up { .. }))
            .await;
        running
    }

    async fn until(&self, wanted: impl FnMut(&State) -> bool) -> State {
        let mut states = self.upstream.lifecycle.state.subscribe();
        soon(states.wait_for(wanted)).await.unwrap().clone()
    }

    /// Returns the failure with which the server went down.
    async fn failure(&self) -> Arc<Failure> {
        let down = self.until(|state| matches!(state, State::Down { .. }));
        match down.await {
            State::Down { failure, .. } => failure,
            _ => unreachable!("waited for it"),
        }
    }

    fn link(&self) -> Arc<Link> {
        self.upstream.shared_link().expect("it is up")
    }

    fn call(&self) -> JoinHandle<Result<Raw, LinkError>> {
        let link = self.link();
        tokio::spawn(async move { link.request(Outgoing::own("tools/call", None, LONG)).await })
    }
}

/// Starts a server with empty lists that responds to pings with `answer`.
async fn pinged<R>(answer: impl Fn(Seen) -> R + Send + Sync + 'static) -> Server
where
    R: Future<Output = Reply> + Send + 'static,
{
    Server::start(move |seen| {
        let answer = (seen.what() == "ping").then(|| answer(seen.clone()));
        async move {
            match (answer, seen.what()) {
                (Some(answer), _) => answer.await,
                (None, "tools/call") => std::future::pending().await,
                (None, _) => json_reply(&seen.result(json!({"tools": []}))),
            }
        }
    })
    .await
}

fn refusal(seen: &Seen) -> Reply {
    let error = json!({"code": -32601, "message": "Method not found"});
    json_reply(&json!({"jsonrpc": "2.0", "id": seen.body["id"], "error": error}).to_string())
}

/// Checks that the gateway does not reconnect to this server.
async fn check_alive(protocol: RemoteProtocol, mut server: Server) {
    let running = Running::start(protocol, &server, PATIENT).await;
    let link = running.link();
    for _ in 0..5 {
        server.saw("ping").await;
    }
    assert!(matches!(running.upstream.state(), State::Up { .. }));
    assert!(Arc::ptr_eq(&link, &running.link()), "it was connected anew");
}

#[tokio::test]
async fn any_ping_response_counts_as_alive() {
    let alive = |answer: fn(&Seen) -> Reply| pinged(move |seen| async move { answer(&seen) });
    let result = alive(|seen| json_reply(&seen.result(json!({})))).await;
    check_alive(RemoteProtocol::Http, result).await;
    check_alive(RemoteProtocol::Http, alive(refusal).await).await;
    // An overloaded server is alive.
    check_alive(RemoteProtocol::Http, alive(|_| status(429)).await).await;
}

#[tokio::test]
async fn any_http_response_counts_as_alive_for_plain_json_rpc() {
    let server = Server::bare(|seen| async move {
        match seen.what() {
            "initialize" => json_reply(&seen.result(hello("2025-06-18"))),
            "ping" => status(500),
            _ => json_reply(&seen.result(json!({"tools": []}))),
        }
    });
    check_alive(RemoteProtocol::Rpc, server.await).await;
}

/// Checks that a server that responds to its first two pings like this is given up and then
/// reconnected.
async fn check_given_up<R>(answer: fn(Seen) -> R)
where
    R: Future<Output = Reply> + Send + 'static,
{
    let asked = AtomicUsize::new(0);
    let server = pinged(move |seen| {
        let hangs = asked.fetch_add(1, Ordering::Relaxed) < 2;
        let answer = hangs.then(|| answer(seen.clone()));
        async move {
            match answer {
                Some(answer) => answer.await,
                None => refusal(&seen),
            }
        }
    });
    let server = server.await;
    let running = Running::start(RemoteProtocol::Http, &server, STRICT).await;
    let failure = running.failure().await;
    assert_eq!(failure.kind, FailureKind::TimedOut);
    assert_eq!(
        failure.detail,
        "it did not answer 2 health checks (0.1 s each)"
    );
    running
        .until(|state| matches!(state, State::Up { .. }))
        .await;
}

#[tokio::test]
async fn unresponsive_server_is_reconnected() {
    check_given_up(|_| std::future::pending::<Reply>()).await;
}

#[tokio::test]
async fn partial_response_does_not_count_as_alive() {
    check_given_up(|_| async {
        let (sender, reply) = events();
        // Keeps the stream open.
        std::mem::forget(sender);
        reply
    })
    .await;
}

#[tokio::test]
async fn proxy_error_does_not_count_as_alive() {
    check_given_up(|_| async { status(502) }).await;
}

#[tokio::test]
async fn calls_fail_when_their_link_is_dropped() {
    let mut server = pinged(|_| std::future::pending::<Reply>()).await;
    let running = Running::start(RemoteProtocol::Http, &server, STRICT).await;
    let call = running.call();
    server.saw("tools/call").await;
    let outcome = soon(call).await.unwrap();
    let Err(LinkError::Closed { failure, sent }) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(failure.kind, FailureKind::TimedOut);
    assert!(sent);
}

#[tokio::test]
async fn busy_server_keeps_its_link() {
    let mut server = pinged(|_| std::future::pending::<Reply>()).await;
    let busy = HealthSettings {
        failures: 1,
        busy: LONG,
        ..STRICT
    };
    let slow = HealthSettings {
        interval: Some(LONG),
        ..busy
    };
    let running = Running::start(RemoteProtocol::Http, &server, slow).await;
    let link = running.link();
    let call = running.call();
    server.saw("tools/call").await;
    // The health check starts here, so that no ping precedes the call.
    let transport = link.transport();
    let watching = crate::health::watch(transport.liveness(), &busy, |limit| transport.ping(limit));
    tokio::select! {
        failure = watching => panic!("{failure:?}"),
        () = async {
            for _ in 0..4 {
                server.saw("ping").await;
            }
        } => {}
    }
    call.abort();
    let _ = call.await;
    // Without pending requests, silence is a failure.
    let watching = crate::health::watch(transport.liveness(), &busy, |limit| transport.ping(limit));
    assert_eq!(soon(watching).await.kind, FailureKind::TimedOut);
}

#[tokio::test]
async fn call_without_a_connection_is_not_sent() {
    let mut server = pinged(|seen| async move { refusal(&seen) }).await;
    let running = Running::start(RemoteProtocol::Http, &server, PATIENT).await;
    let link = running.link();
    let call = running.call();
    server.saw("tools/call").await;
    server.stop().await;
    let outcome = soon(call).await.unwrap();
    let lost = matches!(outcome, Err(LinkError::Closed { sent: true, .. }));
    assert!(lost, "{outcome:?}");
    let outcome = soon(link.request(Outgoing::own("tools/call", None, LONG))).await;
    let unsent = matches!(outcome, Err(LinkError::Closed { sent: false, .. }));
    assert!(unsent, "{outcome:?}");
}

fn failure() -> Arc<Failure> {
    Arc::new(Failure::new(FailureKind::Connect, "the server is gone"))
}

/// Returns an upstream without a supervisor.
async fn idle() -> Arc<Upstream> {
    let server = Server::bare(|_| async { status(404) }).await;
    upstream(RemoteProtocol::Http, server.settings())
}

#[track_caller]
fn reported(error: &Error) -> String {
    assert!(matches!(error, Error::Down { .. }), "{error:?}");
    error.to_string()
}

#[tokio::test(start_paused = true)]
async fn call_to_a_down_server_reports_the_next_attempt() {
    let upstream = idle().await;
    upstream.mark_down(
        failure(),
        2,
        Some(Instant::now() + Duration::from_millis(1_200)),
    );
    assert_eq!(
        reported(&upstream.down()),
        "Server 'srv' is not available: the server is gone; next attempt in 1.2 s"
    );
    sleep(Duration::from_secs(2)).await;
    assert_eq!(
        reported(&upstream.down()),
        "Server 'srv' is not available: the server is gone; reconnecting now"
    );
}

#[tokio::test(start_paused = true)]
async fn call_brings_the_reconnect_forward_to_a_minimum_pause() {
    let upstream = idle().await;
    let began = Instant::now();
    upstream.mark_down(failure(), 9, Some(began + Duration::from_secs(60)));
    let other = upstream.clone();
    let due = tokio::spawn(async move { other.next_try_due().await });
    sleep(Duration::from_secs(1)).await;
    assert_eq!(
        reported(&upstream.down()),
        "Server 'srv' is not available: the server is gone; next attempt in 4.0 s"
    );
    upstream.down();
    soon(due).await.unwrap();
    assert_eq!(began.elapsed().as_secs(), SPACING.as_secs());

    // Long after the last failure, the next attempt starts immediately.
    let began = Instant::now();
    upstream.mark_down(failure(), 10, Some(began + Duration::from_secs(60)));
    sleep(Duration::from_secs(30)).await;
    let other = upstream.clone();
    let due = tokio::spawn(async move { other.next_try_due().await });
    upstream.down();
    soon(due).await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn reconnect_runs_on_schedule_without_calls() {
    let upstream = idle().await;
    let began = Instant::now();
    upstream.mark_down(failure(), 9, Some(began + Duration::from_secs(60)));
    upstream.next_try_due().await;
    assert_eq!(began.elapsed().as_secs(), 60);
}

#[tokio::test]
async fn call_does_not_wait_for_long_pauses_or_second_failures() {
    let mut server = pinged(|seen| async move { refusal(&seen) }).await;
    let running = Running::start(RemoteProtocol::Http, &server, PATIENT).await;
    let lost = running.link();
    let upstream = idle().await;
    let limit = Instant::now() + LONG;
    upstream.mark_down(failure(), 7, Some(Instant::now() + Duration::from_secs(30)));
    assert!(!soon(upstream.is_up_again(&lost, limit)).await, "a pause");

    upstream.mark_down(failure(), 1, Some(Instant::now() + Duration::from_secs(1)));
    let (other, link) = (upstream.clone(), lost.clone());
    let waiting = tokio::spawn(async move { other.is_up_again(&link, limit).await });
    while upstream.lifecycle.state.receiver_count() == 0 {
        tokio::task::yield_now().await;
    }
    upstream.mark_down(failure(), 2, Some(Instant::now() + Duration::from_secs(1)));
    assert!(!soon(waiting).await.unwrap(), "a failure");

    // The lost link itself does not count.
    let none = running.upstream.is_up_again(&lost, Instant::now());
    assert!(!none.await);
    let upstream = running.upstream.clone();
    let waiting = tokio::spawn(async move { upstream.is_up_again(&lost, limit).await });
    running.link().close().await;
    server.saw("initialize").await;
    assert!(soon(waiting).await.unwrap(), "it is there again");
}

#[tokio::test]
async fn retired_server_is_not_restarted() {
    let mut server = pinged(|seen| async move { refusal(&seen) }).await;
    let mut running = Running::start(RemoteProtocol::Http, &server, PATIENT).await;
    // The call in flight keeps the instance from ending.
    let _flight = soon(running.upstream.acquire()).await.expect("it is up");
    running.link().close().await;
    running
        .until(|state| matches!(state, State::Down { .. }))
        .await;
    server.rest();
    running.upstream.retire(None);
    soon(&mut running.supervisor).await.expect("it ends");
    assert_eq!(server.rest(), Vec::<String>::new());
}

#[tokio::test]
async fn startup_time_counts_from_the_spawn() {
    let starts = StartSlots::new(1);
    let taken = starts.acquire().await;
    let kind = UpstreamKind::Stdio(StdioSettings {
        command: "sleep".into(),
        args: vec!["600".into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: None,
        framing: Framing::Newline,
    });
    let mut settings = UpstreamSettings::new("srv", kind);
    settings.startup_timeout = Duration::from_millis(100);
    let context = UpstreamContext {
        starts: starts.clone(),
        ..context()
    };
    let upstream = Arc::new(Upstream::new(
        0,
        "srv",
        settings,
        Arc::new(context),
        Arc::new(NoObserver),
    ));
    let supervisor = supervise(
        upstream.clone(),
        CancellationToken::new(),
        Arc::new(RefusingSharedHandler),
    );
    let running = Running {
        upstream,
        supervisor: AbortOnDropHandle::new(tokio::spawn(supervisor)),
    };
    // Longer than the startup timeout.
    sleep(Duration::from_secs(1)).await;
    assert!(
        !running.upstream.is_settled(),
        "it has not been started yet"
    );
    drop(taken);
    let failure = running.failure().await;
    assert_eq!(failure.kind, FailureKind::TimedOut, "{failure:?}");
}
