//! Tests of invalid frames: the gateway closes the connection with the matching code, and other
//! clients are not affected.

use narrows_gateway::settings::Limits;
use narrows_serve::HttpSettings;
use tokio::io::AsyncWriteExt;

use super::{
    BINARY, CLOSE, FIN, MORE, PING, PING_REQUEST, TEXT, WsClient, closing, frame, frame_head,
};
use crate::{TestGateway, within};

const MAX: usize = 64 * 1024;

async fn gate() -> TestGateway {
    let http = HttpSettings {
        max_message_bytes: MAX,
        ..HttpSettings::default()
    };
    TestGateway::with(http, Limits::default()).await
}

/// Sends bytes to a gateway that also serves another client, and expects a close frame with `code`.
async fn check(bytes: &[u8], code: u16) {
    let gate = gate().await;
    let mut other = WsClient::open(&gate).await;
    let mut peer = WsClient::open(&gate).await;
    peer.write(bytes).await;
    let start = &bytes[..bytes.len().min(16)];
    assert_eq!(peer.close_code().await, Some(code), "{start:x?}");
    assert!(peer.ended().await);
    other.send_message(PING_REQUEST).await;
    assert_eq!(other.receive().await["id"], "p");
}

#[tokio::test]
async fn unmasked_frames_are_rejected() {
    check(b"\x81\x02{}", 1002).await;
    check(b"\x89\x00", 1002).await;
}

#[tokio::test]
async fn reserved_bits_are_rejected() {
    for bit in [0x40, 0x20, 0x10] {
        check(&frame(FIN | bit | TEXT, b"{}"), 1002).await;
    }
}

#[tokio::test]
async fn unknown_opcodes_are_rejected() {
    for kind in [0x3, 0x7, 0xb, 0xf] {
        check(&frame(FIN | kind, b""), 1002).await;
    }
}

#[tokio::test]
async fn invalid_control_frames_are_rejected() {
    check(&frame(FIN | PING, &[0; 126]), 1002).await;
    check(&frame(FIN | CLOSE, &[0; 126]), 1002).await;
    check(&frame(PING, b"in pieces"), 1002).await;
}

#[tokio::test]
async fn out_of_order_fragments_are_rejected() {
    check(&frame(FIN | MORE, b"{}"), 1002).await;
    let two = [frame(TEXT, b"{"), frame(FIN | TEXT, b"}")];
    check(&two.concat(), 1002).await;
}

#[tokio::test]
async fn invalid_close_frames_are_rejected() {
    check(&frame(FIN | CLOSE, b"\x03"), 1002).await;
    check(&frame(FIN | CLOSE, b"\x03\xe8\xff"), 1007).await;
    check(&frame(FIN | CLOSE, &closing(1005, "")), 1002).await;
}

#[tokio::test]
async fn binary_messages_are_rejected() {
    check(&frame(FIN | BINARY, b"{}"), 1003).await;
}

#[tokio::test]
async fn invalid_utf8_is_rejected() {
    check(&frame(FIN | TEXT, b"\"\xff\""), 1007).await;
    check(&frame(FIN | TEXT, b"\"\xe2\x82"), 1007).await;
    let surrogate = [frame(TEXT, b"\"\xed\xa0"), frame(FIN | MORE, b"\x80\"")];
    check(&surrogate.concat(), 1007).await;
}

#[tokio::test]
async fn oversized_message_is_rejected() {
    let gate = gate().await;
    let mut peer = WsClient::open(&gate).await;
    let padded = |length: usize| PING_REQUEST.to_owned() + &" ".repeat(length - PING_REQUEST.len());
    peer.send_message(&padded(MAX)).await;
    assert_eq!(peer.receive().await["id"], "p");
    peer.send_message(&padded(MAX + 1)).await;
    assert_eq!(peer.close_code().await, Some(1009));

    let half = vec![b' '; MAX / 2 + 1];
    check(&[frame(TEXT, &half), frame(MORE, &half)].concat(), 1009).await;
}

#[tokio::test]
async fn implausible_length_allocates_no_memory() {
    for length in [
        MAX as u64 + 1,
        u64::from(u32::MAX),
        (1 << 63) - 1,
        1 << 63,
        u64::MAX,
    ] {
        check(&frame_head(FIN | TEXT, length), 1009).await;
    }
}

#[tokio::test]
async fn close_reason_reaches_a_client_that_keeps_sending() {
    let gate = gate().await;
    let mut peer = WsClient::open(&gate).await;
    // The client reads nothing until it has written everything. If the connection were closed
    // earlier, the write would fail and the close frame would be lost.
    peer.write(&frame(FIN | TEXT, &vec![b' '; 20_000_000]))
        .await;
    assert_eq!(peer.close_code().await, Some(1009));
}

#[tokio::test]
async fn truncated_frame_ends_the_session() {
    let gate = gate().await;
    for whole in [
        frame(FIN | TEXT, PING_REQUEST.as_bytes()),
        frame(FIN | TEXT, &[b' '; 1000]),
        frame(TEXT, b"{"),
    ] {
        for cut in [1, 2, 5, whole.len() - 1] {
            let mut peer = WsClient::open(&gate).await;
            peer.write(&whole[..cut]).await;
            peer.socket.get_mut().shutdown().await.unwrap();
            assert_eq!(peer.close_code().await, None);
        }
    }
}

#[tokio::test]
async fn arbitrary_bytes_close_only_their_own_connection() {
    let gate = gate().await;
    let mut other = WsClient::open(&gate).await;
    // A simple generator with a fixed seed.
    let mut state = 0x2545_f491_4f6c_dd1du64;
    for _ in 0..300 {
        let mut noise = Vec::new();
        for _ in 0..40 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            noise.push(state as u8);
        }
        let mut peer = WsClient::connect(&gate).await;
        let written = peer.socket.get_mut().write_all(&noise);
        let _ = within("the gateway to read", written).await;
        let _ = peer.socket.get_mut().shutdown().await;
        peer.close_code().await;
    }
    other.send_message(PING_REQUEST).await;
    assert_eq!(other.receive().await["id"], "p");
}
