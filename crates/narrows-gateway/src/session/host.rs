//! The interface of the gateway for its sessions.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Session;
use super::log_level::LogLevel;
use crate::catalogue::ViewPart;
use crate::clients::Clients;
use crate::endpoint::Endpoint;
use crate::settings::Limits;
use crate::subscribers::Subscribers;
use narrows_upstream::Upstream;

/// The services that the gateway shares with its sessions.
pub(crate) struct SessionServices {
    pub(crate) limits: Limits,
    pub(crate) clients: Clients,
    pub(crate) subscribers: Arc<Subscribers>,
    /// Runs all background tasks. The shutdown of the gateway waits for them.
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
    /// The mark of this gateway.
    pub(crate) mark: Arc<str>,
}

/// The servers, views and other sessions of a gateway.
pub(crate) trait SessionHost: Send + Sync {
    /// Returns the server with this number.
    fn upstream(&self, number: usize) -> Option<Arc<Upstream>>;

    /// Returns all servers with their current offers.
    fn parts(&self) -> Vec<ViewPart>;

    /// Returns true if the view of the endpoint is up to date and its lists need not wait for
    /// servers. After `limit`, lists do not wait.
    fn is_ready(&self, endpoint: &Endpoint, limit: Instant) -> bool;

    /// Waits until `limit` for the servers of an endpoint that are still starting, then updates its
    /// view.
    fn wait_until_ready<'a>(&'a self, endpoint: &'a Endpoint, limit: Instant) -> BoxFuture<'a, ()>;

    /// Waits until a server has started or failed, within its request timeout, then updates all
    /// views.
    fn wait_for_start<'a>(&'a self, upstream: &'a Upstream) -> BoxFuture<'a, ()>;

    fn refresh_views(&self);

    /// Returns the most verbose level that any session has set.
    fn lowest_level(&self) -> Option<LogLevel>;

    fn forget_session(&self, serial: u64);

    /// Returns the matching session that has been silent for longest.
    fn longest_silent(&self, fits: &dyn Fn(&Arc<Session>) -> bool) -> Option<Arc<Session>>;
}
