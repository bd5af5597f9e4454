//! A small MCP server over real sockets. It answers `initialize` itself; the test answers all other
//! requests.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::LIMIT;

/// A request that the server received.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    /// The JSON-RPC message; null if there is none.
    pub body: Value,
}

impl Seen {
    /// Returns the method of the message, or the HTTP method if there is no message.
    pub fn what(&self) -> &str {
        self.body["method"].as_str().unwrap_or(match self.body {
            Value::Null => self.method.as_str(),
            _ => "answer",
        })
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// Returns a successful response to this request.
    pub fn result(&self, result: Value) -> String {
        json!({"jsonrpc": "2.0", "id": self.body["id"], "result": result}).to_string()
    }
}

pub type Reply = Response<BoxBody<Bytes, Infallible>>;

pub struct Server {
    pub address: SocketAddr,
    seen: mpsc::UnboundedReceiver<Seen>,
    accepted: Arc<AtomicU64>,
    task: JoinHandle<()>,
    _port: TcpSocket,
}

impl Server {
    /// Starts a server that handles `initialize` and notifications; `respond` answers all other
    /// requests.
    pub async fn start<F, R>(respond: F) -> Server
    where
        F: Fn(Seen) -> R + Send + Sync + 'static,
        R: Future<Output = Reply> + Send + 'static,
    {
        let sessions = AtomicU64::new(0);
        Server::bare(move |seen| {
            let reply = usual(&seen, &sessions).ok_or_else(|| respond(seen));
            async move {
                match reply {
                    Ok(reply) => reply,
                    Err(reply) => reply.await,
                }
            }
        })
        .await
    }

    /// Starts a server for which `respond` answers all requests.
    pub async fn bare<F, R>(respond: F) -> Server
    where
        F: Fn(Seen) -> R + Send + Sync + 'static,
        R: Future<Output = Reply> + Send + 'static,
    {
        Server::on(listen(), respond)
    }

    /// Like `bare`, at the address of a server that has been stopped.
    pub fn in_place_of<F, R>(other: &Server, respond: F) -> Server
    where
        F: Fn(Seen) -> R + Send + Sync + 'static,
        R: Future<Output = Reply> + Send + 'static,
    {
        Server::on(listen_at(other.address), respond)
    }

    fn on<F, R>((listener, port): (TcpListener, TcpSocket), respond: F) -> Server
    where
        F: Fn(Seen) -> R + Send + Sync + 'static,
        R: Future<Output = Reply> + Send + 'static,
    {
        let address = listener.local_addr().unwrap();
        let (report, seen) = mpsc::unbounded_channel();
        let respond = Arc::new(respond);
        let accepted = Arc::new(AtomicU64::new(0));
        let count = accepted.clone();
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                let (respond, report) = (respond.clone(), report.clone());
                let service = service_fn(move |request| {
                    let (respond, report) = (respond.clone(), report.clone());
                    async move {
                        let seen = see(request).await;
                        let _ = report.send(seen.clone());
                        Ok::<_, Infallible>(respond(seen).await)
                    }
                });
                connections.spawn(
                    hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(socket), service),
                );
            }
        });
        Server {
            address,
            seen,
            accepted,
            task,
            _port: port,
        }
    }

    /// Closes the listener and all connections.
    pub async fn stop(&mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }

    /// Returns the number of accepted connections.
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Waits for the next request of this kind and skips those before it.
    pub async fn saw(&mut self, what: &str) -> Seen {
        loop {
            let seen = timeout(LIMIT, self.seen.recv()).await;
            let seen = seen.expect("a request").expect("the server runs");
            if seen.what() == what {
                return seen;
            }
        }
    }

    /// Returns the kinds of all requests received but not yet consumed.
    pub fn rest(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.seen.try_recv().ok())
            .map(|seen| seen.what().to_owned())
            .collect()
    }
}

async fn see(request: Request<Incoming>) -> Seen {
    let (head, body) = request.into_parts();
    let body = body
        .collect()
        .await
        .map(|body| body.to_bytes())
        .unwrap_or_default();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Seen {
        method: head.method,
        uri: head.uri,
        headers: head.headers,
        body,
    }
}

fn usual(seen: &Seen, sessions: &AtomicU64) -> Option<Reply> {
    match seen.what() {
        "initialize" => {
            let session = sessions.fetch_add(1, Ordering::Relaxed) + 1;
            let mut reply = json_reply(&seen.result(hello("2025-11-25")));
            reply
                .headers_mut()
                .insert("mcp-session-id", format!("s{session}").parse().unwrap());
            Some(reply)
        }
        "GET" => Some(status(405)),
        "DELETE" => Some(status(200)),
        "answer" => Some(status(202)),
        what if what.starts_with("notifications/") => Some(status(202)),
        _ => None,
    }
}

pub fn hello(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}})
}

pub fn status(code: u16) -> Reply {
    reply(code, "", "")
}

pub fn json_reply(body: &str) -> Reply {
    reply(200, "application/json", body)
}

pub fn reply(code: u16, kind: &str, body: &str) -> Reply {
    let mut reply = Response::new(Full::new(Bytes::copy_from_slice(body.as_bytes())).boxed());
    *reply.status_mut() = StatusCode::from_u16(code).unwrap();
    if !kind.is_empty() {
        reply
            .headers_mut()
            .insert("content-type", kind.parse().unwrap());
    }
    reply
}

/// Returns a response whose body is sent by the test, until it drops the sender.
pub fn stream(kind: &str) -> (mpsc::UnboundedSender<String>, Reply) {
    let (sender, receiver) = mpsc::unbounded_channel::<String>();
    let frames = futures_util::stream::unfold(receiver, |mut receiver| async {
        let text = receiver.recv().await?;
        Some((Ok(Frame::data(Bytes::from(text))), receiver))
    });
    let mut reply = Response::new(BodyExt::boxed(StreamBody::new(Box::pin(frames))));
    reply
        .headers_mut()
        .insert("content-type", kind.parse().unwrap());
    (sender, reply)
}

pub fn events() -> (mpsc::UnboundedSender<String>, Reply) {
    stream("text/event-stream")
}

pub fn event(data: &str) -> String {
    format!("event: message\ndata: {data}\n\n")
}

/// Opens a listener, and a second socket that reserves the port: when the listener is closed,
/// connections fail instead of reaching another test's server on the same port.
pub fn listen() -> (TcpListener, TcpSocket) {
    listen_at(([127, 0, 0, 1], 0).into())
}

/// Opens a listener at an address reserved by a socket from [`listen`].
pub fn listen_at(address: SocketAddr) -> (TcpListener, TcpSocket) {
    let bind = |to: SocketAddr| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseport(true).unwrap();
        socket.bind(to).unwrap();
        socket
    };
    let listener = bind(address);
    let port = bind(listener.local_addr().unwrap());
    (listener.listen(1_024).unwrap(), port)
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}
