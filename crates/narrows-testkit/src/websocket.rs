//! WebSocket frames (RFC 6455) for both roles. Written by hand, because the gateway uses a library
//! whose mistakes would otherwise go unnoticed. Reading is strict, so that a peer's mistake fails
//! the test; writing accepts any [`Frame`].

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};
use tokio::io::{AsyncRead, AsyncReadExt};

/// The subprotocol name of MCP over WebSocket.
pub const SUBPROTOCOL: &str = "mcp";

pub const CONTINUATION: u8 = 0x0;
pub const TEXT: u8 = 0x1;
pub const BINARY: u8 = 0x2;
pub const CLOSE: u8 = 0x8;
pub const PING: u8 = 0x9;
pub const PONG: u8 = 0xa;

/// The maximum frame length, far above any test message, so that a wrong length does not exhaust
/// memory.
const LONGEST: u64 = 256 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// True for the last frame of a message.
    pub fin: bool,
    pub opcode: u8,
    /// The mask, which client frames have and server frames do not.
    pub mask: Option<[u8; 4]>,
    /// The payload before masking.
    pub payload: Vec<u8>,
}

/// A message assembled from frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close { code: Option<u16>, reason: String },
}

/// The role of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Client,
    Server,
}

/// Assembles messages from the frames of one peer.
#[derive(Debug)]
pub struct Assembly {
    from: Role,
    /// The opcode and payload of an incomplete message.
    begun: Option<(u8, Vec<u8>)>,
}

impl Frame {
    /// Creates an unmasked frame with a whole message or control payload.
    pub fn new(opcode: u8, payload: impl Into<Vec<u8>>) -> Frame {
        Frame {
            fin: true,
            opcode,
            mask: None,
            payload: payload.into(),
        }
    }

    pub fn close(code: u16, reason: &str) -> Frame {
        Frame::new(CLOSE, [&code.to_be_bytes(), reason.as_bytes()].concat())
    }

    /// Splits a message into frames of `size` bytes at any position; 0 means one frame.
    pub fn fragments(opcode: u8, payload: &[u8], size: usize) -> Vec<Frame> {
        if size == 0 || payload.len() <= size {
            return vec![Frame::new(opcode, payload)];
        }
        let pieces = payload.chunks(size).map(|piece| Frame {
            fin: false,
            ..Frame::new(CONTINUATION, piece)
        });
        let mut frames: Vec<Frame> = pieces.collect();
        frames[0].opcode = opcode;
        frames.last_mut().expect("there is a first").fin = true;
        frames
    }

    pub fn masked(self, mask: [u8; 4]) -> Frame {
        Frame {
            mask: Some(mask),
            ..self
        }
    }

    /// Encodes the frame, with its length in the shortest form.
    pub fn encode(&self) -> Vec<u8> {
        let length = self.payload.len();
        let mut bytes = Vec::with_capacity(length + 14);
        bytes.push(u8::from(self.fin) << 7 | self.opcode);
        let masked = u8::from(self.mask.is_some()) << 7;
        match (u8::try_from(length), u16::try_from(length)) {
            (Ok(short @ ..=125), _) => bytes.push(masked | short),
            (_, Ok(middle)) => {
                bytes.push(masked | 126);
                bytes.extend(middle.to_be_bytes());
            }
            _ => {
                bytes.push(masked | 127);
                bytes.extend((length as u64).to_be_bytes());
            }
        }
        bytes.extend(self.mask.iter().flatten());
        let start = bytes.len();
        bytes.extend_from_slice(&self.payload);
        if let Some(mask) = self.mask {
            apply(mask, &mut bytes[start..]);
        }
        bytes
    }

    /// Reads the next frame; `None` if the input ends between two frames.
    pub async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Frame>> {
        let mut start = [0; 2];
        if stream.read(&mut start[..1]).await? == 0 {
            return Ok(None);
        }
        stream.read_exact(&mut start[1..]).await?;
        let [first, second] = start;
        if first & 0x70 != 0 {
            return Err(violation("a reserved bit is set"));
        }
        let (length, least) = match second & 0x7f {
            126 => (u64::from(stream.read_u16().await?), 126),
            127 => (stream.read_u64().await?, 1 << 16),
            short => (u64::from(short), 0),
        };
        if length < least {
            return Err(violation("a length is not in its shortest form"));
        }
        if length > LONGEST {
            return Err(violation("a frame exceeds the maximum length"));
        }
        let mut mask = None;
        if second & 0x80 != 0 {
            let mut key = [0; 4];
            stream.read_exact(&mut key).await?;
            mask = Some(key);
        }
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).await?;
        if let Some(mask) = mask {
            apply(mask, &mut payload);
        }
        Ok(Some(Frame {
            fin: first & 0x80 != 0,
            opcode: first & 0x0f,
            mask,
            payload,
        }))
    }
}

impl Assembly {
    pub fn of(from: Role) -> Assembly {
        Assembly { from, begun: None }
    }

    /// Reads the next message; `None` at the end of the input. Violations of the RFC, and only
    /// those, are errors of the kind [`io::ErrorKind::InvalidData`].
    pub async fn next(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
    ) -> io::Result<Option<Message>> {
        while let Some(frame) = Frame::read(stream).await? {
            if frame.mask.is_some() != (self.from == Role::Client) {
                return Err(violation(
                    "clients must mask their frames and servers must not",
                ));
            }
            if let Some(message) = self.add(frame)? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    fn add(&mut self, frame: Frame) -> io::Result<Option<Message>> {
        if frame.opcode & 0x8 != 0 {
            return control(frame).map(Some);
        }
        let (opcode, payload) = match (self.begun.take(), frame.opcode) {
            (None, TEXT | BINARY) => (frame.opcode, frame.payload),
            (Some((opcode, mut begun)), CONTINUATION) => {
                begun.extend_from_slice(&frame.payload);
                (opcode, begun)
            }
            (None, CONTINUATION) => return Err(violation("a continuation without a message")),
            (Some(_), TEXT | BINARY) => {
                return Err(violation("a new message inside another"));
            }
            _ => return Err(violation("an unknown opcode")),
        };
        if !frame.fin {
            self.begun = Some((opcode, payload));
            return Ok(None);
        }
        Ok(Some(match opcode {
            TEXT => Message::Text(text(payload)?),
            _ => Message::Binary(payload),
        }))
    }
}

/// Returns the `Sec-WebSocket-Accept` value for a client's `Sec-WebSocket-Key`.
pub fn accept_key(key: &str) -> String {
    let joined = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    STANDARD.encode(Sha1::digest(joined))
}

fn control(frame: Frame) -> io::Result<Message> {
    if !frame.fin || frame.payload.len() > 125 {
        return Err(violation("a control frame is fragmented or too long"));
    }
    match (frame.opcode, frame.payload.as_slice()) {
        (PING, _) => Ok(Message::Ping(frame.payload)),
        (PONG, _) => Ok(Message::Pong(frame.payload)),
        (CLOSE, []) => Ok(Message::Close {
            code: None,
            reason: String::new(),
        }),
        (CLOSE, [high, low, reason @ ..]) => {
            let code = u16::from_be_bytes([*high, *low]);
            // The other codes are reserved, some of them for conditions that no frame reports.
            if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
                return Err(violation("a close frame has an invalid code"));
            }
            Ok(Message::Close {
                code: Some(code),
                reason: text(reason.to_vec())?,
            })
        }
        (CLOSE, _) => Err(violation("a close frame has half a code")),
        _ => Err(violation("an unknown opcode")),
    }
}

fn text(payload: Vec<u8>) -> io::Result<String> {
    String::from_utf8(payload).map_err(|_| violation("a text is not UTF-8"))
}

fn apply(mask: [u8; 4], bytes: &mut [u8]) {
    for (byte, key) in bytes.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= key;
    }
}

fn violation(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests;
