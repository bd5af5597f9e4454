use std::sync::atomic::AtomicUsize;
use std::task::{Wake, Waker};

use narrows_wire::Raw;

use super::*;
use crate::memory::{Memory, SMALL};

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn notice(bytes: usize) -> Notice {
    let params = Raw::string(&"x".repeat(bytes));
    Notice::from_server(&"files".into(), "notifications/message", Some(params))
}

/// Returns the message about dropped notifications as the client receives it.
fn reported(event: Option<Box<Event>>) -> String {
    let Some(Event::Notice(notice)) = event.map(|event| *event) else {
        return "nothing".to_owned();
    };
    let message = notice.params.and_then(|params| {
        let data = params.member("data")?;
        data.member("message")?
            .as_text()
            .map(|text| text.into_owned())
    });
    message.unwrap_or_else(|| "another notice".to_owned())
}

#[test]
fn dropped_notification_wakes_a_waiting_reader() {
    let (sink, mut stream) = EventSink::channel(1);
    let woken = Arc::<Woken>::default();
    let waker = Waker::from(woken.clone());
    let mut cx = Context::from_waker(&waker);
    assert!(stream.poll_recv(&mut cx).is_pending());
    // Simulates a sender that found the queue full.
    sink.count_dropped(&Event::Notice(notice(1)));
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    let Poll::Ready(event) = stream.poll_recv(&mut cx) else {
        panic!("the client receives no report");
    };
    assert_eq!(
        reported(event),
        "1 notification from server 'files' was dropped: the queue for this client, or the \
         memory for all clients, was full"
    );
    assert!(stream.poll_recv(&mut cx).is_pending());
}

#[tokio::test]
async fn large_notification_without_memory_is_dropped_and_counted() {
    let memory = Memory::new(100_000, 100_000).client();
    let (sink, mut stream) = EventSink::channel(8);
    assert!(sink.send_notice(notice(SMALL), &memory.responses));
    let full = memory.responses.charge(200_000);
    for _ in 0..2 {
        assert!(!sink.send_notice(notice(SMALL), &memory.responses));
    }
    assert!(
        sink.send_notice(notice(1), &memory.responses),
        "a small one"
    );
    drop(full);
    assert_eq!(reported(stream.recv().await), "another notice");
    assert_eq!(reported(stream.recv().await), "another notice");
    let dropped = reported(stream.recv().await);
    assert!(
        dropped.starts_with("2 notifications from server 'files' were dropped"),
        "{dropped}"
    );
    assert_eq!(memory.responses.used(), 0);
}

#[tokio::test(start_paused = true)]
async fn blocked_sender_continues_after_a_read() {
    let (sink, mut stream) = EventSink::channel(2);
    for _ in 0..2 {
        assert!(sink.send(Event::Notice(notice(1))));
    }
    assert!(sink.is_full());
    let waiting = {
        let sink = sink.clone();
        tokio::spawn(async move { sink.room().await })
    };
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    let began = tokio::time::Instant::now();
    assert!(stream.recv().await.is_some());
    waiting.await.expect("it does not panic");
    assert_eq!(began.elapsed(), Duration::ZERO);
    // The sender does not wait for a closed stream either.
    assert!(sink.send(Event::Notice(notice(1))));
    drop(stream);
    sink.room().await;
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert!(!sink.send(Event::Notice(notice(1))));
}

#[tokio::test]
async fn stream_ends_with_its_last_sink() {
    let (sink, mut stream) = EventSink::channel(2);
    let other = sink.clone();
    let reading = tokio::spawn(async move {
        let event = stream.recv().await;
        (event.is_some(), stream.recv().await.is_none())
    });
    drop(sink);
    tokio::task::yield_now().await;
    assert!(other.send(Event::Notice(notice(1))));
    drop(other);
    let read = timeout(narrows_testkit::LIMIT, reading).await;
    let read = read.expect("it is woken").expect("it does not panic");
    assert_eq!(read, (true, true));
}
