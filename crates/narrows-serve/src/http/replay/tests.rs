use super::*;

/// Pushes messages of these sizes, then reads all from `from` on, as `number:size`.
#[track_caller]
fn check(bounds: Bounds, sizes: &[usize], from: u64, expected: &str) {
    let mut replay = Replay::new(bounds);
    for size in sizes {
        replay.push(Bytes::from(vec![b'x'; *size]));
    }
    let mut read = Vec::new();
    let mut next = from;
    while let Some((number, message)) = replay.read(next) {
        read.push(format!("{number}:{}", message.len()));
        next = number + 1;
    }
    assert_eq!(read.join(" "), expected);
    assert_eq!(replay.last(), sizes.len() as u64);
    let kept: usize = (1..=replay.last())
        .filter_map(|n| replay.read(n).filter(|(number, _)| *number == n))
        .map(|(_, message)| message.len())
        .sum();
    assert_eq!(replay.bytes(), kept);
}

const SMALL: Bounds = Bounds {
    events: 3,
    bytes: 100,
};

#[test]
fn messages_within_the_limits_are_kept() {
    check(SMALL, &[], 1, "");
    check(SMALL, &[1, 2, 3], 1, "1:1 2:2 3:3");
}

#[test]
fn reading_resumes_after_the_last_event() {
    check(SMALL, &[1, 2, 3], 3, "3:3");
    check(SMALL, &[1, 2, 3], 4, "");
}

#[test]
fn unknown_event_number_reads_nothing() {
    check(SMALL, &[1, 2, 3], u64::MAX, "");
    check(SMALL, &[1], 0, "1:1");
}

#[test]
fn oldest_messages_are_dropped_over_the_count_limit() {
    check(SMALL, &[1, 2, 3, 4, 5], 1, "3:3 4:4 5:5");
}

#[test]
fn oldest_messages_are_dropped_over_the_byte_limit() {
    check(SMALL, &[60, 30, 20], 1, "2:30 3:20");
    check(SMALL, &[50, 50], 1, "1:50 2:50");
}

#[test]
fn newest_message_is_kept_at_any_size() {
    check(SMALL, &[10, 5000], 1, "2:5000");
    check(
        Bounds {
            events: 0,
            bytes: 0,
        },
        &[10, 20],
        1,
        "2:20",
    );
}
