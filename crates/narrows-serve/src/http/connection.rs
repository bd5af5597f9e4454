//! One connection: from its bytes to one of the ways in, and back.
//!
//! A request passes the guard, then its path decides. MCP requests do not take
//! the router, because they are the ones that must be cheap.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::header::CONNECTION;
use http::request::Parts;
use http::{Method, Request, Response};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use narrows_gateway::Principal;
use narrows_gateway::meter::RefusedFor;
use narrows_upstream::memory::{ClientMemory, MemoryShare};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::body::Body;
use super::current::Current;
use super::entry::RequestOrigin;
use super::head::Head;
use super::occupancy::Place;
use super::pages::{Pages, Reader};
use super::poll_when_woken::PollWhenWoken;
use super::socket::Socket;
use super::target::Way;
use super::{Edge, admin, answer, entry, forward, guard, mcp, rpc, sse, ws};
use crate::error::{ForwardRefusal, Refused};

/// Bodies up to here are taken over by the system at once.
const SHORT: u64 = 64 * 1024;

/// Time for the rest of a request's head when the gateway shuts down.
const PART_OF_HEAD: Duration = Duration::from_millis(100);

/// Longer heads are answered 431.
const MAX_HEADER_BYTES: usize = 16 * 1024;

pub(super) struct Connection {
    edge: Arc<Edge>,
    pages: Pages,
    /// Who is at the other end.
    peer: SocketAddr,
    current: Arc<Current>,
    place: Place,
    /// The memory shares of requests without a session or token.
    memory: OnceLock<ClientMemory>,
}

/// The reason for which the gateway closes a connection.
enum CloseReason {
    /// Another connection needs its place.
    PlaceNeeded,
    Shutdown,
}

impl Connection {
    pub(super) fn new(
        edge: Arc<Edge>,
        pages: Pages,
        peer: SocketAddr,
        place: Place,
    ) -> Arc<Connection> {
        let current = Arc::new(Current::new(edge.readers.clone()));
        Arc::new(Connection {
            edge,
            pages,
            peer,
            current,
            place,
            memory: OnceLock::new(),
        })
    }

    /// Until either side closes it, it has to give way to another one, or
    /// `stop` and the end of the answer in flight.
    pub(super) async fn serve(self: Arc<Self>, socket: TcpStream, stop: CancellationToken) {
        // Answers are written whole; waiting for more to send only delays them.
        let _ = socket.set_nodelay(true);
        let settings = &self.edge.settings;
        let header_timeout = settings.header_timeout;
        let socket = Socket::new(socket, settings.write_timeout, self.current.clone());
        let own = self.clone();
        let service = service_fn(move |request| {
            let connection = own.clone();
            async move {
                connection.place.begin();
                let answer = connection.respond(request).await;
                // A long body may take its time; a stream lasts.
                let length = answer.body().size_hint().exact();
                if length.is_some_and(|length| length <= SHORT) {
                    connection.place.rest();
                }
                Ok::<_, Infallible>(answer)
            }
        });
        let connection = http1::Builder::new()
            .timer(self.edge.header_timers.clone())
            .header_read_timeout(header_timeout)
            .max_header_size(MAX_HEADER_BYTES)
            .serve_connection(socket, service)
            .with_upgrades();
        let mut connection = std::pin::pin!(connection);
        let close_reason = std::pin::pin!(async {
            tokio::select! {
                () = self.place.gives_way() => CloseReason::PlaceNeeded,
                () = stop.cancelled() => CloseReason::Shutdown,
            }
        });
        let ended = tokio::select! {
            biased;
            ended = connection.as_mut() => ended,
            reason = PollWhenWoken::new(close_reason) => match reason {
                CloseReason::PlaceNeeded if !self.place.is_busy() => return,
                CloseReason::PlaceNeeded => {
                    // Its next request came at the same moment, and is answered.
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
                CloseReason::Shutdown => {
                    connection.as_mut().graceful_shutdown();
                    match self.place.is_busy() {
                        true => connection.await,
                        // It may hold a part of a head, for which hyper would wait.
                        false => timeout(PART_OF_HEAD, connection).await.unwrap_or(Ok(())),
                    }
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "connection ended");
        }
    }

    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        let edge = &*self.edge;
        let (mut parts, body) = request.into_parts();
        let mut headers = std::mem::take(&mut parts.headers);
        let path = parts.uri.path_and_query().cloned();
        let way = path.as_ref().and_then(|path| Way::parse(path.path()));
        let head = Head::read(&headers);
        let is_admin = way.is_none() && admin::is_meant(edge, parts.uri.path());
        if let Err(refused) = self.check(&parts, &head) {
            return match way {
                Some(_) => answer::refused(None, &refused),
                None if is_admin => admin::refused(refused),
                None => answer::refused_page(&refused),
            };
        }
        let origin = head.origin.cloned();
        let entered = match &way {
            // Sessions that exist go on until their calls have ended.
            Some(way) if !way.is_of_session() && edge.gateway.is_draining() => {
                Err(Refused::ShuttingDown)
            }
            Some(way) => entry::enter(edge, way, &parts.method, &head, self.peer.ip()).await,
            None => Ok(Principal::Anonymous),
        };
        let mut answer = match (way, entered) {
            (Some(way), Err(refused)) => refuse(&way, refused),
            (Some(Way::Mcp(target)), Ok(principal)) => {
                match mcp::enter(edge, &target, principal, &parts.method, &head) {
                    mcp::Entered::Answer(answer) => answer,
                    mcp::Entered::Post(entry) => {
                        headers.clear();
                        let own = |principal: &Principal| self.memory(principal);
                        mcp::post(edge, &target, entry, own, body, headers).await
                    }
                }
            }
            (Some(Way::Sse(target)), Ok(principal)) => {
                let memory = self.memory(&principal);
                sse::open(&self.edge, target, principal, memory, &parts.method, &head)
            }
            (Some(Way::Messages), Ok(principal)) => {
                match sse::enter(edge, &principal, &parts, &head) {
                    Ok(found) => sse::post(edge, found, body).await,
                    Err(answer) => answer,
                }
            }
            (Some(Way::WebSocket(target)), Ok(principal)) => {
                parts.headers = headers;
                let memory = self.memory(&principal);
                self.current.hold(Some(&memory.responses));
                ws::open(&self.edge, target, principal, memory, parts, &body)
            }
            // Boxed, like pages: their futures would make everybody's larger.
            (Some(Way::Rpc), Ok(principal)) => match rpc::enter(&parts.method, &head) {
                Some(answer) => answer,
                None => {
                    let memory = self.memory(&principal);
                    Box::pin(rpc::post(edge, &principal, body, &memory)).await
                }
            },
            (Some(Way::Forward(server)), Ok(principal)) => {
                match forward::enter(&server, &parts.method, &head) {
                    Some(answer) => answer,
                    None => {
                        let memory = self.memory(&principal);
                        let passed_on = |marks| edge.gateway.passed_on(marks).ok_or(Refused::Loop);
                        match head.mark.map(passed_on).transpose() {
                            Ok(marks) => {
                                let from = (principal, marks);
                                let posted = forward::post(edge, from, &server, body, &memory);
                                Box::pin(posted).await
                            }
                            Err(refused) => {
                                forward::refused(&server, None, &ForwardRefusal::Edge(refused))
                            }
                        }
                    }
                }
            }
            (None, _) if parts.method == Method::OPTIONS && !is_admin => {
                guard::preflight(&head, "GET, HEAD, OPTIONS")
            }
            // Each path of the operator's has methods of its own, which the
            // router tells; what a page may ask for is the same for all.
            (None, _) if parts.method == Method::OPTIONS && head.cors_method.is_some() => {
                guard::preflight(&head, admin::METHODS)
            }
            (None, _) => match self.reader(&parts, &head).await {
                Ok(reader) => {
                    let from_here = entry::is_from_here(&head, self.peer.ip());
                    parts.headers = headers;
                    parts.extensions.insert(RequestOrigin { from_here });
                    Box::pin(self.page(parts, body, reader, is_admin)).await
                }
                Err(refused) => answer::refused_page(&refused),
            },
        };
        if let Some(origin) = origin {
            guard::expose(origin, answer.headers_mut());
        }
        self.account(&answer);
        answer
    }
}

impl Connection {
    /// Checks that a request may come in at all, by its headers.
    fn check(&self, parts: &Parts, head: &Head<'_>) -> Result<(), Refused> {
        let gateway = &self.edge.gateway;
        let authority = parts.uri.authority().map(|authority| authority.as_str());
        let checked = self.edge.guard.check(authority, head);
        if let Err(Refused::Host | Refused::Origin) = &checked {
            gateway.meter().refused(RefusedFor::Origin);
        }
        checked?;
        if head.repeated {
            return Err(Refused::RepeatedHeader);
        }
        match head.mark.is_some_and(|marks| gateway.is_own(marks)) {
            true => Err(Refused::Loop),
            false => Ok(()),
        }
    }

    /// Answers a request for one of the pages, or of the operator.
    async fn page(
        &self,
        mut parts: Parts,
        body: Incoming,
        reader: Option<Reader>,
        is_admin: bool,
    ) -> Response<Body> {
        if is_admin {
            parts.extensions.insert(self.memory(&Principal::Anonymous));
        }
        if let Some(reader) = reader {
            parts.extensions.insert(reader);
        }
        self.pages.answer(Request::from_parts(parts, body)).await
    }

    /// Notes what the connection carries from now on.
    fn account(&self, answer: &Response<Body>) {
        match answer.body() {
            Body::Events(events) => {
                self.current.set(events.stream());
                self.current.hold(Some(events.stream().memory()));
            }
            Body::Channel(channel) => self.current.hold(Some(channel.memory())),
            body if body.is_large() => {
                let memory = answer.extensions().get::<Arc<MemoryShare>>();
                self.current.hold(memory);
            }
            _ => {}
        }
        if !answer.status().is_success() && answer.headers().get(CONNECTION) == Some(&answer::CLOSE)
        {
            self.current.linger();
        }
    }

    /// Returns the memory shares of a client without a session.
    fn memory(&self, principal: &Principal) -> ClientMemory {
        let gateway = &self.edge.gateway;
        let own = || self.memory.get_or_init(|| gateway.memory()).clone();
        gateway.memory_of(principal).unwrap_or_else(own)
    }

    /// Who reads the first page, which tells each what it may use. The others
    /// are for everybody.
    async fn reader(&self, parts: &Parts, head: &Head<'_>) -> Result<Option<Reader>, Refused> {
        if parts.uri.path() != "/" {
            return Ok(None);
        }
        match Box::pin(entry::identify(&self.edge, head, self.peer.ip())).await {
            Ok(principal) => Ok(Some(Reader(principal))),
            Err(Refused::NoToken) => Ok(None),
            Err(refused) => Err(refused),
        }
    }
}

/// A refusal in the form of the way in.
fn refuse(way: &Way<'_>, refused: Refused) -> Response<Body> {
    tracing::debug!(?refused, "refused");
    match way {
        Way::Forward(server) => forward::refused(server, None, &ForwardRefusal::Edge(refused)),
        _ => answer::refused(None, &refused),
    }
}
