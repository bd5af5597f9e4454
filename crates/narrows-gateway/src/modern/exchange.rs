//! One request of a modern client, from its start to its result or to the questions that it needs
//! answered first.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use narrows_upstream::exchange::{Event, EventSink, EventStream, Notice};
use narrows_upstream::memory::ClientMemory;
use narrows_upstream::offload::{self, Polled};
use narrows_wire::modern::{ParamHeader, may_require_input, param_headers, without_request_meta};
use narrows_wire::{Id, Raw, Request};
use tokio::time::{Sleep, sleep};

use super::parked::{self, ParkedCalls, ParkingPlace};
use super::pool::SessionLease;
use super::question::Questions;
use super::seal::Binding;
use super::{ModernRequest, results};
use crate::call::ViewSource;
use crate::clients::ClientPermit;
use crate::error::Error;
use crate::session::{LogLevel, Session};
use narrows_upstream::exchange::Refusal;

/// The queue length for the events of one request.
const EVENTS: usize = 256;

/// The time for which further questions are awaited after the first, so that a server that asks
/// several things at once needs one round.
const GATHER: Duration = Duration::from_millis(8);

/// The maximum number of rounds of one request.
const MAX_ROUNDS: u32 = 100;

/// The members with which a client continues a request.
const STATE: &str = "requestState";
const RESPONSES: &str = "inputResponses";

/// Numbers for requests inside the gateway, because clients that share a session use the same ids.
static LAST_REQUEST: AtomicU64 = AtomicU64::new(0);

/// A request of a modern client in progress. Dropping it cancels the request.
pub struct ModernExchange {
    call: Option<Box<RunningCall>>,
    parked: Arc<ParkedCalls<Box<RunningCall>>>,
    memory: ClientMemory,
}

/// The next message for the client.
#[derive(Debug)]
pub enum ModernStep {
    /// A notification, encoded.
    Event(Bytes),
    Answer(Result<Raw, Error>),
}

/// A request with its session.
pub(crate) struct RunningCall {
    outcome: Outcome,
    events: EventStream,
    questions: Questions,
    /// Runs from the first question on.
    gather: Option<Pin<Box<Sleep>>>,
    method: Box<str>,
    level: Option<LogLevel>,
    binding: Binding,
    rounds: u32,
    /// Dropped last, because it returns the session to the pool.
    lease: SessionLease,
}

enum Outcome {
    Running(Polled<Result<Raw, Error>>),
    Done(Result<Raw, Error>),
    Taken,
}

/// The state of a call after a poll.
enum CallStep {
    Event(Bytes),
    Answer(Result<Raw, Error>),
    /// The client must answer questions first.
    InputRequired,
}

/// The parts of a new exchange.
pub(crate) struct NewExchange {
    pub(crate) lease: SessionLease,
    pub(crate) binding: Binding,
    pub(crate) parked: Arc<ParkedCalls<Box<RunningCall>>>,
    pub(crate) permit: Option<ClientPermit>,
}

impl ModernExchange {
    /// Starts a request. The request makes progress only while the exchange is polled.
    pub(crate) async fn start(
        new: NewExchange,
        request: ModernRequest,
    ) -> Result<ModernExchange, Error> {
        let ModernRequest {
            meta,
            method,
            params,
        } = request;
        let session = new.lease.session().clone();
        let level = match meta.log_level.as_deref() {
            Some(word) => Some(log_level(word)?),
            None => None,
        };
        if let Some(level) = level {
            session.widen_level(level).await;
        }
        let (sink, events) = EventSink::channel(EVENTS);
        let outcome = match &*method {
            "server/discover" => {
                let view = session.view();
                let result = session.discover();
                Outcome::Done(result.map(|result| results::complete(&method, &view, &result)))
            }
            _ => {
                let request = Request {
                    id: Id::number(LAST_REQUEST.fetch_add(1, Ordering::Relaxed)),
                    params: params.map(|params| own_params(&method, &params)),
                    method: method.clone(),
                };
                Outcome::Running(offload::polled(Box::pin(run(
                    session.clone(),
                    request,
                    sink,
                    new.permit,
                ))))
            }
        };
        let memory = session.memory().clone();
        let call = RunningCall {
            outcome,
            events,
            questions: Questions::default(),
            gather: None,
            method,
            level,
            binding: new.binding,
            rounds: 0,
            lease: new.lease,
        };
        Ok(ModernExchange {
            call: Some(Box::new(call)),
            parked: new.parked,
            memory,
        })
    }

    /// Continues the call that the request's state names; `None` if the request has no state.
    pub(crate) fn resume(
        parked: &Arc<ParkedCalls<Box<RunningCall>>>,
        binding: &Binding,
        request: &ModernRequest,
    ) -> Result<Option<ModernExchange>, Error> {
        let Some(params) = request
            .params
            .as_ref()
            .filter(|_| may_require_input(&request.method))
        else {
            return Ok(None);
        };
        let [state, responses] = params
            .pick([STATE, RESPONSES])
            .map_err(|error| Error::BadParams(error.to_string()))?;
        let Some(state) = state else {
            return Ok(None);
        };
        let level = match request.meta.log_level.as_deref() {
            Some(word) => Some(log_level(word)?),
            None => None,
        };
        let state = state.as_text();
        let state =
            state.ok_or_else(|| Error::BadParams("requestState must be a string".into()))?;
        let taken = parked.take(&state, binding);
        let mut call = taken.map_err(|bad| Error::BadParams(bad.message().to_owned()))?;
        call.level = level;
        call.lease.set_parked(false);
        call.questions.answer(responses.as_ref());
        let memory = call.lease.session().memory().clone();
        Ok(Some(ModernExchange {
            call: Some(call),
            parked: parked.clone(),
            memory,
        }))
    }

    pub fn memory(&self) -> &ClientMemory {
        &self.memory
    }

    /// Returns the headers that repeat arguments of this tool.
    pub fn param_headers(&self, tool: &str) -> Vec<ParamHeader> {
        let Some(call) = &self.call else {
            return Vec::new();
        };
        let view = call.lease.session().view();
        let schema = view.tool_schema(tool);
        // Clients drop tools with invalid annotations, so these have no headers.
        schema.map_or_else(Vec::new, |schema| {
            param_headers(&schema).unwrap_or_default()
        })
    }

    /// Closes the event queue because no client reads it.
    pub fn close_events(&mut self) {
        if let Some(call) = &mut self.call {
            call.level = None;
        }
    }

    /// Polls for the next step; `None` after the answer.
    pub fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Option<ModernStep>> {
        let Some(call) = &mut self.call else {
            return Poll::Ready(None);
        };
        let step = match call.poll_step(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(step) => step,
        };
        let answer = match step {
            CallStep::Event(message) => return Poll::Ready(Some(ModernStep::Event(message))),
            CallStep::Answer(answer) => {
                self.call = None;
                answer
            }
            CallStep::InputRequired => match self.call.take() {
                Some(call) => park(&self.parked, call),
                None => return Poll::Ready(None),
            },
        };
        Poll::Ready(Some(ModernStep::Answer(answer)))
    }
}

impl RunningCall {
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<CallStep> {
        self.poll_outcome(cx);
        while let Some(event) = self.next_event(cx) {
            match *event {
                Event::Notice(notice) => {
                    if let Some(message) = self.encode(notice) {
                        return Poll::Ready(CallStep::Event(message));
                    }
                }
                event => {
                    if let Err(missing) = self.handle(event) {
                        return Poll::Ready(CallStep::Answer(Err(missing)));
                    }
                }
            }
        }
        if let Outcome::Done(_) = &self.outcome {
            // The server no longer waits for the answers.
            self.questions.forget();
            if let Outcome::Done(outcome) = std::mem::replace(&mut self.outcome, Outcome::Taken) {
                return Poll::Ready(CallStep::Answer(outcome));
            }
        }
        if self.questions.is_empty() {
            self.gather = None;
            return Poll::Pending;
        }
        let gather = self.gather.get_or_insert_with(|| Box::pin(sleep(GATHER)));
        gather.as_mut().poll(cx).map(|()| {
            self.gather = None;
            CallStep::InputRequired
        })
    }

    /// Polls a call whose client is not there: questions are added, notifications are dropped, and
    /// the outcome is kept.
    fn poll_parked(&mut self, cx: &mut Context<'_>) {
        self.poll_outcome(cx);
        while let Some(event) = self.next_event(cx) {
            if let Err(missing) = self.handle(*event) {
                self.outcome = Outcome::Done(Err(missing));
            }
        }
    }

    fn poll_outcome(&mut self, cx: &mut Context<'_>) {
        if let Outcome::Running(running) = &mut self.outcome
            && let Poll::Ready(outcome) = Pin::new(running).poll(cx)
        {
            self.outcome = Outcome::Done(outcome);
        }
    }

    fn next_event(&mut self, cx: &mut Context<'_>) -> Option<Box<Event>> {
        match &self.outcome {
            // A request has sent all its events when its outcome is known.
            Outcome::Done(_) => self.events.try_recv(),
            _ => match self.events.poll_event(cx) {
                Poll::Ready(event) => event,
                Poll::Pending => None,
            },
        }
    }

    /// Handles everything except notifications.
    fn handle(&mut self, event: Event) -> Result<(), Error> {
        match event {
            Event::Notice(_) => Ok(()),
            Event::Withdraw(key) => {
                self.questions.withdraw(&key);
                Ok(())
            }
            // Only some methods may be answered with questions.
            Event::Ask(ask) if !may_require_input(&self.method) => {
                ask.reply.answer(Err(Refusal::NotSupported.error()));
                Ok(())
            }
            Event::Ask(ask) => {
                let client = &self.lease.session().caller().client;
                self.questions.add(ask, client)
            }
        }
    }

    /// Encodes a notification; `None` if the client did not ask for it.
    fn encode(&self, notice: Notice) -> Option<Bytes> {
        if &*notice.method == "notifications/message" {
            let wanted = self.level?;
            let params = notice.params.as_ref();
            let level = params.and_then(|params| params.member("level"));
            let level = level.as_ref().and_then(Raw::as_text);
            let level = level.and_then(|level| LogLevel::parse(&level));
            if level.is_some_and(|level| level < wanted) {
                return None;
            }
        }
        self.lease.session().encode(Event::Notice(notice))
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.questions.decline();
    }
}

/// Runs a request and converts its result.
async fn run(
    session: Arc<Session>,
    request: Request,
    sink: EventSink,
    permit: Option<ClientPermit>,
) -> Result<Raw, Error> {
    let method = request.method.clone();
    let local = match &permit {
        None => session.answer_locally(&request),
        Some(_) => None,
    };
    let outcome = match local {
        Some(outcome) => outcome,
        None => session.clone().request(request, sink, permit).await,
    };
    match outcome {
        Ok(result) => {
            offload::large(result.len()).await;
            let result = results::complete(&method, &session.view(), &result);
            Ok(session.memory().responses.hold_raw(result))
        }
        // Calls are also cancelled when their session ends.
        Err(Error::Cancelled) => Err(Error::SessionClosed),
        Err(error) => Err(results::error(&method, error)),
    }
}

/// Returns the params without the members that servers of earlier revisions do not know.
fn own_params(method: &str, params: &Raw) -> Raw {
    let params = without_request_meta(params);
    match may_require_input(method) {
        true => params.without_member(STATE).without_member(RESPONSES),
        false => params,
    }
}

fn log_level(word: &str) -> Result<LogLevel, Error> {
    LogLevel::parse(word).ok_or_else(|| {
        let words = LogLevel::WORDS.join(", ");
        Error::BadParams(format!("Unknown log level. Use one of {words}"))
    })
}

/// Parks a call and returns the result that asks its client.
fn park(
    parked: &Arc<ParkedCalls<Box<RunningCall>>>,
    mut call: Box<RunningCall>,
) -> Result<Raw, Error> {
    call.rounds += 1;
    if call.rounds > MAX_ROUNDS {
        let message = format!("The server asked more than {MAX_ROUNDS} times");
        return Err(Error::BadParams(message));
    }
    let session = call.lease.session().clone();
    let requests = call.questions.encode();
    let binding = call.binding;
    call.lease.set_parked(true);
    let (id, state, place) = parked.park(call, &binding);
    session.spawn(keep(parked.clone(), session.clone(), id, place));
    Ok(results::input_required(&session.view(), &requests, &state))
}

/// Runs a parked call until its client returns, or its time is over.
async fn keep(
    parked: Arc<ParkedCalls<Box<RunningCall>>>,
    session: Arc<Session>,
    id: u128,
    place: Arc<ParkingPlace<Box<RunningCall>>>,
) {
    let run = std::future::poll_fn(|cx| {
        if let Some(call) = &mut *place.call.lock() {
            call.poll_parked(cx);
        }
        Poll::<()>::Pending
    });
    tokio::select! {
        () = run => {}
        () = place.left.cancelled() => {}
        () = sleep(parked::LIFETIME) => {}
        () = session.closed() => {}
    }
    parked.forget(id);
    let abandoned = place.call.lock().take();
    // Dropping the call declines its questions and cancels it at the server.
    drop(abandoned);
}
