//! Runs client requests and yields their messages in order.
//!
//! A [`Call`] runs one request or a batch. It yields messages in the order in which the client must
//! read them: the events of a request before its answer, and answers as soon as they are ready. A
//! call is a plain value that can be polled anywhere and moved at any time. An edge can poll it
//! inside a response and hand it to a task when the client disconnects. Dropping a call cancels its
//! unfinished requests.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use narrows_gateway::{ClientPermit, Error, Session};
use narrows_upstream::exchange::{EventSink, EventStream};
use narrows_upstream::memory::ClientMemory;
use narrows_upstream::offload::{self, Polled};
use narrows_wire::{Id, Message, Raw, Request, encode_error, encode_result};

use crate::error::{self, Refused};

#[cfg(test)]
mod tests;

/// The queue length for the events of one call. When the queue is full, further events wait at the
/// server if the stream or link belongs to this call alone. Otherwise they are dropped and counted.
const EVENTS: usize = 256;

/// The maximum number of entries in a batch. All requests of a batch run concurrently.
pub(crate) const MAX_BATCH: usize = 100;

pub(crate) struct Call {
    session: Arc<Session>,
    pending: PendingAnswers,
    /// `None` once no client reads events.
    events: Option<EventStream>,
    /// An answer that waits until the events before it have been sent.
    held: Option<Answer>,
}

/// The next message for the client.
#[derive(Debug)]
pub(crate) enum Step {
    Event(Bytes),
    Answer(Answer),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Result(Id, Raw),
    Error(Option<Id>, Raw),
    /// An error caused by a limit of the client. HTTP has its own status for it.
    Limited {
        id: Id,
        error: Raw,
        after: Duration,
    },
    /// The client cancelled the request and expects no answer.
    Nothing,
}

/// Boxed, because a call whose client has disconnected moves to its own task. Large messages are
/// polled off the async threads.
type PolledAnswer = Polled<Answer>;

enum PendingAnswers {
    One(PolledAnswer),
    Many(FuturesUnordered<PolledAnswer>),
    Done,
}

impl Call {
    /// Creates a call for one request. `permit` is the client's permit, if it was acquired earlier.
    pub(crate) fn one(
        session: &Arc<Session>,
        request: Request,
        permit: Option<ClientPermit>,
    ) -> Call {
        if permit.is_none()
            && let Some(outcome) = session.answer_locally(&request)
        {
            return Call::answered(session, answer(session, request.id, outcome));
        }
        let (sink, events) = EventSink::channel(EVENTS);
        let pending = PendingAnswers::One(run_request(session.clone(), request, sink, permit));
        Call {
            session: session.clone(),
            pending,
            events: Some(events),
            held: None,
        }
    }

    /// Creates a completed call, for an answer that must be sent as a stream.
    pub(crate) fn answered(session: &Arc<Session>, answer: Answer) -> Call {
        Call {
            session: session.clone(),
            pending: PendingAnswers::Done,
            events: None,
            held: Some(answer),
        }
    }

    /// Processes a batch. Answers and notifications are passed on at once, requests run
    /// concurrently, and each invalid entry gets its own error. Returns `None` if no entry requires
    /// an answer.
    pub(crate) fn batch(
        session: &Arc<Session>,
        entries: Vec<Result<Message, narrows_wire::Error>>,
    ) -> Result<Option<Call>, Refused> {
        if !session.revision().has_batches() {
            return Err(Refused::NoBatches(session.revision()));
        }
        if entries.len() > MAX_BATCH {
            return Err(Refused::BatchTooLong { max: MAX_BATCH });
        }
        let (sink, events) = EventSink::channel(EVENTS);
        let running = FuturesUnordered::new();
        for entry in entries {
            match entry {
                Ok(Message::Request(request)) if &*request.method == "initialize" => {
                    running.push(refuse(Some(request.id), Refused::InitializeInBatch));
                }
                Ok(Message::Request(request)) => {
                    running.push(run_request(session.clone(), request, sink.clone(), None));
                }
                Ok(Message::Notification(notification)) => session.notify(notification),
                Ok(Message::Response(response)) => session.answer(response),
                Err(error) => {
                    let id = match &error {
                        narrows_wire::Error::Invalid { id, .. } => id.clone(),
                        narrows_wire::Error::Parse(_) => None,
                    };
                    running.push(refuse(id, Refused::Message(error)));
                }
            }
        }
        if running.is_empty() {
            return Ok(None);
        }
        let pending = PendingAnswers::Many(running);
        Ok(Some(Call {
            session: session.clone(),
            pending,
            events: Some(events),
            held: None,
        }))
    }

    /// Polls for the next step; `None` when every request has been answered.
    pub(crate) fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Option<Step>> {
        loop {
            // Polls the work first, because usually no event precedes the answer.
            if self.held.is_none() {
                self.held = match &mut self.pending {
                    PendingAnswers::One(carried) => match Pin::new(carried).poll(cx) {
                        Poll::Ready(answer) => {
                            self.pending = PendingAnswers::Done;
                            Some(answer)
                        }
                        Poll::Pending => None,
                    },
                    PendingAnswers::Many(running) => match running.poll_next_unpin(cx) {
                        Poll::Ready(Some(answer)) => Some(answer),
                        Poll::Ready(None) => return Poll::Ready(None),
                        Poll::Pending => None,
                    },
                    PendingAnswers::Done => return Poll::Ready(None),
                };
            }
            // A request has sent all its events when its answer is ready, so exactly the events now
            // in the queue must precede the answer.
            let event = match (&mut self.events, &self.held) {
                (Some(events), Some(_)) => events.try_recv(),
                (Some(events), None) => match events.poll_event(cx) {
                    Poll::Ready(event) => event,
                    Poll::Pending => None,
                },
                (None, _) => None,
            };
            let Some(event) = event else {
                return match self.held.take() {
                    Some(answer) => Poll::Ready(Some(Step::Answer(answer))),
                    None => Poll::Pending,
                };
            };
            if let Some(message) = self.session.encode(*event) {
                return Poll::Ready(Some(Step::Event(message)));
            }
        }
    }

    /// Returns true if every request has been answered.
    pub(crate) fn is_over(&self) -> bool {
        self.held.is_none()
            && match &self.pending {
                PendingAnswers::One(_) => false,
                PendingAnswers::Many(running) => running.is_empty(),
                PendingAnswers::Done => true,
            }
    }

    /// Returns the memory shares of the client.
    pub(crate) fn memory(&self) -> &ClientMemory {
        self.session.memory()
    }

    pub(crate) async fn next(&mut self) -> Option<Step> {
        poll_fn(|cx| self.poll_step(cx)).await
    }

    /// Closes the event queue because no client reads it: from now on notifications are discarded,
    /// and requests from servers are refused at once instead of waiting for an answer.
    pub(crate) fn close_events(&mut self) {
        self.events = None;
    }

    /// Runs the call to completion and discards its messages.
    pub(crate) async fn run_detached(mut self) {
        self.close_events();
        while self.next().await.is_some() {}
    }
}

impl Answer {
    /// Returns the id of the request, if known.
    pub(crate) fn id(&self) -> Option<&Id> {
        match self {
            Answer::Result(id, _) | Answer::Limited { id, .. } => Some(id),
            Answer::Error(id, _) => id.as_ref(),
            Answer::Nothing => None,
        }
    }

    /// Encodes the message and charges it to the client, because it is a copy of the result.
    pub(crate) fn encode(&self, memory: &ClientMemory) -> Option<Bytes> {
        match self {
            Answer::Result(id, result) => Some(memory.responses.hold(encode_result(id, result))),
            Answer::Error(id, error) => Some(encode_error(id.as_ref(), error)),
            Answer::Limited { id, error, .. } => Some(encode_error(Some(id), error)),
            Answer::Nothing => None,
        }
    }
}

/// Encodes the answers of a batch as one array; `None` if there are no answers.
pub(crate) fn encode_batch(answers: &[Answer], memory: &ClientMemory) -> Option<Bytes> {
    let mut whole = BytesMut::new();
    for message in answers.iter().filter_map(|answer| answer.encode(memory)) {
        whole.extend_from_slice(if whole.is_empty() { b"[" } else { b"," });
        whole.extend_from_slice(&message);
    }
    if whole.is_empty() {
        return None;
    }
    whole.extend_from_slice(b"]");
    Some(memory.responses.hold(whole.freeze()))
}

fn run_request(
    session: Arc<Session>,
    request: Request,
    sink: EventSink,
    permit: Option<ClientPermit>,
) -> PolledAnswer {
    let id = request.id.clone();
    let outcome = session.clone().request(request, sink, permit);
    offload::polled(Box::pin(
        outcome.map(move |outcome| answer(&session, id, outcome)),
    ))
}

fn answer(session: &Session, id: Id, outcome: Result<Raw, Error>) -> Answer {
    match outcome {
        Ok(result) => Answer::Result(id, result),
        Err(Error::Cancelled) if !session.is_closed() => Answer::Nothing,
        // Calls are also cancelled when their session ends. The client did not ask for that and
        // still waits for an answer.
        Err(Error::Cancelled) => Answer::Error(
            Some(id),
            error::core(&Error::SessionClosed, session.revision()),
        ),
        Err(failure) => {
            let error = error::core(&failure, session.revision());
            match error::retry_after(&failure) {
                Some(after) => Answer::Limited { id, error, after },
                None => Answer::Error(Some(id), error),
            }
        }
    }
}

fn refuse(id: Option<Id>, refused: Refused) -> PolledAnswer {
    let answer = Answer::Error(id, refused.object());
    offload::polled(Box::pin(std::future::ready(answer)))
}
