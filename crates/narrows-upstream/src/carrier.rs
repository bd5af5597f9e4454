//! The connection under a link: a duplex channel or HTTP.

use std::sync::Arc;

use narrows_wire::Raw;

use crate::duplex::Duplex;
use crate::failure::{Failure, LinkError};
use crate::http::HttpLink;
use crate::request::{ModernParts, Outgoing};

/// The two kinds of connections.
#[derive(Clone)]
pub(crate) enum Carrier {
    Duplex(Arc<Duplex>),
    Http(Arc<HttpLink>),
}

impl Carrier {
    /// Sends a request of the modern era and waits for its response.
    pub(crate) async fn request(
        &self,
        call: Outgoing<'_>,
        parts: &ModernParts<'_>,
    ) -> Result<Raw, LinkError> {
        match self {
            Carrier::Duplex(link) => link.request_with(call, Some(parts)).await,
            Carrier::Http(link) => link.request_with(call, Some(parts)).await,
        }
    }

    /// Ends the connection and all calls that wait for a response.
    pub(crate) fn give_up(&self, failure: Failure) {
        match self {
            Carrier::Duplex(link) => link.end(failure),
            Carrier::Http(link) => link.give_up(failure),
        }
    }

    pub(crate) async fn ended(&self) -> Arc<Failure> {
        match self {
            Carrier::Duplex(link) => link.ended().await,
            Carrier::Http(link) => link.ended().await,
        }
    }

    /// Returns the reason why the connection has ended, or `None` if it is open.
    pub(crate) fn end_reason(&self) -> Option<Arc<Failure>> {
        match self {
            Carrier::Duplex(link) => link.end_reason(),
            Carrier::Http(link) => link.end_reason(),
        }
    }
}
