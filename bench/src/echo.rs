//! An MCP server with a very low cost of its own, so that a run measures the gateway in front of
//! it. Over the network it serves all transports at once.

mod parts;
mod server;
mod sse;
mod stdio;
mod ws;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;

use http_body_util::{BodyExt, Either};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use self::parts::Parts;
use self::server::{Handled, Server};
use self::sse::{SseEvents, Streams};
use crate::Fault;
use crate::listen::serve;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Serve the tools `echo`, `blob` and, with --results, `result`
///
/// With --listen: Streamable HTTP at /mcp, HTTP+SSE at /sse, WebSocket at /ws, plain JSON-RPC at
/// /rpc.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Listen on this network address
    #[arg(long, required_unless_present = "stdio", conflicts_with = "stdio")]
    listen: Option<SocketAddr>,
    /// Serve stdin and stdout, one message per line
    #[arg(long)]
    stdio: bool,
    /// Offer this many additional tools, which do nothing
    #[arg(long, default_value_t = 0)]
    tools: usize,
    /// Folder of tool results, as NAME.json; `result` returns them by name
    #[arg(long)]
    results: Option<PathBuf>,
}

/// The transport to serve.
pub(crate) enum ClientSource {
    Stdio(Offer),
    Listen(SocketAddr, Offer),
}

/// The tools offered besides `echo` and `blob`.
pub(crate) struct Offer {
    tools: usize,
    results: Option<PathBuf>,
}

impl Args {
    pub(crate) fn way(self) -> ClientSource {
        let offer = Offer {
            tools: self.tools,
            results: self.results,
        };
        match self.listen {
            Some(address) => ClientSource::Listen(address, offer),
            None => ClientSource::Stdio(offer),
        }
    }
}

pub(crate) fn over_stdio(offer: Offer) -> Result<(), Fault> {
    stdio::run(&Server::new(offer.tools, offer.results))
}

pub(crate) async fn over_network(address: SocketAddr, offer: Offer) -> Result<(), Fault> {
    let service_state = Rc::new(EchoService {
        server: Rc::new(Server::new(offer.tools, offer.results)),
        streams: Rc::new(Streams::default()),
    });
    serve(address, move |socket| {
        connection(service_state.clone(), socket)
    })
    .await
}

struct EchoService {
    server: Rc<Server>,
    streams: Rc<Streams>,
}

type Answer = Response<Either<Parts, SseEvents>>;

async fn connection(service_state: Rc<EchoService>, socket: TcpStream) {
    let service = service_fn(|request| async {
        let answer = respond(&service_state, request).await;
        Ok::<_, Infallible>(answer.unwrap_or_else(|_| status(StatusCode::BAD_REQUEST)))
    });
    // A client that disconnects is not an error.
    let _ = Builder::new()
        .serve_connection(TokioIo::new(socket), service)
        .with_upgrades()
        .await;
}

async fn respond(service_state: &EchoService, request: Request<Incoming>) -> Result<Answer, Fault> {
    match (request.method(), request.uri().path()) {
        (&Method::POST, "/mcp") => streamable(&service_state.server, request).await,
        (&Method::DELETE, "/mcp") => Ok(end_session(&service_state.server, &request)),
        (&Method::POST, "/rpc") => {
            let message = request.into_body().collect().await?.to_bytes();
            Ok(match service_state.server.handle(&message) {
                Handled::Nothing => status(StatusCode::NO_CONTENT),
                Handled::Welcome(text) | Handled::Answer(text) => json(text),
                Handled::Stored(parts) => json(parts),
            })
        }
        (&Method::GET, "/sse") => Ok(service_state.streams.open().map(Either::Right)),
        (&Method::POST, "/messages") => posted(service_state, request).await,
        (&Method::GET, "/ws") => {
            let answer = ws::upgrade(service_state.server.clone(), request)?;
            Ok(answer.map(|()| Either::Left(Parts::default())))
        }
        (_, "/mcp") => Ok(not_allowed("POST, DELETE")),
        (_, "/rpc" | "/messages") => Ok(not_allowed("POST")),
        (_, "/sse" | "/ws") => Ok(not_allowed("GET")),
        _ => Ok(status(StatusCode::NOT_FOUND)),
    }
}

async fn streamable(server: &Server, request: Request<Incoming>) -> Result<Answer, Fault> {
    // Clients send no session id before `initialize`, or if they need no session.
    if let Some(session) = request.headers().get(SESSION)
        && !server.has_session(session.as_bytes())
    {
        return Ok(status(StatusCode::NOT_FOUND));
    }
    let message = request.into_body().collect().await?.to_bytes();
    Ok(match server.handle(&message) {
        Handled::Nothing => status(StatusCode::ACCEPTED),
        Handled::Answer(text) => json(text),
        Handled::Stored(parts) => json(parts),
        Handled::Welcome(text) => {
            let id = HeaderValue::try_from(server.open_session())?;
            let mut answer = json(text);
            answer.headers_mut().insert(SESSION, id);
            answer
        }
    })
}

fn end_session(server: &Server, request: &Request<Incoming>) -> Answer {
    let session = request.headers().get(SESSION);
    match session.is_some_and(|id| server.end_session(id.as_bytes())) {
        true => status(StatusCode::NO_CONTENT),
        false => status(StatusCode::NOT_FOUND),
    }
}

async fn posted(service_state: &EchoService, request: Request<Incoming>) -> Result<Answer, Fault> {
    let Some(stream) = service_state.streams.find(request.uri().query()) else {
        return Ok(status(StatusCode::NOT_FOUND));
    };
    let message = request.into_body().collect().await?.to_bytes();
    if let Some(text) = service_state.server.handle(&message).text() {
        // Fails if the client has closed the stream and no longer needs the answer.
        let _ = stream.send(text);
    }
    Ok(status(StatusCode::ACCEPTED))
}

fn json(body: impl Into<Parts>) -> Answer {
    let mut answer = Response::new(Either::Left(body.into()));
    answer.headers_mut().insert(CONTENT_TYPE, JSON);
    answer
}

fn status(code: StatusCode) -> Answer {
    let mut answer = Response::new(Either::Left(Parts::default()));
    *answer.status_mut() = code;
    answer
}

fn not_allowed(allow: &'static str) -> Answer {
    let mut answer = status(StatusCode::METHOD_NOT_ALLOWED);
    let allow = HeaderValue::from_static(allow);
    answer.headers_mut().insert(ALLOW, allow);
    answer
}
