//! Messages on a stream: the answer to the call whose stream it is, and what
//! goes to its [recipient](crate::recipient).

use std::sync::Arc;

use bytes::Bytes;
use narrows_wire::{Id, Incoming, Message, Notification, Raw, Request, decode};

use super::HttpLink;
use crate::exchange::{Ask, AskKey, Event, Notice};
use crate::memory::MemoryShare;
use crate::offload;
use crate::recipient::{LinkRule, Recipient, Unasked, recipient};
use crate::request::{Origin, Outgoing};

/// A request on its way, as the reader of its stream sees it.
pub(super) struct Call<'a> {
    pub(super) id: u64,
    pub(super) outgoing: &'a Outgoing<'a>,
}

impl Call<'_> {
    /// The memory share that its answer is charged to.
    pub(super) fn memory(&self) -> Option<&Arc<MemoryShare>> {
        let memory = self.origin()?.memory.as_ref()?;
        Some(&memory.responses)
    }

    pub(super) fn origin(&self) -> Option<&Origin> {
        self.outgoing.origin.as_ref()
    }
}

/// Reads one frame and delivers its messages. Returns the answer to `call` if it
/// is among them, or an error if the frame cannot be read.
pub(super) async fn handle_frame(
    link: &Arc<HttpLink>,
    call: Option<&Call<'_>>,
    frame: Bytes,
) -> Result<Option<Result<Raw, Raw>>, narrows_wire::Error> {
    match offload::run(frame.len(), move || decode(frame)).await? {
        Incoming::Single(message) => Ok(handle_message(link, call, message)),
        Incoming::Batch(messages) => {
            let mut answer = None;
            for message in messages {
                match message {
                    Ok(message) => answer = handle_message(link, call, message).or(answer),
                    Err(error) => link.violations.report(&link.server, &error),
                }
            }
            Ok(answer)
        }
    }
}

fn handle_message(
    link: &Arc<HttpLink>,
    call: Option<&Call<'_>>,
    message: Message,
) -> Option<Result<Raw, Raw>> {
    link.endpoint.vitals.heard();
    let origin = call.and_then(Call::origin);
    match message {
        Message::Response(response) => {
            let ours = call.is_some_and(|call| match &response.id {
                Some(id) => id.as_u64() == Some(call.id),
                // An error about a message that the server could not read
                // comes as the answer to the one POST that carried it.
                None => response.body.is_err(),
            });
            if ours {
                return Some(response.body);
            }
            tracing::debug!(server = %link.server, "the server answered what nobody asked");
        }
        Message::Notification(notification) => handle_notification(link, origin, notification),
        Message::Request(request) => handle_question(link, origin, request),
    }
    None
}

fn handle_notification(link: &HttpLink, origin: Option<&Origin>, notification: Notification) {
    let Notification { method, params } = notification;
    let message = Unasked::Notification(&method);
    match recipient(message, LinkRule::Stream(origin)) {
        Recipient::ProgressToken => {
            if let Some(params) = params {
                link.progress.forward(&link.server, &params);
            }
        }
        recipient if &*method == "notifications/cancelled" => {
            withdraw(link, &recipient, params);
        }
        Recipient::Call(origin) => {
            origin.notice(Notice::from_server(&link.server, method, params));
        }
        Recipient::Handler => {
            let notice = Notice::from_server(&link.server, method, params);
            link.handler.notice(notice);
        }
        Recipient::Link | Recipient::Asked | Recipient::Nobody(_) | Recipient::Unknown => {
            tracing::debug!(server = %link.server, %method, "the server sent a notification of no known kind");
        }
    }
}

/// Withdraws the question that a cancellation names.
fn withdraw(link: &HttpLink, recipient: &Recipient<'_>, params: Option<Raw>) {
    let id = params
        .and_then(|params| params.member("requestId"))
        .and_then(Id::from_raw);
    let Some(id) = id else { return };
    let key = AskKey {
        link: link.serial,
        id,
    };
    match recipient {
        Recipient::Call(origin) => drop(origin.sink.send(Event::Withdraw(key))),
        _ => link.handler.withdraw(key),
    }
}

fn handle_question(link: &Arc<HttpLink>, origin: Option<&Origin>, request: Request) {
    let question = Unasked::Question(&request.method);
    let recipient = recipient(question, LinkRule::Stream(origin));
    let ask = Ask::from_server(&link.server, link.serial, link.clone(), request);
    recipient.ask(ask, &*link.handler);
}
