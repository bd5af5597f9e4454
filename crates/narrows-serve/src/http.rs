//! The HTTP edge: Streamable HTTP for revisions with `initialize`, the older HTTP+SSE, WebSocket,
//! and a few pages.
//!
//! [`serve`] owns the connections; `connection` takes a request from its first byte to the service
//! of its route. `routes` lists every path with its methods and its service: Streamable HTTP
//! (`mcp`), HTTP+SSE (`sse`), WebSocket (`ws`), the pruner (`rpc`), plain JSON-RPC to one server
//! (`forward`), `pages`, `metrics`, and the admin API (`admin`). A new service gets its own file
//! here, a row in `routes` and an arm in `connection`.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use narrows_gateway::Gateway;
use narrows_gateway::meter::RefusedFor;
use narrows_upstream::memory::ClientMemory;
use narrows_upstream::timers::Timers;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::admin::AdminApi;
use self::body::BodyLimits;
use self::connection::Connection;
use self::guard::Guard;
pub use self::metrics::{MetricsAccess, TokenCheck};
use self::occupancy::Occupancy;
use self::readers::SlowReaders;
use self::replay::Bounds;
pub use self::routes::is_fixed_path;
use self::sessions::SessionRegistry;
use self::timers::HeaderTimers;
use crate::admin::AdminAuth;
use crate::duplex::DuplexSettings;

mod admin;
mod answer;
mod body;
mod channel;
mod connection;
mod current;
mod entry;
mod events;
mod forward;
mod guard;
mod head;
mod intake;
mod mcp;
mod metrics;
mod modern_events;
mod occupancy;
mod pages;
mod poll_when_woken;
mod readers;
mod replay;
mod routes;
mod rpc;
mod sessions;
mod socket;
mod sse;
mod stream;
mod timers;
mod ws;

/// The interval for dropping streams that no client will read again.
const SWEEP: Duration = Duration::from_secs(15);

/// The services of the edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Front {
    Gateway,
    /// The pruner alone, so the health report covers only the pruner.
    Pruner,
}

/// The settings of the HTTP edge.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    pub front: Front,
    pub metrics: MetricsAccess,
    /// Host names besides loopback with which clients may address the gateway. An entry with a port
    /// allows that port only; one without allows any.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may connect, besides those of allowed hosts: whole origins such as
    /// `https://app.example`.
    pub allowed_origins: Vec<String>,
    /// The maximum length of a request body in bytes.
    pub max_message_bytes: usize,
    /// The maximum number of messages per stream kept for resumption.
    pub resume_events: usize,
    /// The maximum total size of these messages in bytes. The newest message is kept however large
    /// it is.
    pub resume_bytes: usize,
    /// The interval of comments on SSE streams. A call that has been silent for this long is
    /// answered with a stream, so that the client sees a sign of life. WebSocket clients are pinged
    /// at this interval and count as disconnected after three unanswered pings.
    pub keep_alive: Duration,
    /// The maximum number of open connections. A new one evicts a connection that carries no
    /// request; if there is none, the new one is refused. WebSockets are counted separately, with
    /// the same maximum.
    pub max_connections: usize,
    /// The maximum number of open connections from one address. Connections from this machine have
    /// no limit.
    pub max_connections_per_address: usize,
    /// The time limit for the head of the next request, including idle time between requests.
    pub header_timeout: Duration,
    /// The maximum time that a request body may lag behind 16 KiB per second.
    pub body_timeout: Duration,
    /// The maximum time that a message for an HTTP+SSE client waits for earlier ones.
    pub inbox_timeout: Duration,
    /// The maximum time that a client may read nothing while a response is being written.
    pub write_timeout: Duration,
    /// The time limit for `initialize` on HTTP+SSE and WebSocket.
    pub hello_timeout: Duration,
    /// The maximum number of requests in flight per HTTP+SSE or WebSocket client; further ones are
    /// refused.
    pub max_calls: usize,
    /// The maximum number of messages waiting to be written to such a client.
    pub queue: usize,
    /// The time limit for answers in flight when the edge stops.
    pub grace: Duration,
    /// Authentication and operations of the admin API. If `None`, nothing is served below
    /// `/api/v1`.
    pub admin: Option<Arc<AdminAuth>>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        HttpSettings {
            front: Front::Gateway,
            metrics: MetricsAccess::default(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_message_bytes: 16 * 1024 * 1024,
            resume_events: 256,
            resume_bytes: 1024 * 1024,
            keep_alive: Duration::from_secs(15),
            max_connections: 10_000,
            max_connections_per_address: 1_000,
            header_timeout: Duration::from_secs(75),
            body_timeout: Duration::from_secs(5),
            inbox_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(60),
            hello_timeout: Duration::from_secs(60),
            max_calls: 256,
            queue: 256,
            grace: Duration::from_secs(5),
            admin: None,
        }
    }
}

/// Serves until `stop` is cancelled. Then lets answers in flight finish for at most
/// [`HttpSettings::grace`] and ends the sessions opened here. Dropping the future ends all
/// connections and sessions at once; HTTP+SSE and WebSocket clients end within their own limits.
pub async fn serve(
    listener: TcpListener,
    gateway: Gateway,
    settings: HttpSettings,
    stop: CancellationToken,
) {
    let grace = settings.grace;
    let (max, per_address) = (
        settings.max_connections,
        settings.max_connections_per_address,
    );
    let occupancy = Occupancy::new(max, per_address);
    let edge = Arc::new(Edge::new(gateway, settings, stop.child_token()));
    let _end = EndSessions(edge.clone());
    edge.tasks.spawn(readers::make_room(edge.clone()));
    let admin = AdminApi::new(&edge);
    let mut connections = JoinSet::new();
    let mut sweep = tokio::time::interval(SWEEP);
    let mut logged = None;
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((socket, peer)) => {
                    let meter = edge.gateway.meter();
                    let place = occupancy.admit(peer.ip(), |what| meter.evicted(what));
                    let Some(place) = place else {
                        meter.refused(RefusedFor::Connections);
                        refuse(&socket);
                        continue;
                    };
                    let connection = Connection::new(edge.clone(), admin.clone(), peer, place);
                    connections.spawn(connection.serve(socket, stop.clone()));
                }
                Err(error) => {
                    let evicted = match is_full(&error) {
                        true => occupancy.make_room(),
                        false => None,
                    };
                    match evicted {
                        Some(what) => edge.gateway.meter().evicted(what),
                        None => accept_failed(&error, &mut logged).await,
                    }
                    // Yields, because the task of the evicted connection closes it.
                    tokio::task::yield_now().await;
                }
            },
            _ = sweep.tick() => edge.sessions.sweep(),
        }
    }
    drop(listener);
    edge.sessions.end_general_streams();
    let finished = async { while connections.join_next().await.is_some() {} };
    if timeout(grace, finished).await.is_err() {
        tracing::debug!(
            open = connections.len(),
            "closing connections that did not finish"
        );
        connections.shutdown().await;
    }
    edge.sessions.close();
    edge.tasks.close();
    // Calls without a reader end with their sessions. Duplex clients are notified after their last
    // answer.
    let _ = timeout(grace + ws::CLOSE_TIMEOUT, edge.tasks.wait()).await;
}

/// The state shared by all connections of the edge.
struct Edge {
    gateway: Gateway,
    settings: HttpSettings,
    guard: Guard,
    sessions: Arc<SessionRegistry>,
    inboxes: sse::Inboxes,
    readers: Arc<SlowReaders>,
    header_timers: HeaderTimers,
    /// Timers for calls that stay silent.
    keep_alive_timers: Arc<Timers>,
    /// Permits for connections upgraded to WebSocket.
    upgraded: Arc<Semaphore>,
    /// Permits for requests with a wrong token that wait for their answer.
    wrong_tokens: Semaphore,
    /// Calls whose clients have disconnected, one watcher per session, and the loops of duplex
    /// clients.
    tasks: TaskTracker,
    /// Stops the loops of duplex clients.
    stop: CancellationToken,
}

impl Edge {
    fn new(gateway: Gateway, settings: HttpSettings, stop: CancellationToken) -> Edge {
        Edge {
            guard: Guard::new(&settings.allowed_hosts, &settings.allowed_origins),
            gateway,
            sessions: Arc::default(),
            inboxes: sse::Inboxes::default(),
            readers: Arc::default(),
            header_timers: HeaderTimers::default(),
            keep_alive_timers: Arc::default(),
            upgraded: Arc::new(Semaphore::new(settings.max_connections.max(1))),
            wrong_tokens: Semaphore::new(8),
            tasks: TaskTracker::new(),
            settings,
            stop,
        }
    }

    /// Returns the settings for a duplex client.
    fn duplex(&self) -> DuplexSettings {
        DuplexSettings {
            max_calls: self.settings.max_calls,
            queue: self.settings.queue.max(1),
            grace: self.settings.grace,
            hello_within: Some(self.settings.hello_timeout),
        }
    }

    /// Returns the limits of a request body.
    fn body_limits<'a>(&'a self, memory: &'a ClientMemory) -> BodyLimits<'a> {
        BodyLimits {
            max: self.settings.max_message_bytes,
            grace: self.settings.body_timeout,
            memory: &memory.requests,
            stop: &self.stop,
        }
    }

    fn bounds(&self) -> Bounds {
        Bounds {
            events: self.settings.resume_events,
            bytes: self.settings.resume_bytes,
        }
    }
}

/// Closes the sessions when the edge ends for any reason, because no client can reach them any
/// more.
struct EndSessions(Arc<Edge>);

impl Drop for EndSessions {
    fn drop(&mut self) {
        self.0.sessions.close();
        self.0.stop.cancel();
    }
}

/// The response to a connection for which there is no room. A client that has already sent its
/// request may see a reset instead.
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 30\r\n\
content-length: 0\r\nconnection: close\r\n\r\n";

fn refuse(socket: &TcpStream) {
    if let Err(error) = socket.try_write(REFUSAL) {
        tracing::debug!(%error, "the connection was closed before the 503 response could be written");
    }
}

/// Returns true if the process or the system has no file descriptors left.
fn is_full(error: &io::Error) -> bool {
    // EMFILE and ENFILE, for which the standard library has no stable kind.
    matches!(error.raw_os_error(), Some(23 | 24))
}

/// Logs a failed accept and waits before the next attempt. A client that disconnected before it was
/// accepted is ignored. Running out of file descriptors is logged, and retrying at once would only
/// waste CPU time.
async fn accept_failed(error: &io::Error, logged: &mut Option<Instant>) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    ) {
        return;
    }
    if logged.is_none_or(|logged| logged.elapsed() > SWEEP) {
        tracing::warn!(%error, "cannot accept connections");
        *logged = Some(Instant::now());
    }
    tokio::time::sleep(Duration::from_millis(250)).await;
}
