//! Tests of WebSocket, byte by byte, so that a client can send frames that a library would not.

mod ends;
mod faults;
mod frames;
mod handshake;
mod sessions;
mod slow;

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::client::{Connection, initialize};
use crate::{TestGateway, within};

const FIN: u8 = 0x80;
const MORE: u8 = 0x0;
const TEXT: u8 = 0x1;
const BINARY: u8 = 0x2;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xA;

/// The key from the example in RFC 6455, 1.3.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

const PING_REQUEST: &str = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;

/// A WebSocket client. Pings are not answered automatically.
struct WsClient {
    socket: BufReader<TcpStream>,
}

/// A frame sent by the gateway.
#[derive(Debug, PartialEq)]
struct Frame {
    /// `FIN` and the opcode.
    head: u8,
    payload: Vec<u8>,
}

impl WsClient {
    /// Connects a client without a session.
    async fn connect(gate: &TestGateway) -> WsClient {
        WsClient::connect_at(gate.address, "/ws").await
    }

    async fn connect_at(address: SocketAddr, path: &str) -> WsClient {
        let mut connection = Connection::open(address).await;
        connection.write(upgrade(path, "").as_bytes()).await;
        assert_eq!(connection.head().await.status, 101);
        WsClient {
            socket: connection.into_socket(),
        }
    }

    /// Connects a client with a session.
    async fn open(gate: &TestGateway) -> WsClient {
        WsClient::open_with(gate, "2025-06-18", "{}").await
    }

    async fn open_with(gate: &TestGateway, revision: &str, capabilities: &str) -> WsClient {
        let mut peer = WsClient::connect(gate).await;
        peer.send_message(&initialize(1, revision, capabilities))
            .await;
        assert_eq!(peer.receive().await["result"]["protocolVersion"], revision);
        peer
    }

    async fn send_message(&mut self, message: &str) {
        self.write(&frame(FIN | TEXT, message.as_bytes())).await;
    }

    async fn write(&mut self, bytes: &[u8]) {
        let written = self.socket.get_mut().write_all(bytes);
        within("the gateway to read", written).await.unwrap();
    }

    /// Returns the next message and skips pings.
    async fn receive(&mut self) -> Value {
        let message = async {
            loop {
                let frame = self.read_frame().await.expect("a message");
                if frame.head != FIN | PING {
                    return frame;
                }
            }
        };
        let frame = within("a message", message).await;
        assert_eq!(frame.head, FIN | TEXT, "{frame:?}");
        serde_json::from_slice(&frame.payload).unwrap()
    }

    /// Skips frames until the gateway closes the connection, and returns the close code; `None` if
    /// there is no close frame.
    async fn close_code(&mut self) -> Option<u16> {
        let close_code = async {
            loop {
                let frame = self.read_frame().await?;
                if frame.head == FIN | CLOSE {
                    return Some(u16::from_be_bytes([frame.payload[0], frame.payload[1]]));
                }
            }
        };
        within("a close_code", close_code).await
    }

    /// Returns true if the gateway has closed the connection without further frames.
    async fn ended(&mut self) -> bool {
        self.frame().await.is_none()
    }

    /// Reads the next frame of any kind; `None` at the end of the connection.
    async fn frame(&mut self) -> Option<Frame> {
        within("a frame", self.read_frame()).await
    }

    async fn read_frame(&mut self) -> Option<Frame> {
        let head = self.socket.read_u8().await.ok()?;
        // Frames from the gateway are not masked, so this byte is only the length.
        let length = match self.socket.read_u8().await.ok()? {
            126 => u64::from(self.socket.read_u16().await.ok()?),
            127 => self.socket.read_u64().await.ok()?,
            short => u64::from(short),
        };
        let mut payload = vec![0; length.try_into().unwrap()];
        self.socket.read_exact(&mut payload).await.ok()?;
        Some(Frame { head, payload })
    }
}

/// Returns an upgrade request with further header lines.
fn upgrade(path: &str, more: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: {KEY}\r\n{more}\r\n"
    )
}

/// Returns a masked frame, as clients must send it.
fn frame(head: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = frame_head(head, payload.len() as u64);
    let masked = payload.iter().zip(MASK.iter().cycle());
    frame.extend(masked.map(|(byte, mask)| byte ^ mask));
    frame
}

/// Returns the header of a frame whose payload has this length.
fn frame_head(head: u8, length: u64) -> Vec<u8> {
    let mut bytes = vec![head];
    match length {
        0..126 => bytes.push(0x80 | length as u8),
        126..0x1_0000 => {
            bytes.push(0x80 | 126);
            bytes.extend((length as u16).to_be_bytes());
        }
        _ => {
            bytes.push(0x80 | 127);
            bytes.extend(length.to_be_bytes());
        }
    }
    bytes.extend(MASK);
    bytes
}

/// Returns the payload of a close frame.
fn closing(code: u16, reason: &str) -> Vec<u8> {
    [&code.to_be_bytes(), reason.as_bytes()].concat()
}
