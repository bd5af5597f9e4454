//! The HTTP edge: Streamable HTTP for clients of the initialise era, what came
//! before it, WebSocket, and a few pages.
//!
//! [`serve`] owns the connections; `connection` takes a request from its first
//! byte to the service of its route. `routes` has every path, its methods and its
//! service: Streamable HTTP (`mcp`), HTTP+SSE (`sse`), WebSocket (`ws`), the
//! pruner (`rpc`), plain JSON-RPC to one server (`forward`), `pages`, `metrics`,
//! and the operator's `admin`. Further services are files of their own beside
//! these, with a row in `routes` and an arm in `connection`.

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
use self::sessions::Sessions;
use self::timers::HeaderTimers;
use crate::admin::AdminDesk;
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

/// How often streams that nobody will read again are looked for.
const SWEEP: Duration = Duration::from_secs(15);

/// Who answers at the edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Front {
    Gateway,
    /// The pruner alone: its health is all there is to tell.
    Pruner,
}

/// What the HTTP edge must be told.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    pub front: Front,
    pub metrics: MetricsAccess,
    /// Names by which clients may call us, besides loopback. With a port only
    /// that port, without one any.
    pub allowed_hosts: Vec<String>,
    /// Pages that may call us, besides those of allowed hosts: whole origins
    /// such as `https://app.example`.
    pub allowed_origins: Vec<String>,
    /// The largest request body, in bytes.
    pub max_message_bytes: usize,
    /// Messages of one stream that are kept for a client that comes back.
    pub resume_events: usize,
    /// Their bytes together; the newest message is kept however large it is.
    pub resume_bytes: usize,
    /// An SSE stream carries a comment this often. A call that has been silent
    /// for this long is answered by a stream, so that the client sees a sign
    /// of life. A client on a WebSocket is asked for one, and counts as gone
    /// if it owes three.
    pub keep_alive: Duration,
    /// The most open connections. A new one evicts a connection that carries no
    /// request, or is refused if there is none. As many again may have become
    /// WebSockets; further ones are refused.
    pub max_connections: usize,
    /// The same for the connections from one address; those from this machine
    /// are not limited.
    pub max_connections_per_address: usize,
    /// How long a connection may take for the head of its next request, idle
    /// time between requests included.
    pub header_timeout: Duration,
    /// The longest time that a request body may lag behind 16 KiB per second.
    pub body_timeout: Duration,
    /// The longest time that a message for an HTTP+SSE client waits for earlier ones.
    pub inbox_timeout: Duration,
    /// How long a connection may go without taking any of what is written to it.
    pub write_timeout: Duration,
    /// How long a client on a stream or a WebSocket may take to introduce itself.
    pub hello_timeout: Duration,
    /// Requests that one such client may have in flight; further ones are refused.
    pub max_calls: usize,
    /// Messages that wait to be written to one such client.
    pub queue: usize,
    /// How long answers in flight may take after the edge was told to stop.
    pub grace: Duration,
    /// Who operates the gateway over HTTP, and by which token. Without it there
    /// is nothing below `/api/v1`.
    pub admin: Option<Arc<AdminDesk>>,
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

/// Serves until `stop` is cancelled, then lets answers in flight finish for at
/// most [`HttpSettings::grace`] and ends the sessions that were opened here.
/// Dropping the future ends all connections and sessions at once; what is left
/// of clients on streams and WebSockets ends by itself, within its limits.
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
    let mut told = None;
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
                        None => accept_failed(&error, &mut told).await,
                    }
                    // One that gives way is closed by its own task.
                    tokio::task::yield_now().await;
                }
            },
            _ = sweep.tick() => edge.sessions.sweep(),
        }
    }
    drop(listener);
    edge.sessions.hush();
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
    // Calls that nobody reads any more end with their sessions, and clients on
    // duplex channels are told when the last of their answers is out.
    let _ = timeout(grace + ws::FAREWELL, edge.tasks.wait()).await;
}

/// What every connection of this edge shares.
struct Edge {
    gateway: Gateway,
    settings: HttpSettings,
    guard: Guard,
    sessions: Arc<Sessions>,
    inboxes: sse::Inboxes,
    readers: Arc<SlowReaders>,
    header_timers: HeaderTimers,
    /// For calls that stay silent.
    keep_alive_timers: Arc<Timers>,
    /// Connections that HTTP has let go of.
    upgraded: Arc<Semaphore>,
    /// Places for those who wait for the answer to a wrong token.
    wrong_tokens: Semaphore,
    /// Calls that their clients have left, one watch per session, and the
    /// loops of clients on duplex channels.
    tasks: TaskTracker,
    /// Ends those loops.
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

    /// For a client on a duplex channel.
    fn duplex(&self) -> DuplexSettings {
        DuplexSettings {
            max_calls: self.settings.max_calls,
            queue: self.settings.queue.max(1),
            grace: self.settings.grace,
            hello_within: Some(self.settings.hello_timeout),
        }
    }

    /// For the body of a request.
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

/// Nobody can speak to these sessions once the edge is gone, however it went.
struct EndSessions(Arc<Edge>);

impl Drop for EndSessions {
    fn drop(&mut self) {
        self.0.sessions.close();
        self.0.stop.cancel();
    }
}

/// The response to a connection that finds no room. A client that has sent its
/// request already may see a reset instead.
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 30\r\n\
content-length: 0\r\nconnection: close\r\n\r\n";

fn refuse(socket: &TcpStream) {
    if let Err(error) = socket.try_write(REFUSAL) {
        tracing::debug!(%error, "a refused connection was closed");
    }
}

/// Returns true if the process or the system has no file descriptor left.
fn is_full(error: &io::Error) -> bool {
    // EMFILE and ENFILE, for which the standard library has no kind.
    matches!(error.raw_os_error(), Some(23 | 24))
}

/// A client that went away before we accepted it is no trouble. Running out of
/// file descriptors is, and trying again at once would only burn the processor.
async fn accept_failed(error: &io::Error, told: &mut Option<Instant>) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    ) {
        return;
    }
    if told.is_none_or(|told| told.elapsed() > SWEEP) {
        tracing::warn!(%error, "cannot accept connections");
        *told = Some(Instant::now());
    }
    tokio::time::sleep(Duration::from_millis(250)).await;
}
