//! Tests the order of messages. Time is paused, so if nothing is pending, nothing happens until it
//! advances.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, timeout};

use super::server::{Request, SseTestServer};
use super::{call, connect, open, outcome, soon};

/// Shorter than the time for which a message waits to stay in order.
const MOMENT: Duration = Duration::from_millis(900);

/// Checks that the client posts no further message.
async fn check_waits(server: &mut SseTestServer) {
    if let Ok(request) = timeout(MOMENT, server.next()).await {
        panic!("{} has overtaken", request.what());
    }
}

#[tokio::test]
async fn no_message_overtakes_initialized() {
    let mut server = SseTestServer::start().await;
    let settings = server.settings();
    let serving = async {
        let stream = server.greet().await;
        (stream, server.saw("notifications/initialized").await)
    };
    let (opened, (mut stream, reported)) =
        soon(async { tokio::join!(connect(settings), serving) }).await;
    let (link, _heard) = opened.expect("it opens");
    tokio::time::pause();
    let calls = [call(&link), call(&link)];
    check_waits(&mut server).await;
    reported.accept().await;
    for call in calls {
        let asked = server.saw("tools/call").await;
        stream.answer(&asked, json!(1)).await;
        asked.accept().await;
        assert_eq!(outcome(call, &server).await, "result 1");
    }
}

#[tokio::test]
async fn cancellation_follows_its_call() {
    let mut open = open().await;
    tokio::time::pause();
    let given_up = call(&open.link);
    let asked = open.server.saw("tools/call").await;
    given_up.abort();
    check_waits(&mut open.server).await;
    let id = asked.body["id"].clone();
    asked.accept().await;
    let reported = open.server.saw("notifications/cancelled").await;
    assert_eq!(reported.body["params"]["requestId"], id);

    // The next call does not overtake the cancellation.
    let next = call(&open.link);
    check_waits(&mut open.server).await;
    reported.accept().await;
    let asked = open.server.saw("tools/call").await;
    open.stream.answer(&asked, json!(1)).await;
    assert_eq!(outcome(next, &open.server).await, "result 1");
}

#[tokio::test]
async fn held_posts_delay_others_only_briefly() {
    let mut open = open().await;
    tokio::time::pause();
    let _waiting = call(&open.link);
    let _held = open.server.saw("tools/call").await;
    let began = Instant::now();
    open.link.notify("notifications/x", None);
    open.link.notify("notifications/y", None);
    let next = call(&open.link);
    // The server holds both the earlier call and the notification.
    let _told = open.server.saw("notifications/x").await;
    check_passed(began, 1);
    let reported = open.server.saw("notifications/y").await;
    check_passed(began, 2);
    // The client no longer waits for a notification that has been accepted.
    reported.accept().await;
    let asked = open.server.saw("tools/call").await;
    check_passed(began, 2);
    open.stream.answer(&asked, json!(1)).await;
    assert_eq!(outcome(next, &open.server).await, "result 1");
}

#[tokio::test]
async fn response_does_not_wait_for_the_calls_post() {
    let mut open = open().await;
    tokio::time::pause();
    let began = Instant::now();
    let one = call(&open.link);
    let held = open.server.saw("tools/call").await;
    let question = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
    open.stream.message(&question).await;
    let answer = open.server.saw("answer").await;
    // The next call does not wait for the response either.
    let two = call(&open.link);
    let asked = open.server.saw("tools/call").await;
    check_passed(began, 0);
    for (call, asked) in [(one, held), (two, asked)] {
        open.stream.answer(&asked, json!(1)).await;
        assert_eq!(outcome(call, &open.server).await, "result 1");
    }
    drop(answer);
}

/// Checks that this many seconds have passed, with a tolerance for timer resolution.
#[track_caller]
fn check_passed(since: Instant, seconds: u64) {
    let passed = since.elapsed();
    let least = Duration::from_secs(seconds);
    let most = least + Duration::from_millis(100);
    assert!(passed >= least && passed < most, "{passed:?}");
}

#[tokio::test]
async fn calls_do_not_wait_for_each_other() {
    let mut open = open().await;
    let calls: Vec<_> = (0..16).map(|_| call(&open.link)).collect();
    let mut asked: Vec<Request> = Vec::new();
    for _ in 0..16 {
        asked.push(open.server.saw("tools/call").await);
    }
    // All requests arrive before the first is accepted. The last one is answered first.
    while let Some(one) = asked.pop() {
        let id = one.body["id"].clone();
        one.accept().await;
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": "ok"});
        open.stream.message(&answer).await;
    }
    for call in calls {
        assert_eq!(outcome(call, &open.server).await, "result \"ok\"");
    }
}

#[tokio::test]
async fn concurrent_posts_are_limited() {
    let mut open = open().await;
    let calls: Vec<_> = (0..super::super::MAX_POSTS + 1)
        .map(|_| call(&open.link))
        .collect();
    let mut held = Vec::new();
    for _ in 0..super::super::MAX_POSTS {
        held.push(open.server.saw("tools/call").await);
    }
    check_waits(&mut open.server).await;
    held.pop().expect("one").accept().await;
    held.push(open.server.saw("tools/call").await);
    drop(calls);
}

/// Some servers hold a POST open until its call is done.
#[tokio::test]
async fn held_posts_delay_notifications_once() {
    let mut open = open().await;
    tokio::time::pause();
    let call = call(&open.link);
    let held = open.server.saw("tools/call").await;
    let began = Instant::now();
    for _ in 0..12 {
        open.link.notify("notifications/x", None);
    }
    for _ in 0..12 {
        open.server.saw("notifications/x").await.accept().await;
    }
    check_passed(began, 1);
    drop((call, held));
}
