//! An HTTP/1.1 client on one connection, written by hand so that tests can send requests that a
//! library would not.

use std::fmt::Write;

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::events::Events;
use super::limited;
use super::response::{Length, Response, read_body, read_head};

/// A connection that is kept alive between requests.
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
        // Small writes must be sent at once and separately.
        stream.set_nodelay(true).expect("a TCP socket");
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

    /// Posts an MCP message with the required headers and the given ones.
    pub async fn post_mcp(
        &mut self,
        path: &str,
        headers: &[(&str, &str)],
        message: &Value,
    ) -> Response {
        let headers = [MCP_HEADERS, headers].concat();
        self.post(path, &headers, message.to_string()).await
    }

    /// Opens a session, and returns its id, if any, and the result.
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

    /// Sends a request whose response is read as events.
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

    /// Reads the response as events, without a time limit for its start.
    pub(super) async fn into_events(mut self) -> Result<Events, String> {
        let (head, length) = read_head(&mut self.stream).await?;
        Ok(Events::new(head, self.stream, length))
    }

    /// Sends a request. Adds `Host` and `Content-Length` unless given.
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

    /// Sends bytes unchanged.
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

    /// Reads the response to an upgrade request, and returns the stream if the upgrade succeeded.
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

/// The headers of every POST to an MCP endpoint.
pub const MCP_HEADERS: &[(&str, &str)] = &[
    ("content-type", "application/json"),
    ("accept", "application/json, text/event-stream"),
];
