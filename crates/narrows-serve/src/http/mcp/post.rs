//! One message, or a batch of them, by POST.
//!
//! The form of the answer is decided by the first thing that happens. If that
//! is the outcome, the answer is plain JSON and nothing besides the call
//! itself was ever needed for it. If it is an event (or silence for so long
//! that the client should see a sign of life), the answer becomes a stream.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use hyper::body::Incoming as RequestBody;
use narrows_gateway::{ClientPermit, Lifetime, Opened, Principal};
use narrows_upstream::memory::ClientMemory;
use narrows_upstream::offload;
use narrows_upstream::timers::{Timer, Timers};
use narrows_wire::{Id, Incoming, Message, decode, encode_error};
use tokio_util::task::TaskTracker;

use super::{Edge, Found, PostHead, begin};
use crate::call::{Answer, Call, Step, encode_batch};
use crate::error::{self, Refused};
use crate::hello::Hello;
use crate::http::body::{self, Body};
use crate::http::events::Events;
use crate::http::head::Accept;
use crate::http::routes::Target;
use crate::http::sessions::HttpSession;
use crate::http::{answer, entry};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// A refusal, under the id of the request that it answers.
pub(in crate::http) struct Refusal {
    id: Option<Id>,
    why: Refused,
}

impl Refusal {
    fn of(id: &Id, why: Refused) -> Refusal {
        let id = Some(id.clone());
        Refusal { id, why }
    }

    pub(in crate::http) fn into_answer(self) -> Response<Body> {
        tracing::debug!(why = ?self.why, "refused");
        answer::refused(self.id.as_ref(), &self.why)
    }
}

impl From<Refused> for Refusal {
    fn from(why: Refused) -> Refusal {
        Refusal { id: None, why }
    }
}

/// Answers a POST. `headers` is an empty map for the answer; `own` gives what is
/// counted of the memory of a client without a session.
pub(in crate::http) async fn post(
    edge: &Edge,
    target: &Target<'_>,
    head: PostHead,
    own: impl FnOnce(&Principal) -> ClientMemory,
    body: RequestBody,
    headers: HeaderMap,
) -> Result<Response<Body>, Refusal> {
    let Received {
        message,
        bytes,
        permit,
    } = receive(edge, &head, own, body).await?;
    let PostHead {
        accept,
        found,
        principal,
    } = head;
    let message = match message {
        Incoming::Single(message) => message,
        Incoming::Batch(entries) => {
            // Each of the requests takes its own.
            drop(permit);
            let session = found.session()?;
            let call = Call::batch(&session.session, entries)?;
            return Ok(match call {
                Some(call) => Box::pin(run_batch(edge, &session, call, accept)).await,
                None => answer::empty(StatusCode::ACCEPTED),
            });
        }
    };
    match message {
        Message::Request(request) if &*request.method == "initialize" => {
            let hello = Hello::read(request.params.as_ref());
            let hello = hello.map_err(|why| Refusal::of(&request.id, why))?;
            // Boxed, as the batch is, so that the usual request does not carry
            // the room that these rare ones need.
            Box::pin(initialize(
                edge, target, principal, request.id, hello, accept,
            ))
            .await
        }
        Message::Request(request) => {
            let session = found.session();
            let session = session.map_err(|why| Refusal::of(&request.id, why))?;
            let call = Call::one(&session.session, request, permit);
            let mut waiting = Waiting::new(edge, call, accept);
            let first = poll_fn(|cx| waiting.poll_step(cx)).await;
            Ok(begun(edge, &session, waiting, first, headers))
        }
        Message::Notification(notification) => {
            let session = found.session()?.session.clone();
            offload::run(bytes, move || session.notify(notification)).await;
            Ok(answer::empty(StatusCode::ACCEPTED))
        }
        Message::Response(response) => {
            let session = found.session()?.session.clone();
            offload::run(bytes, move || session.answer(response)).await;
            Ok(answer::empty(StatusCode::ACCEPTED))
        }
    }
}

/// The content of a body.
struct Received {
    message: Incoming,
    /// Its length.
    bytes: usize,
    /// The client's permit for it, where it was taken already.
    permit: Option<ClientPermit>,
}

async fn receive(
    edge: &Edge,
    head: &PostHead,
    own: impl FnOnce(&Principal) -> ClientMemory,
    body: RequestBody,
) -> Result<Received, Refused> {
    let mut permit = None;
    let without_session;
    let memory = match &head.found {
        Found::Session(session) => session.session.memory(),
        Found::Nothing(_) => {
            without_session = own(&head.principal);
            &without_session
        }
    };
    let frame = body::read(body, edge.body_limits(memory), || {
        // Answers to questions of servers are not limited, and what a body
        // holds is not known yet.
        if !head.found.owes_an_answer() {
            permit = entry::permit(edge, &head.principal)?;
        }
        Ok(())
    });
    let frame = frame.await?;
    let bytes = frame.len();
    let decoded = offload::run(bytes, move || decode(frame)).await;
    Ok(Received {
        message: decoded.map_err(Refused::Message)?,
        bytes,
        permit,
    })
}

async fn initialize(
    edge: &Edge,
    target: &Target<'_>,
    principal: Principal,
    id: Id,
    hello: Hello,
    accept: Accept,
) -> Result<Response<Body>, Refusal> {
    let Hello { revision, client } = hello;
    let gateway = &edge.gateway;
    let opening = gateway.open(target.door(), principal, Lifetime::Idle, revision, client);
    let opened: Opened = match opening.await {
        Some(Ok(opened)) => opened,
        Some(Err(failure)) => {
            let body = encode_error(Some(&id), &error::core(&failure, revision));
            return Ok(match error::retry_after(&failure) {
                Some(after) => answer::limited(error::open_status(&failure), after, body),
                None => answer::message(error::open_status(&failure), body),
            });
        }
        None => return Err(Refusal::of(&id, Refused::UnknownEndpoint)),
    };
    let result = opened.result.clone();
    let name = HeaderValue::from_str(opened.session.id())
        .expect("session ids are made of printable characters");
    let session = edge.sessions.insert(
        opened,
        target.clone().into_owned(),
        edge.bounds(),
        &edge.tasks,
    );
    let mut answer = if accept.json {
        answer::json(StatusCode::OK, Body::result(&id, result))
    } else {
        let call = Call::answered(&session.session, Answer::Result(id, result));
        stream(edge, &session, call, Vec::new())
    };
    answer.headers_mut().insert(SESSION_ID, name);
    Ok(answer)
}

/// Returns the answer to one request, in the form that its first step decides.
/// `headers` is an empty map for it.
fn begun(
    edge: &Edge,
    session: &HttpSession,
    waiting: Waiting<'_>,
    first: First,
    headers: HeaderMap,
) -> Response<Body> {
    match first {
        First::Answer(Answer::Result(id, result)) => {
            let answer = answer::json_in(headers, StatusCode::OK, Body::result(&id, result));
            answer::charged_to(answer, session.session.memory())
        }
        First::Answer(Answer::Limited { id, error, after }) => {
            // Clients that see another status here take their connection for
            // broken, and what else they do over it with it.
            answer::limited(StatusCode::OK, after, encode_error(Some(&id), &error))
        }
        First::Answer(answer) => whole(answer.encode(session.session.memory())),
        First::Event(message) => stream(edge, session, waiting.leave(), vec![message]),
        First::Silence => stream(edge, session, waiting.leave(), Vec::new()),
        First::End => whole(None),
    }
}

/// A batch: one array, unless something precedes the last of its answers. On a
/// stream each answer is a message of its own, the moment it is there.
async fn run_batch(
    edge: &Edge,
    session: &HttpSession,
    call: Call,
    accept: Accept,
) -> Response<Body> {
    let mut waiting = Waiting::new(edge, call, accept);
    let mut answers = Vec::new();
    let event = loop {
        match poll_fn(|cx| waiting.poll_step(cx)).await {
            First::Answer(answer) => answers.push(answer),
            First::Event(message) => break Some(message),
            First::Silence => break None,
            First::End => {
                let memory = session.session.memory();
                return answer::charged_to(whole(encode_batch(&answers, memory)), memory);
            }
        }
    };
    let before = answers
        .iter()
        .filter_map(|answer| answer.encode(session.session.memory()))
        .chain(event)
        .collect();
    stream(edge, session, waiting.leave(), before)
}

/// An answer in JSON; if there is none, because the client took its request
/// back, nothing but the word that it was received.
fn whole(message: Option<Bytes>) -> Response<Body> {
    match message {
        Some(message) => answer::message(StatusCode::OK, message),
        None => answer::empty(StatusCode::ACCEPTED),
    }
}

fn stream(edge: &Edge, session: &HttpSession, call: Call, before: Vec<Bytes>) -> Response<Body> {
    let reader = session.stream(call, before);
    let events = Events::new(reader, edge.settings.keep_alive, None);
    answer::events(Body::Events(Box::new(begin(session, events))))
}

/// A call whose answer has no form yet. If the connection breaks meanwhile,
/// the call runs on: a disconnect is no cancellation. Nobody can come back for
/// its messages then, since no event id has been given out.
struct Waiting<'e> {
    call: Option<Call>,
    tasks: &'e TaskTracker,
    /// How long the call may stay silent; never, if the client reads no events.
    patience: Option<Duration>,
    timers: &'e Arc<Timers>,
    silence: Option<Timer>,
}

enum First {
    Event(Bytes),
    Answer(Answer),
    Silence,
    End,
}

impl<'e> Waiting<'e> {
    fn new(edge: &'e Edge, mut call: Call, accept: Accept) -> Waiting<'e> {
        let patience = match accept {
            Accept { events: false, .. } => {
                call.deafen();
                None
            }
            // A client that reads nothing else gets its stream right away.
            Accept { json: false, .. } => Some(Duration::ZERO),
            Accept { .. } => Some(edge.settings.keep_alive),
        };
        Waiting {
            call: Some(call),
            tasks: &edge.tasks,
            patience,
            timers: &edge.keep_alive_timers,
            silence: None,
        }
    }

    /// Waits for the next thing that happens.
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<First> {
        if self.patience == Some(Duration::ZERO) {
            return Poll::Ready(First::Silence);
        }
        let Some(call) = &mut self.call else {
            return Poll::Ready(First::End);
        };
        if let Poll::Ready(step) = call.poll_step(cx) {
            // What is over need not be carried on by anybody.
            if call.is_over() {
                self.call = None;
            }
            return Poll::Ready(match step {
                Some(Step::Event(message)) => First::Event(message),
                Some(Step::Answer(answer)) => First::Answer(answer),
                None => First::End,
            });
        }
        let Some(patience) = self.patience else {
            return Poll::Pending;
        };
        let silence = self
            .silence
            .get_or_insert_with(|| self.timers.sleep(patience));
        Pin::new(silence).poll(cx).map(|()| First::Silence)
    }

    /// The call, to be carried on as a stream.
    fn leave(mut self) -> Call {
        self.call
            .take()
            .expect("only a call at its end is given up")
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.tasks.spawn(call.run_unheard());
        }
    }
}
