//! Checks against the examples of RFC 6455, because client and server could share a mistake.

use super::*;

const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

async fn read_all(from: Role, mut bytes: &[u8]) -> Result<Vec<Message>, String> {
    let mut assembly = Assembly::of(from);
    let mut messages = Vec::new();
    loop {
        match assembly.next(&mut bytes).await {
            Ok(Some(message)) => messages.push(message),
            Ok(None) => return Ok(messages),
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[test]
fn frames_match_the_rfc() {
    let hello = Frame::new(TEXT, "Hello");
    assert_eq!(hello.encode(), b"\x81\x05Hello");
    assert_eq!(
        hello.masked(MASK).encode(),
        b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"
    );
    let fragments = Frame::fragments(TEXT, b"Hello", 3);
    let encoded: Vec<Vec<u8>> = fragments.iter().map(Frame::encode).collect();
    assert_eq!(encoded, [b"\x01\x03Hel".to_vec(), b"\x80\x02lo".to_vec()]);
    let long = Frame::new(BINARY, [0; 256]).encode();
    assert_eq!(long[..4], *b"\x82\x7e\x01\x00");
    let longer = Frame::new(BINARY, [0; 65536]).encode();
    assert_eq!(longer[..10], *b"\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00");
    assert_eq!(
        accept_key("dGhlIHNhbXBsZSBub25jZQ=="),
        "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    );
}

#[tokio::test]
async fn frames_of_every_length_round_trip() {
    for length in [0, 1, 125, 126, 65535, 65536, 100_000] {
        let frame = Frame::new(BINARY, vec![7; length]);
        for frame in [frame.clone(), frame.masked(MASK)] {
            let bytes = frame.encode();
            let read = Frame::read(&mut bytes.as_slice()).await.expect("a frame");
            assert_eq!(read.as_ref(), Some(&frame), "{length}");
            let cut = Frame::read(&mut &bytes[..bytes.len() - 1]).await;
            assert!(cut.is_err(), "{length}");
        }
    }
}

#[tokio::test]
async fn fragments_are_reassembled_around_control_frames() {
    let mut bytes = Vec::new();
    for frame in Frame::fragments(TEXT, "aäö".as_bytes(), 2) {
        bytes.extend(frame.encode());
        bytes.extend(Frame::new(PING, "p").encode());
    }
    bytes.extend(Frame::close(1001, "bye").encode());
    bytes.extend(Frame::new(CLOSE, "").encode());
    let ping = || Message::Ping(b"p".to_vec());
    let close = |code, reason: &str| Message::Close {
        code,
        reason: reason.into(),
    };
    assert_eq!(
        read_all(Role::Server, &bytes).await,
        Ok(vec![
            ping(),
            ping(),
            Message::Text("aäö".into()),
            ping(),
            close(Some(1001), "bye"),
            close(None, ""),
        ])
    );
}

#[tokio::test]
async fn rfc_violations_are_detected() {
    let cases: [(&[u8], &str); 12] = [
        (b"\xc1\x00", "a reserved bit is set"),
        (b"\x83\x00", "an unknown opcode"),
        (b"\x8b\x00", "an unknown opcode"),
        (b"\x80\x00", "a continuation without a message"),
        (b"\x01\x00\x81\x00", "a new message inside another"),
        (b"\x81\x7e\x00\x7d", "a length is not in its shortest form"),
        (b"\x81\x02\xc3\x28", "a text is not UTF-8"),
        (b"\x09\x00", "a control frame is fragmented or too long"),
        (b"\x88\x01\x03", "a close frame has half a code"),
        (b"\x88\x02\x03\xee", "a close frame has an invalid code"),
        (
            b"\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff",
            "a frame exceeds the maximum length",
        ),
        (
            b"\x81\x80\x00\x00\x00\x00",
            "clients must mask their frames and servers must not",
        ),
    ];
    for (bytes, expected) in cases {
        let read = read_all(Role::Server, bytes).await;
        assert_eq!(read, Err(expected.into()), "{bytes:x?}");
    }
    let unmasked = Frame::new(TEXT, "Hello").encode();
    assert!(read_all(Role::Client, &unmasked).await.is_err());
}
