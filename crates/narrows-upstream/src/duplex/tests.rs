//! Tests the link over a channel whose server end is the test itself.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use narrows_wire::Raw;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::*;
use crate::exchange::{Ask, Asks, Cancel, Notice};
use crate::settings::Era;

/// The server end of the channel.
struct ServerEnd {
    to_link: mpsc::UnboundedSender<ChannelEvent>,
    from_link: mpsc::Receiver<Bytes>,
}

impl ServerEnd {
    async fn next(&mut self) -> Value {
        let message = tokio::time::timeout(Duration::from_secs(600), self.from_link.recv()).await;
        let message = message
            .expect("the link sends in time")
            .expect("the link is there");
        serde_json::from_slice(&message).expect("the link sends JSON")
    }

    fn send(&self, message: Value) {
        let arrival = ChannelEvent::Message(message.to_string().into());
        assert!(self.to_link.send(arrival).is_ok());
    }

    fn unreadable(&self, text: &'static str) {
        assert!(
            self.to_link
                .send(ChannelEvent::Message(Bytes::from_static(text.as_bytes())))
                .is_ok()
        );
    }
}

#[derive(Default)]
struct RecordingHandler(Mutex<Vec<String>>);

impl NotificationHandler for RecordingHandler {
    fn notice(&self, notice: Notice) {
        self.0.lock().push(notice.method.into());
    }

    fn ask(&self, ask: Ask) {
        self.0.lock().push(format!("ask {}", ask.method));
    }

    fn withdraw(&self, _: AskKey) {
        self.0.lock().push("withdraw".into());
    }
}

fn channel() -> (Channel, ServerEnd) {
    let (outgoing, from_link) = mpsc::channel(16);
    let (to_link, incoming) = mpsc::unbounded_channel();
    let incoming = stream::unfold(incoming, |mut incoming| async {
        Some((incoming.recv().await?, incoming))
    })
    .boxed();
    let closer: Closer = Box::new(|| Box::pin(async {}));
    (
        Channel {
            outgoing,
            incoming,
            closer,
        },
        ServerEnd { to_link, from_link },
    )
}

async fn open() -> (Arc<Duplex>, ServerEnd, Arc<RecordingHandler>) {
    let (channel, mut server) = channel();
    let hello = ClientHello {
        capabilities: Raw::empty_object(),
        client_info: Raw::empty_object(),
    };
    let handler = Arc::new(RecordingHandler::default());
    let heard: Arc<dyn NotificationHandler> = handler.clone();
    let opening = tokio::spawn(async move {
        Duplex::open(
            channel,
            "s".into(),
            1,
            MessageQuoter::default(),
            &hello,
            heard,
            Duration::from_secs(5),
            Era::Auto,
            &TaskTracker::new(),
        )
        .await
    });
    let asked = server.next().await;
    assert_eq!(asked["method"], "initialize");
    server.send(json!({"jsonrpc":"2.0","id":asked["id"],"result":
        {"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x"}}}));
    assert_eq!(server.next().await["method"], "notifications/initialized");
    let (link, hello) = opening.await.expect("no panic").expect("it opens");
    assert_eq!(hello.revision.as_str(), "2025-06-18");
    (link, server, handler)
}

fn origin(session: u64, sink: &EventSink) -> Origin {
    let asks = Asks {
        roots: true,
        ..Asks::default()
    };
    Origin {
        session,
        sink: sink.clone(),
        memory: None,
        asks,
        cancel: Arc::new(Cancel::default()),
    }
}

fn call(params: Value, origin: Option<Origin>) -> Outgoing<'static> {
    let params = Raw::from_serialize(&params);
    let progress_token = params
        .member("_meta")
        .and_then(|meta| meta.member("progressToken"));
    Outgoing {
        method: "tools/call",
        params: Some(params),
        rename: None,
        progress_token,
        origin,
        timeout: Duration::from_secs(10),
    }
}

#[tokio::test]
async fn responses_match_requests_in_any_order() {
    let (link, mut server, _) = open().await;
    let ask = |n: u64| {
        let link = link.clone();
        tokio::spawn(async move { link.request(call(json!({"n": n}), None)).await })
    };
    let (one, two) = (ask(1), ask(2));
    let (a, b) = (server.next().await, server.next().await);
    server.unreadable("this is no JSON");
    server.send(json!({"jsonrpc":"2.0","id":4711,"result":"unknown id"}));
    for asked in [&b, &a] {
        server.send(json!({"jsonrpc":"2.0","id":asked["id"],"result":asked["params"]["n"]}));
    }
    assert_eq!(
        one.await.expect("no panic").expect("answered").as_str(),
        "1"
    );
    assert_eq!(
        two.await.expect("no panic").expect("answered").as_str(),
        "2"
    );
}

#[tokio::test]
async fn progress_reaches_its_caller_under_its_own_token() {
    let (link, mut server, _) = open().await;
    let (sink, mut events) = EventSink::channel(8);
    let task = {
        let (link, origin) = (link.clone(), origin(1, &sink));
        tokio::spawn(async move {
            link.request(call(
                json!({"_meta":{"progressToken":"mine"}}),
                Some(origin),
            ))
            .await
        })
    };
    let asked = server.next().await;
    let token = &asked["params"]["_meta"]["progressToken"];
    assert_eq!(token, &asked["id"], "the token is unique on the link");
    server.send(json!({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9999,"progress":1}}));
    server.send(json!({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":token,"progress":1.0}}));
    server.send(json!({"jsonrpc":"2.0","id":asked["id"],"result":{}}));
    task.await.expect("no panic").expect("answered");
    let Event::Notice(notice) = *events.recv().await.expect("an event") else {
        panic!("a notice")
    };
    assert_eq!(
        notice.params.expect("params").as_str(),
        r#"{"progressToken":"mine","progress":1.0}"#
    );
    drop(sink);
    assert!(
        events.recv().await.is_none(),
        "nothing else belongs to this call"
    );
}

#[tokio::test(start_paused = true)]
async fn progress_extends_the_timeout_and_expiry_cancels() {
    let (link, mut server, _) = open().await;
    let (sink, _events) = EventSink::channel(8);
    let task = {
        let (link, origin) = (link.clone(), origin(1, &sink));
        tokio::spawn(async move {
            link.request(call(json!({"_meta":{"progressToken":1}}), Some(origin)))
                .await
        })
    };
    let asked = server.next().await;
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_secs(8)).await;
        server.send(json!({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":asked["id"],"progress":1}}));
    }
    tokio::time::sleep(Duration::from_secs(8)).await;
    assert!(
        !task.is_finished(),
        "32 seconds with progress are no timeout"
    );
    assert!(matches!(
        task.await.expect("no panic"),
        Err(LinkError::Timeout(_))
    ));
    let reported = server.next().await;
    assert_eq!(
        (&reported["method"], &reported["params"]["requestId"]),
        (&json!("notifications/cancelled"), &asked["id"])
    );
    assert_eq!(reported["params"]["reason"], "timeout");
}

#[tokio::test]
async fn dropped_call_is_cancelled_with_the_clients_reason() {
    let (link, mut server, _) = open().await;
    let (sink, _events) = EventSink::channel(8);
    let origin = origin(1, &sink);
    origin.cancel.give_reason("changed my mind");
    let task = {
        let link = link.clone();
        tokio::spawn(async move { link.request(call(json!({}), Some(origin))).await })
    };
    let asked = server.next().await;
    task.abort();
    let reported = server.next().await;
    assert_eq!(
        reported["params"],
        json!({"requestId": asked["id"], "reason": "changed my mind"})
    );
    // A late response to the cancelled call is ignored.
    server.send(json!({"jsonrpc":"2.0","id":asked["id"],"result":{}}));
    server.send(json!({"jsonrpc":"2.0","id":"p","method":"ping"}));
    assert_eq!(
        server.next().await,
        json!({"jsonrpc":"2.0","id":"p","result":{}})
    );
}

#[tokio::test]
async fn server_request_goes_to_the_only_calling_session() {
    let (link, mut server, heard) = open().await;
    let (sink, mut events) = EventSink::channel(8);
    server.send(json!({"jsonrpc":"2.0","id":"before","method":"roots/list"}));
    assert_eq!(
        server.next().await["error"]["code"],
        -32603,
        "the handler dropped it, which refuses it"
    );
    assert_eq!(*heard.0.lock(), ["ask roots/list"]);
    let task = {
        let (link, origin) = (link.clone(), origin(1, &sink));
        tokio::spawn(async move { link.request(call(json!({}), Some(origin))).await })
    };
    let asked = server.next().await;
    server.send(json!({"jsonrpc":"2.0","id":7,"method":"roots/list"}));
    server.send(json!({"jsonrpc":"2.0","id":8,"method":"sampling/createMessage","params":{}}));
    assert_eq!(
        server.next().await["error"]["code"],
        -32601,
        "this client cannot sample"
    );
    let Event::Ask(ask) = *events.recv().await.expect("an event") else {
        panic!("a question")
    };
    ask.reply.answer(Ok(Raw::from_static(r#"{"roots":[]}"#)));
    assert_eq!(
        server.next().await,
        json!({"jsonrpc":"2.0","id":7,"result":{"roots":[]}})
    );
    server.send(json!({"jsonrpc":"2.0","id":asked["id"],"result":{}}));
    task.await.expect("no panic").expect("answered");
}

#[tokio::test]
async fn ambiguous_server_request_is_rejected() {
    let (link, mut server, heard) = open().await;
    let (sink, mut events) = EventSink::channel(8);
    for session in [1, 2] {
        let (link, origin) = (link.clone(), origin(session, &sink));
        tokio::spawn(async move { link.request(call(json!({}), Some(origin))).await });
        server.next().await;
    }
    server.send(json!({"jsonrpc":"2.0","id":7,"method":"roots/list"}));
    let refused = server.next().await;
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!(7), &json!(-32603))
    );
    server.send(json!({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"whose?"}}));
    server.send(json!({"jsonrpc":"2.0","id":"p","method":"ping"}));
    server.next().await;
    assert!(
        heard.0.lock().is_empty(),
        "a log line of one session goes to no other"
    );
    assert!(events.try_recv().is_none());
}

#[tokio::test]
async fn server_request_can_be_cancelled() {
    let (link, mut server, _) = open().await;
    let (sink, mut events) = EventSink::channel(8);
    {
        let (link, origin) = (link.clone(), origin(1, &sink));
        tokio::spawn(async move { link.request(call(json!({}), Some(origin))).await });
    }
    server.next().await;
    server.send(json!({"jsonrpc":"2.0","id":7,"method":"roots/list"}));
    let Event::Ask(ask) = *events.recv().await.expect("an event") else {
        panic!("a question")
    };
    server
        .send(json!({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}));
    let Event::Withdraw(key) = *events.recv().await.expect("an event") else {
        panic!("a withdrawal")
    };
    assert_eq!(key, ask.key);
}

#[tokio::test]
async fn end_of_link_ends_every_call() {
    let (link, mut server, _) = open().await;
    let task = {
        let link = link.clone();
        tokio::spawn(async move { link.request(call(json!({}), None)).await })
    };
    server.next().await;
    let failure = Failure::new(FailureKind::Process, "exited with status 1");
    assert!(server.to_link.send(ChannelEvent::Ended(failure)).is_ok());
    let Err(LinkError::Closed { failure, sent }) = task.await.expect("no panic") else {
        panic!("the link is closed")
    };
    assert_eq!(failure.detail, "exited with status 1");
    assert!(sent, "the server may be at work on it");
    let outcome = link.request(call(json!({}), None)).await;
    let Err(LinkError::Closed { failure, sent }) = outcome else {
        panic!("still closed")
    };
    assert!(!sent, "the request was never sent");
    assert_eq!(failure.kind, FailureKind::Process);
}

#[tokio::test]
async fn undelivered_call_is_reported_as_not_sent() {
    let (link, server, _) = open().await;
    let ServerEnd { to_link, from_link } = server;
    // The channel to the server is closed, but the reason for it arrives later.
    drop(from_link);
    let task = {
        let link = link.clone();
        tokio::spawn(async move { link.request(call(json!({}), None)).await })
    };
    // All tasks run on one thread, so the call has now found that the channel is closed.
    tokio::task::yield_now().await;
    let failure = Failure::new(FailureKind::Process, "exited with status 1");
    assert!(to_link.send(ChannelEvent::Ended(failure)).is_ok());
    let outcome = task.await.expect("no panic");
    let unsent = matches!(outcome, Err(LinkError::Closed { sent: false, .. }));
    assert!(unsent, "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn only_readable_messages_count_as_activity() {
    let (link, server, _) = open().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let then = Instant::now();
    server.unreadable("Server started on port 3000");
    server.unreadable("{");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!link.liveness.active_since(then));
    server.send(json!({"jsonrpc":"2.0","method":"notifications/x"}));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(link.liveness.active_since(then));
}

#[tokio::test(start_paused = true)]
async fn unanswered_initialize_times_out() {
    let (channel, _server) = channel();
    let hello = ClientHello {
        capabilities: Raw::empty_object(),
        client_info: Raw::empty_object(),
    };
    let opened = Duplex::open(
        channel,
        "s".into(),
        1,
        MessageQuoter::default(),
        &hello,
        Arc::new(RecordingHandler::default()),
        Duration::from_secs(5),
        Era::Auto,
        &TaskTracker::new(),
    )
    .await;
    let Err(failure) = opened else {
        panic!("it must fail")
    };
    assert_eq!(failure.kind, FailureKind::TimedOut);
}

#[tokio::test]
async fn close_waits_even_if_the_link_has_ended() {
    let (mut channel, server) = channel();
    let (cleared, clearing) = (
        Arc::new(tokio::sync::Notify::new()),
        Arc::new(tokio::sync::Notify::new()),
    );
    let gone = Arc::new(std::sync::atomic::AtomicBool::new(false));
    channel.closer = {
        let (cleared, clearing, gone) = (cleared.clone(), clearing.clone(), gone.clone());
        Box::new(move || {
            Box::pin(async move {
                clearing.notify_one();
                cleared.notified().await;
                gone.store(true, Ordering::SeqCst);
            })
        })
    };
    let link = Arc::new(Duplex::new(
        channel.outgoing,
        channel.closer,
        "s".into(),
        1,
        MessageQuoter::default(),
    ));
    tokio::spawn(
        link.clone()
            .listen(channel.incoming, Arc::new(RecordingHandler::default())),
    );
    let ended = ChannelEvent::Ended(Failure::new(FailureKind::Process, "gone"));
    assert!(server.to_link.send(ended).is_ok());
    clearing.notified().await;
    let closing = {
        let (link, gone) = (link.clone(), gone.clone());
        tokio::spawn(async move {
            link.close().await;
            gone.load(Ordering::SeqCst)
        })
    };
    tokio::task::yield_now().await;
    cleared.notify_one();
    assert!(
        closing.await.expect("no panic"),
        "nothing was left when it returned"
    );
}

#[tokio::test]
async fn late_messages_of_an_abandoned_call_are_dropped() {
    let (link, mut server, heard) = open().await;
    let (sink, mut events) = EventSink::channel(8);
    let first = {
        let (link, origin) = (link.clone(), origin(1, &sink));
        tokio::spawn(async move { link.request(call(json!({}), Some(origin))).await })
    };
    let asked = server.next().await;
    first.abort();
    assert_eq!(server.next().await["method"], "notifications/cancelled");
    {
        let (link, origin) = (link.clone(), origin(2, &sink));
        tokio::spawn(async move { link.request(call(json!({}), Some(origin))).await });
    }
    server.next().await;
    let log = json!({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"whose?"}});
    server.send(log.clone());
    server.send(json!({"jsonrpc":"2.0","id":"p","method":"ping"}));
    server.next().await;
    assert!(events.try_recv().is_none(), "it may be the first session's");
    assert!(heard.0.lock().is_empty());
    // After the server has answered the first call, the message can only belong to the second.
    server.send(json!({"jsonrpc":"2.0","id":asked["id"],"result":{}}));
    server.send(log);
    assert!(matches!(
        *events.recv().await.expect("an event"),
        Event::Notice(_)
    ));
}

#[test]
fn unreadable_messages_are_quoted_and_truncated() {
    let error = narrows_wire::decode("x".into()).expect_err("it is no JSON");
    let quoter = MessageQuoter {
        is_stdout: true,
        ..MessageQuoter::default()
    };
    assert_eq!(
        quoter.explain(b"Listening on \x1b[1m:3000\n", &error),
        r#""Listening on \u{1b}[1m:3000" on stdout, which is reserved for MCP messages"#
    );
    let long = "x".repeat(200);
    let reported = quoter.explain(long.as_bytes(), &error);
    assert!(
        reported.starts_with(&format!("\"{}\"…", "x".repeat(120))),
        "{reported}"
    );
}

fn discovered(asked: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"resultType": "complete",
        "supportedVersions": ["2026-07-28"], "capabilities": {}, "ttlMs": 0, "cacheScope": "private"}})
}

/// Opens a link to a server of the modern era.
async fn open_modern(era: Era) -> (Arc<Duplex>, ServerEnd, Arc<RecordingHandler>) {
    let (channel, mut server) = channel();
    let handler = Arc::new(RecordingHandler::default());
    let heard: Arc<dyn NotificationHandler> = handler.clone();
    let opening = tokio::spawn(async move {
        let hello = ClientHello {
            capabilities: Raw::empty_object(),
            client_info: Raw::empty_object(),
        };
        let (quoter, tasks) = (MessageQuoter::default(), TaskTracker::new());
        let limit = Duration::from_secs(5);
        Duplex::open(
            channel,
            "s".into(),
            1,
            quoter,
            &hello,
            heard,
            limit,
            era,
            &tasks,
        )
        .await
    });
    if era == Era::Auto {
        let asked = server.next().await;
        assert_eq!(asked["method"], "initialize");
        server.send(json!({"jsonrpc": "2.0", "id": asked["id"],
            "error": {"code": -32601, "message": "what?"}}));
    }
    let asked = server.next().await;
    assert_eq!(asked["method"], "server/discover");
    let meta = &asked["params"]["_meta"];
    assert_eq!(
        meta["io.modelcontextprotocol/protocolVersion"],
        "2026-07-28"
    );
    server.send(discovered(&asked));
    let (link, hello) = opening.await.expect("no panic").expect("it opens");
    assert_eq!(hello.revision.as_str(), "2026-07-28");
    (link, server, handler)
}

#[tokio::test]
async fn a_server_that_refuses_initialize_is_asked_to_describe_itself() {
    for era in [Era::Auto, Era::Modern] {
        let (link, _server, _handler) = open_modern(era).await;
        assert!(link.end_reason().is_none());
    }
}

#[tokio::test]
async fn a_request_of_a_modern_server_is_not_answered() {
    let (link, mut server, handler) = open_modern(Era::Modern).await;
    server.send(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    server.send(json!({"jsonrpc": "2.0", "id": 2, "method": "roots/list"}));
    link.notify("marker", None);
    assert_eq!(server.next().await["method"], "marker");
    assert!(handler.0.lock().is_empty());
}

#[tokio::test]
async fn a_modern_server_ends_a_stream_by_cancelling_it() {
    let (link, mut server, _handler) = open_modern(Era::Modern).await;
    let meta = Raw::empty_object();
    let parts = ModernParts {
        meta: &meta,
        resumed: &[],
        headers: None,
    };
    let asked = Outgoing::own("subscriptions/listen", None, Duration::from_secs(60));
    let ending = async {
        let asked = server.next().await;
        server.send(
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": asked["id"]}}),
        );
    };
    let (ended, ()) = tokio::join!(link.request_with(asked, Some(&parts)), ending);
    assert!(matches!(ended, Err(LinkError::Invalid(_))), "{ended:?}");
}
