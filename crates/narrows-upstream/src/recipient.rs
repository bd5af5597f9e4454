//! The recipients of messages other than responses: notifications, cancellations and server
//! requests.
//!
//! Only [`recipient`] decides who receives a message. The link supplies the rule. Over Streamable
//! HTTP, a message on the stream of a call belongs to that call. Over a
//! [`Channel`](crate::channel::Channel), only a progress token ties a message to a call. A message
//! that could be meant for several clients is delivered to none of them.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use narrows_wire::Raw;

use crate::exchange::{Ask, Event, Refusal};
use crate::handler::NotificationHandler;
use crate::request::Origin;

/// A message from a server that is not a response, identified by its method.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ServerMessage<'a> {
    Notification(&'a str),
    Ask(&'a str),
}

/// The rule by which a link ties messages to calls.
pub(crate) enum LinkRule<'a> {
    /// Messages arrive on the stream of a call, or on the stream of the link (`None`).
    Stream(Option<&'a Origin>),
    /// All messages arrive over one channel.
    Channel(&'a dyn Fn() -> CallsInFlight),
}

/// The calls that a message over a channel could belong to.
pub(crate) enum CallsInFlight {
    None,
    /// All calls belong to one session. Contains the newest one.
    OneSession(Origin),
    SeveralSessions,
}

/// The recipient of a message.
pub(crate) enum Recipient<'a> {
    /// The link itself, which sends the response.
    Link,
    /// The client of this call.
    Call(Cow<'a, Origin>),
    /// The call identified by the progress token in the message.
    ProgressToken,
    /// The client that received the request to be cancelled.
    Asked,
    /// The handler of the link.
    Handler,
    /// No client. A server request is rejected for this reason.
    Refused(Refusal),
    /// MCP does not define this method.
    Unknown,
}

/// Decides who receives a message.
pub(crate) fn recipient<'a>(message: ServerMessage<'_>, rule: LinkRule<'a>) -> Recipient<'a> {
    match message {
        ServerMessage::Ask("ping") => Recipient::Link,
        ServerMessage::Ask(method) => match caller(rule) {
            Recipient::Call(origin) if !origin.asks.allows(method) => {
                Recipient::Refused(Refusal::NotSupported)
            }
            recipient => recipient,
        },
        // Matched by token on every stream, because many servers do not use the stream of the call.
        ServerMessage::Notification("notifications/progress") => Recipient::ProgressToken,
        ServerMessage::Notification("notifications/cancelled") => match rule {
            LinkRule::Stream(_) => caller(rule),
            LinkRule::Channel(_) => Recipient::Asked,
        },
        // These concern the server as a whole, not the call on whose stream they arrive.
        ServerMessage::Notification(
            "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed"
            | "notifications/resources/updated",
        ) => Recipient::Handler,
        ServerMessage::Notification(
            "notifications/message" | "notifications/elicitation/complete",
        ) => caller(rule),
        ServerMessage::Notification(method) if method.starts_with("notifications/") => match rule {
            LinkRule::Stream(_) => caller(rule),
            LinkRule::Channel(_) => Recipient::Handler,
        },
        ServerMessage::Notification(_) => Recipient::Unknown,
    }
}

/// Returns the recipient of a message that belongs to the call during which it was sent.
fn caller(rule: LinkRule<'_>) -> Recipient<'_> {
    match rule {
        LinkRule::Stream(Some(origin)) => Recipient::Call(Cow::Borrowed(origin)),
        LinkRule::Stream(None) => Recipient::Handler,
        LinkRule::Channel(calls) => match calls() {
            CallsInFlight::None => Recipient::Handler,
            CallsInFlight::OneSession(origin) => Recipient::Call(Cow::Owned(origin)),
            CallsInFlight::SeveralSessions => Recipient::Refused(Refusal::NoOwner),
        },
    }
}

impl Recipient<'_> {
    /// Delivers a server request to its recipient, or rejects it.
    pub(crate) fn ask(self, ask: Ask, handler: &dyn NotificationHandler) {
        match self {
            Recipient::Link => ask.reply.answer(Ok(Raw::empty_object())),
            Recipient::Call(origin) => {
                origin.sink.send(Event::Ask(ask));
            }
            Recipient::Handler => handler.ask(ask),
            Recipient::Refused(refusal) => ask.reply.answer(Err(refusal.error())),
            Recipient::ProgressToken | Recipient::Asked | Recipient::Unknown => {
                ask.reply.answer(Err(Refusal::NotSupported.error()));
            }
        }
    }
}
