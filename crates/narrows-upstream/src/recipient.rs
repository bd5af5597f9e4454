//! Recipients of the messages that a server sends besides its answers:
//! notifications, cancellations and questions.
//!
//! [`recipient`] is the only place that decides it. A link gives its rule: over
//! Streamable HTTP a message on the stream of a call belongs to that call, over
//! a [`Channel`](crate::channel::Channel) nothing but a progress token ties a
//! message to a call. A message that may be meant for several clients goes to
//! none of them.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use narrows_wire::Raw;

use crate::exchange::{Ask, Event, Refusal};
use crate::handler::NotificationHandler;
use crate::request::Origin;

/// A message of a server that is no answer, by its method.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unasked<'a> {
    Notification(&'a str),
    Question(&'a str),
}

/// The rule by which a link ties messages to calls.
pub(crate) enum LinkRule<'a> {
    /// The message came on a stream: that of a call, or that of the link.
    Stream(Option<&'a Origin>),
    /// All messages come over one channel.
    Channel(&'a dyn Fn() -> CallsInFlight),
}

/// The calls that a message over a channel may belong to.
pub(crate) enum CallsInFlight {
    None,
    /// All of them are of one session; this is the newest one.
    OneSession(Origin),
    SeveralSessions,
}

/// The receiver of one message.
pub(crate) enum Recipient<'a> {
    /// The link itself answers.
    Link,
    /// The client of this call.
    Call(Cow<'a, Origin>),
    /// The call that the progress token in the message names.
    ProgressToken,
    /// The client that got the question that is cancelled.
    Asked,
    /// The handler of the link.
    Handler,
    /// No client. A question is refused for this reason.
    Nobody(Refusal),
    /// The method is none of MCP.
    Unknown,
}

/// Decides who receives a message.
pub(crate) fn recipient<'a>(message: Unasked<'_>, rule: LinkRule<'a>) -> Recipient<'a> {
    match message {
        Unasked::Question("ping") => Recipient::Link,
        Unasked::Question(method) => match caller(rule) {
            Recipient::Call(origin) if !origin.asks.allows(method) => {
                Recipient::Nobody(Refusal::NotSupported)
            }
            recipient => recipient,
        },
        // On whichever stream it comes: many servers do not send it on that of
        // the call.
        Unasked::Notification("notifications/progress") => Recipient::ProgressToken,
        Unasked::Notification("notifications/cancelled") => match rule {
            LinkRule::Stream(_) => caller(rule),
            LinkRule::Channel(_) => Recipient::Asked,
        },
        // About the server, not about a call on whose stream they happen to come.
        Unasked::Notification(
            "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed"
            | "notifications/resources/updated",
        ) => Recipient::Handler,
        Unasked::Notification("notifications/message" | "notifications/elicitation/complete") => {
            caller(rule)
        }
        Unasked::Notification(method) if method.starts_with("notifications/") => match rule {
            LinkRule::Stream(_) => caller(rule),
            LinkRule::Channel(_) => Recipient::Handler,
        },
        Unasked::Notification(_) => Recipient::Unknown,
    }
}

/// The receiver of a message that belongs to the call it was sent during.
fn caller(rule: LinkRule<'_>) -> Recipient<'_> {
    match rule {
        LinkRule::Stream(Some(origin)) => Recipient::Call(Cow::Borrowed(origin)),
        LinkRule::Stream(None) => Recipient::Handler,
        LinkRule::Channel(calls) => match calls() {
            CallsInFlight::None => Recipient::Handler,
            CallsInFlight::OneSession(origin) => Recipient::Call(Cow::Owned(origin)),
            CallsInFlight::SeveralSessions => Recipient::Nobody(Refusal::NoOwner),
        },
    }
}

impl Recipient<'_> {
    /// Puts a question to its recipient, or refuses it.
    pub(crate) fn ask(self, ask: Ask, handler: &dyn NotificationHandler) {
        match self {
            Recipient::Link => ask.reply.answer(Ok(Raw::empty_object())),
            Recipient::Call(origin) => {
                origin.sink.send(Event::Ask(ask));
            }
            Recipient::Handler => handler.ask(ask),
            Recipient::Nobody(refusal) => ask.reply.answer(Err(refusal.error())),
            Recipient::ProgressToken | Recipient::Asked | Recipient::Unknown => {
                ask.reply.answer(Err(Refusal::NotSupported.error()));
            }
        }
    }
}
