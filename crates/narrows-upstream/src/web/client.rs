//! A pool of connections, shared by all links to the same site.
//!
//! The pool of hyper-util takes 23.5 us of CPU per call in the gateway, this one 21.9 us
//! (`bench/run`, Streamable HTTP on both sides, 16 sessions, median of 5 runs). In addition, this
//! one always knows whether a server may have seen a request, and keeps each connection for as long
//! as its server announces. Polling the connection inside the call instead of in a separate task
//! makes no measurable difference.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use ::http::{HeaderMap, HeaderValue, Request, Response, Uri};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use narrows_wire::token::random_id;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::connect::{ByteStream, ConnectError, Connector, Route, WebOrigin};
use crate::chain::Ancestry;
use crate::settings::ProxySettings;

/// The maximum number of idle connections to one site. Further ones are closed when they are
/// returned.
const MAX_IDLE: usize = 256;

/// The time that an idle connection is kept if the server does not announce one
/// (`keep-alive: timeout=`). Servers close idle connections too, and most proxies and load balancers
/// wait at least this long.
const IDLE_TIME: Duration = Duration::from_secs(60);

/// The idle time after which a server may have started to close a connection.
const IDLE_CHECK_AFTER: Duration = Duration::from_millis(100);

/// The time to wait for a connection to become ready for the next request.
const READY_TIMEOUT: Duration = Duration::from_millis(100);

/// Opens and pools the connections of a gateway to its HTTP upstreams. Cheap to clone.
#[derive(Clone)]
pub struct HttpClient {
    connector: Arc<Connector>,
    pools: Arc<Mutex<HashMap<WebOrigin, Weak<ConnectionPool>>>>,
    /// The mark by which the gateway recognises its own requests if they return to it.
    mark: Arc<str>,
    /// The mark of this gateway and those of the gateways above it, sent with every request.
    marks: HeaderValue,
}

/// The connections to one site.
pub(crate) struct ConnectionPool {
    connector: Arc<Connector>,
    origin: WebOrigin,
    route: Route,
    /// The most recently used connection is at the back and used first, so that those at the front
    /// become stale and are removed.
    idle: Mutex<VecDeque<PooledConnection>>,
}

/// A connection in use. Dropping it closes the connection.
pub(crate) struct PooledConnection {
    sender: SendRequest<Full<Bytes>>,
    /// Aborted on drop, because it would otherwise keep writing to a server that has stopped
    /// reading.
    _connection: AbortOnDropHandle<hyper::Result<()>>,
    /// The time that the server keeps the connection open while it is idle.
    keep_alive: Duration,
    idle_since: Instant,
    fresh: bool,
}

/// The reason why a request has no response.
pub(crate) enum SendError {
    /// No connection could be opened.
    Unreachable(ConnectError),
    /// The connection was lost. The server may or may not have received the request.
    Lost(hyper::Error),
}

impl HttpClient {
    pub fn new(proxy: &ProxySettings, connect_timeout: Duration) -> Self {
        HttpClient::with_connector(Connector::new(proxy, connect_timeout))
    }

    /// Adds the marks of the gateways above this one to all requests.
    pub fn below(mut self, ancestry: &Ancestry) -> Self {
        self.marks = ancestry.header(&self.mark);
        self
    }

    pub(crate) fn with_connector(connector: Connector) -> Self {
        let mark = random_id();
        HttpClient {
            connector: Arc::new(connector),
            pools: Arc::default(),
            marks: Ancestry::default().header(&mark),
            mark: mark.into(),
        }
    }

    pub fn mark(&self) -> &str {
        &self.mark
    }

    pub fn marks(&self) -> &HeaderValue {
        &self.marks
    }

    /// Opens a dedicated connection for a protocol other than HTTP.
    pub(crate) async fn dial(&self, origin: &WebOrigin) -> Result<Box<dyn ByteStream>, String> {
        let route = self.connector.tunnel(origin);
        let dialled = self.connector.connect(origin, &route).await;
        dialled.map_err(|none| none.reason)
    }

    pub(crate) fn pool(&self, origin: &WebOrigin) -> Arc<ConnectionPool> {
        let mut pools = self.pools.lock();
        if let Some(pool) = pools.get(origin).and_then(Weak::upgrade) {
            return pool;
        }
        pools.retain(|_, pool| pool.strong_count() > 0);
        let pool = Arc::new(ConnectionPool {
            connector: self.connector.clone(),
            origin: origin.clone(),
            route: self.connector.route(origin),
            idle: Mutex::default(),
        });
        pools.insert(origin.clone(), Arc::downgrade(&pool));
        pool
    }
}

impl ConnectionPool {
    /// Returns the request target as written in the request line.
    pub(crate) fn write_target(&self, path: &str) -> Uri {
        let whole = self.origin.uri(path);
        match self.route {
            Route::Forward { .. } => whole,
            Route::Direct | Route::Tunnel { .. } => {
                let path = whole.path_and_query().cloned();
                path.map_or_else(|| Uri::from_static("/"), Uri::from)
            }
        }
    }

    pub(crate) fn origin(&self) -> &WebOrigin {
        &self.origin
    }

    pub(crate) fn route(&self) -> &Route {
        &self.route
    }

    /// Sends a request and waits for the head of its response. Sets `sent` to true when the server
    /// may have seen part of the request.
    pub(crate) async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
        sent: &mut bool,
    ) -> Result<(Response<Incoming>, PooledConnection), SendError> {
        let mut idle = self.take_idle().await;
        loop {
            let mut pooled = match idle.take() {
                Some(pooled) => pooled,
                // Boxed because it is rare, and the future of a call would otherwise be several
                // times as large.
                None => Box::pin(self.connect())
                    .await
                    .map_err(SendError::Unreachable)?,
            };
            let before = std::mem::replace(sent, true);
            match pooled.sender.try_send_request(request).await {
                Ok(response) => {
                    if std::mem::take(&mut pooled.fresh) {
                        pooled.keep_alive = keep_alive(response.headers());
                    }
                    return Ok((response, pooled));
                }
                Err(mut error) => match error.take_message() {
                    // The server has just closed an idle connection. Nothing was written, so the
                    // request can be repeated safely.
                    Some(unsent) if !pooled.fresh => {
                        *sent = before;
                        request = unsent;
                    }
                    // A new connection broke before anything was written.
                    Some(_) => {
                        *sent = before;
                        return Err(SendError::Lost(error.into_error()));
                    }
                    None => return Err(SendError::Lost(error.into_error())),
                },
            }
        }
    }

    /// Returns a connection to the pool after its response has been read completely.
    pub(crate) fn release(&self, mut pooled: PooledConnection) {
        if pooled.sender.is_closed() {
            return;
        }
        let now = Instant::now();
        pooled.idle_since = now;
        let mut idle = self.idle.lock();
        while idle.front().is_some_and(|oldest| oldest.is_stale(now)) {
            idle.pop_front();
        }
        if idle.len() < MAX_IDLE {
            idle.push_back(pooled);
        }
    }

    #[cfg(test)]
    pub(crate) fn idle(&self) -> usize {
        self.idle.lock().len()
    }

    async fn take_idle(&self) -> Option<PooledConnection> {
        let now = Instant::now();
        loop {
            let mut pooled = self.idle.lock().pop_back()?;
            if pooled.is_stale(now) {
                continue;
            }
            if now.duration_since(pooled.idle_since) > IDLE_CHECK_AFTER {
                // The kernel may already know that the server has closed the connection. Yielding
                // lets the runtime poll for it and notify the connection's task before anything is
                // written.
                tokio::task::yield_now().await;
            }
            if pooled.is_ready().await {
                return Some(pooled);
            }
        }
    }

    async fn connect(&self) -> Result<PooledConnection, ConnectError> {
        let stream = self.connector.connect(&self.origin, &self.route).await?;
        let broken = |error: hyper::Error| ConnectError {
            reason: error.to_string(),
            late: None,
        };
        let (sender, connection) = handshake(stream).await.map_err(broken)?;
        // The request that uses the connection reports its errors.
        let connection = AbortOnDropHandle::new(tokio::spawn(connection));
        Ok(PooledConnection {
            sender,
            _connection: connection,
            keep_alive: IDLE_TIME,
            idle_since: Instant::now(),
            fresh: true,
        })
    }
}

impl PooledConnection {
    /// Returns true if the connection is ready for the next request. Its task may still be busy
    /// with the end of the last response for a moment. If the server responded without reading the
    /// request, the rest of the request is still unwritten, and the connection does not become
    /// ready.
    async fn is_ready(&mut self) -> bool {
        self.sender.is_ready()
            || matches!(
                timeout(READY_TIMEOUT, self.sender.ready()).await,
                Ok(Ok(()))
            )
    }

    fn is_stale(&self, now: Instant) -> bool {
        now.duration_since(self.idle_since) >= self.keep_alive
    }
}

/// Returns how long to keep a connection. If the server announces a timeout, one second is
/// subtracted for the latency: a request sent while the server closes the connection is lost and
/// must not be repeated.
fn keep_alive(headers: &HeaderMap) -> Duration {
    let hint = headers
        .get("keep-alive")
        .and_then(|value| value.to_str().ok());
    let seconds = hint.and_then(|hint| {
        let timeout = hint
            .split(',')
            .find_map(|part| part.trim().strip_prefix("timeout="))?;
        timeout.trim().parse::<u64>().ok()
    });
    seconds.map_or(IDLE_TIME, |seconds| {
        Duration::from_secs(seconds.saturating_sub(1)).min(IDLE_TIME)
    })
}
