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
fn events_are_read_in_pieces_of_any_size() {
    check(
        "event: endpoint\ndata: /messages?session_id=1\n\nevent: message\ndata: {\"a\":1}\n\n",
        &[
            ("endpoint", "/messages?session_id=1"),
            ("message", "{\"a\":1}"),
        ],
    );
}

#[test]
fn comments_and_ids_are_no_events() {
    check(
        ": still here\n\nid: 7\nretry: 10\ndata: 1\n\n",
        &[("", "1")],
    );
}

#[test]
fn lines_of_data_belong_together() {
    check("data:a\r\ndata: b\r\n\r\n", &[("", "a\nb")]);
}

#[test]
fn an_event_without_its_blank_line_is_not_whole() {
    check("data: 1\n", &[]);
}
