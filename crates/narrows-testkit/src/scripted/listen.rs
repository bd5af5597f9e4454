//! The scripted server on a port: who comes by which path is spoken to in which
//! transport. All of them share one server, so a test may mix them.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::server::{Output, Server};
use super::{http as streamable, rpc, sse, websocket};

pub(super) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// An error breaks the connection.
pub(super) type Answer = Result<Response<Body>, io::Error>;

/// What all connections share.
pub(super) struct Listening {
    pub(super) server: Arc<Server>,
    pub(super) address: SocketAddr,
    pub(super) general: streamable::General,
    pub(super) streams: sse::Streams,
    /// What the script says at the start.
    pub(super) greeting: Vec<Output>,
}

/// Prints the address and serves until stdin ends, which it does with the test.
pub(super) async fn serve(server: Arc<Server>) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    println!("{address}");
    let (out, mut outputs) = mpsc::unbounded_channel();
    server.start(&out).await;
    let greeting: Vec<Output> = std::iter::from_fn(|| outputs.try_recv().ok()).collect();
    let at = Arc::new(Listening {
        server,
        address,
        general: streamable::General::holding(&greeting),
        streams: sse::Streams::default(),
        greeting,
    });
    tokio::spawn(async move {
        let _ = tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await;
        std::process::exit(0);
    });
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (at, connection) = (at.clone(), Connection::default());
        tokio::spawn(async move {
            let wire = Wire {
                stream,
                connection: connection.clone(),
            };
            let service = service_fn(|request| answer(at.clone(), connection.clone(), request));
            let served = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(wire), service)
                .with_upgrades();
            // It fails when the script or the client breaks it.
            let _ = served.await;
        });
    }
}

async fn answer(
    at: Arc<Listening>,
    connection: Connection,
    mut request: Request<Incoming>,
) -> Answer {
    let upgrade = hyper::upgrade::on(&mut request);
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let text = String::from_utf8_lossy(&body).into_owned();
    at.server.record(&recorded(&head, &text));
    let script = &at.server.script;
    if let Some((name, value)) = &script.http.required_header
        && header(&head, name) != Some(value)
    {
        return Ok(plain(StatusCode::UNAUTHORIZED, "sign in first"));
    }
    match (head.uri.path(), &head.method) {
        ("/mcp", method) => match script.sse.at_mcp {
            None => streamable::answer(&at, connection, &head, &text).await,
            Some(_) if method == Method::GET => Ok(sse::open(&at, connection)),
            Some(refusal) => Ok(status(refusal, Vec::new(), String::new())),
        },
        ("/sse", &Method::GET) => Ok(sse::open(&at, connection)),
        ("/messages", &Method::POST) => Ok(sse::post(&at, &head, &text).await),
        ("/ws", &Method::GET) => Ok(websocket::accept(at.clone(), &connection, &head, upgrade)),
        ("/rpc", &Method::POST) => rpc::post(&at.server, &text).await,
        ("/sse" | "/messages" | "/ws" | "/rpc", _) => Ok(plain(StatusCode::METHOD_NOT_ALLOWED, "")),
        _ => Ok(plain(StatusCode::NOT_FOUND, "")),
    }
}

fn recorded(head: &Parts, body: &str) -> String {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = head.headers.iter();
    let headers: Map<String, Value> = headers
        .map(|(name, value)| (name.to_string(), text(value).into()))
        .collect();
    let mut record = json!({ "method": head.method.as_str(), "path": head.uri.path(), "headers": headers, "body": body });
    if let Some(query) = head.uri.query() {
        record["query"] = query.into();
    }
    record.to_string()
}

/// The error of a connection that is broken because the script says so.
pub(super) fn hung_up() -> io::Error {
    io::Error::other("as the script says")
}

pub(super) fn header<'a>(head: &'a Parts, name: &str) -> Option<&'a str> {
    head.headers.get(name).and_then(|value| value.to_str().ok())
}

/// As a [`Step::Status`](super::Step::Status) says.
pub(super) fn status(code: u16, headers: Vec<(String, String)>, body: String) -> Response<Body> {
    let code = StatusCode::from_u16(code).expect("the script gives a status that there is");
    let mut response = plain(code, &body);
    for (name, value) in headers {
        let name = http::HeaderName::try_from(name).expect("the script gives a header's name");
        let value = value.parse().expect("the script gives a header's value");
        response.headers_mut().insert(name, value);
    }
    response
}

pub(super) fn plain(status: StatusCode, text: &str) -> Response<Body> {
    whole(status, "text/plain", text.to_owned())
}

pub(super) fn whole(status: StatusCode, kind: &str, text: String) -> Response<Body> {
    let body = Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {});
    response(status, kind, body.boxed_unsync())
}

pub(super) fn response(status: StatusCode, kind: &str, body: Body) -> Response<Body> {
    let response = Response::builder()
        .status(status)
        .header("content-type", kind)
        .body(body);
    response.expect("a status and a plain header")
}

/// What may be done to the connection that a request came on.
#[derive(Debug, Clone, Default)]
pub(super) struct Connection(Arc<Behaviour>);

#[derive(Debug, Default)]
struct Behaviour {
    piece: AtomicUsize,
    broken: AtomicBool,
}

impl Connection {
    /// Writes so many bytes at a time from now on; 0: all at once.
    pub(super) fn write_in_pieces_of(&self, size: usize) {
        self.0.piece.store(size, Ordering::Relaxed);
    }

    /// Breaks it off as soon as all that was said is written.
    pub(super) fn break_off(&self) {
        self.0.broken.store(true, Ordering::Relaxed);
    }
}

/// The stream of a connection. It does its part below any framing, so that cuts
/// fall where no library would make them.
struct Wire {
    stream: TcpStream,
    connection: Connection,
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let bytes = match self.connection.0.piece.load(Ordering::Relaxed) {
            0 => bytes,
            size => &bytes[..size.min(bytes.len())],
        };
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    /// Called when all is written, by hyper as by ourselves.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.connection.0.broken.load(Ordering::Relaxed) {
            return Poll::Ready(Err(hung_up()));
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
