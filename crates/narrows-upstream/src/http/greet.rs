//! The `initialize` handshake, which is repeated when the server no longer knows the session.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ::http::{HeaderMap, HeaderValue};
use narrows_wire::modern::header;
use narrows_wire::{Id, Raw, Revision, encode_notification, encode_request};
use tokio_util::task::AbortOnDropHandle;

use super::call::read_answer;
use super::endpoint::Session;
use super::incoming::Call;
use super::listen::listen;
use super::outbox;
use super::{HttpLink, HttpOpening, HttpProtocol};
use crate::exchange::Notice;
use crate::failure::{Failure, FailureKind, LinkError};
use crate::handshake::ServerHello;
use crate::request::{ModernParts, Outgoing};
use crate::web::HttpError;

const METHOD_NOT_FOUND: &str = "-32601";

impl HttpLink {
    /// Opens a session on the server and makes it the current one.
    pub(super) async fn greet(self: &Arc<Self>) -> Result<ServerHello, Failure> {
        let limit = self.startup_timeout;
        let late = || {
            let detail = format!(
                "{}: no answer to initialize within {} s",
                self.endpoint.shown(),
                limit.as_secs_f64()
            );
            Failure::new(FailureKind::TimedOut, detail)
        };
        let greeted = tokio::time::timeout(limit, self.try_initialize(limit)).await;
        let hello = greeted.map_err(|_| late())??;
        if let HttpProtocol::Streamable = self.endpoint.protocol {
            self.listen();
        }
        Ok(hello)
    }

    /// Opens the link of a server of the modern era, which has no sessions.
    pub(crate) async fn discover(self: &Arc<Self>) -> Result<ServerHello, Failure> {
        let mut opening = HttpOpening(Some(self));
        let meta = ServerHello::request_meta(&self.hello);
        let method = "server/discover";
        let mut headers = HeaderMap::new();
        headers.insert(header::METHOD, HeaderValue::from_static(method));
        let parts = ModernParts {
            meta: &meta,
            resumed: &[],
            headers: Some(&headers),
        };
        let call = Outgoing::own(method, None, self.startup_timeout);
        let result = self.request_with(call, Some(&parts)).await;
        let result = result.map_err(|error| error.into_failure(method))?;
        let hello = ServerHello::of_discovery(&result, &self.server)?;
        self.endpoint.enter(hello.revision, None);
        opening.0 = None;
        drop(opening);
        Ok(hello)
    }

    async fn try_initialize(self: &Arc<Self>, limit: Duration) -> Result<ServerHello, Failure> {
        let (id, result) = match self.initialize(limit).await {
            Ok(answer) => answer,
            Err(HttpError::Answered(error)) if self.may_skip_hello(&error) => {
                let hello = ServerHello::without_handshake();
                self.endpoint.enter(hello.revision, None);
                return Ok(hello);
            }
            Err(error) => return Err(error.into_failure(self.endpoint.shown())),
        };
        let hello = ServerHello::read(&result);
        // The session is entered even if the response is invalid, so that it will be deleted.
        let revision = hello.as_ref().map(|hello| hello.revision);
        self.endpoint
            .enter(revision.unwrap_or(Revision::LATEST_LEGACY), id);
        let hello = hello?;
        // Posted here instead of by the queue, so that no request can overtake it.
        let initialized = encode_notification("notifications/initialized", None);
        match outbox::post(&self.endpoint, initialized).await {
            Ok(()) => {}
            Err(HttpError::Unreachable { failure, .. }) => return Err((*failure).clone()),
            // Some servers reject this notification but work anyway.
            Err(error) => {
                let error = error.into_link_error(self.endpoint.shown());
                tracing::debug!(server = %self.server, ?error, "the server did not accept notifications/initialized");
            }
        }
        Ok(hello)
    }

    async fn initialize(
        self: &Arc<Self>,
        limit: Duration,
    ) -> Result<(Option<HeaderValue>, Raw), HttpError> {
        let params = ServerHello::request(&self.hello);
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let message = encode_request(&Id::number(id), "initialize", Some(&params));
        let without_session = self.endpoint.without_session();
        let answer = self
            .endpoint
            .post(&without_session, message, &mut false)
            .await?;
        let session_id = answer.session_id();
        let outgoing = Outgoing::own("initialize", None, limit);
        let call = Call {
            id,
            outgoing: &outgoing,
            headers: None,
        };
        let result = read_answer(self, &call, &without_session, answer).await?;
        Ok((session_id, result))
    }

    /// Returns true for a plain JSON-RPC server without `initialize`, which may still have tools.
    fn may_skip_hello(&self, error: &Raw) -> bool {
        let code = error.member("code");
        self.endpoint.protocol == HttpProtocol::Rpc
            && code.is_some_and(|code| code.as_str() == METHOD_NOT_FOUND)
    }

    /// Opens a new session in place of one that the server no longer knows. If several calls notice
    /// the loss at the same time, only one of them sends `initialize`.
    pub(super) async fn reopen(self: &Arc<Self>, gone: u64) -> Result<Arc<Session>, LinkError> {
        let failed_before = self.failed_reopens.load(Ordering::Acquire);
        let mut last_failure = self.reopening.lock().await;
        let session = self.endpoint.session();
        if session.serial != gone {
            return Ok(session);
        }
        if let Some(failure) = &*last_failure
            && self.failed_reopens.load(Ordering::Acquire) != failed_before
        {
            return Err(LinkError::unsent(failure.clone()));
        }
        match self.greet().await {
            Ok(_) => {
                tracing::info!(server = %self.server, "the session had expired; opened a new one");
                self.handler.notice(Notice::new("narrows/reopened", None));
                Ok(self.endpoint.session())
            }
            Err(failure) => {
                // The server may have been replaced by one of the modern era, which only a new
                // link can detect.
                if failure.kind == FailureKind::UnsupportedRevision {
                    self.give_up(failure.clone());
                }
                let failure = last_failure.insert(Arc::new(failure)).clone();
                self.failed_reopens.fetch_add(1, Ordering::Release);
                Err(LinkError::unsent(failure))
            }
        }
    }

    /// Starts the listener of the current session, and stops that of the previous one.
    fn listen(self: &Arc<Self>) {
        let (link, endpoint) = (Arc::downgrade(self), self.endpoint.clone());
        let session = endpoint.session();
        let task = tokio::spawn(listen(link, endpoint, session));
        *self.listener.lock() = Some(AbortOnDropHandle::new(task));
    }

    #[cfg(test)]
    pub(super) fn is_listening(&self) -> bool {
        self.listener
            .lock()
            .as_ref()
            .is_some_and(|task| !task.is_finished())
    }
}
