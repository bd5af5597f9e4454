//! An HTTP+SSE server that parses requests itself. The test controls every byte that it sends.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use crate::settings::{RemoteProtocol, RemoteSettings};
use crate::testing::{listen, server::hello, soon};

pub(super) const ACCEPTED: &str = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";

pub(super) struct SseTestServer {
    pub(super) address: SocketAddr,
    requests: mpsc::UnboundedReceiver<Request>,
    task: AbortOnDropHandle<()>,
    _port: TcpSocket,
}

/// A request that waits for the test to respond.
pub(super) struct Request {
    /// Method and target.
    pub(super) line: String,
    /// The headers, with names in lower case.
    headers: Vec<(String, String)>,
    /// The message, or null if there is none.
    pub(super) body: Value,
    socket: Socket,
    /// Receives the connection to read its next request.
    back: mpsc::UnboundedSender<Socket>,
}

type Socket = BufReader<TcpStream>;

impl SseTestServer {
    pub(super) async fn start() -> SseTestServer {
        let (listener, port) = listen();
        let address = listener.local_addr().unwrap();
        let (report, requests) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let (back, mut again) = mpsc::unbounded_channel();
            let mut readers = JoinSet::new();
            loop {
                let socket = tokio::select! {
                    accepted = listener.accept() => BufReader::new(accepted.unwrap().0),
                    Some(socket) = again.recv() => socket,
                };
                socket.get_ref().set_nodelay(true).unwrap();
                let (report, back) = (report.clone(), back.clone());
                readers.spawn(async move {
                    if let Some(request) = read(socket, back).await {
                        let _ = report.send(request);
                    }
                });
            }
        });
        SseTestServer {
            address,
            requests,
            task: AbortOnDropHandle::new(task),
            _port: port,
        }
    }

    pub(super) fn settings(&self) -> RemoteSettings {
        RemoteSettings {
            protocol: RemoteProtocol::Sse,
            url: format!("http://{}/sse", self.address).parse().unwrap(),
            headers: Vec::new(),
        }
    }

    /// Closes the port and all connections that the test does not hold.
    pub(super) async fn stop(&mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }

    /// Returns the next request.
    pub(super) async fn next(&mut self) -> Request {
        self.requests.recv().await.expect("the server runs")
    }

    /// Returns the next request, which must be `what`.
    pub(super) async fn saw(&mut self, what: &str) -> Request {
        let request = soon(self.next()).await;
        assert_eq!(request.what(), what, "{}", request.line);
        request
    }

    /// Opens the stream, sends the endpoint event and responds to `initialize`.
    pub(super) async fn greet(&mut self) -> SseStream {
        let mut stream = self.saw("GET").await.stream().await;
        stream.endpoint("/messages?s=session-1").await;
        let asked = self.saw("initialize").await;
        stream.answer(&asked, hello("2024-11-05")).await;
        asked.accept().await;
        stream
    }

    /// Replaces the address, which differs in every run.
    pub(super) fn hide(&self, text: &str) -> String {
        text.replace(&self.address.to_string(), "HOST")
    }
}

impl Request {
    /// Returns the method of the message, or the HTTP method if there is no message.
    pub(super) fn what(&self) -> &str {
        let http = || self.line.split(' ').next().unwrap();
        match self.body {
            Value::Null => http(),
            _ => self.body["method"].as_str().unwrap_or("answer"),
        }
    }

    /// Returns all values of a header, joined.
    pub(super) fn header(&self, name: &str) -> String {
        let values = self.headers.iter().filter(|(own, _)| own == name);
        let values: Vec<&str> = values.map(|(_, value)| value.as_str()).collect();
        values.join(" | ")
    }

    /// Sends the response and reads the next request on the connection.
    pub(super) async fn respond(mut self, answer: &str) {
        let written = self.socket.get_mut().write_all(answer.as_bytes()).await;
        written.unwrap();
        let _ = self.back.send(self.socket);
    }

    /// Sends the response and closes the connection.
    pub(super) async fn respond_and_close(mut self, answer: &str) {
        let written = self.socket.get_mut().write_all(answer.as_bytes()).await;
        written.unwrap();
    }

    /// Waits until the client has closed the connection.
    pub(super) async fn wait_closed(&mut self) {
        let read = self.socket.read(&mut [0; 16]).await;
        assert!(matches!(read, Ok(0) | Err(_)), "no more is sent over it");
    }

    pub(super) async fn accept(self) {
        self.respond(ACCEPTED).await;
    }

    /// Responds with an event stream.
    pub(super) async fn stream(mut self) -> SseStream {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n";
        let socket = self.socket.get_mut();
        socket.write_all(head.as_bytes()).await.unwrap();
        SseStream(self.socket)
    }
}

/// An event stream. Dropping it breaks the connection.
pub(super) struct SseStream(Socket);

impl SseStream {
    /// Sends these bytes as one HTTP chunk.
    pub(super) async fn send(&mut self, bytes: &[u8]) {
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.0.get_mut().write_all(&chunk).await.unwrap();
    }

    pub(super) async fn endpoint(&mut self, reference: &str) {
        let event = format!("event: endpoint\ndata: {reference}\n\n");
        self.send(event.as_bytes()).await;
    }

    pub(super) async fn message(&mut self, message: &Value) {
        let event = format!("event: message\ndata: {message}\n\n");
        self.send(event.as_bytes()).await;
    }

    pub(super) async fn answer(&mut self, request: &Request, result: Value) {
        let id = &request.body["id"];
        self.message(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
            .await;
    }

    /// Ends the stream properly.
    pub(super) async fn end(mut self) {
        self.0.get_mut().write_all(b"0\r\n\r\n").await.unwrap();
    }

    /// Waits until the client has closed the connection.
    pub(super) async fn closed(&mut self) {
        let read = soon(self.0.read(&mut [0; 16])).await;
        assert!(matches!(read, Ok(0) | Err(_)), "no more is sent over it");
    }
}

async fn read(mut socket: Socket, back: mpsc::UnboundedSender<Socket>) -> Option<Request> {
    let mut line = String::new();
    let mut headers = Vec::new();
    while line.is_empty() {
        if socket.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
    }
    loop {
        let mut header = String::new();
        socket.read_line(&mut header).await.ok()?;
        let Some((name, value)) = header.trim().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.ok()?;
    let line = line.trim().trim_end_matches(" HTTP/1.1").to_owned();
    Some(Request {
        line,
        headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
        socket,
        back,
    })
}
