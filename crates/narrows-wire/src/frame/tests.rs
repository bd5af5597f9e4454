use proptest::prelude::*;

use super::*;
use crate::testing::{cuts, pieces};
use narrows_json::strategy::json_text;

/// Decodes a whole stream. Frames and errors are returned as text.
fn run(
    mut decoder: FrameDecoder,
    pieces: impl IntoIterator<Item = impl AsRef<[u8]>>,
) -> Vec<String> {
    let mut out = Vec::new();
    let mut take = |step: Result<Option<Bytes>, FrameError>| {
        let (line, more) = match step {
            Ok(Some(frame)) => (String::from_utf8_lossy(&frame).into_owned(), true),
            Ok(None) => return false,
            Err(error @ FrameError::TooLarge { .. }) => (error.to_string(), true),
            Err(error @ FrameError::Broken(_)) => (error.to_string(), false),
        };
        if out.last() != Some(&line) || !line.starts_with("broken") {
            out.push(line);
        }
        more
    };
    for piece in pieces {
        decoder.push(piece.as_ref());
        while take(decoder.next()) {}
    }
    while take(decoder.finish()) {}
    out
}

/// Checks that the stream gives the same result in one piece and byte by byte.
#[track_caller]
fn check(decoder: impl Fn() -> FrameDecoder, input: &[u8], expected: &[&str]) {
    assert_eq!(run(decoder(), [input]), expected, "in one piece");
    assert_eq!(run(decoder(), input.chunks(1)), expected, "byte by byte");
}

fn lines() -> FrameDecoder {
    FrameDecoder::new(Framing::Newline, 10)
}

fn blocks() -> FrameDecoder {
    FrameDecoder::new(Framing::ContentLength, 10)
}

fn detected() -> FrameDecoder {
    FrameDecoder::detect(10)
}

#[test]
fn lines_end_at_lf_and_lose_their_cr() {
    check(
        lines,
        b"{}\n[1]\r\n{\"a\":1}\n",
        &["{}", "[1]", "{\"a\":1}"],
    );
    check(lines, b"a\rb\n", &["a\rb"]);
    check(lines, b"a\r\r\n", &["a\r"]);
}

#[test]
fn blank_lines_are_dropped() {
    check(lines, b"\n\r\n  \t \n1\n\n2\n \n", &["1", "2"]);
}

#[test]
fn last_line_needs_no_line_break() {
    check(lines, b"1\n2", &["1", "2"]);
    check(lines, b"1\n2\r", &["1", "2"]);
    check(lines, b"1\n  ", &["1"]);
    check(lines, b"", &[]);
}

#[test]
fn byte_order_mark_is_skipped_only_at_the_start() {
    check(
        lines,
        b"\xEF\xBB\xBF1\n\xEF\xBB\xBF2\n",
        &["1", "\u{feff}2"],
    );
    check(blocks, b"\xEF\xBB\xBFContent-Length: 1\n\n1", &["1"]);
    check(detected, b"\xEF\xBB\xBF\n{}\n", &["{}"]);
    check(lines, b"\xEF\xBB", &["\u{fffd}"]);
    check(lines, b"\xEF\xBBx\n", &["\u{fffd}x"]);
}

#[test]
fn oversized_line_is_reported_once_and_skipped() {
    let error = "the message is larger than 10 bytes";
    check(lines, b"0123456789\n", &["0123456789"]);
    check(lines, b"0123456789\r\n", &["0123456789"]);
    check(lines, b"0123456789", &["0123456789"]);
    check(lines, b"0123456789\r", &["0123456789"]);
    check(lines, b"1\n0123456789x\n2\n", &["1", error, "2"]);
    check(lines, b"0123456789\rx\n2\n", &[error, "2"]);
    check(lines, b"0123456789 0123456789 0123456789\n2", &[error, "2"]);
    check(lines, b"0123456789x", &[error]);
    check(lines, b"           \n1\n", &[error, "1"]);
}

#[test]
fn oversized_line_is_not_buffered() {
    let mut decoder = FrameDecoder::new(Framing::Newline, 1000);
    for _ in 0..10_000 {
        decoder.push(&[b'x'; 1000]);
        let _ = decoder.next();
        assert!(decoder.buffer().len() <= 1000);
    }
    assert!(decoder.buffer().capacity() < 100_000);
}

#[test]
fn oversized_body_is_not_buffered() {
    let mut decoder = FrameDecoder::new(Framing::ContentLength, 1000);
    decoder.push(b"Content-Length: 10000000\r\n\r\n");
    assert_eq!(decoder.next(), Err(FrameError::TooLarge { max: 1000 }));
    for _ in 0..10_000 {
        decoder.push(&[b'x'; 1000]);
        assert_eq!(decoder.next(), Ok(None));
        assert!(decoder.buffer().is_empty());
    }
    decoder.push(b"Content-Length: 2\r\n\r\n{}");
    assert_eq!(decoder.next(), Ok(Some(Bytes::from_static(b"{}"))));
}

#[test]
fn frame_length_follows_its_header() {
    check(
        blocks,
        b"Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]",
        &["{}", "[1]"],
    );
    check(blocks, b"content-length:3\nX-Other: a:b\n\n1\n2", &["1\n2"]);
    check(
        blocks,
        b"Content-Type: x; charset=utf-8\r\nCONTENT-LENGTH: 1 \r\n\r\n1",
        &["1"],
    );
    check(blocks, b"\r\n\nContent-Length: 1\r\n\r\n1\r\n", &["1"]);
    check(
        blocks,
        b"Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\n1",
        &["1"],
    );
    check(blocks, b"", &[]);
}

#[test]
fn oversized_frame_is_skipped() {
    let error = "the message is larger than 10 bytes";
    check(
        blocks,
        b"Content-Length: 11\n\n0123456789xContent-Length: 10\n\n0123456789",
        &[error, "0123456789"],
    );
    check(
        blocks,
        b"Content-Length: 18446744073709551615\n\nabc",
        &[error],
    );
}

#[test]
fn invalid_header_ends_the_stream() {
    for (input, reason) in [
        (&b"Content-Length: -1\n\n"[..], "invalid Content-Length"),
        (b"Content-Length: +1\n\n1", "invalid Content-Length"),
        (b"Content-Length:\n\n", "invalid Content-Length"),
        (
            b"Content-Length: 18446744073709551616\n\n",
            "invalid Content-Length",
        ),
        (b"Content-Length: 0x10\n\n", "invalid Content-Length"),
        (
            b"Content-Type: x\n\n{}",
            "a header block without Content-Length",
        ),
        (b"{}\n{}\n", "a header line without a colon"),
        (
            b"Content-Length: 1\nContent-Length: 2\n\n12",
            "conflicting Content-Length headers",
        ),
        (b"Content-Length: 3\n\n12", "the stream ends inside a frame"),
        (b"Content-Le", "the stream ends inside a frame"),
        (b"Content-Length: 3\n", "the stream ends inside a frame"),
    ] {
        check(blocks, input, &[&format!("broken frame: {reason}")]);
    }
    check(
        blocks,
        b"Content-Length: 3\nContent-Length: 3\n\n123",
        &["123"],
    );
}

#[test]
fn header_size_is_limited() {
    let error = "broken frame: a header block of more than 16 KiB";
    let mut long = b"X: ".to_vec();
    long.resize(16 * 1024, b'x');
    check(
        blocks,
        &[&long[..16 * 1024 - 20], b"\nContent-Length: 1\n\n1"].concat(),
        &["1"],
    );
    check(
        blocks,
        &[&long[..16 * 1024 - 19], b"\nContent-Length: 1\n\n1"].concat(),
        &[error],
    );
    check(blocks, &[&long[..], b"\n"].concat(), &[error]);
    check(blocks, &b"X: y\r\n".repeat(3000), &[error]);
}

#[test]
fn broken_stream_stays_broken() {
    let mut decoder = blocks();
    decoder.push(b"nonsense\n");
    let broken = Err(FrameError::Broken("a header line without a colon"));
    assert_eq!(decoder.next(), broken);
    decoder.push(b"Content-Length: 1\n\n1");
    assert_eq!(decoder.next(), broken);
    assert_eq!(decoder.finish(), broken);
}

#[test]
fn framing_is_detected_from_the_first_bytes() {
    for (input, framing, expected) in [
        (&b"{}\n"[..], Framing::Newline, &["{}"][..]),
        (b" \r\n [1]\n", Framing::Newline, &["[1]"]),
        (
            b"\nContent-Length: 2\r\n\r\n{}",
            Framing::ContentLength,
            &["{}"],
        ),
        (
            b"content-type: x\ncontent-length: 2\r\n\r\n{}",
            Framing::ContentLength,
            &["{}"],
        ),
        (b"hello\n{}\n", Framing::Newline, &["hello", "{}"]),
        (b"cont\n{}\n", Framing::Newline, &["cont", "{}"]),
    ] {
        check(detected, input, expected);
        let mut decoder = detected();
        assert_eq!(decoder.framing(), None);
        decoder.push(input);
        let _ = decoder.next();
        assert_eq!(decoder.framing(), Some(framing));
    }
    check(detected, b"con", &["con"]);
    check(detected, b"   ", &[]);
    assert_eq!(blocks().framing(), Some(Framing::ContentLength));
    assert_eq!(lines().framing(), Some(Framing::Newline));
}

#[test]
fn frames_are_split_off_without_copying() {
    let mut decoder = FrameDecoder::new(Framing::Newline, 100);
    decoder.push(b"{\"a\":1}\n{}\n");
    let start = decoder.buffer().as_ptr();
    let frame = decoder.next().unwrap().unwrap();
    assert_eq!(frame.as_ptr(), start);
}

#[test]
fn read_buffer_always_has_capacity() {
    let mut decoder = FrameDecoder::new(Framing::Newline, 1 << 20);
    for _ in 0..6 {
        let buffer = decoder.buffer();
        assert!(buffer.capacity() - buffer.len() >= ROOM_MIN);
        buffer.resize(buffer.capacity(), b'x');
    }
}

#[test]
fn memory_of_a_large_message_is_released() {
    let mut decoder = FrameDecoder::new(Framing::Newline, 1 << 23);
    let mut large = vec![b'x'; 5 << 20];
    large.push(b'\n');
    decoder.push(&large);
    assert!(decoder.next().unwrap().is_some());
    for round in 0..10_000 {
        decoder.push(&[b'y'; 1000]);
        decoder.push(b"\n");
        assert!(decoder.next().unwrap().is_some());
        assert!(round < 100 || decoder.buffer().capacity() <= KEPT);
    }
}

#[test]
fn line_breaks_between_tokens_become_spaces() {
    let mut out = BytesMut::new();
    encode(Framing::Newline, b"{\n\"a\":\r\n1}", &mut out);
    encode(Framing::Newline, b"[]", &mut out);
    assert_eq!(&out[..], b"{ \"a\":  1}\n[]\n");
    out.clear();
    encode(Framing::ContentLength, b"{\n}", &mut out);
    assert_eq!(&out[..], b"Content-Length: 3\r\n\r\n{\n}");
}

proptest! {
    #[test]
    fn frames_round_trip_for_any_chunking(
        messages in proptest::collection::vec(json_text(), 0..6),
        content_length: bool,
        detect: bool,
        cuts in cuts(),
    ) {
        let framing = if content_length { Framing::ContentLength } else { Framing::Newline };
        let mut stream = BytesMut::new();
        for message in &messages {
            encode(framing, message.as_bytes(), &mut stream);
        }
        let decoder = if detect { FrameDecoder::detect(1 << 20) } else { FrameDecoder::new(framing, 1 << 20) };
        let expected: Vec<String> = match framing {
            Framing::Newline => messages.iter().map(|text| text.replace(['\n', '\r'], " ")).collect(),
            Framing::ContentLength => messages,
        };
        prop_assert_eq!(run(decoder, pieces(&stream, &cuts)), expected);
    }

    #[test]
    fn chunking_does_not_change_the_frames(
        input in "(\u{feff})?([ab{}\r\n]{0,12}|[Cc]ontent-[Ll]ength: ?-?[0-9]{1,2}\r?\n(\r?\n[a\n]{0,12})?|\r?\n|X: y\n){0,8}",
        which in 0..3_u8,
        cuts in cuts(),
    ) {
        let decoder = || match which {
            0 => lines(),
            1 => blocks(),
            _ => detected(),
        };
        let whole = run(decoder(), [input.as_bytes()]);
        prop_assert_eq!(run(decoder(), pieces(input.as_bytes(), &cuts)), whole);
    }
}
