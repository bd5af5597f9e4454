//! Tests the health check against a simulated server. Time is paused and advances only when all
//! tasks are waiting.

use std::sync::atomic::AtomicU32;

use tokio::time::{sleep, timeout};

use super::*;

fn settings() -> HealthSettings {
    HealthSettings {
        interval: Some(Duration::from_secs(30)),
        timeout: Duration::from_secs(10),
        failures: 3,
        busy: Duration::from_secs(300),
    }
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Runs the health check against a server that answers the first `answered` pings, each after
/// `delay`. Returns the seconds until it was given up, the reason, and the number of pings.
async fn given_up(liveness: &Liveness, answered: u32, delay: Duration) -> (u64, String, u32) {
    let began = Instant::now();
    let asked = AtomicU32::new(0);
    let ping = |limit| {
        let number = asked.fetch_add(1, Ordering::Relaxed) + 1;
        async move {
            let answer = async {
                match number <= answered {
                    true => sleep(delay).await,
                    false => std::future::pending().await,
                }
                liveness.record_activity();
            };
            let _ = timeout(limit, answer).await;
        }
    };
    let failure = watch(liveness, &settings(), ping).await;
    assert_eq!(failure.kind, FailureKind::TimedOut);
    let asked = asked.load(Ordering::Relaxed);
    (began.elapsed().as_secs(), failure.detail, asked)
}

#[tokio::test(start_paused = true)]
async fn silent_server_is_dropped_after_the_configured_failures() {
    let liveness = Liveness::new();
    let (after, detail, asked) = given_up(&liveness, 0, Duration::ZERO).await;
    assert_eq!(detail, "it did not answer 3 health checks (10 s each)");
    // 30 s of silence, then three pings of 10 s each.
    assert_eq!((after, asked), (60, 3));
}

#[tokio::test(start_paused = true)]
async fn response_resets_the_failure_count() {
    let liveness = Liveness::new();
    let (after, _, asked) = given_up(&liveness, 5, seconds(9)).await;
    // Five rounds of 30 s of silence and 9 s until the response.
    assert_eq!((after, asked), (5 * 39 + 60, 8));
}

#[tokio::test(start_paused = true)]
async fn any_message_counts_as_a_sign_of_life() {
    let liveness = Arc::new(Liveness::new());
    let speaker = liveness.clone();
    let speaking = tokio::spawn(async move {
        for _ in 0..20 {
            sleep(seconds(29)).await;
            speaker.record_activity();
        }
    });
    let (after, _, asked) = given_up(&liveness, 0, Duration::ZERO).await;
    assert!(speaking.is_finished());
    assert_eq!((after, asked), (20 * 29 + 60, 3));
}

#[tokio::test(start_paused = true)]
async fn late_message_resets_the_failure_count() {
    let liveness = Arc::new(Liveness::new());
    let speaker = liveness.clone();
    // Two pings have been missed by then, at 40 and 50 s.
    tokio::spawn(async move {
        sleep(seconds(55)).await;
        speaker.record_activity();
    });
    let (after, detail, asked) = given_up(&liveness, 0, Duration::ZERO).await;
    assert_eq!(detail, "it did not answer 3 health checks (10 s each)");
    assert_eq!((after, asked), (55 + 60, 6));
}

#[tokio::test(start_paused = true)]
async fn server_with_growing_latency_is_dropped_at_the_limit() {
    let liveness = Arc::new(Liveness::new());
    let asked = AtomicU32::new(0);
    let ping = |limit| {
        // Delays of 6, 12, 18 ... seconds.
        let delay = seconds(6) * (asked.fetch_add(1, Ordering::Relaxed) + 1);
        let answering = liveness.clone();
        tokio::spawn(async move {
            sleep(delay).await;
            answering.record_activity();
        });
        sleep(limit)
    };
    watch(&liveness, &settings(), ping).await;
    // Late responses count as signs of life if one arrives within three checks. The seventh
    // response would take 42 s, which is too late.
    assert_eq!(asked.load(Ordering::Relaxed), 9);
}

#[tokio::test(start_paused = true)]
async fn busy_server_gets_a_longer_but_limited_timeout() {
    let liveness = Liveness::new();
    let work = liveness.in_flight();
    let (after, _, asked) = given_up(&liveness, 0, Duration::ZERO).await;
    drop(work);
    // Pings are sent at 30, 60 ... 300 s. Those that are unanswered from 310 s on count.
    assert_eq!((after, asked), (330, 12));
}

#[tokio::test(start_paused = true)]
async fn work_on_another_link_to_the_same_server_counts() {
    let (watched, other) = (Liveness::new(), Liveness::new());
    let work = ActiveRequests::default();
    watched.share(&work);
    other.share(&work);
    let call = other.in_flight();
    let soon = timeout(seconds(299), given_up(&watched, 0, Duration::ZERO)).await;
    assert!(soon.is_err(), "{soon:?}");
    drop(call);
    let (after, ..) = given_up(&watched, 0, Duration::ZERO).await;
    assert_eq!(after, 30, "it has long been silent");
}

#[tokio::test(start_paused = true)]
async fn concurrent_call_timeouts_count_once() {
    let liveness = Arc::new(Liveness::new());
    let caller = liveness.clone();
    tokio::spawn(async move {
        sleep(seconds(1)).await;
        let sent = Instant::now();
        sleep(seconds(19)).await;
        caller.record_timeout(sent);
        caller.record_timeout(sent);
        caller.record_timeout(sent);
    });
    let (after, detail, asked) = given_up(&liveness, 0, Duration::ZERO).await;
    assert_eq!(
        detail,
        "it did not answer 1 call and 2 health checks (10 s each)"
    );
    // After the missed call, the server is pinged immediately and not only after 30 s of silence.
    assert_eq!((after, asked), (40, 2));
}

#[tokio::test(start_paused = true)]
async fn call_timeout_is_ignored_after_later_activity() {
    let liveness = Arc::new(Liveness::new());
    let caller = liveness.clone();
    tokio::spawn(async move {
        let sent = Instant::now();
        sleep(seconds(10)).await;
        caller.record_activity();
        sleep(seconds(10)).await;
        caller.record_timeout(sent);
    });
    let (after, _, asked) = given_up(&liveness, 0, Duration::ZERO).await;
    assert_eq!((after, asked), (10 + 60, 3));
}

#[tokio::test(start_paused = true)]
async fn call_timeouts_alone_can_drop_a_server() {
    let liveness = Arc::new(Liveness::new());
    let caller = liveness.clone();
    let health = HealthSettings {
        failures: 1,
        ..settings()
    };
    tokio::spawn(async move {
        sleep(seconds(1)).await;
        let sent = Instant::now();
        sleep(seconds(4)).await;
        caller.record_timeout(sent);
    });
    let failure = watch(&liveness, &health, |_| async { unreachable!("not asked") }).await;
    assert_eq!(failure.detail, "it did not answer 1 call");
}

#[tokio::test(start_paused = true)]
async fn immediate_ping_failure_does_not_shorten_the_limit() {
    let liveness = Liveness::new();
    let began = Instant::now();
    watch(&liveness, &settings(), |_| async {}).await;
    assert_eq!(began.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn no_pings_are_sent_without_an_interval() {
    let liveness = Liveness::new();
    let health = HealthSettings {
        interval: None,
        ..settings()
    };
    liveness.record_timeout(Instant::now());
    let watching = watch(&liveness, &health, |_| async { unreachable!("not asked") });
    assert!(timeout(seconds(100_000), watching).await.is_err());
}
