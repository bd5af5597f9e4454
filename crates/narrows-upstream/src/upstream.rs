//! Upstreams: the servers that the gateway calls, with their state, their lists and the links to
//! them.
//!
//! An [`Upstream`] has one shared link, which its [supervisor](supervisor) keeps open and uses to
//! read the lists. Sessions whose clients support server requests open links of their own.
//! [`connect`] chooses the transport of a link.

mod circuit;
mod connect;
mod connection;
mod context;
mod definitions;
mod era;
mod lifecycle;
mod offer_cache;
mod probe;
mod starts;
mod subscriptions;
mod supervisor;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use narrows_wire::Raw;

use self::connection::Connection;
pub use self::connection::OwnLink;
pub use self::context::{ChangeCounter, ServerNumbers, UpstreamContext};
pub use self::definitions::Definitions;
pub use self::lifecycle::InFlightGuard;
use self::lifecycle::Lifecycle;
use self::offer_cache::OfferCache;
pub use self::starts::StartSlots;
pub use self::supervisor::{SharedNotificationHandler, supervise};
use crate::error::Error;
use crate::failure::LinkError;
use crate::hooks::UpstreamObserver;
use crate::secrets::{Redacted, Secrets};
use crate::settings::{Sharing, Transport, UpstreamSettings};

/// One instance of a server that the gateway calls.
pub struct Upstream {
    /// The number of the server id. Sessions and views store data about a server under this number,
    /// which is the same for all instances of the server.
    pub index: usize,
    /// The number of this instance.
    pub serial: u64,
    pub id: Arc<str>,
    pub slug: Arc<str>,
    pub settings: UpstreamSettings,
    secrets: Secrets,
    context: Arc<UpstreamContext>,
    observer: Arc<dyn UpstreamObserver>,
    lifecycle: Lifecycle,
    offer_cache: OfferCache,
    connection: Connection,
}

impl Upstream {
    pub fn new(
        index: usize,
        slug: &str,
        settings: UpstreamSettings,
        context: Arc<UpstreamContext>,
        observer: Arc<dyn UpstreamObserver>,
    ) -> Self {
        Upstream {
            index,
            serial: context.numbers.next_instance(),
            id: settings.id.as_str().into(),
            slug: slug.into(),
            secrets: Secrets::of(&settings.kind),
            lifecycle: Lifecycle::new(settings.enabled, context.stop.child_token()),
            offer_cache: OfferCache::default(),
            connection: Connection::new(settings.max_links),
            observer,
            context,
            settings,
        }
    }

    pub fn observer(&self) -> &dyn UpstreamObserver {
        &*self.observer
    }

    /// Returns a message from the server without secrets, for the log.
    pub fn redacted<'a>(&self, message: &'a Raw) -> Redacted<'a> {
        self.secrets.redacted(message)
    }

    /// Returns the sharing mode for calls. A plain JSON-RPC server has no sessions, so its link is
    /// always shared.
    pub fn sharing(&self) -> Sharing {
        match self.settings.kind.transport() {
            Transport::Rpc => Sharing::Shared,
            _ => self.settings.sharing,
        }
    }

    /// Converts the error of a link into the error for the caller.
    pub fn error(&self, error: LinkError) -> Error {
        let server = self.settings.id.clone();
        match error {
            LinkError::Answered(error) => Error::Answered(error),
            LinkError::Timeout(after) => Error::Timeout { server, after },
            LinkError::Closed { failure, .. } => {
                self.refused(self.secrets.redact(failure.detail.clone()), None)
            }
            LinkError::Invalid(reason) => Error::Invalid { server, reason },
            LinkError::TooLarge(max) => Error::TooLarge { server, max },
        }
    }
}
