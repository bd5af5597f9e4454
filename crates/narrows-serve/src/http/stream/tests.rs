use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use super::*;

const BOUNDS: Bounds = Bounds {
    events: 10,
    bytes: 1000,
};

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reads the available messages as sizes: `1:5 2:7 ...` if more may follow, `.` at the end.
fn read(reader: &mut Reader, woken: &Arc<Woken>) -> String {
    let waker = Waker::from(woken.clone());
    let mut cx = Context::from_waker(&waker);
    let mut seen = Vec::new();
    loop {
        match reader.poll_next(&mut cx) {
            Poll::Ready(Some((number, message))) => {
                seen.push(format!("{number}:{}", message.len()))
            }
            Poll::Ready(None) => seen.push(".".to_string()),
            Poll::Pending => seen.push("...".to_string()),
        }
        if seen.last().is_some_and(|last| last.ends_with('.')) {
            return seen.join(" ");
        }
    }
}

fn push(stream: &Stream, size: usize) {
    let mut state = stream.state.lock();
    state.push_step(
        Step::Event(vec![b'x'; size].into()),
        &ClientMemory::unlimited(),
    );
    if let Some(waker) = state.waker.take() {
        waker.wake();
    }
}

#[test]
fn reader_gets_past_then_new_messages_then_the_end() {
    let woken = Arc::<Woken>::default();
    let stream = Stream::sample(3, &[5, 6], BOUNDS);
    let mut reader = stream.attach(Some(0));
    assert_eq!(reader.place(), (3, 0));
    assert_eq!(read(&mut reader, &woken), "1:5 2:6 ...");
    push(&stream, 7);
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    assert_eq!(read(&mut reader, &woken), "3:7 ...");
    assert_eq!(reader.place(), (3, 3));
    stream.end();
    assert_eq!(woken.0.load(Ordering::Relaxed), 2);
    assert_eq!(read(&mut reader, &woken), ".");
}

#[test]
fn newer_reader_replaces_the_older() {
    let woken = Arc::<Woken>::default();
    let stream = Stream::sample(3, &[5, 6], BOUNDS);
    let mut first = stream.attach(Some(1));
    assert_eq!(read(&mut first, &woken), "2:6 ...");
    let mut second = stream.attach(Some(1));
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    assert_eq!(read(&mut first, &woken), ".");
    assert_eq!(read(&mut second, &woken), "2:6 ...");
    drop(first);
    push(&stream, 7);
    assert_eq!(read(&mut second, &woken), "3:7 ...");
}

#[test]
fn late_reader_misses_the_oldest_messages() {
    let woken = Arc::<Woken>::default();
    let stream = Stream::sample(
        3,
        &[5],
        Bounds {
            events: 2,
            bytes: 1000,
        },
    );
    let mut reader = stream.attach(Some(0));
    assert_eq!(read(&mut reader, &woken), "1:5 ...");
    for size in [6, 7, 8, 9] {
        push(&stream, size);
    }
    // A notice takes the place of the dropped messages and states their number.
    let notice = Notice::not_kept(2).encode();
    let expected = format!("3:{} 4:8 5:9 ...", notice.len());
    assert_eq!(read(&mut reader, &woken), expected);
}

#[test]
fn new_reader_starts_at_the_next_message() {
    let woken = Arc::<Woken>::default();
    let stream = Stream::sample(3, &[5, 6], BOUNDS);
    for last in [None, Some(2), Some(99), Some(u64::MAX)] {
        let mut reader = stream.attach(last);
        assert_eq!(reader.place(), (3, 2));
        assert_eq!(read(&mut reader, &woken), "...");
    }
}

#[tokio::test(start_paused = true)]
async fn stream_is_delivered_once_its_end_is_read() {
    let woken = Arc::<Woken>::default();
    let stream = Stream::sample(3, &[5], BOUNDS);
    let mut reader = stream.attach(Some(0));
    stream.end();
    assert_eq!(stream.delivered(), None);
    let now = Instant::now();
    assert_eq!(read(&mut reader, &woken), "1:5 .");
    assert_eq!(stream.delivered(), Some(now));
}

/// Lists the remaining messages: for a response its id and error code, for a notification its text.
fn outline(reader: &mut Reader) -> String {
    let waker = Waker::from(Arc::<Woken>::default());
    let mut cx = Context::from_waker(&waker);
    let mut seen = Vec::new();
    while let Poll::Ready(Some((number, message))) = reader.poll_next(&mut cx) {
        let message: serde_json::Value = serde_json::from_slice(&message).expect("JSON");
        let what = match &message["id"] {
            serde_json::Value::Null => message["params"]["data"]["message"].to_string(),
            id => format!("{id} {}", message["error"]["data"]["code"]),
        };
        seen.push(format!("{number}: {what}"));
    }
    seen.join("; ")
}

fn respond(stream: &Stream, id: u64, bytes: usize) {
    let result = narrows_wire::Raw::string(&"x".repeat(bytes));
    let answer = crate::call::Answer::Result(Id::number(id), result);
    let memory = ClientMemory::unlimited();
    stream.state.lock().push_step(Step::Answer(answer), &memory);
}

#[test]
fn resuming_client_gets_an_error_for_a_dropped_response() {
    let stream = Stream::sample(3, &[5, 6], BOUNDS);
    respond(&stream, 7, SMALL);
    stream.end();
    stream.forget_unread();
    assert_eq!(stream.bytes(), 0);
    for _ in 0..2 {
        assert_eq!(
            outline(&mut stream.attach(Some(0))),
            r#"2: "2 messages of this stream can no longer be resumed"; 3: 7 "response_dropped""#
        );
    }
    assert_eq!(outline(&mut stream.attach(Some(3))), "");
}

#[test]
fn each_dropped_batch_response_is_reported() {
    let stream = Stream::sample(3, &[], BOUNDS);
    for id in [7, 8, 9] {
        respond(&stream, id, 600);
    }
    assert_eq!(
        outline(&mut stream.attach(Some(0))),
        r#"1: 7 "response_dropped"; 2: 8 "response_dropped"; 3: 9 null"#
    );
}
