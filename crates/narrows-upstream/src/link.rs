//! A link: one initialised connection to one upstream, independent of the transport.

use std::sync::Arc;
use std::time::Duration;

use narrows_wire::Raw;
use tokio::time::Instant;

use crate::duplex::Duplex;
use crate::failure::{Failure, LinkError};
use crate::health::Liveness;
use crate::http::HttpLink;
use crate::request::Outgoing;

/// One initialised connection. Dropping it closes the connection.
pub struct Link(pub(crate) LinkTransport);

/// The two kinds of links.
#[derive(Clone)]
pub(crate) enum LinkTransport {
    Duplex(Arc<Duplex>),
    Http(Arc<HttpLink>),
}

impl Link {
    pub async fn request(&self, call: Outgoing<'_>) -> Result<Raw, LinkError> {
        match &self.0 {
            LinkTransport::Duplex(link) => link.request(call).await,
            LinkTransport::Http(link) => link.request(call).await,
        }
    }

    pub fn notify(&self, method: &str, params: Option<Raw>) {
        match &self.0 {
            LinkTransport::Duplex(link) => link.notify(method, params),
            LinkTransport::Http(link) => link.notify(method, params),
        }
    }

    pub async fn close(&self) {
        match &self.0 {
            LinkTransport::Duplex(link) => link.close().await,
            LinkTransport::Http(link) => link.close().await,
        }
    }

    pub async fn ended(&self) -> Arc<Failure> {
        self.0.ended().await
    }

    /// Returns true if the link has ended.
    pub fn has_ended(&self) -> bool {
        match &self.0 {
            LinkTransport::Duplex(link) => link.end_reason().is_some(),
            LinkTransport::Http(link) => link.end_reason().is_some(),
        }
    }

    /// Waits until the resources of a link that has ended are released. In particular, its process
    /// may hold resources that the next one needs.
    pub(crate) async fn wait_for_cleanup(&self) {
        if let LinkTransport::Duplex(link) = &self.0 {
            link.wait_for_cleanup().await;
        }
    }

    /// Returns true if the server responds over this link within `limit`.
    pub async fn responds(&self, limit: Duration) -> bool {
        let asked = Instant::now();
        self.0.ping(limit).await;
        self.liveness().active_since(asked)
    }

    pub(crate) fn liveness(&self) -> &Liveness {
        self.0.liveness()
    }

    pub(crate) fn transport(&self) -> LinkTransport {
        self.0.clone()
    }
}

impl LinkTransport {
    pub(crate) async fn ended(&self) -> Arc<Failure> {
        match self {
            LinkTransport::Duplex(link) => link.ended().await,
            LinkTransport::Http(link) => link.ended().await,
        }
    }

    pub(crate) fn liveness(&self) -> &Liveness {
        match self {
            LinkTransport::Duplex(link) => &link.liveness,
            LinkTransport::Http(link) => link.liveness(),
        }
    }

    /// Sends a ping. The caller checks the vitals for a sign of life, because any message counts as
    /// one, including an error.
    pub(crate) async fn ping(&self, limit: Duration) {
        let ping = Outgoing::own("ping", None, limit);
        let _ = match self {
            LinkTransport::Duplex(link) => link.request(ping).await,
            LinkTransport::Http(link) => link.request(ping).await,
        };
    }

    pub(crate) fn give_up(&self, failure: Failure) {
        match self {
            LinkTransport::Duplex(link) => link.end(failure),
            LinkTransport::Http(link) => link.give_up(failure),
        }
    }
}

impl Drop for Link {
    // No caller can close the link any more, so it is closed now. Otherwise its process, or its
    // session on the server, would never end.
    fn drop(&mut self) {
        match &self.0 {
            LinkTransport::Duplex(link) => link.abandon(),
            LinkTransport::Http(link) => link.abandon(),
        }
    }
}
