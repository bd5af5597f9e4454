use proptest::prelude::*;

use super::*;
use crate::testing::{cuts, pieces};

/// Decodes a whole stream. Each event becomes one line: `type|data|id|retry`.
fn run(max: usize, pieces: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Vec<String> {
    let mut decoder = SseDecoder::new(max);
    let mut out = Vec::new();
    for piece in pieces {
        decoder.push(piece.as_ref());
        loop {
            match decoder.next() {
                Ok(Some(event)) => out.push(outline(&event)),
                Ok(None) => break,
                Err(error) => out.push(error.to_string()),
            }
        }
    }
    out
}

fn outline(event: &Event) -> String {
    let name = event.event.as_deref().unwrap_or("-");
    let data = String::from_utf8_lossy(&event.data);
    let id = event.id.as_deref().unwrap_or("-");
    let retry = event
        .retry
        .map_or("-".to_owned(), |retry| retry.to_string());
    format!("{name}|{data}|{id}|{retry}")
}

/// Checks that the stream gives the same result in one piece and byte by byte, with any line break.
#[track_caller]
fn check(input: &str, expected: &[&str]) {
    for line_break in ["\n", "\r\n", "\r"] {
        let input = input.replace('\n', line_break);
        assert_eq!(run(20, [&input]), expected, "in one piece");
        assert_eq!(
            run(20, input.as_bytes().chunks(1)),
            expected,
            "byte by byte"
        );
    }
}

#[test]
fn oversized_id_is_ignored() {
    let fits = "i".repeat(MAX_ID);
    let input = format!("id: {fits}\ndata: 1\n\nid: {fits}i\ndata: 2\n\n");
    let expected = [format!("-|1|{fits}|-"), format!("-|2|{fits}|-")];
    assert_eq!(run(2 * MAX_ID, [&input]), expected);
}

#[test]
fn event_ends_at_a_blank_line() {
    check("data: 1\n\ndata: 2\n\n", &["-|1|-|-", "-|2|-|-"]);
    check("data: 1\n", &[]);
    check("\n\n\ndata: 1\n\n\n", &["-|1|-|-"]);
}

/// The examples of the HTML standard, section "Interpreting an event stream".
#[test]
fn standard_examples_are_parsed() {
    check(
        "data: YHOO\ndata: +2\ndata: 10\n\n",
        &["-|YHOO\n+2\n10|-|-"],
    );
    check(
        ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
        &[
            "-|first event|1|-",
            "-|second event|-|-",
            "-| third event|-|-",
        ],
    );
    check("data\n\ndata\ndata\n\ndata:", &["-||-|-", "-|\n|-|-"]);
    check("data:test\n\ndata: test\n\n", &["-|test|-|-", "-|test|-|-"]);
}

#[test]
fn one_space_after_the_colon_is_dropped() {
    check("data:  a \n\n", &["-| a |-|-"]);
    check("event:e\nid:i\nretry:7\ndata:d\n\n", &["e|d|i|7"]);
}

#[test]
fn type_applies_to_one_event() {
    check("event: a\ndata: 1\n\ndata: 2\n\n", &["a|1|-|-", "-|2|-|-"]);
    check("event: a\nevent:\ndata: 1\n\n", &["-|1|-|-"]);
    check("event: a\n\ndata: 1\n\n", &["-|1|-|-"]);
}

#[test]
fn id_persists_until_the_next_one() {
    check(
        "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
        &["-|a|1|-", "-|b|1|-", "-|c|-|-"],
    );
    check(
        "id: 1\ndata: a\n\nid: x\0y\ndata: b\n\n",
        &["-|a|1|-", "-|b|1|-"],
    );
}

#[test]
fn id_or_retry_without_data_is_reported() {
    check("id: 1\n\ndata: a\n\n", &["-||1|-", "-|a|1|-"]);
    check("event: x\nretry: 50\n\n", &["-||-|50"]);
    check("id: 1\ndata:\n\n", &["-||1|-"]);
}

#[test]
fn retry_must_be_a_number() {
    check("retry: 5x\nretry: -1\nretry:\ndata: a\n\n", &["-|a|-|-"]);
    check("retry: 5\nretry: x\ndata: a\n\n", &["-|a|-|5"]);
    check("retry:99999999999999999999\ndata: a\n\n", &["-|a|-|-"]);
}

#[test]
fn comments_and_unknown_fields_are_dropped() {
    check(
        ":\n\n: hello\ndata: a\n:data: b\nfoo: bar\n data: c\nDATA: d\n\n",
        &["-|a|-|-"],
    );
    check(":\n\n", &[]);
    check(
        ": a comment longer than any event may be here\ndata: a\n\n",
        &["-|a|-|-"],
    );
}

#[test]
fn byte_order_mark_is_skipped_only_at_the_start() {
    check("\u{feff}data: a\n\n\u{feff}data: b\n\n", &["-|a|-|-"]);
    check("\u{feff}\u{feff}data: a\n\n", &[]);
}

#[test]
fn line_break_split_across_chunks_counts_once() {
    assert_eq!(
        run(20, ["data: a\r", "\ndata: b\r", "\n\r", "\ndata: c\n\n"]),
        ["-|a\nb|-|-", "-|c|-|-"]
    );
    // The event is available as soon as its blank line ends, without waiting for the next byte.
    assert_eq!(run(20, ["data: a\r\r"]), ["-|a|-|-"]);
}

#[test]
fn oversized_event_is_reported_once_and_skipped() {
    let error = "the event is larger than 20 bytes";
    check(
        "data: 01234567890123456789\n\n",
        &["-|01234567890123456789|-|-"],
    );
    check(
        "data:01234567890123456789\n\n",
        &["-|01234567890123456789|-|-"],
    );
    check(
        "data:012345678901234567890\n\ndata: a\n\n",
        &[error, "-|a|-|-"],
    );
    check(
        "data: 012345678901234567890\ndata: x\n\ndata: a\n\n",
        &[error, "-|a|-|-"],
    );
    check(
        "data: 0123456789\ndata: 0123456789\n\ndata: a\n\n",
        &[error, "-|a|-|-"],
    );
    check(
        "data: 0123456789\ndata: 012345678\n\n",
        &["-|0123456789\n012345678|-|-"],
    );
    let long = "x".repeat(100);
    check(
        &format!("data: {long}\ndata: {long}\nevent: {long}\n\ndata: a\n\n"),
        &[error, "-|a|-|-"],
    );
    check(
        &format!("foo: {long}\ndata: b\n\ndata: a\n\n"),
        &[error, "-|a|-|-"],
    );
}

#[test]
fn id_of_a_skipped_event_is_kept() {
    check(
        "id: 1\ndata: 012345678901234567890\nid: 2\n\ndata: a\n\n",
        &["the event is larger than 20 bytes", "-|a|2|-"],
    );
}

#[test]
fn long_line_is_not_buffered() {
    for start in ["data: ", ": ", "other"] {
        let mut decoder = SseDecoder::new(1000);
        decoder.push(start.as_bytes());
        for _ in 0..10_000 {
            decoder.push(&[b'x'; 1000]);
            let _ = decoder.next();
            assert!(decoder.buffer.len() <= 1006);
        }
        assert!(decoder.buffer.capacity() < 100_000);
    }
}

#[test]
fn single_data_line_is_not_copied() {
    let mut decoder = SseDecoder::new(1000);
    decoder.push(b"data: {\"a\":1}\n\n");
    let start = decoder.buffer[6..].as_ptr();
    let event = decoder.next().unwrap().unwrap();
    assert_eq!(event.data.as_ptr(), start);
}

#[test]
fn data_bytes_are_unchanged() {
    let mut decoder = SseDecoder::new(1000);
    decoder.push(b"data: \xff\x00\n\n");
    assert_eq!(&decoder.next().unwrap().unwrap().data[..], b"\xff\x00");
}

#[track_caller]
fn check_encoded(event: Event, expected: &str) {
    let mut out = BytesMut::new();
    encode(&event, &mut out);
    assert_eq!(out, expected);
}

#[test]
fn events_are_encoded_field_by_field() {
    let event = Event {
        event: Some("message".into()),
        data: "{}".into(),
        id: Some("1-2".into()),
        retry: Some(5),
    };
    check_encoded(event, "event: message\nid: 1-2\nretry: 5\ndata: {}\n\n");
    check_encoded(
        Event {
            data: "a\nb\r\nc\r\rd\n".into(),
            ..Event::default()
        },
        "data: a\ndata: b\ndata: c\ndata: \ndata: d\ndata: \n\n",
    );
    check_encoded(Event::default(), "data: \n\n");
}

#[test]
fn event_name_cannot_inject_fields() {
    let event = Event {
        event: Some("a\ndata: x".into()),
        data: "y".into(),
        id: Some("b\rc".into()),
        retry: None,
    };
    check_encoded(event, "data: y\n\n");
}

#[test]
fn nul_is_kept_in_names_and_rejected_in_ids() {
    let event = Event {
        event: Some("a\0b".into()),
        id: Some("c\0d".into()),
        ..Event::default()
    };
    check_encoded(event, "event: a\0b\ndata: \n\n");
    check("event: a\0b\ndata: x\n\n", &["a\0b|x|-|-"]);
}

fn any_event() -> impl Strategy<Value = Event> {
    let data =
        prop_oneof!["[a-z{}\": \n]{0,30}", ".{0,30}"].prop_map(|data| data.replace('\r', ""));
    (
        proptest::option::of("[a-z ]{1,8}"),
        data,
        proptest::option::of("[0-9é-]{1,8}"),
        any::<Option<u64>>(),
    )
        .prop_map(|(event, data, id, retry)| Event {
            event: event.map(Box::from),
            data: data.into(),
            id: id.map(Box::from),
            retry,
        })
}

proptest! {
    #[test]
    fn events_round_trip_for_any_chunking(
        events in proptest::collection::vec(any_event(), 0..6),
        cuts in cuts(),
    ) {
        let mut stream = BytesMut::new();
        let mut id = None;
        let mut expected = Vec::new();
        for event in events {
            encode(&event, &mut stream);
            stream.put_slice(COMMENT);
            id = event.id.clone().or(id);
            expected.push(outline(&Event { id: id.clone(), ..event }));
        }
        prop_assert_eq!(run(1 << 20, pieces(&stream, &cuts)), expected);
    }

    #[test]
    fn chunking_does_not_change_the_events(
        input in "(\u{feff})?((data|id|event|retry|:|foo)?(:| |:[ab]{0,30}|: [0-9]{0,25})(\r\n|\n|\r)[\r\n]{0,2}){0,12}",
        cuts in cuts(),
    ) {
        prop_assert_eq!(run(20, pieces(input.as_bytes(), &cuts)), run(20, [&input]));
    }
}
