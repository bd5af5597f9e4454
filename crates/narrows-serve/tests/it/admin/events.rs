//! Tests of the event stream.

use std::time::Duration;

use narrows_serve::HttpSettings;

use super::AdminGateway;
use crate::within;

#[tokio::test]
async fn event_stream_sends_keep_alives_and_ends_on_shutdown() {
    let http = HttpSettings {
        keep_alive: Duration::from_millis(5),
        ..HttpSettings::default()
    };
    let admin = AdminGateway::with(http, |_| {}).await;
    let mut stream = admin.begin("GET", "/events", "").await;
    for _ in 0..2 {
        let event = stream.any_event().await.expect("the stream goes on");
        assert!(event.comment, "{event:?}");
    }
    assert_eq!(
        stream.head().await.header("cache-control"),
        Some("no-store")
    );
    admin.stop.cancel();
    while let Some(event) = stream.any_event().await {
        assert!(event.comment, "{event:?}");
    }
    within("the edge", admin.served).await.unwrap();
}

#[tokio::test]
async fn number_of_listeners_is_limited() {
    let admin = AdminGateway::open().await;
    let mut streams = Vec::new();
    for _ in 0..16 {
        let mut stream = admin.begin("GET", "/events", "").await;
        assert_eq!(stream.head().await.status, 200);
        streams.push(stream);
    }
    let reply = admin.get("/events").await;
    assert_eq!(reply.status, 429);
    assert_eq!(reply.json()["error"]["code"], "too_many");
    assert_eq!(reply.header("retry-after"), Some("1"));
    // A client that disconnects makes room for another.
    drop(streams.pop());
    let again = async {
        loop {
            let mut stream = admin.begin("GET", "/events", "").await;
            if stream.head().await.status == 200 {
                return stream;
            }
        }
    };
    within("a free place", again).await;
}
