//! A link: one initialised connection to one upstream, independent of the transport.

use std::sync::Arc;
use std::time::Duration;

use narrows_wire::Raw;
use tokio::time::Instant;

use crate::carrier::Carrier;
use crate::failure::{Failure, LinkError};
use crate::health::Liveness;
use crate::modern::Modern;
use crate::request::Outgoing;

/// One initialised connection. Dropping it closes the connection.
pub struct Link(pub(crate) LinkTransport);

/// A connection, and the state that servers of the modern era need on top of it.
#[derive(Clone)]
pub(crate) struct LinkTransport {
    carrier: Carrier,
    /// `None` for servers of the legacy era.
    modern: Option<Arc<Modern>>,
}

impl Link {
    pub(crate) fn legacy(carrier: Carrier) -> Link {
        Link(LinkTransport {
            carrier,
            modern: None,
        })
    }

    pub(crate) fn modern(carrier: Carrier, modern: Arc<Modern>) -> Link {
        Link(LinkTransport {
            carrier,
            modern: Some(modern),
        })
    }

    pub async fn request(&self, call: Outgoing<'_>) -> Result<Raw, LinkError> {
        if let Some(modern) = &self.0.modern {
            // Boxed, because its state would enlarge the future of every legacy call.
            return Box::pin(modern.request(&self.0.carrier, call)).await;
        }
        match &self.0.carrier {
            Carrier::Duplex(link) => link.request(call).await,
            Carrier::Http(link) => link.request(call).await,
        }
    }

    pub fn notify(&self, method: &str, params: Option<Raw>) {
        // The modern era has no notifications to servers, except for cancellations, which the
        // connection sends itself.
        if self.0.modern.is_some() {
            return;
        }
        match &self.0.carrier {
            Carrier::Duplex(link) => link.notify(method, params),
            Carrier::Http(link) => link.notify(method, params),
        }
    }

    /// Sets the log level of a new link before its first request, if requests carry the level.
    pub fn preset_level(&self, level: Option<&str>) {
        if let (Some(modern), Some(level)) = (&self.0.modern, level) {
            modern.set_level(&Raw::string(level));
        }
    }

    pub async fn close(&self) {
        match &self.0.carrier {
            Carrier::Duplex(link) => link.close().await,
            Carrier::Http(link) => link.close().await,
        }
    }

    pub async fn ended(&self) -> Arc<Failure> {
        self.0.ended().await
    }

    /// Returns true if each request of the server belongs to one call, because it arrives on the
    /// stream of that call or as its result.
    pub fn ties_asks_to_calls(&self) -> bool {
        self.0.modern.is_some() || matches!(self.0.carrier, Carrier::Http(_))
    }

    /// Returns true if the link has ended.
    pub fn has_ended(&self) -> bool {
        self.0.carrier.end_reason().is_some()
    }

    /// Waits until the resources of a link that has ended are released. In particular, its process
    /// may hold resources that the next one needs.
    pub(crate) async fn wait_for_cleanup(&self) {
        if let Carrier::Duplex(link) = &self.0.carrier {
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

    /// Records the HTTP headers that calls of a tool need. Returns false, after a warning, if the
    /// tool must not be listed because its definition is not valid.
    pub(crate) fn accepts_tool(&self, tool: &Raw) -> bool {
        let modern = self.0.modern.as_ref();
        modern.is_none_or(|modern| modern.accepts_tool(tool))
    }
}

impl LinkTransport {
    pub(crate) async fn ended(&self) -> Arc<Failure> {
        self.carrier.ended().await
    }

    pub(crate) fn liveness(&self) -> &Liveness {
        match &self.carrier {
            Carrier::Duplex(link) => &link.liveness,
            Carrier::Http(link) => link.liveness(),
        }
    }

    /// Sends a ping. The caller checks the vitals for a sign of life, because any message counts as
    /// one, including an error.
    pub(crate) async fn ping(&self, limit: Duration) {
        let ping = Outgoing::own("ping", None, limit);
        let _ = match (&self.modern, &self.carrier) {
            (Some(modern), carrier) => Box::pin(modern.request(carrier, ping)).await,
            (None, Carrier::Duplex(link)) => link.request(ping).await,
            (None, Carrier::Http(link)) => link.request(ping).await,
        };
    }

    pub(crate) fn give_up(&self, failure: Failure) {
        self.carrier.give_up(failure);
    }
}

impl Drop for Link {
    // No caller can close the link any more, so it is closed now. Otherwise its process, or its
    // session on the server, would never end.
    fn drop(&mut self) {
        match &self.0.carrier {
            Carrier::Duplex(link) => link.abandon(),
            Carrier::Http(link) => link.abandon(),
        }
    }
}
