//! Messages on a stream: the response to the call that owns the stream, and messages for their
//! [recipient](crate::recipient).

use std::sync::Arc;

use ::http::HeaderMap;
use bytes::Bytes;
use narrows_wire::{Id, Incoming, Message, Notification, Raw, Request, decode};

use super::{HttpLink, HttpProtocol};
use crate::exchange::{Ask, AskKey, Event, Notice};
use crate::memory::MemoryShare;
use crate::offload;
use crate::recipient::{LinkRule, Recipient, ServerMessage, recipient};
use crate::request::{Origin, Outgoing};

/// A pending request, as seen by the reader of its stream.
pub(super) struct Call<'a> {
    pub(super) id: u64,
    pub(super) outgoing: &'a Outgoing<'a>,
    /// The headers that only this request has.
    pub(super) headers: Option<&'a HeaderMap>,
}

impl Call<'_> {
    /// Returns the memory share that the response is charged to.
    pub(super) fn memory(&self) -> Option<&Arc<MemoryShare>> {
        let memory = self.origin()?.memory.as_ref()?;
        Some(&memory.responses)
    }

    pub(super) fn origin(&self) -> Option<&Origin> {
        self.outgoing.origin.as_ref()
    }
}

/// Reads one frame and delivers its messages. Returns the response to `call` if the frame contains
/// it, or an error if the frame is not valid.
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
    link.endpoint.liveness.record_activity();
    let origin = call.and_then(Call::origin);
    match message {
        Message::Response(response) => {
            let ours = call.is_some_and(|call| match &response.id {
                Some(id) => id.as_u64() == Some(call.id),
                // If the server could not read the request, it responds to the POST with an error
                // without an id.
                None => response.body.is_err(),
            });
            if ours {
                return Some(response.body);
            }
            tracing::debug!(server = %link.server, "the server sent a response with an unknown id");
        }
        Message::Notification(notification) => handle_notification(link, origin, notification),
        Message::Request(request) => handle_ask(link, origin, request),
    }
    None
}

fn handle_notification(link: &HttpLink, origin: Option<&Origin>, notification: Notification) {
    let Notification { method, params } = notification;
    let message = ServerMessage::Notification(&method);
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
        Recipient::Link | Recipient::Asked | Recipient::Refused(_) | Recipient::Unknown => {
            tracing::debug!(server = %link.server, %method, "the server sent an unknown notification");
        }
    }
}

/// Withdraws the server request that a cancellation refers to.
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

fn handle_ask(link: &Arc<HttpLink>, origin: Option<&Origin>, request: Request) {
    if link.endpoint.protocol == HttpProtocol::Modern {
        let what = "a request, although the revision has none from servers";
        return link.violations.report(&link.server, &what);
    }
    let question = ServerMessage::Ask(&request.method);
    let recipient = recipient(question, LinkRule::Stream(origin));
    let ask = Ask::from_server(&link.server, link.serial, link.clone(), request);
    recipient.ask(ask, &*link.handler);
}
