//! Handles messages from the server: responses to calls, and messages whose
//! [recipient](crate::recipient) depends on the calls in flight.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use narrows_wire::{Id, Incoming, Message, Notification, Raw, Request, Response, decode};
use tokio::time::Instant;

use super::{AskRecipient, Duplex, Pending};
use crate::exchange::{Ask, EventSink, Notice};
use crate::failure::LinkError;
use crate::handler::NotificationHandler;
use crate::memory::{MemoryBudget, SMALL};
use crate::offload;
use crate::recipient::{CallsInFlight, LinkRule, Recipient, ServerMessage, recipient};
use crate::request::Origin;

/// The longest pause in reading while the response budget is exceeded.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// The queue and the memory budget that a message was added to. The reader waits for them if they
/// are full.
#[derive(Default)]
struct Backpressure {
    /// The queue that a notification was added to.
    queue: Option<EventSink>,
    /// The budget that a large response was charged to.
    memory: Option<Arc<MemoryBudget>>,
}

impl Backpressure {
    fn add(&mut self, later: Backpressure) {
        self.queue = later.queue.or(self.queue.take());
        self.memory = later.memory.or(self.memory.take());
    }
}

impl Duplex {
    /// Handles one frame, and returns the queue that a notification was added to.
    pub(super) async fn handle(
        self: &Arc<Self>,
        frame: Bytes,
        handler: &Arc<dyn NotificationHandler>,
    ) -> Option<EventSink> {
        let mut filled = Backpressure::default();
        let text = frame.clone();
        match offload::run(frame.len(), move || decode(text)).await {
            Ok(Incoming::Single(message)) => filled = self.handle_message(message, handler),
            Ok(Incoming::Batch(messages)) => {
                for message in messages {
                    match message {
                        Ok(message) => filled.add(self.handle_message(message, handler)),
                        Err(error) => self.handle_invalid(error),
                    }
                }
            }
            Err(error @ narrows_wire::Error::Parse(_)) => {
                self.log_unreadable(&frame, &error);
            }
            Err(error) => self.handle_invalid(error),
        }
        drop(frame);
        // All clients share the link, so the reader waits only as long as it takes to disconnect a
        // slow client.
        if let Some(memory) = filled.memory {
            memory.wait_below_limit(MAX_PAUSE).await;
        }
        filled.queue
    }

    /// Fails the request that an unreadable response belongs to. No better response will follow, so
    /// the caller must not keep waiting.
    fn handle_invalid(&self, error: narrows_wire::Error) {
        self.violations.report(&self.server, &error);
        if let narrows_wire::Error::Invalid { id: Some(id), .. } = &error
            && let Some(id) = id.as_u64()
        {
            self.fail(id, LinkError::Invalid(error.to_string()));
        }
    }

    fn handle_message(
        self: &Arc<Self>,
        message: Message,
        handler: &Arc<dyn NotificationHandler>,
    ) -> Backpressure {
        self.liveness.record_activity();
        let mut filled = Backpressure::default();
        match message {
            Message::Response(response) => filled.memory = self.handle_response(response),
            Message::Notification(notification) => {
                filled.queue = self.handle_notification(notification, handler);
            }
            Message::Request(request) => self.handle_ask(request, handler),
        }
        filled
    }

    fn handle_response(&self, response: Response) -> Option<Arc<MemoryBudget>> {
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
            // Late responses to cancelled calls are normal. Any other unknown id is a server error.
            None if id.is_some_and(|id| self.abandoned.lock().remove(&id).is_some()) => {}
            None => {
                tracing::debug!(server = %self.server, "the server sent a response with an unknown id")
            }
        }
        None
    }

    fn handle_notification(
        &self,
        notification: Notification,
        handler: &Arc<dyn NotificationHandler>,
    ) -> Option<EventSink> {
        let Notification { method, params } = notification;
        let in_flight = || self.calls_in_flight();
        let rule = LinkRule::Channel(&in_flight);
        match recipient(ServerMessage::Notification(&method), rule) {
            Recipient::Call(origin) => {
                origin.notice(Notice::from_server(&self.server, method, params));
                return Some(origin.into_owned().sink);
            }
            Recipient::Handler => {
                let is_frequent = is_frequent(&method);
                handler.notice(Notice::from_server(&self.server, method, params));
                return is_frequent.then(|| handler.outbox()).flatten();
            }
            Recipient::ProgressToken => return self.handle_progress(params),
            Recipient::Asked => self.handle_cancellation(params),
            Recipient::Refused(_) => {
                tracing::debug!(server = %self.server, %method, "notification dropped: calls of several sessions are in flight");
            }
            Recipient::Link | Recipient::Unknown => {
                tracing::debug!(server = %self.server, %method, "the server sent an unknown notification");
            }
        }
        None
    }

    fn handle_cancellation(&self, params: Option<Raw>) {
        let id = params
            .and_then(|params| params.member("requestId"))
            .and_then(Id::from_raw);
        // In the modern era, a server ends a stream of notifications in this way.
        if self.is_modern.load(Ordering::Relaxed) {
            if let Some(id) = id.as_ref().and_then(Id::as_u64) {
                let reason = "it ended the stream of notifications";
                self.fail(id, LinkError::Invalid(reason.to_owned()));
            }
            return;
        }
        let open_asks = |id| self.open_asks.lock().remove_entry(&id);
        if let Some((id, open_asks)) = id.and_then(open_asks) {
            self.withdraw(id, &open_asks);
        }
    }

    fn handle_progress(&self, params: Option<Raw>) -> Option<EventSink> {
        let params = params?;
        let token = params.member("progressToken")?;
        let mut pending = self.pending.lock();
        let entry = token.as_u64().and_then(|id| pending.get_mut(&id))?;
        entry.last_alive = Instant::now();
        let (Some(origin), Some(own)) = (&entry.origin, &entry.token) else {
            return None;
        };
        let params = params.edit().replace(&token, own.clone()).finish();
        let notice = Notice::from_server(&self.server, "notifications/progress", Some(params));
        origin.notice(notice);
        Some(origin.sink.clone())
    }

    fn handle_ask(self: &Arc<Self>, request: Request, handler: &Arc<dyn NotificationHandler>) {
        if self.is_modern.load(Ordering::Relaxed) {
            let what = "a request, although the revision has none from servers";
            return self.violations.report(&self.server, &what);
        }
        let in_flight = || self.calls_in_flight();
        let rule = LinkRule::Channel(&in_flight);
        let recipient = recipient(ServerMessage::Ask(&request.method), rule);
        let open_asks = match &recipient {
            Recipient::Call(origin) => Some(AskRecipient::Call(origin.sink.clone())),
            Recipient::Handler => Some(AskRecipient::Handler(handler.clone())),
            _ => None,
        };
        // Registered before the request is delivered, because the client may respond immediately.
        if let Some(open_asks) = open_asks {
            self.open_asks.lock().insert(request.id.clone(), open_asks);
        }
        let ask = Ask::from_server(&self.server, self.serial, self.clone(), request);
        recipient.ask(ask, &**handler);
    }

    /// Finds the calls that a message may belong to. Abandoned calls count for a while, because the
    /// server may still send messages about them.
    fn calls_in_flight(&self) -> CallsInFlight {
        let pending = self.pending.lock();
        let mut newest: Option<(u64, &Origin)> = None;
        for (id, entry) in pending.iter() {
            let Some(origin) = &entry.origin else {
                continue;
            };
            match newest {
                Some((_, other)) if other.session != origin.session => {
                    return CallsInFlight::SeveralSessions;
                }
                Some((newer, _)) if newer > *id => {}
                _ => newest = Some((*id, origin)),
            }
        }
        let Some((_, origin)) = newest else {
            return CallsInFlight::None;
        };
        let now = Instant::now();
        let mut abandoned = self.abandoned.lock();
        abandoned.retain(|_, (_, until)| *until > now);
        match abandoned
            .values()
            .any(|(session, _)| *session != origin.session)
        {
            true => CallsInFlight::SeveralSessions,
            false => CallsInFlight::OneSession(origin.clone()),
        }
    }
}

/// Returns true for notifications that a server may send faster than a client reads them.
fn is_frequent(method: &str) -> bool {
    matches!(
        method,
        "notifications/message" | "notifications/elicitation/complete"
    )
}
