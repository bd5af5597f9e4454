use std::task::{Poll, Waker};

use super::*;

const BOUNDS: Bounds = Bounds {
    events: 10,
    bytes: 1000,
};

/// Creates streams numbered from 1 with a message of each size, ends those numbered below `ended`,
/// trims them to `max_bytes`, and checks which streams are left.
#[track_caller]
fn check(sizes: &[usize], ended: u64, max_bytes: usize, expected: &[u64]) {
    let mut calls = CallStreams {
        last: 0,
        streams: VecDeque::new(),
    };
    for size in sizes {
        calls.last += 1;
        let stream = Stream::sample(calls.last, &[*size], BOUNDS);
        if calls.last < ended {
            stream.end();
        }
        calls.streams.push_back(stream);
    }
    calls.trim(max_bytes);
    let left: Vec<_> = calls.streams.iter().map(|stream| stream.number()).collect();
    assert_eq!(left, expected);
}

#[test]
fn oldest_ended_streams_are_dropped_first() {
    check(&[10, 10, 10], 4, 1000, &[1, 2, 3]);
    check(&[10, 10, 10], 4, 20, &[2, 3]);
    check(&[500, 10, 10], 4, 20, &[2, 3]);
    check(&[10, 10, 500], 4, 20, &[]);
    let many: Vec<_> = (3..=34).collect();
    check(&[1; 34], 100, 1000, &many);
}

#[test]
fn running_streams_are_never_dropped() {
    check(&[100, 100, 100], 1, 20, &[1, 2, 3]);
    check(&[100, 100, 100], 2, 20, &[2, 3]);
    let many: Vec<_> = (1..=40).collect();
    check(&[1; 40], 1, 1000, &many);
}

#[tokio::test(start_paused = true)]
async fn fully_read_stream_is_kept_for_a_while() {
    let streams = [1, 2, 3].map(|number| Stream::sample(number, &[1], BOUNDS));
    streams[0].end();
    streams[1].end();
    let mut reader = streams[0].attach(Some(0));
    let mut cx = std::task::Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(_)) = reader.poll_next(&mut cx) {}
    let mut calls = CallStreams {
        last: 3,
        streams: streams.into_iter().collect(),
    };
    let left = |calls: &CallStreams| -> Vec<_> {
        calls.streams.iter().map(|stream| stream.number()).collect()
    };
    calls.forget_delivered(Instant::now());
    assert_eq!(left(&calls), [1, 2, 3]);
    tokio::time::advance(KEPT_DELIVERED).await;
    calls.forget_delivered(Instant::now());
    assert_eq!(left(&calls), [2, 3]);
}
