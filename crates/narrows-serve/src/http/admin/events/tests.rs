use std::sync::Arc;
use std::time::Duration;

use narrows_gateway::Applied;
use narrows_gateway::event_bus::GatewayEvent;
use tokio::sync::{Semaphore, broadcast};
use tokio::time::{Instant, interval_at};
use tokio_util::sync::CancellationToken;

use super::{EventClient, encode_one, missed};

async fn watch(
    gateway_events: broadcast::Receiver<Arc<GatewayEvent>>,
    stop: &CancellationToken,
) -> EventClient {
    let place = Arc::new(Semaphore::new(1))
        .acquire_owned()
        .await
        .expect("free");
    let often = Duration::from_secs(15);
    EventClient {
        gateway_events,
        calls: None,
        beat: interval_at(Instant::now() + often, often),
        stop: stop.clone(),
        _place: place,
    }
}

fn closed(session: u64) -> Arc<GatewayEvent> {
    Arc::new(GatewayEvent::SessionClosed { session })
}

#[test]
fn event_name_matches_its_data() {
    let text = |event| String::from_utf8(encode_one(&event).to_vec()).expect("UTF-8");
    assert_eq!(
        text(GatewayEvent::SessionClosed { session: 7 }),
        "event: session_closed\ndata: {\"event\":\"session_closed\",\"session\":7}\n\n"
    );
    let changed = text(GatewayEvent::SettingsChanged(Applied::default()));
    assert!(
        changed.starts_with("event: settings_changed\ndata: {"),
        "{changed}"
    );
    assert_eq!(&missed(3)[..], b"event: missed\ndata: {\"count\":3}\n\n");
}

#[tokio::test(start_paused = true)]
async fn lagging_listener_gets_a_missed_count() {
    let (sender, receiver) = broadcast::channel(2);
    let stop = CancellationToken::new();
    let mut watch = watch(receiver, &stop).await;
    for session in 1..=5 {
        sender.send(closed(session)).expect("somebody listens");
    }
    let lost = watch.next().await.expect("an event");
    assert_eq!(&lost[..], b"event: missed\ndata: {\"count\":3}\n\n");
    // Events that are ready are sent together.
    let both = [encode_one(&closed(4)), encode_one(&closed(5))].concat();
    assert_eq!(watch.next().await, Some(both.into()));
}

#[tokio::test(start_paused = true)]
async fn idle_stream_sends_comments() {
    let (_sender, receiver) = broadcast::channel(2);
    let stop = CancellationToken::new();
    let mut watch = watch(receiver, &stop).await;
    for _ in 0..3 {
        let comment = watch.next().await.expect("a comment");
        assert!(comment.starts_with(b":"), "{comment:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn stream_ends_on_shutdown() {
    let (sender, receiver) = broadcast::channel(2);
    let stop = CancellationToken::new();
    let mut watch = watch(receiver, &stop).await;
    sender.send(closed(1)).expect("somebody listens");
    stop.cancel();
    assert_eq!(watch.next().await, None);
}
