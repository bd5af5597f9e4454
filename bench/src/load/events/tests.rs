use super::{Decoder, Event};

#[track_caller]
fn check(stream: &str, expected: &[(&str, &str)]) {
    let expected: Vec<Event> = expected
        .iter()
        .map(|(kind, data)| Event {
            kind: kind.as_bytes().to_vec(),
            data: data.as_bytes().to_vec(),
        })
        .collect();
    for size in 1..=stream.len() {
        let mut decoder = Decoder::default();
        for piece in stream.as_bytes().chunks(size) {
            decoder.feed(piece);
        }
        assert_eq!(
            Vec::from(decoder.whole),
            expected,
            "in pieces of {size} bytes"
        );
    }
}

#[test]
fn events_are_parsed_for_any_chunking() {
    check(
        "event: endpoint\ndata: /messages?session_id=1\n\nevent: message\ndata: {\"a\":1}\n\n",
        &[
            ("endpoint", "/messages?session_id=1"),
            ("message", "{\"a\":1}"),
        ],
    );
}

#[test]
fn comments_and_ids_are_not_events() {
    check(
        ": still here\n\nid: 7\nretry: 10\ndata: 1\n\n",
        &[("", "1")],
    );
}

#[test]
fn data_lines_of_an_event_are_joined() {
    check("data:a\r\ndata: b\r\n\r\n", &[("", "a\nb")]);
}

#[test]
fn event_without_a_blank_line_is_incomplete() {
    check("data: 1\n", &[]);
}
