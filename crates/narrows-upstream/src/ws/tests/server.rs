//! A WebSocket server that controls every byte.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::settings::{RemoteProtocol, RemoteSettings};
use crate::testing::server::hello;

// The first byte of a frame: the final-fragment bit and the opcode.
pub(crate) const FIN: u8 = 0x80;
pub(crate) const CONTINUED: u8 = 0;
pub(crate) const TEXT: u8 = 1;
pub(crate) const BINARY: u8 = 2;
pub(crate) const CLOSE: u8 = 8;
pub(crate) const PING: u8 = 9;
pub(crate) const PONG: u8 = 10;

pub(crate) struct WsTestServer {
    pub(crate) address: SocketAddr,
    listener: TcpListener,
}

impl WsTestServer {
    pub(crate) async fn start() -> WsTestServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        WsTestServer { address, listener }
    }

    pub(crate) fn settings(&self) -> RemoteSettings {
        RemoteSettings {
            protocol: RemoteProtocol::WebSocket,
            url: format!("ws://{}/ws", self.address).parse().unwrap(),
            headers: Vec::new(),
        }
    }

    pub(crate) async fn accept(&self) -> HandshakeRequest {
        let (socket, _) = self.listener.accept().await.unwrap();
        socket.set_nodelay(true).unwrap();
        HandshakeRequest::read(socket).await
    }
}

/// A handshake request that waits for its response.
pub(crate) struct HandshakeRequest {
    pub(crate) head: Head,
    socket: BufReader<TcpStream>,
}

#[derive(Clone)]
pub(crate) struct Head {
    /// Method, target and version.
    pub(crate) line: String,
    /// The headers, with names in lower case.
    headers: Vec<(String, String)>,
}

impl Head {
    /// Returns all values of a header, joined.
    pub(crate) fn header(&self, name: &str) -> String {
        let values = self.headers.iter().filter(|(own, _)| own == name);
        let values: Vec<&str> = values.map(|(_, value)| value.as_str()).collect();
        values.join(" | ")
    }
}

impl HandshakeRequest {
    async fn read(socket: TcpStream) -> HandshakeRequest {
        let mut socket = BufReader::new(socket);
        let mut line = String::new();
        socket.read_line(&mut line).await.unwrap();
        let mut headers = Vec::new();
        loop {
            let mut header = String::new();
            socket.read_line(&mut header).await.unwrap();
            let Some((name, value)) = header.trim().split_once(':') else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let line = line.trim().to_owned();
        let head = Head { line, headers };
        HandshakeRequest { head, socket }
    }

    /// Sends the response and closes the connection.
    pub(crate) async fn respond_and_close(mut self, answer: &str) {
        self.socket.write_all(answer.as_bytes()).await.unwrap();
        self.socket.shutdown().await.unwrap();
    }

    /// Returns the response that accepts a WebSocket. `protocol` may be empty.
    pub(crate) fn agreement(&self, protocol: &str) -> String {
        let key = derive_accept_key(self.head.header("sec-websocket-key").as_bytes());
        let protocol = match protocol {
            "" => String::new(),
            protocol => format!("sec-websocket-protocol: {protocol}\r\n"),
        };
        format!(
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nconnection: upgrade\r\nsec-websocket-accept: {key}\r\n{protocol}\r\n"
        )
    }

    pub(crate) async fn accept_upgrade(self, protocol: &str) -> Peer {
        let agreement = self.agreement(protocol);
        self.accept_upgrade_with(agreement.as_bytes()).await
    }

    pub(crate) async fn accept_upgrade_with(mut self, bytes: &[u8]) -> Peer {
        self.socket.write_all(bytes).await.unwrap();
        self.socket.flush().await.unwrap();
        Peer(self.socket)
    }
}

/// The server end of an open WebSocket.
pub(crate) struct Peer(pub(crate) BufReader<TcpStream>);

impl Peer {
    /// Sends these bytes unchanged.
    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
        self.0.flush().await.unwrap();
    }

    /// Sends these bytes. Returns false if the client no longer accepts them.
    pub(crate) async fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.0.write_all(bytes).await.is_ok()
    }

    pub(crate) async fn message(&mut self, message: &Value) {
        let text = message.to_string();
        self.send(&frame(FIN | TEXT, text.as_bytes())).await;
    }

    pub(crate) async fn answer(&mut self, request: &Value, result: Value) {
        let id = &request["id"];
        self.message(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
            .await;
    }

    /// Returns the first byte and the payload of the next frame, or `None` at the end.
    pub(crate) async fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
        let (first, second) = (
            self.0.read_u8().await.ok()?,
            self.0.read_u8().await.unwrap(),
        );
        assert!(second & 0x80 != 0, "a client masks its frames");
        let length = match second & 0x7f {
            126 => self.0.read_u16().await.unwrap().into(),
            127 => self.0.read_u64().await.unwrap(),
            length => length.into(),
        };
        let mut mask = [0; 4];
        self.0.read_exact(&mut mask).await.unwrap();
        let mut payload = vec![0; length as usize];
        self.0.read_exact(&mut payload).await.unwrap();
        for (at, byte) in payload.iter_mut().enumerate() {
            *byte ^= mask[at % 4];
        }
        Some((first, payload))
    }

    /// Returns the next message, which must have this method.
    pub(crate) async fn saw(&mut self, method: &str) -> Value {
        let (first, payload) = self.frame().await.expect("the connection is open");
        assert_eq!(first, FIN | TEXT);
        let message: Value = serde_json::from_slice(&payload).unwrap();
        assert_eq!(message["method"], method, "{message}");
        message
    }

    pub(crate) async fn greet(&mut self) {
        let asked = self.saw("initialize").await;
        self.answer(&asked, hello("2025-06-18")).await;
        self.saw("notifications/initialized").await;
    }
}

/// Returns an unmasked frame, as a server sends it.
pub(crate) fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        length @ ..126 => frame.push(length as u8),
        length @ ..0x1_0000 => {
            frame.push(126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend(payload);
    frame
}

/// Returns the payload of a close frame.
pub(crate) fn close_payload(code: u16, reason: &str) -> Vec<u8> {
    let mut payload = code.to_be_bytes().to_vec();
    payload.extend(reason.as_bytes());
    payload
}
