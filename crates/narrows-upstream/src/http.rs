//! A link over Streamable HTTP. Each message is sent with a POST and answered with JSON or an event
//! stream. A GET stream carries messages outside any call. Plain JSON-RPC over HTTP is the same
//! without sessions and streams ([`HttpProtocol`]).
//!
//! Unlike a duplex connection, a POST ties all messages on its stream to one call. Start reading at
//! [`HttpLink::open`], and follow a call from [`HttpLink::request`] through `call` and `incoming`.

mod call;
mod endpoint;
mod greet;
mod incoming;
mod listen;
mod outbox;
mod progress;
mod renewable_timeout;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use narrows_wire::{Id, Raw, encode_error, encode_notification, encode_request, encode_result};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};
use tokio_util::task::AbortOnDropHandle;

use self::endpoint::Endpoint;
use self::incoming::Call;
use self::outbox::Outbox;
use self::progress::Progress;
use self::renewable_timeout::RenewableTimeout;
use crate::exchange::{AskResponder, ClientHello};
use crate::failure::{Failure, FailureKind, LinkError};
use crate::handler::NotificationHandler;
use crate::handshake::ServerHello;
use crate::health::Liveness;
use crate::request::{ModernParts, Outgoing, is_work};
use crate::settings::RemoteSettings;
use crate::timers::Timers;
use crate::violations::ViolationLog;
use crate::web::HttpClient;

/// The limit for each of the two steps of closing a link: posting the queued messages, and deleting
/// the session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The protocol of the POST requests and their responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HttpProtocol {
    Streamable,
    /// Streamable HTTP of MCP 2026-07-28: no sessions, no GET, and nothing can be resumed.
    Modern,
    /// Plain JSON-RPC: no sessions, no streams.
    Rpc,
}

pub(crate) struct HttpLink {
    /// Distinguishes this link from all others.
    serial: u64,
    server: Arc<str>,
    hello: ClientHello,
    handler: Arc<dyn NotificationHandler>,
    startup_timeout: Duration,
    endpoint: Arc<Endpoint>,
    next_id: AtomicU64,
    progress: Progress,
    /// Timers for the timeouts of calls.
    timers: Arc<Timers>,
    violations: ViolationLog,
    outbox: Outbox,
    listener: Mutex<Option<AbortOnDropHandle<()>>>,
    /// Locked while a new session is opened. Contains the failure of the last attempt.
    reopening: tokio::sync::Mutex<Option<Arc<Failure>>>,
    failed_reopens: AtomicU64,
}

impl HttpLink {
    /// Initialises the connection and starts the listener.
    #[expect(
        clippy::too_many_arguments,
        reason = "the arguments are independent, and there is only one caller"
    )]
    pub(crate) async fn open(
        client: HttpClient,
        settings: &RemoteSettings,
        protocol: HttpProtocol,
        server: Arc<str>,
        serial: u64,
        hello: &ClientHello,
        handler: Arc<dyn NotificationHandler>,
        max_message_bytes: usize,
        startup_timeout: Duration,
    ) -> Result<(Arc<HttpLink>, ServerHello), Failure> {
        let link = HttpLink::new(
            client,
            settings,
            protocol,
            server,
            serial,
            hello,
            handler,
            max_message_bytes,
            startup_timeout,
        )?;
        // Nothing else owns the link until it is initialised. If this future fails or is dropped
        // before, the guard deletes a session that the server may have opened.
        let mut opening = HttpOpening(Some(&link));
        let hello = link.greet().await?;
        opening.0 = None;
        drop(opening);
        Ok((link, hello))
    }

    /// Creates the link without contacting the server.
    #[expect(
        clippy::too_many_arguments,
        reason = "the arguments are independent, and there are only two callers"
    )]
    pub(crate) fn new(
        client: HttpClient,
        settings: &RemoteSettings,
        protocol: HttpProtocol,
        server: Arc<str>,
        serial: u64,
        hello: &ClientHello,
        handler: Arc<dyn NotificationHandler>,
        max_message_bytes: usize,
        startup_timeout: Duration,
    ) -> Result<Arc<HttpLink>, Failure> {
        let endpoint = Arc::new(Endpoint::new(
            &client,
            settings,
            protocol,
            max_message_bytes,
        )?);
        Ok(Arc::new(HttpLink {
            serial,
            hello: hello.clone(),
            handler,
            startup_timeout,
            next_id: AtomicU64::new(1),
            progress: Progress::default(),
            timers: Arc::default(),
            violations: ViolationLog::default(),
            outbox: Outbox::new(endpoint.clone(), server.clone()),
            server,
            endpoint,
            listener: Mutex::default(),
            reopening: tokio::sync::Mutex::default(),
            failed_reopens: AtomicU64::new(0),
        }))
    }

    /// Returns true if the transport has GET, by which streams are resumed.
    fn has_get(&self) -> bool {
        self.endpoint.protocol != HttpProtocol::Modern
    }

    /// Returns true if the server has opened a session.
    pub(crate) fn has_session(&self) -> bool {
        self.endpoint.session().id.is_some()
    }

    /// Sends a request and waits for its response. Dropping the future cancels the request at the
    /// server.
    pub(crate) fn request(
        self: &Arc<Self>,
        outgoing: Outgoing<'_>,
    ) -> impl Future<Output = Result<Raw, LinkError>> {
        self.request_with(outgoing, None)
    }

    /// Sends a request and waits for its response. `parts` is set for servers of the modern era.
    pub(crate) async fn request_with(
        self: &Arc<Self>,
        outgoing: Outgoing<'_>,
        parts: Option<&ModernParts<'_>>,
    ) -> Result<Raw, LinkError> {
        if let Some(failure) = self.endpoint.end_reason() {
            return Err(LinkError::unsent(failure.clone()));
        }
        let sent = Instant::now();
        let is_work = is_work(outgoing.method);
        let _in_flight = is_work.then(|| self.endpoint.liveness.in_flight());
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let params = outgoing.encoded_params(id, parts);
        let message = encode_request(&Id::number(id), outgoing.method, params.as_ref());
        let message = outgoing.charged(message);
        let timeout = Arc::new(RenewableTimeout::new(outgoing.timeout));
        let _watch = self.progress.watch(id, &outgoing, &timeout);
        let call = Call {
            id,
            outgoing: &outgoing,
            headers: parts.and_then(|parts| parts.headers),
        };
        let mut answer = pin!(call::call(self, &call, message));
        tokio::select! {
            biased;
            answer = &mut answer => return answer,
            () = timeout.expired(&self.timers) => {}
            failure = self.endpoint.given_up() => return Err(LinkError::lost(failure)),
        }
        if is_work {
            self.endpoint.liveness.record_timeout(sent);
        }
        // The call is dropped after this and sends the reason to the server.
        if let Some(origin) = &outgoing.origin {
            origin.cancel.give_reason("timeout");
        }
        Err(LinkError::Timeout(outgoing.timeout))
    }

    /// Sends a notification without waiting. If the queue is full because the server accepts no
    /// messages, the notification is dropped.
    pub(crate) fn notify(&self, method: &str, params: Option<Raw>) {
        if !self
            .outbox
            .put(encode_notification(method, params.as_ref()))
        {
            tracing::debug!(server = %self.server, method, "notification dropped: the server does not accept messages");
        }
    }

    /// Ends the link and deletes the session on the server.
    pub(crate) async fn close(&self) {
        let closed = Failure::new(FailureKind::Closed, "closed by the gateway");
        self.endpoint.end(Arc::new(closed));
        *self.listener.lock() = None;
        let _ = timeout(CLOSE_TIMEOUT, self.outbox.empty()).await;
        let _ = timeout(CLOSE_TIMEOUT, self.endpoint.delete()).await;
    }

    /// Ends the link and all pending calls, because the server does not respond any more. The
    /// session may still exist, so it is deleted in the background.
    pub(crate) fn give_up(self: &Arc<Self>, failure: Failure) {
        self.endpoint.give_up(Arc::new(failure));
        *self.listener.lock() = None;
        let endpoint = self.endpoint.clone();
        tokio::spawn(async move {
            let _ = timeout(CLOSE_TIMEOUT, endpoint.delete()).await;
        });
    }

    /// Returns the reason why the link has ended, or `None` if it is open.
    pub(crate) fn end_reason(&self) -> Option<Arc<Failure>> {
        self.endpoint.end_reason().cloned()
    }

    pub(crate) fn liveness(&self) -> &Liveness {
        &self.endpoint.liveness
    }

    /// Ends the link and deletes the session in the background.
    pub(crate) fn abandon(self: &Arc<Self>) {
        if self.endpoint.end_reason().is_none()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let link = self.clone();
            runtime.spawn(async move { link.close().await });
        }
    }

    /// Waits until the link has ended, and returns the reason: it was closed, the health check
    /// failed, or the server was unreachable several times in a row. A single failed request does
    /// not end the link.
    pub(crate) async fn ended(&self) -> Arc<Failure> {
        self.endpoint.ended().await
    }
}

/// Closes the link when it is dropped before the link is initialised.
struct HttpOpening<'a>(Option<&'a Arc<HttpLink>>);

impl Drop for HttpOpening<'_> {
    fn drop(&mut self) {
        if let Some(link) = self.0 {
            link.abandon();
        }
    }
}

impl AskResponder for HttpLink {
    fn answer(&self, id: &Id, body: Result<Raw, Raw>) {
        self.outbox.put_reserved(match body {
            Ok(result) => encode_result(id, &result),
            Err(error) => encode_error(Some(id), &error),
        });
    }

    fn notify(&self, method: &str, params: Option<Raw>) {
        HttpLink::notify(self, method, params);
    }
}

#[cfg(test)]
mod tests;
