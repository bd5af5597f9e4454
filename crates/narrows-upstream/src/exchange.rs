//! One exchange, the only form that requests have inside the gateway.
//!
//! While the answer to a request is on its way, [`Event`]s come back (notices,
//! and requests of the server to the client); one result or error ends it.
//! Each era of the protocol has its adapter on either side of this form.

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

/// Something that happens on the way to an answer, or on a session without any call.
#[derive(Debug)]
pub enum Event {
    Notice(Notice),
    Ask(Ask),
    /// A question that was put to the client is not asked any more.
    Withdraw(AskKey),
}

/// A notification for the client.
#[derive(Debug, Clone)]
pub struct Notice {
    pub method: Box<str>,
    pub params: Option<Raw>,
    /// The slug of the upstream that it came from; none for the gateway's own.
    pub server: Option<Arc<str>>,
}

impl Notice {
    /// A notice of the gateway's own.
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

    /// Tells the client how many notifications it does not get.
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

    /// Tells a client that resumes a stream how many of its messages are gone.
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

    /// Returns true if its bytes are charged while it waits for the client.
    fn is_large(&self) -> bool {
        self.params.as_ref().map_or(0, Raw::len) >= SMALL
    }
}

/// The cancellation of a request by its client: a flag that the call waits for,
/// with the client's reason for the upstream.
#[derive(Debug, Default)]
pub struct Cancel {
    is_raised: AtomicBool,
    /// The call, which is the only one that waits.
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

    /// Ends the call although its client waits for it.
    pub fn interrupt(&self, reason: &str) {
        self.interrupted.store(true, Ordering::Release);
        self.raise(Some(reason));
    }

    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Acquire)
    }

    /// The first reason stays.
    pub fn give_reason(&self, reason: &str) {
        let _ = self.reason.set(reason.into());
    }

    pub async fn raised(&self) {
        poll_fn(|cx| {
            // Registered before the look, so that it cannot be missed.
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

/// A question of an upstream to the client. Dropping it unanswered refuses it.
#[derive(Debug)]
pub struct Ask {
    /// The upstream's published id (slug), first part of the id on the wire.
    pub server: Arc<str>,
    pub method: Box<str>,
    pub params: Option<Raw>,
    pub key: AskKey,
    pub reply: AskReply,
}

impl Ask {
    /// A request of the server behind the link with the serial number `serial`.
    pub(crate) fn from_server(
        server: &Arc<str>,
        serial: u64,
        link: Arc<dyn AnswerTo>,
        request: Request,
    ) -> Ask {
        Ask {
            server: server.clone(),
            method: request.method,
            params: request.params,
            key: AskKey {
                link: serial,
                id: request.id.clone(),
            },
            reply: AskReply::new(link, request.id),
        }
    }

    /// As it goes to a legacy client.
    pub fn encode(&self, id: &Id) -> Bytes {
        encode_request(id, &self.method, self.params.as_ref())
    }
}

/// Names a question among all questions of all links.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AskKey {
    pub link: u64,
    pub id: Id,
}

/// The way back to the upstream that asked.
pub struct AskReply(Option<Arc<dyn AnswerTo>>, Id);

/// A link, as seen by who answers its questions.
pub trait AnswerTo: Send + Sync {
    /// Sends the answer, result or error object, under the upstream's own id. Never waits.
    fn answer(&self, id: &Id, body: Result<Raw, Raw>);
    /// Sends a notification about it (progress). Never waits.
    fn notify(&self, method: &str, params: Option<Raw>);
}

impl AskReply {
    pub fn new(link: Arc<dyn AnswerTo>, id: Id) -> Self {
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

    /// Forgets the question without an answer: its asker has withdrawn it.
    pub fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for AskReply {
    // An upstream must not wait for an answer that cannot come any more.
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

/// The reason why an upstream's question is refused. These are the only errors
/// that the gateway itself sends upstream.
#[derive(Debug, Clone, Copy)]
pub enum Refusal {
    /// No client behind this link can be asked this.
    NotSupported,
    /// More than one client might be meant.
    NoOwner,
    /// The client went away, or its queue is full.
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
            Refusal::NoAnswer => {
                r#"{"code":-32603,"message":"The client went away without an answer"}"#
            }
        })
    }
}
