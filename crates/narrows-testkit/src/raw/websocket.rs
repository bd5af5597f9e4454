//! A WebSocket client.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::client::{Client, Line, Waiting};
use super::http::Http;
use super::limited;
use super::response::Response;
use crate::websocket::{
    Assembly, CLOSE, Frame, Message, PONG, Role, SUBPROTOCOL, TEXT, accept_key,
};

/// A client after its handshake. Panics if the server sends an invalid frame.
pub type WebSocket = Client<Socket>;

#[derive(Debug)]
pub struct Socket {
    stream: BufReader<TcpStream>,
    assembly: Assembly,
    subprotocol: Option<String>,
    answers_pings: bool,
    /// True if the client has sent a close frame.
    closed: bool,
}

impl WebSocket {
    /// Connects and offers the subprotocol `mcp`. Panics if the handshake is refused.
    pub async fn connect(address: &str, path: &str) -> WebSocket {
        let offer = [("sec-websocket-protocol", SUBPROTOCOL)];
        let socket = WebSocket::connect_with(address, path, &offer).await;
        socket.unwrap_or_else(|refusal| panic!("the handshake was refused: {refusal:?}"))
    }

    /// Connects with these headers, which replace those of the handshake with the same name.
    /// Returns the response of a server that refuses the upgrade as an error.
    pub async fn connect_with(
        address: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<WebSocket, Response> {
        let fresh_key = STANDARD.encode(fresh().map(|byte| [byte; 4]).concat());
        let own = [
            ("connection", "Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", &fresh_key),
        ];
        let given = |name: &str| {
            let mut headers = headers.iter();
            let found = headers.find(|(given, _)| given.eq_ignore_ascii_case(name));
            found.map(|(_, value)| *value)
        };
        let key = given("sec-websocket-key").unwrap_or(&fresh_key);
        let own = own.into_iter().filter(|(name, _)| given(name).is_none());
        let all: Vec<(&str, &str)> = own.chain(headers.iter().copied()).collect();
        let mut http = Http::connect(address).await;
        http.send("GET", path, &all, b"").await;
        let (head, stream) = http.into_upgraded().await?;
        let is = |name: &str, value: &str| {
            let header = head.header(name);
            header.is_some_and(|header| header.eq_ignore_ascii_case(value))
        };
        assert!(is("upgrade", "websocket"), "{head:?}");
        assert!(is("connection", "upgrade"), "{head:?}");
        let accepted = head.header("sec-websocket-accept");
        assert_eq!(accepted, Some(&*accept_key(key)), "{head:?}");
        Ok(Client::on(Socket {
            stream,
            assembly: Assembly::of(Role::Server),
            subprotocol: head.header("sec-websocket-protocol").map(Into::into),
            answers_pings: true,
            closed: false,
        }))
    }

    /// Returns the subprotocol selected by the server.
    pub fn subprotocol(&self) -> Option<&str> {
        self.line.subprotocol.as_deref()
    }

    /// Stops answering pings.
    pub fn ignore_pings(&mut self) {
        self.line.answers_pings = false;
    }

    /// Sends a frame, and masks it unless it has a mask.
    pub async fn send_frame(&mut self, frame: Frame) {
        limited("sending", self.line.send(frame)).await;
    }

    /// Sends a message in frames of `size` bytes, which may split characters.
    pub async fn send_fragments(&mut self, text: &str, size: usize) {
        for frame in Frame::fragments(TEXT, text.as_bytes(), size) {
            self.send_frame(frame).await;
        }
    }

    /// Sends bytes unchanged, which need not form a frame.
    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        limited("sending", self.line.write(bytes)).await;
    }

    /// Returns the next message of any kind; `None` when the connection has ended. Pings and close
    /// frames are answered first.
    pub async fn next_message(&mut self) -> Option<Message> {
        limited("a message", self.line.next()).await
    }
}

impl Socket {
    async fn send(&mut self, frame: Frame) {
        let frame = match frame.mask {
            Some(_) => frame,
            None => frame.masked(fresh()),
        };
        self.closed |= frame.opcode == CLOSE;
        self.write(&frame.encode()).await;
    }

    async fn write(&mut self, bytes: &[u8]) {
        let stream = self.stream.get_mut();
        stream.write_all(bytes).await.expect("the server reads");
    }

    async fn next(&mut self) -> Option<Message> {
        let message = match self.assembly.next(&mut self.stream).await {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                panic!("the server violates the protocol: {error}")
            }
            // A broken connection counts as ended.
            read => read.ok().flatten()?,
        };
        match &message {
            Message::Ping(payload) if self.answers_pings => {
                self.respond(Frame::new(PONG, payload.clone())).await;
            }
            Message::Close { code, .. } if !self.closed => {
                self.closed = true;
                self.respond(Frame::close(code.unwrap_or(1000), "")).await;
            }
            _ => {}
        }
        Some(message)
    }

    async fn respond(&mut self, frame: Frame) {
        let bytes = frame.masked(fresh()).encode();
        // The server may have disconnected already, which the next read reports.
        let _ = self.stream.get_mut().write_all(&bytes).await;
    }
}

impl Line for Socket {
    fn send_text<'a>(&'a mut self, text: &'a str) -> Waiting<'a, ()> {
        Box::pin(self.send(Frame::new(TEXT, text)))
    }

    fn next_text(&mut self) -> Waiting<'_, Option<String>> {
        Box::pin(async {
            loop {
                match self.next().await? {
                    Message::Text(text) => return Some(text),
                    Message::Ping(_) | Message::Pong(_) => {}
                    Message::Close { .. } => return None,
                    Message::Binary(bytes) => panic!("a binary message: {bytes:?}"),
                }
            }
        })
    }

    /// Messages that arrive before the server's close frame are lost.
    fn close(&mut self) -> Waiting<'_, ()> {
        Box::pin(async {
            self.send(Frame::close(1000, "")).await;
            while !matches!(self.next().await, None | Some(Message::Close { .. })) {}
        })
    }
}

/// Returns a different value on every call, for keys and masks.
fn fresh() -> [u8; 4] {
    static COUNT: AtomicU32 = AtomicU32::new(1);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    count.wrapping_mul(0x9e37_79b9).to_be_bytes()
}
