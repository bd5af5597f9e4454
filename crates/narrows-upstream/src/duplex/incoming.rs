//! Messages of the server: each finds the call, the session or the question
//! that it belongs to.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use narrows_wire::{Id, Incoming, Message, Notification, Raw, Request, Response, decode};
use tokio::time::Instant;

use super::{Asked, Duplex, Pending};
use crate::exchange::{AnswerTo, Ask, AskKey, AskReply, Event, EventSink, Notice, Refusal};
use crate::failure::LinkError;
use crate::handler::NotificationHandler;
use crate::memory::{MemoryBudget, SMALL};
use crate::offload;
use crate::request::Origin;

/// The longest pause in reading while the response budget is exceeded.
const PAUSE: Duration = Duration::from_secs(1);

/// Whom a message that names no call may be meant for.
enum Meant {
    /// The session with the only calls in flight; the sink is that of its newest call.
    Call(Origin),
    /// No call is in flight.
    Nobody,
    /// Calls of several sessions are.
    Unclear,
}

/// Queues and budgets that a message filled.
#[derive(Default)]
struct Heard {
    /// The queue that a notice went to.
    filled: Option<EventSink>,
    /// The memory that a large answer was charged to.
    charged: Option<Arc<MemoryBudget>>,
}

impl Heard {
    fn add(&mut self, later: Heard) {
        self.filled = later.filled.or(self.filled.take());
        self.charged = later.charged.or(self.charged.take());
    }
}

impl Duplex {
    /// Gives back the queue that a notice went to.
    pub(super) async fn hear(
        self: &Arc<Self>,
        frame: Bytes,
        handler: &Arc<dyn NotificationHandler>,
    ) -> Option<EventSink> {
        let mut heard = Heard::default();
        let text = frame.clone();
        match offload::run(frame.len(), move || decode(text)).await {
            Ok(Incoming::Single(message)) => heard = self.hear_message(message, handler),
            Ok(Incoming::Batch(messages)) => {
                for message in messages {
                    match message {
                        Ok(message) => heard.add(self.hear_message(message, handler)),
                        Err(error) => self.hear_garbage(error),
                    }
                }
            }
            Err(error @ narrows_wire::Error::Parse(_)) => {
                self.note_garbage(&frame, &error);
            }
            Err(error) => self.hear_garbage(error),
        }
        drop(frame);
        // All clients share the link, so it waits no longer than it takes to
        // close a slow reader.
        if let Some(memory) = heard.charged {
            memory.settle(PAUSE).await;
        }
        heard.filled
    }

    /// An answer that cannot be read is one all the same: nobody should wait
    /// for a better one.
    fn hear_garbage(&self, error: narrows_wire::Error) {
        self.violations.report(&self.server, &error);
        if let narrows_wire::Error::Invalid { id: Some(id), .. } = &error
            && let Some(id) = id.as_u64()
        {
            self.fail(id, LinkError::Invalid(error.to_string()));
        }
    }

    fn hear_message(
        self: &Arc<Self>,
        message: Message,
        handler: &Arc<dyn NotificationHandler>,
    ) -> Heard {
        self.vitals.heard();
        let mut heard = Heard::default();
        match message {
            Message::Response(response) => heard.charged = self.hear_answer(response),
            Message::Notification(notification) => {
                heard.filled = self.hear_notice(notification, handler);
            }
            Message::Request(request) => self.hear_question(request, handler),
        }
        heard
    }

    fn hear_answer(&self, response: Response) -> Option<Arc<MemoryBudget>> {
        let id = response.id.as_ref().and_then(Id::as_u64);
        let entry = id.and_then(|id| self.pending.lock().remove(&id));
        match entry {
            Some(Pending { done, origin, .. }) => {
                let memory = origin.as_ref().and_then(|origin| origin.memory.as_ref());
                let memory = memory.map(|memory| &memory.responses);
                let is_large = matches!(&response.body, Ok(result) if result.len() >= SMALL);
                let answer = match (response.body, memory) {
                    (Ok(result), Some(memory)) => Ok(memory.hold_raw(result)),
                    (body, _) => body.map_err(LinkError::Answered),
                };
                let _ = done.send(answer);
                return memory
                    .filter(|_| is_large)
                    .map(|memory| memory.budget().clone());
            }
            // Late answers to cancelled calls are usual; anything else is the server's mistake.
            None if id.is_some_and(|id| self.given_up.lock().remove(&id).is_some()) => {}
            None => tracing::debug!(server = %self.server, "the server answered what nobody asked"),
        }
        None
    }

    fn hear_notice(
        &self,
        notification: Notification,
        handler: &Arc<dyn NotificationHandler>,
    ) -> Option<EventSink> {
        let Notification { method, params } = notification;
        match &*method {
            "notifications/progress" => return self.hear_progress(params),
            "notifications/cancelled" => {
                let id = params
                    .and_then(|params| params.member("requestId"))
                    .and_then(Id::from_raw);
                let asked = |id| self.asked.lock().remove_entry(&id);
                if let Some((id, asked)) = id.and_then(asked) {
                    self.withdraw(id, &asked);
                }
            }
            "notifications/message" | "notifications/elicitation/complete" => {
                let notice = Notice::from_server(&self.server, method, params);
                match self.meant() {
                    Meant::Call(origin) => {
                        origin.notice(notice);
                        return Some(origin.sink);
                    }
                    Meant::Nobody => {
                        handler.notice(notice);
                        return handler.outbox();
                    }
                    Meant::Unclear => {
                        tracing::debug!(server = %self.server, method = %notice.method, "dropped: calls of several sessions are in flight");
                    }
                }
            }
            _ if method.starts_with("notifications/") => {
                handler.notice(Notice::from_server(&self.server, method, params));
            }
            _ => {
                tracing::debug!(server = %self.server, %method, "the server sent a notification of no known kind")
            }
        }
        None
    }

    fn hear_progress(&self, params: Option<Raw>) -> Option<EventSink> {
        let params = params?;
        let token = params.member("progressToken")?;
        let mut pending = self.pending.lock();
        let entry = token.as_u64().and_then(|id| pending.get_mut(&id))?;
        entry.alive = Instant::now();
        let (Some(origin), Some(own)) = (&entry.origin, &entry.token) else {
            return None;
        };
        let params = params.edit().replace(&token, own.clone()).finish();
        let notice = Notice::from_server(&self.server, "notifications/progress", Some(params));
        origin.notice(notice);
        Some(origin.sink.clone())
    }

    fn hear_question(self: &Arc<Self>, request: Request, handler: &Arc<dyn NotificationHandler>) {
        if &*request.method == "ping" {
            return self.answer(&request.id, Ok(Raw::empty_object()));
        }
        let meant = self.meant();
        let ask = Ask {
            server: self.server.clone(),
            method: request.method,
            params: request.params,
            key: AskKey {
                link: self.serial,
                id: request.id.clone(),
            },
            reply: AskReply::new(self.clone(), request.id.clone()),
        };
        match meant {
            Meant::Call(origin) if origin.asks.allows(&ask.method) => {
                let asked = Asked::Call(origin.sink.clone());
                self.asked.lock().insert(request.id, asked);
                origin.sink.send(Event::Ask(ask));
            }
            Meant::Call(_) => ask.reply.answer(Err(Refusal::NotSupported.error())),
            Meant::Nobody => {
                let asked = Asked::NotificationHandler(handler.clone());
                self.asked.lock().insert(request.id, asked);
                handler.ask(ask);
            }
            Meant::Unclear => ask.reply.answer(Err(Refusal::NoOwner.error())),
        }
    }

    fn meant(&self) -> Meant {
        let pending = self.pending.lock();
        let mut newest: Option<(u64, &Origin)> = None;
        for (id, entry) in pending.iter() {
            let Some(origin) = &entry.origin else {
                continue;
            };
            match newest {
                Some((_, other)) if other.session != origin.session => return Meant::Unclear,
                Some((newer, _)) if newer > *id => {}
                _ => newest = Some((*id, origin)),
            }
        }
        let Some((_, origin)) = newest else {
            return Meant::Nobody;
        };
        let now = Instant::now();
        let mut given_up = self.given_up.lock();
        given_up.retain(|_, (_, until)| *until > now);
        match given_up
            .values()
            .any(|(session, _)| *session != origin.session)
        {
            true => Meant::Unclear,
            false => Meant::Call(origin.clone()),
        }
    }
}
