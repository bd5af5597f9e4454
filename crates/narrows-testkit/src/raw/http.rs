//! A client that speaks HTTP/1.1 over one connection, written by hand so that
//! it can say what no library would.

use std::fmt::Write;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::LIMIT;

/// One connection, kept alive from request to request.
#[derive(Debug)]
pub struct Http {
    stream: BufReader<TcpStream>,
    host: String,
}

#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    /// Names in small letters, in the order they came.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// An answer that is an event stream, read event by event.
#[derive(Debug)]
pub struct Events {
    /// Without a body.
    pub head: Response,
    stream: BufReader<TcpStream>,
    length: Length,
    /// Read, and not yet a whole line.
    begun: Vec<u8>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    pub event: Option<String>,
    pub id: Option<String>,
    pub retry: Option<u64>,
    pub data: String,
}

/// How much of a body is to come.
#[derive(Debug, Clone, Copy)]
enum Length {
    Bytes(usize),
    Chunks,
    ToTheEnd,
}

impl Http {
    /// Connects to `host:port`.
    pub async fn connect(address: &str) -> Http {
        let stream = limited("connecting", TcpStream::connect(address)).await;
        let stream = stream.unwrap_or_else(|error| panic!("no connection to {address}: {error}"));
        Http {
            stream: BufReader::new(stream),
            host: address.to_owned(),
        }
    }

    pub async fn get(&mut self, path: &str, headers: &[(&str, &str)]) -> Response {
        self.request("GET", path, headers, b"").await
    }

    pub async fn delete(&mut self, path: &str, headers: &[(&str, &str)]) -> Response {
        self.request("DELETE", path, headers, b"").await
    }

    pub async fn post(
        &mut self,
        path: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> Response {
        self.request("POST", path, headers, body.as_ref()).await
    }

    /// Posts one MCP message with the headers that MCP wants, and those given.
    pub async fn post_mcp(
        &mut self,
        path: &str,
        headers: &[(&str, &str)],
        message: &Value,
    ) -> Response {
        let headers = [MCP_HEADERS, headers].concat();
        self.post(path, &headers, message.to_string()).await
    }

    /// Opens a session; gives its id, if there is one, and the result.
    pub async fn initialize(
        &mut self,
        path: &str,
        revision: &str,
        capabilities: Value,
    ) -> (Option<String>, Value) {
        let client = json!({ "name": "raw-client", "version": "1.0.0" });
        let params = json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": client });
        let message =
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let response = self.post_mcp(path, &[], &message).await;
        let session = response.header("mcp-session-id").map(Into::into);
        let result = response.message()["result"].take();
        assert!(result.is_object(), "initialize was refused: {response:?}");
        let mut headers = vec![("mcp-protocol-version", revision)];
        headers.extend(session.as_deref().map(|id| ("mcp-session-id", id)));
        let done = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let accepted = self.post_mcp(path, &headers, &done).await;
        assert_eq!(accepted.status, 202, "{accepted:?}");
        (session, result)
    }

    pub async fn request(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        self.send(method, path, headers, body).await;
        self.read_response().await
    }

    /// Sends a request and leaves its answer to be read as events.
    pub async fn open(
        mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Events {
        self.send(method, path, headers, body).await;
        let (head, length) = self.read_head().await;
        Events {
            head,
            stream: self.stream,
            length,
            begun: Vec::new(),
        }
    }

    /// `Host` and `Content-Length` are added unless given.
    pub async fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) {
        let given = |wanted: &str| {
            headers
                .iter()
                .any(|(name, _)| name.eq_ignore_ascii_case(wanted))
        };
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !given("host") {
            let _ = write!(head, "host: {}\r\n", self.host);
        }
        if !given("content-length") && (!body.is_empty() || method == "POST") {
            let _ = write!(head, "content-length: {}\r\n", body.len());
        }
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head.push_str("\r\n");
        self.send_bytes(&[head.as_bytes(), body].concat()).await;
    }

    /// Sends bytes as they are.
    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        limited("sending", self.stream.get_mut().write_all(bytes))
            .await
            .expect("the server reads");
    }

    pub async fn read_response(&mut self) -> Response {
        let (mut response, length) = self.read_head().await;
        response.body = limited("the body", read_body(&mut self.stream, length)).await;
        response
    }

    async fn read_head(&mut self) -> (Response, Length) {
        limited("the answer", read_head(&mut self.stream)).await
    }
}

/// What every POST to an MCP endpoint carries.
pub const MCP_HEADERS: &[(&str, &str)] = &[
    ("content-type", "application/json"),
    ("accept", "application/json, text/event-stream"),
];

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {self:?}"))
    }

    /// The events of a body that is an event stream and has ended.
    pub fn events(&self) -> Vec<Event> {
        let text = self.text();
        text.split("\n\n")
            .filter(|block| !block.trim().is_empty())
            .map(Event::parse)
            .collect()
    }

    /// The last message, be the body JSON or an event stream: the answer to a request.
    pub fn message(&self) -> Value {
        if self
            .header("content-type")
            .is_some_and(|kind| kind.starts_with("text/event-stream"))
        {
            let events = self.events();
            let last = events.iter().rfind(|event| !event.data.is_empty());
            return last.unwrap_or_else(|| panic!("no event: {self:?}")).json();
        }
        self.json()
    }
}

impl Events {
    /// The next event; `None` at the end. Comments are passed over.
    pub async fn next(&mut self) -> Option<Event> {
        // The limit is for all of it: signs of life come for ever.
        limited("an event", async {
            loop {
                let event = Event::parse(&self.block().await?);
                if event != Event::default() {
                    return Some(event);
                }
            }
        })
        .await
    }

    /// The next event that carries a message.
    pub async fn message(&mut self) -> Value {
        loop {
            let event = self.next().await.expect("the stream goes on");
            if !event.data.is_empty() {
                return event.json();
            }
        }
    }

    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.begun.windows(2).position(|pair| pair == b"\n\n") {
                let block = self.begun.drain(..end + 2).collect::<Vec<u8>>();
                return Some(String::from_utf8(block).expect("events are text"));
            }
            let more = read_piece(&mut self.stream, &mut self.length).await?;
            self.begun
                .extend(more.into_iter().filter(|byte| *byte != b'\r'));
        }
    }
}

impl Event {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {self:?}"))
    }

    fn parse(block: &str) -> Event {
        let mut event = Event::default();
        let mut data = Vec::new();
        for line in block.lines() {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match name {
                "event" => event.event = Some(value.to_owned()),
                "id" => event.id = Some(value.to_owned()),
                "retry" => event.retry = value.parse().ok(),
                "data" => data.push(value),
                _ => {}
            }
        }
        event.data = data.join("\n");
        event
    }
}

async fn read_head(stream: &mut BufReader<TcpStream>) -> (Response, Length) {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        let count = stream
            .read_line(&mut line)
            .await
            .expect("the connection holds");
        assert!(
            count > 0,
            "the connection ended before the answer; so far: {lines:?}"
        );
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let status = lines
        .first()
        .and_then(|line| line.split(' ').nth(1))
        .and_then(|status| status.parse().ok());
    let split = |line: &String| {
        let (name, value) = line.split_once(':').expect("a header has a colon");
        (name.to_ascii_lowercase(), value.trim().to_owned())
    };
    let headers = lines.iter().skip(1).map(split).collect();
    let response = Response {
        status: status.expect("a status line"),
        headers,
        body: Vec::new(),
    };
    let length = match (
        response.header("transfer-encoding"),
        response.header("content-length"),
    ) {
        (Some("chunked"), _) => Length::Chunks,
        (_, Some(length)) => Length::Bytes(length.parse().expect("a length")),
        _ if response.status == 204 || response.status == 304 => Length::Bytes(0),
        _ => Length::ToTheEnd,
    };
    (response, length)
}

async fn read_body(stream: &mut BufReader<TcpStream>, mut length: Length) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(piece) = read_piece(stream, &mut length).await {
        body.extend(piece);
    }
    body
}

/// Some more of the body; `None` at its end. A connection that breaks ends it too.
async fn read_piece(stream: &mut BufReader<TcpStream>, length: &mut Length) -> Option<Vec<u8>> {
    let wanted = match length {
        Length::Bytes(0) => return None,
        Length::Bytes(left) => (*left).min(64 * 1024),
        Length::ToTheEnd => 64 * 1024,
        Length::Chunks => {
            let mut line = String::new();
            stream
                .read_line(&mut line)
                .await
                .ok()
                .filter(|count| *count > 0)?;
            let size = line.trim().split(';').next().unwrap_or_default();
            let size = usize::from_str_radix(size, 16).expect("a chunk's size");
            let mut chunk = vec![0; size + 2];
            stream.read_exact(&mut chunk).await.ok()?;
            chunk.truncate(size);
            if size == 0 {
                *length = Length::Bytes(0);
                return None;
            }
            return Some(chunk);
        }
    };
    let mut piece = vec![0; wanted];
    let count = stream
        .read(&mut piece)
        .await
        .ok()
        .filter(|count| *count > 0)?;
    piece.truncate(count);
    if let Length::Bytes(left) = length {
        *left -= count;
    }
    Some(piece)
}

async fn limited<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(LIMIT, future)
        .await
        .unwrap_or_else(|_| panic!("{what}: nothing within {LIMIT:?}"))
}
