//! An HTTP/1.1 client that works byte by byte, so that tests can send requests that a library would
//! not.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};

use crate::within;

/// The size of socket buffers in tests that depend on it. By default, buffers grow to many
/// megabytes.
pub(crate) const SMALL_BUFFER: u32 = 16 * 1024;

pub(crate) const BOTH: &str = "application/json, text/event-stream";

/// An MCP client. Each request uses a new connection, unless the test keeps one.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
    pub(crate) accept: String,
    pub(crate) session: Option<String>,
    /// The client token, if any.
    pub(crate) token: Option<String>,
    /// The size of the receive buffer; `None` lets it grow automatically.
    pub(crate) receive_buffer: Option<u32>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Client {
        Client {
            address,
            path: "/mcp".into(),
            accept: BOTH.into(),
            session: None,
            token: None,
            receive_buffer: None,
        }
    }

    /// Uses a small receive buffer, so that unread data stays in the gateway.
    pub(crate) fn with_small_buffer(mut self) -> Client {
        self.receive_buffer = Some(SMALL_BUFFER);
        self
    }

    pub(crate) fn with_token(mut self, token: &str) -> Client {
        self.token = Some(token.into());
        self
    }

    pub(crate) fn at(mut self, path: &str) -> Client {
        self.path = path.into();
        self
    }

    pub(crate) fn accepting(mut self, accept: &str) -> Client {
        self.accept = accept.into();
        self
    }

    pub(crate) async fn initialize(&mut self, revision: &str, capabilities: &str) -> Reply {
        let reply = self.post(&initialize(1, revision, capabilities)).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        self.session = Some(
            reply
                .header("mcp-session-id")
                .expect("a session id")
                .to_string(),
        );
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(self.post(initialized).await.status, 202);
        reply
    }

    /// Posts a body and reads the whole response.
    pub(crate) async fn post(&self, body: &str) -> Reply {
        self.begin(body).await.reply().await
    }

    /// Posts a body, without reading the response.
    pub(crate) async fn begin(&self, body: &str) -> Connection {
        self.send("POST", &[("content-type", "application/json")], body)
            .await
    }

    /// Calls a tool of the upstream, without reading the response.
    pub(crate) async fn call(&self, id: &str, tool: &str) -> Connection {
        self.begin(&call(id, tool)).await
    }

    /// Waits until the call with this id has ended and the id can be used again.
    pub(crate) async fn until_over(&self, id: &str) {
        let over =
            async { while !self.call(id, "echo").await.reply().await.json()["error"].is_null() {} };
        within("the call to end", over).await;
    }

    /// Opens or resumes a stream.
    pub(crate) async fn get(&self, last_event_id: Option<&str>) -> Connection {
        let last: Vec<_> = last_event_id
            .map(|id| ("last-event-id", id))
            .into_iter()
            .collect();
        self.clone()
            .accepting("text/event-stream")
            .send("GET", &last, "")
            .await
    }

    pub(crate) async fn delete(&self) -> Reply {
        self.send("DELETE", &[], "").await.reply().await
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Connection {
        let mut head = format!(
            "{method} {} HTTP/1.1\r\nhost: {}\r\naccept: {}\r\ncontent-length: {}\r\n",
            self.path,
            self.address,
            self.accept,
            body.len()
        );
        if let Some(session) = &self.session {
            head += &format!("mcp-session-id: {session}\r\n");
        }
        if let Some(token) = &self.token {
            head += &format!("authorization: Bearer {token}\r\n");
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        let mut connection = Connection::open_with(self.address, self.receive_buffer).await;
        connection
            .write(format!("{head}\r\n{body}").as_bytes())
            .await;
        connection
    }
}

pub(crate) fn initialize(id: u64, revision: &str, capabilities: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{capabilities},"clientInfo":{{"name":"test","version":"1"}}}}}}"#
    )
}

/// Returns a tool call whose progress token equals its id.
pub(crate) fn call(id: &str, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"up__{tool}","arguments":{{"id":{id}}},"_meta":{{"progressToken":{id}}}}}}}"#
    )
}

/// A connection that carries one response.
pub(crate) struct Connection {
    socket: BufReader<TcpStream>,
    head: Option<Head>,
    /// Decoded bytes of a chunked body that do not form a whole event yet.
    pending: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    head: Head,
    body: Vec<u8>,
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Event {
    pub(crate) kind: String,
    pub(crate) id: String,
    /// The data lines without their line breaks, joined by line feeds.
    pub(crate) data: String,
    pub(crate) retry: Option<u64>,
    pub(crate) comment: bool,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Connection {
        Connection::open_with(address, None).await
    }

    async fn open_with(address: SocketAddr, receive_buffer: Option<u32>) -> Connection {
        let socket = TcpSocket::new_v4().unwrap();
        if let Some(size) = receive_buffer {
            socket.set_recv_buffer_size(size).unwrap();
        }
        let socket = within("a connection", socket.connect(address))
            .await
            .unwrap();
        socket.set_nodelay(true).unwrap();
        Connection {
            socket: BufReader::new(socket),
            head: None,
            pending: String::new(),
        }
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.socket.get_mut().write_all(bytes).await.unwrap();
    }

    /// Returns the socket, positioned after the last response read.
    pub(crate) fn into_socket(self) -> BufReader<TcpStream> {
        self.socket
    }

    pub(crate) async fn head(&mut self) -> Head {
        if self.head.is_none() {
            self.head = Some(within("an answer", self.read_head()).await);
        }
        self.head.clone().unwrap()
    }

    /// Reads the whole response in any format.
    pub(crate) async fn reply(&mut self) -> Reply {
        let head = self.head().await;
        let mut body = Vec::new();
        if let Some(length) = head.header("content-length") {
            body.resize(length.parse().unwrap(), 0);
            within("a body", self.socket.read_exact(&mut body))
                .await
                .unwrap();
        } else if head.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = within("a chunk", self.chunk()).await {
                body.extend_from_slice(&chunk);
            }
        }
        self.head = None;
        Reply {
            status: head.status,
            head,
            body,
        }
    }

    /// Reads the next event of a stream and skips comments; `None` at its end.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        let event = async {
            loop {
                match self.any_event().await {
                    Some(event) if event.comment => {}
                    other => return other,
                }
            }
        };
        within("an event", event).await
    }

    /// Reads the next event or comment of a stream.
    pub(crate) async fn any_event(&mut self) -> Option<Event> {
        let head = self.head().await;
        let kind = head.header("content-type");
        assert_eq!(kind, Some("text/event-stream"), "{head:?}");
        loop {
            if let Some((event, rest)) = self.pending.split_once("\n\n") {
                let event = Event::parse(event);
                self.pending = rest.to_string();
                return Some(event);
            }
            let chunk = within("an event or a comment", self.chunk()).await?;
            self.pending += std::str::from_utf8(&chunk).unwrap();
        }
    }

    /// Like [`Connection::event`], but expects a message.
    pub(crate) async fn message(&mut self) -> (String, Value) {
        let event = self.event().await.expect("a message");
        let message = serde_json::from_str(&event.data);
        (
            event.id,
            message.unwrap_or_else(|error| panic!("{error}: {}", event.data)),
        )
    }

    /// Returns true if the server has closed the connection.
    pub(crate) async fn closed(&mut self) -> bool {
        let mut byte = [0; 1];
        !matches!(within("the end", self.socket.read(&mut byte)).await, Ok(1))
    }

    /// Skips a short WebSocket frame.
    pub(crate) async fn skip_frame(&mut self) {
        let frame = async {
            let _kind = self.socket.read_u8().await.unwrap();
            let length = match self.socket.read_u8().await.unwrap() {
                126 => self.socket.read_u16().await.unwrap(),
                short => u16::from(short),
            };
            let mut payload = vec![0; length.into()];
            self.socket.read_exact(&mut payload).await.unwrap();
        };
        within("a frame", frame).await;
    }

    /// Returns true if a WebSocket ends next, with or without a close frame.
    pub(crate) async fn closed_or_closing(&mut self) -> bool {
        let next = within("the end", self.socket.read_u8()).await;
        matches!(next, Ok(0x88) | Err(_))
    }

    async fn read_head(&mut self) -> Head {
        let status = self.line().await;
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let mut headers = Vec::new();
        loop {
            let line = self.line().await;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_string()));
        }
        Head {
            status: status.expect("a status line"),
            headers,
        }
    }

    async fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = usize::from_str_radix(&self.line().await, 16).ok()?;
        let mut chunk = vec![0; size + 2];
        self.socket.read_exact(&mut chunk).await.ok()?;
        chunk.truncate(size);
        (size > 0).then_some(chunk)
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        let _ = self.socket.read_line(&mut line).await;
        line.trim_end().to_string()
    }
}

impl Head {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

impl Reply {
    /// Creates a reply from a head, for a response whose body is not read.
    pub(crate) fn of_head(head: Head) -> Reply {
        Reply {
            status: head.status,
            head,
            body: Vec::new(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.header(name)
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        assert_eq!(
            self.header("content-type"),
            Some("application/json"),
            "{self:?}"
        );
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Returns status, JSON-RPC code, `data.code` and id, which together identify a refusal.
    pub(crate) fn refusal(&self) -> String {
        let json = self.json();
        let error = &json["error"];
        format!(
            "{} {} {} {}",
            self.status, error["code"], error["data"]["code"], json["id"]
        )
    }
}

impl Event {
    fn parse(text: &str) -> Event {
        let mut event = Event::default();
        let mut data = Vec::new();
        for line in text.lines() {
            let Some((name, value)) = line.split_once(':') else {
                continue;
            };
            let value = value.strip_prefix(' ').unwrap_or(value);
            match name {
                "event" => event.kind = value.into(),
                "id" => event.id = value.into(),
                "data" => data.push(value),
                "retry" => event.retry = value.parse().ok(),
                "" => event.comment = true,
                _ => {}
            }
        }
        event.data = data.join("\n");
        event
    }
}
