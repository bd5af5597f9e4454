use super::*;

#[test]
fn every_line_ending_is_read_for_any_chunking() {
    let text = ": hello\n\nevent: endpoint\ndata: /m\n\n\n:x\ndata:a\ndata\ndata:  ä\nid: 7\nretry: 5\n\nid: 8\n\ndata: lost";
    let event = |event: Option<&str>, id: Option<&str>, retry, data: &str| Event {
        event: event.map(Into::into),
        id: id.map(Into::into),
        retry,
        data: data.into(),
    };
    let expected = [
        event(Some("endpoint"), None, None, "/m"),
        event(None, Some("7"), Some(5), "a\n\n ä"),
        event(None, Some("8"), None, ""),
    ];
    for end in ["\n", "\r", "\r\n"] {
        let bytes = text.replace('\n', end).into_bytes();
        for cut in 0..=bytes.len() {
            let mut decoder = Decoder::default();
            decoder.push(&bytes[..cut]);
            decoder.push(&bytes[cut..]);
            assert_eq!(decoder.ready, expected, "{end:?} cut at {cut}");
        }
    }
}
