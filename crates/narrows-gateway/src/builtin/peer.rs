//! The client of a built-in server: receives notifications and answers requests from the server.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use narrows_wire::{Id, Raw, Response, encode_notification, encode_request};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

use parking_lot::Mutex;

/// A handle to the client of one connection. Cheap to clone.
#[derive(Clone)]
pub(super) struct ClientHandle(Arc<ClientHandleInner>);

struct ClientHandleInner {
    outgoing: mpsc::Sender<Bytes>,
    /// The client's capabilities as declared in `initialize`.
    capabilities: Mutex<Raw>,
    next_id: AtomicU64,
    pending: Mutex<HashMap<u64, oneshot::Sender<Result<Raw, Raw>>>>,
}

impl ClientHandle {
    pub(super) fn new(outgoing: mpsc::Sender<Bytes>) -> ClientHandle {
        ClientHandle(Arc::new(ClientHandleInner {
            outgoing,
            capabilities: Mutex::new(Raw::empty_object()),
            next_id: AtomicU64::new(1),
            pending: Mutex::default(),
        }))
    }

    /// Sends a message. Waits while the queue is full.
    pub(super) async fn send(&self, message: Bytes) {
        // If the receiver is gone, the connection is closed and this task is about to be dropped
        // too.
        let _ = self.0.outgoing.send(message).await;
    }

    pub(super) async fn notify(&self, method: &str, params: &serde_json::Value) {
        self.send(encode_notification(
            method,
            Some(&Raw::from_serialize(params)),
        ))
        .await;
    }

    /// Sends a request and waits for the response: a result or an error object. Has no time limit
    /// of its own; the caller limits the time of the call that the request belongs to.
    pub(super) async fn ask(&self, method: &str, params: &serde_json::Value) -> Result<Raw, Raw> {
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.0.pending.lock().insert(id, sender);
        let question = PendingRequest { peer: self, id };
        self.send(encode_request(
            &Id::number(id),
            method,
            Some(&Raw::from_serialize(params)),
        ))
        .await;
        let answer = answer.await;
        drop(question);
        answer.unwrap_or_else(|_| Err(Raw::from_static(r#"{"code":-32603,"message":"No answer"}"#)))
    }

    /// Handles the response to a request of this server. Ignores a response that no request waits
    /// for.
    pub(super) fn answered(&self, response: Response) {
        let id = response.id.as_ref().and_then(Id::as_u64);
        if let Some(waiting) = id.and_then(|id| self.0.pending.lock().remove(&id)) {
            let _ = waiting.send(response.body);
        }
    }

    pub(super) fn declare(&self, capabilities: Raw) {
        *self.0.capabilities.lock() = capabilities;
    }

    /// Returns true if the client can show forms to the user. An empty declaration includes forms;
    /// a declaration that names only `url` does not (MCP 2025-11-25, elicitation, capabilities).
    pub(super) fn supports_forms(&self) -> bool {
        let elicitation = self.0.capabilities.lock().member("elicitation");
        elicitation
            .is_some_and(|modes| modes.member("form").is_some() || modes.member("url").is_none())
    }
}

/// A request in flight. Cancelled at the client if dropped without a response.
struct PendingRequest<'a> {
    peer: &'a ClientHandle,
    id: u64,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        if self.peer.0.pending.lock().remove(&self.id).is_some() {
            let params = Raw::from_serialize(&json!({ "requestId": self.id }));
            let message = encode_notification("notifications/cancelled", Some(&params));
            // `drop` cannot wait. If the queue is full, the cancellation is lost, which does no
            // harm.
            let _ = self.peer.0.outgoing.try_send(message);
        }
    }
}
