//! Upstreams: the servers we call, with their state, their offers and the links
//! to them.
//!
//! An [`Upstream`] has one shared link, kept open by its
//! [supervisor](supervisor), which also feeds the catalogue; sessions that can
//! be asked questions open links of their own. [`connect`] chooses the
//! transport of a link.

mod circuit;
mod connect;
mod connection;
mod context;
mod definitions;
mod lifecycle;
mod offered;
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
pub use self::context::{Changes, Numbers, UpstreamContext};
pub use self::definitions::Definitions;
pub use self::lifecycle::InFlightGuard;
use self::lifecycle::Lifecycle;
use self::offered::Offered;
pub use self::starts::StartSlots;
pub use self::supervisor::{SharedNotificationHandler, supervise};
use crate::error::Error;
use crate::failure::LinkError;
use crate::hooks::UpstreamObserver;
use crate::secrets::{Redacted, Secrets};
use crate::settings::{Sharing, Transport, UpstreamSettings};

/// One server we call.
pub struct Upstream {
    /// The number of its id: what sessions and views know of a server is kept
    /// by it, whichever instance of the server they meet.
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
    offered: Offered,
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
            offered: Offered::default(),
            connection: Connection::new(settings.max_links),
            observer,
            context,
            settings,
        }
    }

    pub fn observer(&self) -> &dyn UpstreamObserver {
        &*self.observer
    }

    /// Returns a message of the server as the log may show it, without secrets.
    pub fn redacted<'a>(&self, message: &'a Raw) -> Redacted<'a> {
        self.secrets.redacted(message)
    }

    /// Returns which link a call takes. A server without sessions needs no
    /// link for each of them.
    pub fn sharing(&self) -> Sharing {
        match self.settings.kind.transport() {
            Transport::Rpc => Sharing::Shared,
            _ => self.settings.sharing,
        }
    }

    /// Translates a link's error for the caller.
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
