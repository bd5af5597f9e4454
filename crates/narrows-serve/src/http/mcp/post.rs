//! POST requests with one message or a batch.
//!
//! The first step of the call decides the format of the response. If that step is the result, the
//! response is plain JSON, which needs nothing besides the call itself. If it is an event, or if
//! the call stays silent for so long that the client needs a sign of life, the response becomes a
//! stream.

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

/// A refusal and the id of the request that it answers.
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

/// Answers a POST. `headers` is an empty map for the response; `own` returns the memory shares of a
/// client without a session.
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
            // Each request of a batch acquires its own permit.
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
            // Boxed, like the batch, so that the future of an ordinary request does not reserve
            // space for these rare cases.
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

/// A received body and its message.
struct Received {
    message: Incoming,
    /// The length of the body.
    bytes: usize,
    /// The client's permit for the request, if it was acquired before the body was read.
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
        // Answers to requests from servers are not limited, and the content of the body is not
        // known yet.
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

/// Returns the response to one request, in the format that its first step decides. `headers` is an
/// empty map for the response.
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
            // With another status, clients would consider the connection broken and abandon their
            // other requests on it.
            answer::limited(StatusCode::OK, after, encode_error(Some(&id), &error))
        }
        First::Answer(answer) => whole(answer.encode(session.session.memory())),
        First::Event(message) => stream(edge, session, waiting.leave(), vec![message]),
        First::Silence => stream(edge, session, waiting.leave(), Vec::new()),
        First::End => whole(None),
    }
}

/// Runs a batch. The response is one array, unless an event precedes the last answer. Then it is a
/// stream, and each answer is sent as a separate message as soon as it is ready.
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

/// Returns a JSON response, or 202 if there is no message because the client cancelled the request.
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

/// A call whose response has no format yet. If the connection breaks, the call continues, because a
/// disconnect does not cancel it. Its messages cannot be resumed then, since the client has
/// received no event id.
struct Waiting<'e> {
    call: Option<Call>,
    tasks: &'e TaskTracker,
    /// The time that the call may stay silent; `None` if the client reads no events.
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
            // A client that accepts only events gets its stream at once.
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

    /// Polls for the next step of the call or the end of its silence limit.
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<First> {
        if self.patience == Some(Duration::ZERO) {
            return Poll::Ready(First::Silence);
        }
        let Some(call) = &mut self.call else {
            return Poll::Ready(First::End);
        };
        if let Poll::Ready(step) = call.poll_step(cx) {
            // A call that is over needs no task to finish it.
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

    /// Returns the call, to be continued as a stream.
    fn leave(mut self) -> Call {
        self.call.take().expect("the call is not over")
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.tasks.spawn(call.run_unheard());
        }
    }
}
