//! Invariants that hold for any input. The fuzz targets (`fuzz/targets/`) include this file, and
//! `main.rs` replays their corpus, so that past findings are tested without a fuzzer.

use bytes::{Bytes, BytesMut};
use narrows_wire::frame::{self, FrameError, Framing};
use narrows_wire::{
    Error, Incoming, Kind, Message, Raw, decode, encode_error, encode_notification, encode_request,
    encode_result, sse,
};
use serde::de::IgnoredAny;

/// Checks any frame: JSON is accepted exactly if serde_json accepts it, and messages and all values
/// in them survive encoding and decoding.
pub(crate) fn envelope(data: &[u8]) {
    let frame = Bytes::copy_from_slice(data);
    let is_json = std::str::from_utf8(data)
        .is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
    let parsed = Raw::parse(frame.clone());
    assert_eq!(parsed.is_ok(), is_json, "{parsed:?}");
    match decode(frame) {
        Ok(Incoming::Single(message)) => check_round_trip(message),
        Ok(Incoming::Batch(entries)) => {
            assert!(!entries.is_empty());
            entries.into_iter().flatten().for_each(check_round_trip);
        }
        Err(Error::Parse(error)) => {
            assert!(!is_json);
            assert!(error.offset <= data.len());
        }
        Err(Error::Invalid { .. }) => assert!(is_json),
    }
    if let Ok(raw) = parsed {
        inside(&raw);
        edited(&raw);
    }
}

/// Checks a stream of frames, both whole and split into pieces. The first byte selects the framing,
/// the second one the length of the pieces.
pub(crate) fn frame(data: &[u8]) {
    let [how, length, stream @ ..] = data else {
        return;
    };
    let max = [5, 40, 1 << 20][usize::from(how / 4 % 3)];
    let decoder = || match how % 4 {
        0 => frame::FrameDecoder::new(Framing::Newline, max),
        1 => frame::FrameDecoder::new(Framing::ContentLength, max),
        _ => frame::FrameDecoder::detect(max),
    };
    let whole = frames(decoder(), [stream], max);
    assert_eq!(
        frames(decoder(), stream.chunks(usize::from(*length).max(1)), max),
        whole
    );

    let messages: Vec<Bytes> = whole.into_iter().flatten().collect();
    for framing in [Framing::Newline, Framing::ContentLength] {
        let mut written = BytesMut::new();
        for message in &messages {
            frame::encode(framing, message, &mut written);
        }
        let read = frames(
            frame::FrameDecoder::new(framing, 1 << 21),
            [&written[..]],
            1 << 21,
        );
        let read: Vec<Bytes> = read
            .into_iter()
            .map(|frame| frame.expect("a frame"))
            .collect();
        let expected: Vec<Bytes> = match framing {
            // The decoder would drop the leading byte order mark of the first message. JSON never
            // starts with one.
            _ if messages
                .first()
                .is_some_and(|first| first.starts_with(b"\xEF\xBB\xBF")) =>
            {
                continue;
            }
            Framing::ContentLength => messages.clone(),
            Framing::Newline => messages.iter().map(|message| one_line(message)).collect(),
        };
        assert_eq!(read, expected);
    }
}

/// Checks an event stream, both whole and split into pieces, and encodes it again.
pub(crate) fn sse(data: &[u8]) {
    let [how, length, stream @ ..] = data else {
        return;
    };
    let max = [5, 40, 1 << 20][usize::from(how % 3)];
    let whole = events(max, [stream]);
    assert_eq!(
        events(max, stream.chunks(usize::from(*length).max(1))),
        whole
    );

    let mut written = BytesMut::new();
    let mut expected: Vec<sse::Event> = Vec::new();
    for event in whole.into_iter().flatten() {
        assert!(event.data.len() <= max);
        assert!(!event.data.contains(&b'\r'));
        sse::encode(&event, &mut written);
        written.extend_from_slice(sse::COMMENT);
        // An id stays in effect until the next one. The encoder cannot reset it.
        let id = event
            .id
            .clone()
            .or(expected.last().and_then(|before| before.id.clone()));
        expected.push(sse::Event { id, ..event });
    }
    let read: Vec<sse::Event> = events(1 << 21, [&written[..]])
        .into_iter()
        .map(|event| event.expect("an event"))
        .collect();
    assert_eq!(read, expected);
}

fn check_round_trip(message: Message) {
    let written = match &message {
        Message::Request(it) => encode_request(&it.id, &it.method, it.params.as_ref()),
        Message::Notification(it) => encode_notification(&it.method, it.params.as_ref()),
        Message::Response(it) => match (&it.id, &it.body) {
            (Some(id), Ok(result)) => encode_result(id, result),
            (id, Err(error)) => encode_error(id.as_ref(), error),
            (None, Ok(_)) => panic!("a result without an id"),
        },
    };
    assert_eq!(decode(written), Ok(Incoming::Single(message)));
}

/// Checks that every nested value is valid on its own. The number of values is limited, because
/// each level of a deep text is scanned again.
fn inside(raw: &Raw) {
    let mut open = vec![raw.clone()];
    for _ in 0..100 {
        let Some(raw) = open.pop() else { break };
        assert_eq!(Raw::parse(raw.bytes().clone()).as_ref(), Ok(&raw));
        match raw.kind() {
            Kind::Object => open.extend(raw.members().map(|(key, value)| {
                assert!(raw.member(&key).is_some());
                value
            })),
            Kind::Array => open.extend(raw.elements()),
            Kind::String => assert!(raw.as_text().is_some()),
            Kind::Number => assert!(
                raw.as_u64()
                    .is_none_or(|n| raw.as_i64() == i64::try_from(n).ok())
            ),
            Kind::Bool => assert!(raw.as_bool().is_some()),
            Kind::Null => assert_eq!(raw.as_str(), "null"),
        }
    }
}

/// Checks that edits result in valid JSON that contains the new value.
fn edited(raw: &Raw) {
    let value = Raw::from_static("[true]");
    let with = raw.with_member("name", &value);
    assert_eq!(Raw::parse(with.bytes().clone()).as_ref(), Ok(&with));
    let without = with.without_member("name");
    assert_eq!(Raw::parse(without.bytes().clone()).as_ref(), Ok(&without));
    if raw.kind() == Kind::Object {
        assert_eq!(with.pick(["name"]), Ok([Some(value.clone())]));
        assert_eq!(without.pick(["name"]), Ok([None]));
        let mut edit = raw.edit();
        for (_, place) in raw.members() {
            edit = match place.kind() {
                Kind::Object => edit.insert(&place, "name", value.clone()),
                _ => edit.replace(&place, value.clone()),
            };
        }
        let after = edit.insert(raw, "last", value).finish();
        assert_eq!(Raw::parse(after.bytes().clone()).as_ref(), Ok(&after));
        assert_eq!(after.members().count(), raw.members().count() + 1);
    }
}

fn frames<'a>(
    mut decoder: frame::FrameDecoder,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    max: usize,
) -> Vec<Result<Bytes, FrameError>> {
    let mut out = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        while let Some(step) = decoder.next().transpose() {
            let broken = matches!(step, Err(FrameError::Broken(_)));
            out.push(step);
            if broken {
                return out;
            }
        }
        // The decoder buffers at most one frame and its header.
        assert!(decoder.buffer().len() <= max.max(16 * 1024) + 3);
    }
    while let Some(step) = decoder.finish().transpose() {
        let broken = matches!(step, Err(FrameError::Broken(_)));
        out.push(step);
        if broken {
            break;
        }
    }
    for frame in out.iter().flatten() {
        assert!(frame.len() <= max && !frame.trim_ascii().is_empty());
    }
    out
}

/// Returns the form of a message on a newline-framed stream.
fn one_line(message: &[u8]) -> Bytes {
    message
        .iter()
        .map(|byte| {
            if matches!(byte, b'\n' | b'\r') {
                b' '
            } else {
                *byte
            }
        })
        .collect()
}

fn events<'a>(
    max: usize,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Result<sse::Event, sse::TooLarge>> {
    let mut decoder = sse::SseDecoder::new(max);
    let mut out = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        while let Some(event) = decoder.next().transpose() {
            out.push(event);
        }
    }
    out
}
