//! Tests of the stream of notifications.

use parking_lot::Mutex;
use tokio::sync::mpsc::UnboundedSender;

use super::*;

/// The streams that a server has open, with their filters.
type Streams = Arc<Mutex<Vec<(Value, UnboundedSender<String>)>>>;

fn both() -> Value {
    json!({"tools": {"listChanged": true}, "resources": {"subscribe": true}})
}

/// Starts a server that acknowledges streams and keeps them open.
async fn streaming(capabilities: Value) -> (Server, Streams) {
    let streams = Streams::default();
    let opened = streams.clone();
    let server = serve(capabilities, move |seen| {
        let opened = opened.clone();
        async move {
            let (sender, reply) = events();
            let filter = seen.body["params"]["notifications"].clone();
            let meta = json!({SUBSCRIPTION: seen.body["id"]});
            let params = json!({"_meta": meta, "notifications": filter});
            let ack = json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params});
            sender.send(event(&ack.to_string())).unwrap();
            opened.lock().push((filter, sender));
            reply
        }
    })
    .await;
    (server, streams)
}

fn notice(method: &str, mut params: Value) -> String {
    params["_meta"] = json!({SUBSCRIPTION: 1});
    event(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string())
}

#[tokio::test]
async fn changes_of_lists_arrive_without_the_id_of_the_stream() {
    let (mut server, streams) = streaming(both()).await;
    let (_link, mut received) = open(&server).await;
    server.saw("subscriptions/listen").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let (filter, sender) = streams.lock()[0].clone();
    assert_eq!(filter, json!({"toolsListChanged": true}));
    sender
        .send(notice("notifications/tools/list_changed", json!({})))
        .unwrap();
    let heard = soon(received.notices.recv()).await.unwrap();
    assert_eq!(&*heard.method, "notifications/tools/list_changed");
    assert_eq!(heard.params.unwrap().as_str(), "{}");
}

#[tokio::test]
async fn a_subscription_opens_a_new_stream_before_the_old_one_closes() {
    let (server, streams) = streaming(both()).await;
    let (link, mut received) = open(&server).await;
    call(&link, "resources/subscribe", json!({"uri": "a:b"}))
        .await
        .unwrap();
    let (filter, sender) = streams.lock().last().unwrap().clone();
    assert_eq!(
        filter,
        json!({"toolsListChanged": true, "resourceSubscriptions": ["a:b"]})
    );
    sender
        .send(notice(
            "notifications/resources/updated",
            json!({"uri": "a:b"}),
        ))
        .unwrap();
    let heard = soon(received.notices.recv()).await.unwrap();
    assert_eq!(heard.params.unwrap().as_str(), r#"{"uri":"a:b"}"#);
    // The same again changes nothing.
    let count = streams.lock().len();
    call(&link, "resources/subscribe", json!({"uri": "a:b"}))
        .await
        .unwrap();
    assert_eq!(streams.lock().len(), count);
    let earlier: Vec<_> = streams.lock()[..count - 1]
        .iter()
        .map(|(_, sender)| sender.clone())
        .collect();
    for sender in earlier {
        soon(sender.closed()).await;
    }
    assert!(!sender.is_closed());
    call(&link, "resources/unsubscribe", json!({"uri": "a:b"}))
        .await
        .unwrap();
    soon(sender.closed()).await;
    let (filter, _) = streams.lock().last().unwrap().clone();
    assert_eq!(filter, json!({"toolsListChanged": true}));
}

#[tokio::test]
async fn a_lost_stream_is_opened_again_and_missed_changes_are_reported() {
    let (mut server, streams) = streaming(both()).await;
    let (_link, mut received) = open(&server).await;
    server.saw("subscriptions/listen").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(received.notices.try_recv().is_err());
    streams.lock().clear();
    server.saw("subscriptions/listen").await;
    let heard = soon(received.notices.recv()).await.unwrap();
    assert_eq!(&*heard.method, "notifications/tools/list_changed");
}

#[tokio::test]
async fn a_server_without_notifications_is_not_asked_for_them() {
    let (mut server, _streams) = streaming(json!({"tools": {}})).await;
    let (link, _received) = open(&server).await;
    let refused = call(&link, "resources/subscribe", json!({"uri": "a:b"})).await;
    assert!(
        matches!(refused, Err(LinkError::Answered(_))),
        "{refused:?}"
    );
    assert_eq!(server.rest(), ["server/discover"]);
}

#[tokio::test]
async fn a_closed_link_closes_its_stream() {
    let (mut server, streams) = streaming(both()).await;
    let (link, _received) = open(&server).await;
    server.saw("subscriptions/listen").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let (_, sender) = streams.lock()[0].clone();
    link.close().await;
    soon(sender.closed()).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_without_streams_is_asked_once_per_filter() {
    let mut server = serve(both(), |seen| async move { error(404, &seen, -32601) }).await;
    let (link, _received) = open(&server).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    let began = tokio::time::Instant::now();
    call(&link, "resources/subscribe", json!({"uri": "a:b"}))
        .await
        .unwrap();
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
    tokio::time::sleep(Duration::from_secs(600)).await;
    let listen = "subscriptions/listen";
    assert_eq!(server.rest(), ["server/discover", listen, listen]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_every_stream_at_once_is_asked_less_and_less() {
    let mut server = serve(both(), |seen| async move {
        let (sender, reply) = events();
        let meta = json!({SUBSCRIPTION: seen.body["id"]});
        let ack = "notifications/subscriptions/acknowledged";
        let ack = json!({"jsonrpc": "2.0", "method": ack, "params": {"_meta": meta}});
        sender.send(event(&ack.to_string())).unwrap();
        reply
    })
    .await;
    let (_link, _received) = open(&server).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    let asked = server.rest().len();
    assert!((8..24).contains(&asked), "{asked}");
}
