//! Modern requests (MCP 2026-07-28) on a duplex channel: each is complete in itself.
//!
//! A client of this revision sends no `initialize`. Its requests run side by side as tasks of the
//! channel, and `notifications/cancelled` ends one of them without an answer.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;

use bytes::Bytes;
use narrows_gateway::Principal;
use narrows_gateway::{Entrypoint, Error, Gateway, ListenStream, ModernRequest, ModernStep};
use narrows_upstream::offload;
use narrows_wire::modern::{self, RequestMeta};
use narrows_wire::{Id, Notification, Raw, Request, Revision, encode_error, encode_result};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::error::{self, Refused};

/// The modern requests in flight on one channel.
#[derive(Default, Clone)]
pub(super) struct ModernCalls(Arc<Mutex<HashMap<Id, CancellationToken>>>);

/// The gateway as the client of one channel sees it.
pub(super) struct ModernTarget {
    pub(super) gateway: Gateway,
    pub(super) principal: Principal,
    pub(super) is_server: bool,
    pub(super) name: String,
    pub(super) outgoing: mpsc::Sender<Bytes>,
    pub(super) stop: CancellationToken,
}

/// A request in flight, removed from the table when dropped.
pub(super) struct ModernCall {
    calls: ModernCalls,
    id: Id,
    cancel: CancellationToken,
}

/// Returns true if a request has the form of this revision. `initialize` always begins a legacy
/// session.
pub(super) fn is_modern(request: &Request) -> bool {
    &*request.method != "initialize" && modern::request_version(request.params.as_ref()).is_some()
}

impl ModernCalls {
    /// Registers a request; `None` if its id is in use.
    pub(super) fn begin(&self, id: &Id) -> Option<ModernCall> {
        let cancel = CancellationToken::new();
        let mut calls = self.0.lock();
        if calls.contains_key(id) {
            return None;
        }
        calls.insert(id.clone(), cancel.clone());
        drop(calls);
        Some(ModernCall {
            calls: self.clone(),
            id: id.clone(),
            cancel,
        })
    }

    /// Handles a notification. Only cancellations have a meaning.
    pub(super) fn notify(&self, notification: &Notification) {
        let params = notification.params.as_ref();
        if &*notification.method != "notifications/cancelled" {
            return;
        }
        let id = params.and_then(|params| params.member("requestId"));
        if let Some(id) = id.and_then(Id::from_raw)
            && let Some(cancel) = self.0.lock().get(&id)
        {
            cancel.cancel();
        }
    }
}

impl Drop for ModernCall {
    fn drop(&mut self) {
        self.calls.0.lock().remove(&self.id);
    }
}

impl ModernCall {
    /// Runs the request to its end, or until the client cancels it.
    pub(super) async fn run(self, target: ModernTarget, request: Request) {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {}
            answer = target.serve(request) => {
                if let Some(answer) = answer {
                    // Fails if the client has disconnected, which the loop notices as well.
                    let _ = target.outgoing.send(answer).await;
                }
            }
        }
    }
}

impl ModernTarget {
    fn entrypoint(&self) -> Entrypoint<'_> {
        match self.is_server {
            true => Entrypoint::Server(&self.name),
            false => Entrypoint::Endpoint(&self.name),
        }
    }

    /// Serves a request and returns the encoded answer; `None` if the client has disconnected.
    async fn serve(&self, request: Request) -> Option<Bytes> {
        let Request { id, method, params } = request;
        offload::large(params.as_ref().map_or(0, Raw::len)).await;
        let meta = match read(params.as_ref()) {
            Ok(meta) => meta,
            Err(refused) => return Some(refused.encode(Some(&id))),
        };
        let request = ModernRequest {
            meta,
            method,
            params,
        };
        let (gateway, entrypoint) = (&self.gateway, self.entrypoint());
        if &*request.method == "subscriptions/listen" {
            let stream = gateway.listen_modern(entrypoint, &self.principal, request, id.clone());
            return match stream.await {
                Some(Ok(stream)) => self.listen(stream, &id).await,
                Some(Err(failure)) => Some(failed(&id, &failure)),
                None => Some(Refused::UnknownEndpoint.encode(Some(&id))),
            };
        }
        let exchange = gateway.exchange(entrypoint, &self.principal, request, None);
        let mut exchange = match exchange.await {
            Some(Ok(exchange)) => exchange,
            Some(Err(failure)) => return Some(failed(&id, &failure)),
            None => return Some(Refused::UnknownEndpoint.encode(Some(&id))),
        };
        loop {
            match poll_fn(|cx| exchange.poll_step(cx)).await? {
                ModernStep::Event(message) => self.outgoing.send(message).await.ok()?,
                ModernStep::Answer(Ok(result)) => {
                    let message = encode_result(&id, &result);
                    return Some(exchange.memory().responses.hold(message));
                }
                ModernStep::Answer(Err(failure)) => return Some(failed(&id, &failure)),
            }
        }
    }

    /// Sends notifications until the gateway stops. Returns the result that ends them.
    async fn listen(&self, mut stream: ListenStream, id: &Id) -> Option<Bytes> {
        loop {
            let message = tokio::select! {
                message = poll_fn(|cx| stream.poll_next(cx)) => message,
                () = self.stop.cancelled() => None,
            };
            match message {
                Some(message) => self.outgoing.send(message).await.ok()?,
                None => return Some(encode_result(id, &stream.end())),
            }
        }
    }
}

/// Reads the metadata of a request and checks its version.
fn read(params: Option<&Raw>) -> Result<RequestMeta, Refused> {
    let meta = RequestMeta::read(params).map_err(Refused::BadMeta)?;
    match Revision::parse(&meta.version) {
        Some(revision) if !revision.is_legacy() => Ok(meta),
        _ => Err(Refused::UnsupportedVersion {
            requested: meta.version,
        }),
    }
}

fn failed(id: &Id, failure: &Error) -> Bytes {
    encode_error(Some(id), &error::core(failure, Revision::V2026_07_28))
}
