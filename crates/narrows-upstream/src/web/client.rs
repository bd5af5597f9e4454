//! Connections that are kept and used again, by all links to the same site.
//!
//! hyper-util has a pool as well. In the gateway (`bench/run`, Streamable HTTP on
//! both sides, 16 sessions, CPU per call, median of 5 runs) it takes 23.5 us, this
//! one 21.9 us. Besides, this one knows at any time whether a server may have seen
//! a request, and keeps each connection as long as its server says. Polling the
//! connection inside the call instead of in a task of its own gains nothing that
//! can be told from noise.

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

use super::connect::{ConnectError, Connector, Route, Site, Stream};
use crate::chain::Ancestry;
use crate::settings::ProxySettings;

/// Idle connections to one site; more are closed as they come back.
const MAX_IDLE: usize = 256;

/// Servers close idle connections too. Where a server does not say when
/// (`keep-alive: timeout=`), most proxies and load balancers wait as long.
const IDLE_TIME: Duration = Duration::from_secs(60);

/// After this long a server may have begun to think of closing a connection.
const IDLE_CHECK_AFTER: Duration = Duration::from_millis(100);

/// A connection that is not ready for the next request by then is given up.
const READY_TIMEOUT: Duration = Duration::from_millis(100);

/// Makes and keeps the connections of a gateway to its HTTP upstreams. Cheap to clone.
#[derive(Clone)]
pub struct HttpClient {
    connector: Arc<Connector>,
    pools: Arc<Mutex<HashMap<Site, Weak<Pool>>>>,
    /// By which a gateway knows its own requests, should they come back to it.
    mark: Arc<str>,
    /// That and the marks of the gateways above, as every request carries them.
    marks: HeaderValue,
}

/// The connections to one site.
pub(crate) struct Pool {
    connector: Arc<Connector>,
    site: Site,
    route: Route,
    /// The one used last is at the back and used first, so that those at the
    /// front grow old and can go.
    idle: Mutex<VecDeque<Lease>>,
}

/// A connection in somebody's hands. Dropping it closes the connection.
pub(crate) struct Lease {
    sender: SendRequest<Full<Bytes>>,
    /// By itself it would go on writing to a server that has stopped reading.
    _connection: AbortOnDropHandle<hyper::Result<()>>,
    /// How long the server lets it idle.
    keeps: Duration,
    idle_since: Instant,
    fresh: bool,
}

/// Why a request has no response.
pub(crate) enum SendError {
    /// There was no connection.
    Unreachable(ConnectError),
    /// There was one; how far the request came is not known.
    Lost(hyper::Error),
}

impl HttpClient {
    pub fn new(proxy: &ProxySettings, connect_timeout: Duration) -> Self {
        HttpClient::with_connector(Connector::new(proxy, connect_timeout))
    }

    /// Marks requests as those of a gateway below others.
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

    /// A connection for other bytes than HTTP's, in nobody else's hands.
    pub(crate) async fn dial(&self, site: &Site) -> Result<Box<dyn Stream>, String> {
        let route = self.connector.tunnel(site);
        let dialled = self.connector.connect(site, &route).await;
        dialled.map_err(|none| none.reason)
    }

    pub(crate) fn pool(&self, site: &Site) -> Arc<Pool> {
        let mut pools = self.pools.lock();
        if let Some(pool) = pools.get(site).and_then(Weak::upgrade) {
            return pool;
        }
        pools.retain(|_, pool| pool.strong_count() > 0);
        let pool = Arc::new(Pool {
            connector: self.connector.clone(),
            site: site.clone(),
            route: self.connector.route(site),
            idle: Mutex::default(),
        });
        pools.insert(site.clone(), Arc::downgrade(&pool));
        pool
    }
}

impl Pool {
    /// How a request's target is written on its first line.
    pub(crate) fn write_target(&self, path: &str) -> Uri {
        let whole = self.site.uri(path);
        match self.route {
            Route::Forward { .. } => whole,
            Route::Direct | Route::Tunnel { .. } => {
                let path = whole.path_and_query().cloned();
                path.map_or_else(|| Uri::from_static("/"), Uri::from)
            }
        }
    }

    pub(crate) fn site(&self) -> &Site {
        &self.site
    }

    pub(crate) fn route(&self) -> &Route {
        &self.route
    }

    /// Sends a request and waits for the head of its response. `sent` becomes
    /// true when the server may have seen some of it.
    pub(crate) async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
        sent: &mut bool,
    ) -> Result<(Response<Incoming>, Lease), SendError> {
        let mut idle = self.take_idle().await;
        loop {
            let mut lease = match idle.take() {
                Some(lease) => lease,
                // Boxed, as all that is rare on the way of a call: its future
                // would be several times as large otherwise.
                None => Box::pin(self.connect())
                    .await
                    .map_err(SendError::Unreachable)?,
            };
            let before = std::mem::replace(sent, true);
            match lease.sender.try_send_request(request).await {
                Ok(response) => {
                    if std::mem::take(&mut lease.fresh) {
                        lease.keeps = keeps(response.headers());
                    }
                    return Ok((response, lease));
                }
                Err(mut error) => match error.take_message() {
                    // The server closed an idle connection just now. Nothing
                    // was written to it, so asking again asks once.
                    Some(unsent) if !lease.fresh => {
                        *sent = before;
                        request = unsent;
                    }
                    // A new connection that broke before anything was written to it.
                    Some(_) => {
                        *sent = before;
                        return Err(SendError::Lost(error.into_error()));
                    }
                    None => return Err(SendError::Lost(error.into_error())),
                },
            }
        }
    }

    /// Takes back a connection whose response was read to its end.
    pub(crate) fn give_back(&self, mut lease: Lease) {
        if lease.sender.is_closed() {
            return;
        }
        let now = Instant::now();
        lease.idle_since = now;
        let mut idle = self.idle.lock();
        while idle.front().is_some_and(|oldest| oldest.is_stale(now)) {
            idle.pop_front();
        }
        if idle.len() < MAX_IDLE {
            idle.push_back(lease);
        }
    }

    #[cfg(test)]
    pub(crate) fn idle(&self) -> usize {
        self.idle.lock().len()
    }

    async fn take_idle(&self) -> Option<Lease> {
        let now = Instant::now();
        loop {
            let mut lease = self.idle.lock().pop_back()?;
            if lease.is_stale(now) {
                continue;
            }
            if now.duration_since(lease.idle_since) > IDLE_CHECK_AFTER {
                // A close that has come in since is known to the kernel, but
                // only yielding lets the runtime ask for it, and the
                // connection's task hear of it before we write.
                tokio::task::yield_now().await;
            }
            if lease.is_ready().await {
                return Some(lease);
            }
        }
    }

    async fn connect(&self) -> Result<Lease, ConnectError> {
        let stream = self.connector.connect(&self.site, &self.route).await?;
        let broken = |error: hyper::Error| ConnectError {
            reason: error.to_string(),
            late: None,
        };
        let (sender, connection) = handshake(stream).await.map_err(broken)?;
        // What it ends with is told to whose request it was.
        let connection = AbortOnDropHandle::new(tokio::spawn(connection));
        Ok(Lease {
            sender,
            _connection: connection,
            keeps: IDLE_TIME,
            idle_since: Instant::now(),
            fresh: true,
        })
    }
}

impl Lease {
    /// The connection's task may still be busy with the end of the last
    /// response, for a moment. It stays so where the server answered without
    /// reading the request, which then still waits to be written.
    async fn is_ready(&mut self) -> bool {
        self.sender.is_ready()
            || matches!(
                timeout(READY_TIMEOUT, self.sender.ready()).await,
                Ok(Ok(()))
            )
    }

    fn is_stale(&self, now: Instant) -> bool {
        now.duration_since(self.idle_since) >= self.keeps
    }
}

/// A server that says when it closes is believed, less a second for the way:
/// a request that crosses with the close is lost, and must not be repeated.
fn keeps(headers: &HeaderMap) -> Duration {
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
