//! One HTTP connection: reads requests and passes them to the service of their route.
//!
//! A request first passes the guard and the rules common to all services (identity, permissions,
//! methods). Then the service of its route handles it.

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

use super::admin::AdminApi;
use super::body::Body;
use super::current::Current;
use super::entry::RequestOrigin;
use super::head::Head;
use super::occupancy::ConnectionSlot;
use super::poll_when_woken::PollWhenWoken;
use super::routes::{Route, Service};
use super::socket::Socket;
use super::{Edge, admin, answer, entry, forward, guard, mcp, metrics, pages, rpc, sse, ws};
use crate::error::{ForwardRefusal, Refused};

/// The kernel buffers responses up to this length at once.
const SHORT: u64 = 64 * 1024;

/// The time limit for the rest of a request head when the gateway shuts down.
const PART_OF_HEAD: Duration = Duration::from_millis(100);

/// The maximum length of a request head; longer ones are answered with 431.
const MAX_HEADER_BYTES: usize = 16 * 1024;

/// The methods of an MCP endpoint for modern clients.
const MODERN_METHODS: &str = "POST, OPTIONS";

pub(super) struct Connection {
    edge: Arc<Edge>,
    admin: Option<AdminApi>,
    /// The address of the client.
    peer: SocketAddr,
    current: Arc<Current>,
    slot: ConnectionSlot,
    /// The memory shares for requests without a session or token.
    memory: OnceLock<ClientMemory>,
}

/// The reason why the gateway closes a connection.
enum CloseReason {
    /// Another connection takes its place.
    PlaceNeeded,
    Shutdown,
}

impl Connection {
    pub(super) fn new(
        edge: Arc<Edge>,
        admin: Option<AdminApi>,
        peer: SocketAddr,
        slot: ConnectionSlot,
    ) -> Arc<Connection> {
        let current = Arc::new(Current::new(edge.readers.clone()));
        Arc::new(Connection {
            edge,
            admin,
            peer,
            current,
            slot,
            memory: OnceLock::new(),
        })
    }

    /// Serves requests until either side closes the connection, it is evicted, or `stop` is
    /// cancelled and the response in flight has ended.
    pub(super) async fn serve(self: Arc<Self>, socket: TcpStream, stop: CancellationToken) {
        // Responses are written whole, so Nagle's algorithm would only delay them.
        let _ = socket.set_nodelay(true);
        let settings = &self.edge.settings;
        let header_timeout = settings.header_timeout;
        let socket = Socket::new(socket, settings.write_timeout, self.current.clone());
        let own = self.clone();
        let service = service_fn(move |request| {
            let connection = own.clone();
            async move {
                connection.slot.mark_busy();
                let answer = connection.respond(request).await;
                // A long body may take time to write, and a stream stays open.
                let length = answer.body().size_hint().exact();
                if length.is_some_and(|length| length <= SHORT) {
                    connection.slot.mark_idle();
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
                () = self.slot.eviction() => CloseReason::PlaceNeeded,
                () = stop.cancelled() => CloseReason::Shutdown,
            }
        });
        let ended = tokio::select! {
            biased;
            ended = connection.as_mut() => ended,
            reason = PollWhenWoken::new(close_reason) => match reason {
                CloseReason::PlaceNeeded if !self.slot.is_busy() => return,
                CloseReason::PlaceNeeded => {
                    // The next request arrived at the same moment and is still answered.
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
                CloseReason::Shutdown => {
                    connection.as_mut().graceful_shutdown();
                    match self.slot.is_busy() {
                        true => connection.await,
                        // The connection may hold part of a head, for which hyper would wait.
                        false => timeout(PART_OF_HEAD, connection).await.unwrap_or(Ok(())),
                    }
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "connection ended");
        }
    }

    /// Answers a request: finds the route, checks access, and calls the service.
    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        let edge = &*self.edge;
        let (mut parts, body) = request.into_parts();
        let mut headers = std::mem::take(&mut parts.headers);
        let uri = parts.uri.clone();
        let route = self.route(uri.path());
        let head = Head::read(&headers);
        if let Err(refused) = self.check(&parts, &head) {
            return match route.service {
                // No request has been forwarded to a server, so the error has the form of the edge.
                Service::Forward => answer::refused(None, &refused),
                _ => refuse(&route, refused),
            };
        }
        let origin = head.origin.cloned();
        let is_local = entry::is_local_request(&head, self.peer.ip());
        let mut answer = match self.enter(&route, &parts.method, &head).await {
            Err(answer) => answer,
            Ok(principal) => match route.service {
                Service::StreamableHttp if parts.method == Method::POST => {
                    let head = mcp::PostHead::read(edge, &route.target, principal, &head, &headers);
                    match head {
                        Ok(head) => {
                            headers.clear();
                            let own = |principal: &Principal| self.memory(principal);
                            let posted = mcp::post(edge, &route.target, head, own, body, headers);
                            posted.await.unwrap_or_else(mcp::PostRefusal::into_answer)
                        }
                        Err(refused) => answer::refused(None, &refused),
                    }
                }
                Service::StreamableHttp => {
                    let answered = match parts.method {
                        Method::DELETE => mcp::delete(edge, &route.target, &principal, &head),
                        _ => mcp::get(edge, &route.target, &principal, &head),
                    };
                    answered.unwrap_or_else(|refused| match refused {
                        // The path has these methods for clients of other revisions.
                        Refused::Method => {
                            answer::allow(answer::refused(None, &refused), MODERN_METHODS)
                        }
                        refused => answer::refused(None, &refused),
                    })
                }
                Service::Sse => {
                    let memory = self.memory(&principal);
                    let opened = sse::open(&self.edge, route.target, principal, memory, &head);
                    opened.unwrap_or_else(|refused| answer::refused(None, &refused))
                }
                Service::Messages => match sse::find(edge, &principal, uri.query(), &head) {
                    Ok(found) => sse::post(edge, found, body).await,
                    Err(refused) => answer::refused(None, &refused),
                },
                Service::WebSocket => {
                    parts.headers = headers;
                    let memory = self.memory(&principal);
                    self.current.hold(Some(&memory.responses));
                    ws::open(&self.edge, route.target, principal, memory, parts, &body)
                }
                // Boxed like those below, because their large futures would make the future of
                // every request larger.
                Service::Pruner => {
                    let memory = self.memory(&principal);
                    Box::pin(rpc::post(edge, &principal, body, &memory)).await
                }
                Service::Forward => {
                    let server = route.target.name();
                    let memory = self.memory(&principal);
                    let passed_on = |marks| edge.gateway.passed_on(marks).ok_or(Refused::Loop);
                    match head.mark.map(passed_on).transpose() {
                        Ok(marks) => {
                            let from = (principal, marks);
                            Box::pin(forward::post(edge, from, server, body, &memory)).await
                        }
                        Err(refused) => refuse(&route, refused),
                    }
                }
                Service::Admin => {
                    parts.headers = headers;
                    Box::pin(self.administer(parts, body, is_local)).await
                }
                Service::Index => Box::pin(self.index(&route, &parts.method, &head)).await,
                Service::Health => pages::health(edge),
                Service::Ready => pages::ready(edge),
                Service::Metrics => Box::pin(metrics::metrics(edge, &headers, is_local)).await,
                Service::Unknown => answer::refused_page(&Refused::UnknownPath),
            },
        };
        if let Some(origin) = origin {
            guard::expose(origin, answer.headers_mut());
        }
        self.account(&answer);
        answer
    }

    fn route<'a>(&self, path: &'a str) -> Route<'a> {
        match Route::find(path) {
            route if route.service == Service::Admin && self.admin.is_none() => Route::UNKNOWN,
            route => route,
        }
    }
}

impl Connection {
    /// Checks the headers that decide whether a request is accepted at all.
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

    /// Applies the rules common to all services: shutdown, the client's identity and permissions,
    /// and the methods of the route.
    async fn enter(
        &self,
        route: &Route<'_>,
        method: &Method,
        head: &Head<'_>,
    ) -> Result<Principal, Response<Body>> {
        let edge = &*self.edge;
        let service = route.service;
        let entered = match service.is_for_clients() {
            false => Ok(Principal::Anonymous),
            // Existing sessions continue until their calls have ended.
            true if !service.is_of_session() && edge.gateway.is_draining() => {
                Err(Refused::ShuttingDown)
            }
            true => entry::enter(edge, route, method, head, self.peer.ip()).await,
        };
        let principal = entered.map_err(|refused| {
            tracing::debug!(?refused, "refused");
            refuse(route, refused)
        })?;
        match service {
            // The client is identified before the method is checked.
            Service::Index if *method != Method::OPTIONS => Ok(principal),
            _ => by_method(route, method, head).map_or(Ok(principal), Err),
        }
    }

    /// Answers a request to the admin API.
    async fn administer(&self, mut parts: Parts, body: Incoming, is_local: bool) -> Response<Body> {
        let Some(admin) = &self.admin else {
            return answer::refused_page(&Refused::UnknownPath);
        };
        parts.extensions.insert(RequestOrigin { is_local });
        parts.extensions.insert(self.memory(&Principal::Anonymous));
        admin.answer(Request::from_parts(parts, body)).await
    }

    /// Answers a request for the index page, which lists the endpoints that this client may use.
    /// The other pages are the same for all clients.
    async fn index(&self, route: &Route<'_>, method: &Method, head: &Head<'_>) -> Response<Body> {
        let reader = match entry::identify(&self.edge, head, self.peer.ip()).await {
            Ok(principal) => Some(principal),
            Err(Refused::NoToken) => None,
            Err(refused) => return answer::refused_page(&refused),
        };
        by_method(route, method, head).unwrap_or_else(|| pages::index(&self.edge, reader.as_ref()))
    }

    /// Records the response that the connection now carries.
    fn account(&self, answer: &Response<Body>) {
        match answer.body() {
            Body::Events(events) => {
                self.current.set(events.stream());
                self.current.hold(Some(events.stream().memory()));
            }
            Body::Channel(channel) => self.current.hold(Some(channel.memory())),
            Body::Modern(events) => self.current.hold(Some(events.memory())),
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
}

/// Returns the response to a preflight or to a method that the route does not support.
fn by_method(route: &Route<'_>, method: &Method, head: &Head<'_>) -> Option<Response<Body>> {
    match route.service {
        // The handshake reports a wrong method.
        Service::WebSocket => None,
        Service::Forward => forward::enter(route.target.name(), method, head),
        // The admin router knows the methods of each path. The preflight answer is the same for all
        // of them.
        Service::Admin if *method != Method::OPTIONS || head.cors_method.is_none() => None,
        _ if *method == Method::OPTIONS => Some(guard::preflight(head, route.methods)),
        Service::Unknown => None,
        _ if route.allows(method) => None,
        // A client of Streamable HTTP recognises the older transport by this response and by
        // nothing else (MCP 2025-03-26, transports, backwards compatibility).
        Service::Sse => {
            let refused = refuse(route, Refused::OlderTransport);
            Some(answer::allow(refused, route.methods))
        }
        service => {
            let refused = refuse(route, Refused::Method);
            let methods = match service.is_for_clients() {
                true => route.methods,
                false => "GET,HEAD",
            };
            Some(answer::allow(refused, methods))
        }
    }
}

/// Returns a refusal in the format of the service.
fn refuse(route: &Route<'_>, refused: Refused) -> Response<Body> {
    match route.service {
        Service::Forward => {
            let refusal = ForwardRefusal::Edge(refused);
            forward::refused(route.target.name(), None, &refusal)
        }
        Service::Admin => admin::refused(refused),
        service if service.is_for_clients() => answer::refused(None, &refused),
        _ => answer::refused_page(&refused),
    }
}
