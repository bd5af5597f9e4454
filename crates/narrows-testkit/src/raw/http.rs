//! A client that speaks HTTP/1.1 over one connection, written by hand so that
//! it can say what no library would.

use std::fmt::Write;

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::events::Events;
use super::limited;
use super::response::{Length, Response, read_body, read_head};

/// One connection, kept alive from request to request.
#[derive(Debug)]
pub struct Http {
    stream: BufReader<TcpStream>,
    host: String,
}

impl Http {
    /// Connects to `host:port`.
    pub async fn connect(address: &str) -> Http {
        let stream = limited("connecting", TcpStream::connect(address)).await;
        let stream = stream.unwrap_or_else(|error| panic!("no connection to {address}: {error}"));
        // What is sent in small pieces is to go out in them, and at once.
        stream.set_nodelay(true).expect("it is a socket of TCP");
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
        let events = limited("the answer", self.into_events()).await;
        events.unwrap_or_else(|why| panic!("{why}"))
    }

    /// Leaves the answer to be read as events, however long it takes to begin.
    pub(super) async fn into_events(mut self) -> Result<Events, String> {
        let (head, length) = read_head(&mut self.stream).await?;
        Ok(Events::new(head, self.stream, length))
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

    /// Reads the answer to a request for another protocol, which is then spoken
    /// on the stream unless it was refused.
    pub(super) async fn into_upgraded(
        mut self,
    ) -> Result<(Response, BufReader<TcpStream>), Response> {
        let (mut response, length) = self.read_head().await;
        if response.status == 101 {
            return Ok((response, self.stream));
        }
        response.body = limited("the body", read_body(&mut self.stream, length)).await;
        Err(response)
    }

    async fn read_head(&mut self) -> (Response, Length) {
        let head = limited("the answer", read_head(&mut self.stream)).await;
        head.unwrap_or_else(|why| panic!("{why}"))
    }
}

/// What every POST to an MCP endpoint carries.
pub const MCP_HEADERS: &[(&str, &str)] = &[
    ("content-type", "application/json"),
    ("accept", "application/json, text/event-stream"),
];
