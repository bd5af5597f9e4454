//! Tests of the limit on sessions. Time is paused.

use super::*;
use crate::settings::Limits;

fn few() -> Settings {
    let mut settings = settings(Vec::new());
    settings.limits = Limits {
        max_sessions: 3,
        ..Limits::default()
    };
    settings
}

async fn try_open(gateway: &Gateway) -> Result<Opened, Error> {
    let hello = ClientHello {
        capabilities: Raw::empty_object(),
        client_info: Raw::empty_object(),
    };
    let entrypoint = Entrypoint::Endpoint("default");
    let principal = Principal::Anonymous;
    let revision = Revision::LATEST_LEGACY;
    let opened = gateway.open(entrypoint, principal, Lifetime::Idle, revision, hello);
    opened.await.expect("the door is there")
}

async fn minutes(count: u64) {
    tokio::time::advance(Duration::from_secs(60 * count)).await;
}

#[tokio::test(start_paused = true)]
async fn abandoned_sessions_do_not_block_new_clients() {
    let gateway = Gateway::start(few());
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(try_open(&gateway).await.expect("there is room").session);
        minutes(1).await;
    }
    minutes(1).await;
    // The first session has a stream and the second a recent message, so the third is evicted.
    let _stay = open[0].keep_active();
    open[1]
        .clone()
        .request(ping(), EventSink::channel(1).0, None)
        .await
        .expect("a pong");
    tokio::time::advance(Duration::from_secs(1)).await;
    let newest = try_open(&gateway).await.expect("one gave way").session;
    assert!(open[2].is_closed());
    assert!(!open[0].is_closed() && !open[1].is_closed());
    // No session has been silent for long enough.
    let refused = try_open(&gateway).await.err().expect("no room");
    assert_eq!(refused.as_str(), "too_many_sessions");
    minutes(2).await;
    try_open(&gateway).await.expect("one gave way");
    assert!(open[1].is_closed() && !newest.is_closed());
    gateway.shutdown().await;
}

fn ping() -> Request {
    Request {
        id: Id::number(1),
        method: "ping".into(),
        params: None,
    }
}
