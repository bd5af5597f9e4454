//! A client on a duplex channel: stdio, WebSocket, HTTP+SSE, or any other transport that carries
//! whole messages both ways.
//!
//! [`Duplex::run`] reads one message after the other and never blocks on a request: requests run as
//! tasks that the loop owns, and answers and events go to one bounded queue that the edge writes
//! out. A client that does not read fills that queue. Its answers then wait in their tasks, its
//! notifications are dropped, and its further requests are refused. Eventually the loop stops
//! reading from it.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use narrows_gateway::Principal;
use narrows_gateway::{Entrypoint, Error, Gateway, Lifetime, Opened, Session};
use narrows_upstream::exchange::EventStream;
use narrows_upstream::memory::ClientMemory;
use narrows_upstream::offload;
use narrows_wire::{
    Id, Incoming, Message, Raw, Request, Revision, decode, encode_error, encode_result,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use self::modern::{ModernCalls, ModernTarget, is_modern};
use crate::call::{Call, Step, encode_batch};
use crate::error::{self, Refused};
use crate::hello::Hello;

mod modern;
#[cfg(test)]
mod tests;

/// The maximum number of received messages that wait to be processed.
const BACKLOG: usize = 64;

/// The maximum total size of the backlog; the last message may exceed it.
const BACKLOG_BYTES: usize = 1024 * 1024;

#[derive(Debug, Clone, Copy)]
pub(crate) struct DuplexSettings {
    /// The maximum number of requests in flight; further requests are refused.
    pub(crate) max_calls: usize,
    /// The capacity of the outgoing message queue.
    pub(crate) queue: usize,
    /// The time limit for answers after the session has ended.
    pub(crate) grace: Duration,
    /// The time limit for `initialize`. `None` means no limit.
    pub(crate) hello_within: Option<Duration>,
}

/// An item read from the source.
#[derive(Debug)]
pub(crate) enum Input {
    Frame(Bytes),
    /// A message that the edge has already decoded.
    Message {
        message: Incoming,
        bytes: usize,
    },
    /// A message that the edge could not decode.
    Invalid(narrows_wire::Error),
    /// A message that was skipped because of its size.
    TooLarge {
        max: usize,
    },
    /// Bytes that are not a valid frame; the source ends after them.
    Broken(&'static str),
}

impl Input {
    fn bytes(&self) -> usize {
        match self {
            Input::Frame(frame) => frame.len(),
            Input::Message { bytes, .. } => *bytes,
            Input::Invalid(_) | Input::TooLarge { .. } | Input::Broken(_) => 0,
        }
    }

    /// Decodes a large message off the async threads. Small messages are decoded when they are
    /// processed.
    async fn decoded(self) -> Input {
        match self {
            Input::Frame(frame) if frame.len() >= offload::LARGE => {
                let bytes = frame.len();
                match offload::run(bytes, move || decode(frame)).await {
                    Ok(message) => Input::Message { message, bytes },
                    Err(error) => Input::Invalid(error),
                }
            }
            input => input,
        }
    }
}

/// A source of incoming messages.
pub(crate) trait Source {
    /// Reads the next message; `None` when the client has disconnected. Must be cancel-safe.
    fn next(&mut self) -> impl Future<Output = Option<Input>> + Send;
}

/// The client at the other end.
#[derive(Debug, Clone)]
pub(crate) enum DuplexClient {
    /// The process that started the gateway and owns it.
    Local,
    /// A client that connected through an entrypoint. It may stay while it has access to that
    /// entrypoint.
    Remote(Principal),
}

impl DuplexClient {
    fn principal(&self) -> Principal {
        match self {
            DuplexClient::Local => Principal::Local,
            DuplexClient::Remote(principal) => principal.clone(),
        }
    }
}

pub(crate) struct Duplex<'a> {
    gateway: Gateway,
    entrypoint: Entrypoint<'a>,
    duplex_client: DuplexClient,
    memory: ClientMemory,
    settings: DuplexSettings,
    state: DuplexState<'a>,
    calls: JoinSet<()>,
    modern: ModernCalls,
    outgoing: mpsc::Sender<Bytes>,
    /// Messages that wait to be processed, see [`Duplex::is_busy`].
    backlog: VecDeque<Input>,
    /// Answers of the loop that did not fit into the queue.
    unsent: VecDeque<Bytes>,
    stop: CancellationToken,
    hello_by: Option<Instant>,
}

enum DuplexState<'a> {
    /// The client has not sent `initialize` yet.
    New,
    OpeningSession(OpeningSession<'a>),
    Open {
        session: Arc<Session>,
        _outbox: AbortOnDropHandle<()>,
    },
}

struct OpeningSession<'a> {
    id: Id,
    revision: Revision,
    opened: BoxFuture<'a, Option<Result<Opened, Error>>>,
}

/// The reason why the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DuplexEnd {
    /// The client has disconnected; pending requests are cancelled.
    Gone,
    /// The session has ended; pending requests are still answered.
    Closed,
    /// The gateway is stopping; pending requests are still answered.
    Stopped,
    /// The client did not send `initialize` in time.
    NotInitialized,
}

enum LoopEvent {
    Input(Option<Input>),
    Opened(Option<Result<Opened, Error>>),
    /// The event needs no further handling.
    Done,
    DuplexEnd(DuplexEnd),
}

impl<'a> Duplex<'a> {
    /// Creates a duplex channel. The edge writes out the messages sent to `outgoing`. When its
    /// receiver is dropped, the client counts as disconnected.
    pub(crate) fn new(
        gateway: Gateway,
        entrypoint: Entrypoint<'a>,
        duplex_client: DuplexClient,
        memory: ClientMemory,
        settings: DuplexSettings,
        outgoing: mpsc::Sender<Bytes>,
        stop: CancellationToken,
    ) -> Duplex<'a> {
        Duplex {
            gateway,
            entrypoint,
            duplex_client,
            memory,
            settings,
            state: DuplexState::New,
            calls: JoinSet::new(),
            modern: ModernCalls::default(),
            outgoing,
            backlog: VecDeque::new(),
            unsent: VecDeque::new(),
            stop,
            hello_by: settings.hello_within.map(|within| Instant::now() + within),
        }
    }

    /// Runs until the client disconnects, its session ends or `stop` is cancelled.
    pub(crate) async fn run(mut self, mut source: impl Source) -> DuplexEnd {
        let end = loop {
            match self.next_event(&mut source).await {
                LoopEvent::Input(Some(input)) => self.backlog.push_back(input),
                LoopEvent::Input(None) => break DuplexEnd::Gone,
                LoopEvent::Opened(opened) => self.opened(opened),
                LoopEvent::Done => {}
                LoopEvent::DuplexEnd(end) => break end,
            }
            while !self.is_busy()
                && let Some(input) = self.backlog.pop_front()
            {
                let input = input.decoded().await;
                if let Some(input) = self.handle_large_input(input).await {
                    self.handle_input(input);
                }
                // When many requests are running, lets finished ones complete before the next
                // request exceeds the limit.
                if self.calls.len() > self.settings.max_calls / 2 {
                    tokio::task::yield_now().await;
                }
            }
        };
        // Dropping the source tells senders that nothing more will be read.
        drop(source);
        self.finish(end).await;
        end
    }

    /// Returns true if messages must wait: until the session is open, because a client may send
    /// more messages before `initialize` is answered; and until the loop's own answers are sent, so
    /// that a client that writes faster than it reads is slowed down and loses nothing. Reading
    /// continues up to a bound meanwhile, because only a read detects the end of the input.
    fn is_busy(&self) -> bool {
        matches!(self.state, DuplexState::OpeningSession(_)) || !self.unsent.is_empty()
    }

    /// Waits for the next event.
    async fn next_event(&mut self, source: &mut impl Source) -> LoopEvent {
        let waiting: usize = self.backlog.iter().map(Input::bytes).sum();
        let room = self.backlog.len() < BACKLOG && waiting < BACKLOG_BYTES;
        let unsent = &mut self.unsent;
        let hello_by = self.hello_by;
        tokio::select! {
            biased;
            // Checked first: stopping the gateway also ends its sessions, which is not the reason
            // to report.
            () = self.stop.cancelled() => LoopEvent::DuplexEnd(DuplexEnd::Stopped),
            next_event = self.state.changed(hello_by) => next_event,
            () = self.outgoing.closed() => LoopEvent::DuplexEnd(DuplexEnd::Gone),
            Ok(permit) = self.outgoing.reserve(), if !unsent.is_empty() => {
                if let Some(message) = unsent.pop_front() {
                    permit.send(message);
                }
                LoopEvent::Done
            }
            input = source.next(), if room => LoopEvent::Input(input),
            Some(_) = self.calls.join_next() => LoopEvent::Done,
        }
    }

    /// Processes a large notification or response off the async threads. Requests run there anyway.
    async fn handle_large_input(&mut self, input: Input) -> Option<Input> {
        let DuplexState::Open { session, .. } = &self.state else {
            return Some(input);
        };
        match input {
            Input::Message {
                message:
                    Incoming::Single(message @ (Message::Notification(_) | Message::Response(_))),
                bytes,
            } if bytes >= offload::LARGE && self.has_access() => {
                let session = session.clone();
                let work = move || match message {
                    Message::Notification(notification) => session.notify(notification),
                    Message::Response(response) => session.answer(response),
                    Message::Request(_) => unreachable!("requests are not matched above"),
                };
                offload::run(bytes, work).await;
                None
            }
            input => Some(input),
        }
    }

    fn handle_input(&mut self, input: Input) {
        let message = match input {
            Input::Frame(frame) => decode(frame),
            Input::Message { message, .. } => Ok(message),
            Input::Invalid(error) => Err(error),
            Input::TooLarge { max } => return self.refuse(None, &Refused::TooLarge { max }),
            Input::Broken(reason) => return self.refuse(None, &Refused::BrokenFrame(reason)),
        };
        if let (DuplexState::Open { session, .. }, false) = (&self.state, self.has_access()) {
            session.close();
            return;
        }
        match (message, &self.state) {
            (Err(error), _) => self.refuse(None, &Refused::Message(error)),
            (Ok(Incoming::Single(message)), DuplexState::Open { session, .. }) => {
                let session = session.clone();
                self.message(&session, message);
            }
            (Ok(Incoming::Batch(entries)), DuplexState::Open { session, .. }) => {
                match Call::batch(session, entries) {
                    Ok(Some(call)) => self.start(None, Answers::Array, || call),
                    Ok(None) => {}
                    Err(refused) => self.refuse(None, &refused),
                }
            }
            (Ok(Incoming::Single(message)), _) => self.first_message(message),
            (Ok(Incoming::Batch(_)), _) => self.refuse(None, &Refused::NotInitialized),
        }
    }

    /// Returns true if the client still has access to its entrypoint.
    fn has_access(&self) -> bool {
        match &self.duplex_client {
            DuplexClient::Local => true,
            DuplexClient::Remote(principal) => self.gateway.may_enter(principal, self.entrypoint),
        }
    }

    /// Handles a message that arrives before the session is open.
    fn first_message(&mut self, message: Message) {
        match message {
            Message::Request(request) if &*request.method == "initialize" => {
                match Hello::read(request.params.as_ref()) {
                    Ok(hello) => self.open(request.id, hello),
                    Err(refused) => self.refuse(Some(&request.id), &refused),
                }
            }
            // Without `initialize`, each request says which revision it has. Other channels are
            // transports of legacy revisions only.
            Message::Request(request)
                if matches!(self.duplex_client, DuplexClient::Local) && is_modern(&request) =>
            {
                self.start_modern(request);
            }
            Message::Request(Request { id, method, .. }) if &*method == "ping" => {
                self.send(encode_result(&id, &Raw::empty_object()));
            }
            Message::Request(request) => self.refuse(Some(&request.id), &Refused::NotInitialized),
            Message::Notification(notification) => self.modern.notify(&notification),
            // It needs no answer, and before a session exists it has no effect.
            Message::Response(_) => {}
        }
    }

    fn message(&mut self, session: &Arc<Session>, message: Message) {
        match message {
            Message::Request(request) if &*request.method == "initialize" => {
                self.refuse(Some(&request.id), &Refused::AlreadyInitialized);
            }
            Message::Request(request) => {
                let id = request.id.clone();
                self.start(Some(&id), Answers::Single, || {
                    Call::one(session, request, None)
                });
            }
            Message::Notification(notification) => session.notify(notification),
            Message::Response(response) => session.answer(response),
        }
    }

    fn open(&mut self, id: Id, hello: Hello) {
        let Hello { revision, client } = hello;
        let (gateway, entrypoint) = (self.gateway.clone(), self.entrypoint);
        let principal = self.duplex_client.principal();
        let memory = self.memory.clone();
        let opened = Box::pin(async move {
            let lifetime = Lifetime::Connection;
            gateway
                .open_with(entrypoint, principal, lifetime, revision, client, memory)
                .await
        });
        self.state = DuplexState::OpeningSession(OpeningSession {
            id,
            revision,
            opened,
        });
    }

    fn opened(&mut self, opened: Option<Result<Opened, Error>>) {
        let DuplexState::OpeningSession(OpeningSession { id, revision, .. }) =
            std::mem::replace(&mut self.state, DuplexState::New)
        else {
            return;
        };
        match opened {
            Some(Ok(Opened {
                session,
                result,
                outbox,
            })) => {
                self.send(encode_result(&id, &result));
                let pump = tokio::spawn(pump(session.clone(), outbox, self.outgoing.clone()));
                self.state = DuplexState::Open {
                    session,
                    _outbox: AbortOnDropHandle::new(pump),
                };
            }
            Some(Err(failure)) => {
                self.send(encode_error(Some(&id), &error::core(&failure, revision)));
            }
            None => self.refuse(Some(&id), &Refused::UnknownEndpoint),
        }
    }

    /// Spawns a call as a task, unless the limit is reached.
    fn start(&mut self, id: Option<&Id>, answers: Answers, call: impl FnOnce() -> Call) {
        while self.calls.try_join_next().is_some() {}
        let max = self.settings.max_calls;
        if self.calls.len() >= max {
            let error = error::core(&Error::TooManyCalls(max), Revision::LATEST_LEGACY);
            return self.send(encode_error(id, &error));
        }
        self.calls
            .spawn(forward(call(), answers, self.outgoing.clone()));
    }

    /// Spawns a modern request as a task, unless the limit is reached or its id is in use.
    fn start_modern(&mut self, request: Request) {
        while self.calls.try_join_next().is_some() {}
        let max = self.settings.max_calls;
        let call = match self.calls.len() >= max {
            true => Err(Error::TooManyCalls(max)),
            false => self
                .modern
                .begin(&request.id)
                .ok_or_else(|| Error::DuplicateId(request.id.as_raw().as_str().to_owned())),
        };
        let call = match call {
            Ok(call) => call,
            Err(failure) => {
                let error = error::core(&failure, Revision::V2026_07_28);
                return self.send(encode_error(Some(&request.id), &error));
            }
        };
        let (is_server, name) = match self.entrypoint {
            Entrypoint::Endpoint(name) => (false, name),
            Entrypoint::Server(name) => (true, name),
        };
        let target = ModernTarget {
            gateway: self.gateway.clone(),
            principal: self.duplex_client.principal(),
            is_server,
            name: name.to_owned(),
            outgoing: self.outgoing.clone(),
            stop: self.stop.clone(),
        };
        self.calls.spawn(call.run(target, request));
    }

    fn refuse(&mut self, id: Option<&Id>, refused: &Refused) {
        tracing::debug!(?refused, "refused");
        self.send(refused.encode(id));
    }

    /// Sends without waiting. A message that does not fit into the queue is sent before any further
    /// input is processed.
    fn send(&mut self, message: Bytes) {
        if !self.unsent.is_empty() {
            self.unsent.push_back(message);
        } else if let Err(mpsc::error::TrySendError::Full(message)) =
            self.outgoing.try_send(message)
        {
            self.unsent.push_back(message);
        }
    }

    async fn finish(mut self, end: DuplexEnd) {
        let grace = self.settings.grace;
        if let DuplexEnd::Closed | DuplexEnd::Stopped = end {
            // The pending calls include `shutdown`, which must be answered.
            let answered = async { while self.calls.join_next().await.is_some() {} };
            tokio::select! {
                _ = timeout(grace, answered) => {}
                () = self.outgoing.closed() => {}
            }
        }
        self.calls.shutdown().await;
        if let DuplexState::Open { session, .. } = &self.state {
            session.close();
        }
        let said = async {
            for message in self.unsent {
                if self.outgoing.send(message).await.is_err() {
                    break;
                }
            }
        };
        let _ = timeout(grace, said).await;
    }
}

/// Runs `duplex` and the writer of its messages concurrently. When `duplex` has ended, the
/// remaining messages are written for at most `grace`, because the client may have stopped reading.
pub(crate) async fn run_both<T>(
    duplex: impl Future<Output = DuplexEnd>,
    writing: impl Future<Output = T>,
    grace: Duration,
) -> (DuplexEnd, Option<T>) {
    let mut duplex = Box::pin(duplex);
    let mut writing = pin!(writing);
    let (end, written) = tokio::select! {
        biased;
        end = &mut duplex => (end, None),
        written = &mut writing => (duplex.as_mut().await, Some(written)),
    };
    drop(duplex);
    match written {
        Some(written) => (end, Some(written)),
        None => (end, timeout(grace, writing).await.ok()),
    }
}

impl DuplexState<'_> {
    /// Completes when the session has opened or ended, or when `initialize` is too late.
    async fn changed(&mut self, hello_by: Option<Instant>) -> LoopEvent {
        match self {
            DuplexState::New => match hello_by {
                Some(late) => {
                    sleep_until(late).await;
                    LoopEvent::DuplexEnd(DuplexEnd::NotInitialized)
                }
                None => std::future::pending().await,
            },
            DuplexState::OpeningSession(opening) => {
                LoopEvent::Opened(opening.opened.as_mut().await)
            }
            DuplexState::Open { session, .. } => {
                session.closed().await;
                LoopEvent::DuplexEnd(DuplexEnd::Closed)
            }
        }
    }
}

/// The form in which the answers of a call are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answers {
    Single,
    /// Together, when the last one is ready: a batch.
    Array,
}

/// Runs a call to completion. Returns silently if the writer has stopped: the loop notices that too
/// and ends.
async fn forward(mut call: Call, answers: Answers, outgoing: mpsc::Sender<Bytes>) {
    let mut together = Vec::new();
    while let Some(step) = call.next().await {
        let message = match step {
            Step::Event(message) => Some(message),
            Step::Answer(answer) if answers == Answers::Array => {
                together.push(answer);
                None
            }
            Step::Answer(answer) => answer.encode(call.memory()),
        };
        if let Some(message) = message
            && outgoing.send(message).await.is_err()
        {
            return;
        }
    }
    if let Some(message) = encode_batch(&together, call.memory()) {
        let _ = outgoing.send(message).await;
    }
}

/// Sends events that belong to no call. While the client does not read, the outbox fills and drops
/// further notifications.
async fn pump(session: Arc<Session>, mut outbox: EventStream, outgoing: mpsc::Sender<Bytes>) {
    while let Some(event) = outbox.recv().await {
        if let Some(message) = session.encode(*event)
            && outgoing.send(message).await.is_err()
        {
            return;
        }
    }
}
