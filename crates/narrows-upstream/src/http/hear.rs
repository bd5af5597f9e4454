//! What becomes of a message that the server sends on a stream: each finds
//! its one owner, the call whose stream it is or else the link's owner.

use std::sync::Arc;

use bytes::Bytes;
use narrows_wire::{Id, Incoming, Message, Notification, Raw, Request, decode};

use super::HttpLink;
use crate::exchange::{AnswerTo, Ask, AskKey, AskReply, Event, Notice, Refusal};
use crate::memory::MemoryShare;
use crate::offload;
use crate::request::{Origin, Outgoing};

/// A request on its way, as the reader of its stream sees it.
pub(super) struct Call<'a> {
    pub(super) id: u64,
    pub(super) outgoing: &'a Outgoing<'a>,
}

impl Call<'_> {
    /// Where its answer is counted.
    pub(super) fn memory(&self) -> Option<&Arc<MemoryShare>> {
        let memory = self.origin()?.memory.as_ref()?;
        Some(&memory.responses)
    }

    pub(super) fn origin(&self) -> Option<&Origin> {
        self.outgoing.origin.as_ref()
    }
}

/// Reads one frame and passes on what it holds. Gives back the answer to
/// `call` if that is among it; the error says why the frame cannot be read.
pub(super) async fn hear(
    link: &Arc<HttpLink>,
    call: Option<&Call<'_>>,
    frame: Bytes,
) -> Result<Option<Result<Raw, Raw>>, narrows_wire::Error> {
    match offload::run(frame.len(), move || decode(frame)).await? {
        Incoming::Single(message) => Ok(hear_message(link, call, message)),
        Incoming::Batch(messages) => {
            let mut answer = None;
            for message in messages {
                match message {
                    Ok(message) => answer = hear_message(link, call, message).or(answer),
                    Err(error) => link.violations.report(&link.server, &error),
                }
            }
            Ok(answer)
        }
    }
}

fn hear_message(
    link: &Arc<HttpLink>,
    call: Option<&Call<'_>>,
    message: Message,
) -> Option<Result<Raw, Raw>> {
    link.endpoint.vitals.heard();
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
        Message::Notification(notification) => hear_notice(link, call, notification),
        Message::Request(request) => hear_question(link, call, request),
    }
    None
}

fn hear_notice(link: &HttpLink, call: Option<&Call<'_>>, notification: Notification) {
    let Notification { method, params } = notification;
    let origin = call.and_then(Call::origin);
    match &*method {
        "notifications/progress" => {
            if let Some(params) = params {
                link.progress.hear(&link.server, &params);
            }
        }
        "notifications/cancelled" => {
            let id = params
                .and_then(|params| params.member("requestId"))
                .and_then(Id::from_raw);
            let key = id.map(|id| AskKey {
                link: link.serial,
                id,
            });
            match (origin, key) {
                (Some(origin), Some(key)) => drop(origin.sink.send(Event::Withdraw(key))),
                (None, Some(key)) => link.handler.withdraw(key),
                (_, None) => {}
            }
        }
        // About the server, not about the call on whose stream they happen to come.
        "notifications/tools/list_changed"
        | "notifications/prompts/list_changed"
        | "notifications/resources/list_changed"
        | "notifications/resources/updated" => {
            link.handler
                .notice(Notice::from_server(&link.server, method, params));
        }
        _ if !method.starts_with("notifications/") => {
            tracing::debug!(server = %link.server, %method, "the server sent a notification of no known kind");
        }
        _ => {
            let notice = Notice::from_server(&link.server, method, params);
            match origin {
                Some(origin) => origin.notice(notice),
                None => link.handler.notice(notice),
            }
        }
    }
}

fn hear_question(link: &Arc<HttpLink>, call: Option<&Call<'_>>, request: Request) {
    if &*request.method == "ping" {
        return link.answer(&request.id, Ok(Raw::empty_object()));
    }
    let ask = Ask {
        server: link.server.clone(),
        method: request.method,
        params: request.params,
        key: AskKey {
            link: link.serial,
            id: request.id.clone(),
        },
        reply: AskReply::new(link.clone(), request.id),
    };
    match call.and_then(Call::origin) {
        Some(origin) if origin.asks.allows(&ask.method) => {
            origin.sink.send(Event::Ask(ask));
        }
        Some(_) => ask.reply.answer(Err(Refusal::NotSupported.error())),
        None => link.handler.ask(ask),
    }
}
