//! The life of one request inside the gateway.
//!
//! While the response to a request is pending, [`Event`]s travel to the client: notifications and
//! requests from the server. The exchange ends with one result or one error. Each era of the
//! protocol has an adapter that translates to and from this form.

mod queue;

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use bytes::Bytes;
use futures_util::task::AtomicWaker;
pub use narrows_wire::{Asks, ClientHello};
use narrows_wire::{Id, Raw, Request, encode_notification, encode_request};
use serde_json::json;

pub use self::queue::{EventSink, EventStream};
use crate::memory::SMALL;

/// An event that occurs while a call is pending, or on a session outside any call.
#[derive(Debug)]
pub enum Event {
    Notice(Notice),
    Ask(Ask),
    /// The server has cancelled a request that it sent to the client.
    Withdraw(AskKey),
}

/// A notification for the client.
#[derive(Debug, Clone)]
pub struct Notice {
    pub method: Box<str>,
    pub params: Option<Raw>,
    /// The slug of the upstream that sent it. `None` for the gateway's own notifications.
    pub server: Option<Arc<str>>,
}

impl Notice {
    /// Creates a notification that the gateway itself sends.
    pub fn new(method: impl Into<Box<str>>, params: Option<Raw>) -> Self {
        Notice {
            method: method.into(),
            params,
            server: None,
        }
    }

    pub fn from_server(
        server: &Arc<str>,
        method: impl Into<Box<str>>,
        params: Option<Raw>,
    ) -> Self {
        Notice {
            server: Some(server.clone()),
            ..Notice::new(method, params)
        }
    }

    /// Returns a log message that reports how many notifications the client did not receive.
    pub fn dropped(count: u64, server: Option<&str>) -> Self {
        let of = server.map_or_else(String::new, |server| format!(" from server '{server}'"));
        let (noun, verb) = match count {
            1 => ("notification", "was"),
            _ => ("notifications", "were"),
        };
        let message = format!(
            "{count} {noun}{of} {verb} dropped: the queue for this client, or the memory for all \
             clients, was full"
        );
        Notice::missing(message, count, server)
    }

    /// Returns a log message for a client that resumes a stream, reporting how many of its messages
    /// are no longer available.
    pub fn not_kept(count: u64) -> Self {
        let noun = if count == 1 { "message" } else { "messages" };
        let message = format!("{count} {noun} of this stream can no longer be resumed");
        Notice::missing(message, count, None)
    }

    fn missing(message: String, count: u64, server: Option<&str>) -> Self {
        let mut data = json!({ "message": message, "dropped": count });
        if let Some(server) = server {
            data["server"] = server.into();
        }
        let params = json!({ "level": "warning", "logger": "narrows", "data": data });
        Notice::new("notifications/message", Some(Raw::from_serialize(&params)))
    }

    pub fn encode(&self) -> Bytes {
        encode_notification(&self.method, self.params.as_ref())
    }

    /// Returns true if its bytes are charged to the client while it is queued.
    fn is_large(&self) -> bool {
        self.params.as_ref().map_or(0, Raw::len) >= SMALL
    }
}

/// The cancellation of a call: a flag that the call waits for, and the reason that is sent to the
/// upstream.
#[derive(Debug, Default)]
pub struct Cancel {
    is_raised: AtomicBool,
    /// The waker of the call, which is the only task that waits.
    call: AtomicWaker,
    interrupted: AtomicBool,
    reason: OnceLock<Box<str>>,
}

impl Cancel {
    pub fn raise(&self, reason: Option<&str>) {
        if let Some(reason) = reason {
            self.give_reason(reason);
        }
        self.is_raised.store(true, Ordering::Release);
        self.call.wake();
    }

    /// Ends the call although its client is still waiting for the result.
    pub fn interrupt(&self, reason: &str) {
        self.interrupted.store(true, Ordering::Release);
        self.raise(Some(reason));
    }

    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Acquire)
    }

    /// Sets the reason, unless one has already been set.
    pub fn give_reason(&self, reason: &str) {
        let _ = self.reason.set(reason.into());
    }

    pub async fn raised(&self) {
        poll_fn(|cx| {
            // The waker is registered before the flag is checked, so that the cancellation is not
            // missed.
            self.call.register(cx.waker());
            match self.is_raised.load(Ordering::Acquire) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }

    pub fn reason(&self) -> &str {
        self.reason
            .get()
            .map_or("cancelled by the client", |reason| reason)
    }
}

/// A request from an upstream to the client. Dropping it without a response rejects it.
#[derive(Debug)]
pub struct Ask {
    /// The slug of the upstream, which is the first part of the request id sent to the client.
    pub server: Arc<str>,
    pub method: Box<str>,
    pub params: Option<Raw>,
    /// The server's name for the request, if servers of its era name their requests.
    pub input_key: Option<Box<str>>,
    pub key: AskKey,
    pub reply: AskReply,
}

impl Ask {
    /// Wraps a request from the server behind the link with the serial number `serial`.
    pub(crate) fn from_server(
        server: &Arc<str>,
        serial: u64,
        link: Arc<dyn AskResponder>,
        request: Request,
    ) -> Ask {
        Ask {
            server: server.clone(),
            method: request.method,
            params: request.params,
            input_key: None,
            key: AskKey {
                link: serial,
                id: request.id.clone(),
            },
            reply: AskReply::new(link, request.id),
        }
    }

    /// Encodes the request for a legacy client.
    pub fn encode(&self, id: &Id) -> Bytes {
        encode_request(id, &self.method, self.params.as_ref())
    }
}

/// Identifies a server request across all links.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AskKey {
    pub link: u64,
    pub id: Id,
}

/// Sends the response back to the upstream that sent the request.
pub struct AskReply(Option<Arc<dyn AskResponder>>, Id);

/// The interface of a link for responding to server requests.
pub trait AskResponder: Send + Sync {
    /// Sends the result or the error object under the upstream's own request id, without waiting.
    fn answer(&self, id: &Id, body: Result<Raw, Raw>);
    /// Sends a notification about the request, such as progress, without waiting.
    fn notify(&self, method: &str, params: Option<Raw>);
}

impl AskReply {
    pub fn new(link: Arc<dyn AskResponder>, id: Id) -> Self {
        AskReply(Some(link), id)
    }

    pub fn answer(mut self, body: Result<Raw, Raw>) {
        if let Some(link) = self.0.take() {
            link.answer(&self.1, body);
        }
    }

    pub fn notify(&self, method: &str, params: Option<Raw>) {
        if let Some(link) = &self.0 {
            link.notify(method, params);
        }
    }

    /// Discards the request without a response, because the server has cancelled it.
    pub fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for AskReply {
    // Rejects the request, because an upstream must not wait for a response that can no longer
    // arrive.
    fn drop(&mut self) {
        if let Some(link) = self.0.take() {
            link.answer(&self.1, Err(Refusal::NoAnswer.error()));
        }
    }
}

impl std::fmt::Debug for AskReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AskReply({:?})", self.1)
    }
}

/// The reason why a server request is rejected. These are the only errors that the gateway itself
/// sends upstream.
#[derive(Debug, Clone, Copy)]
pub enum Refusal {
    /// No client behind this link supports this request.
    NotSupported,
    /// The request could be meant for more than one client.
    NoOwner,
    /// The client has disconnected, or its queue is full.
    NoAnswer,
}

impl Refusal {
    pub fn error(self) -> Raw {
        Raw::from_static(match self {
            Refusal::NotSupported => {
                r#"{"code":-32601,"message":"The client behind the gateway does not support this request"}"#
            }
            Refusal::NoOwner => {
                r#"{"code":-32603,"message":"The gateway cannot tell which client this request is meant for"}"#
            }
            Refusal::NoAnswer => r#"{"code":-32603,"message":"The client did not respond"}"#,
        })
    }
}
