//! POST requests with one message or a batch.
//!
//! The first step of the call determines the format of the response. If that step is the result,
//! the response is plain JSON, which needs nothing besides the call itself. If it is an event, or
//! if the call stays silent for so long that the client needs a sign of life, the response becomes
//! a stream.

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

use super::refusal::PostRefusal;
use super::{Edge, PostHead, SessionLookup, begin, modern};
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

/// Answers a POST. `headers` is an empty map for the response; `own` returns the memory shares of a
/// client without a session.
pub(in crate::http) async fn post(
    edge: &Edge,
    target: &Target<'_>,
    head: PostHead,
    own: impl FnOnce(&Principal) -> ClientMemory,
    body: RequestBody,
    headers: HeaderMap,
) -> Result<Response<Body>, PostRefusal> {
    let Received {
        message,
        bytes,
        permit,
    } = receive(edge, &head, own, body).await?;
    let PostHead {
        accept,
        found,
        principal,
        modern,
    } = head;
    if let Some(modern) = modern {
        // Boxed, so that the future of a legacy request does not reserve space for it.
        let arrived = modern::Arrived {
            head: *modern,
            message,
            bytes,
            permit,
            accept,
        };
        return Box::pin(modern::post(edge, target, principal, arrived)).await;
    }
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
            let hello = hello.map_err(|why| PostRefusal::of(&request.id, why))?;
            // Boxed, like the batch, so that the future of an ordinary request does not reserve
            // space for these rare cases.
            Box::pin(initialize(
                edge, target, principal, request.id, hello, accept,
            ))
            .await
        }
        Message::Request(request) => {
            let session = found.session();
            let session = session.map_err(|why| {
                let why = modern::without_header(&request).unwrap_or(why);
                PostRefusal::of(&request.id, why)
            })?;
            let call = Call::one(&session.session, request, permit);
            let mut waiting = UndecidedCall::new(edge, call, accept);
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
        SessionLookup::Session(session) => session.session.memory(),
        SessionLookup::Nothing(_) => {
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
) -> Result<Response<Body>, PostRefusal> {
    let Hello { revision, client } = hello;
    let gateway = &edge.gateway;
    let opening = gateway.open(
        target.entrypoint(),
        principal,
        Lifetime::Idle,
        revision,
        client,
    );
    let opened: Opened = match opening.await {
        Some(Ok(opened)) => opened,
        Some(Err(failure)) => {
            let body = encode_error(Some(&id), &error::core(&failure, revision));
            return Ok(match error::retry_after(&failure) {
                Some(after) => answer::limited(error::open_status(&failure), after, body),
                None => answer::message(error::open_status(&failure), body),
            });
        }
        None => return Err(PostRefusal::of(&id, Refused::UnknownEndpoint)),
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
    waiting: UndecidedCall<'_>,
    first: FirstStep,
    headers: HeaderMap,
) -> Response<Body> {
    match first {
        FirstStep::Answer(Answer::Result(id, result)) => {
            let answer = answer::json_in(headers, StatusCode::OK, Body::result(&id, result));
            answer::charged_to(answer, session.session.memory())
        }
        FirstStep::Answer(Answer::Limited { id, error, after }) => {
            // With another status, clients would consider the connection broken and abandon their
            // other requests on it.
            answer::limited(StatusCode::OK, after, encode_error(Some(&id), &error))
        }
        FirstStep::Answer(answer) => whole(answer.encode(session.session.memory())),
        FirstStep::Event(message) => stream(edge, session, waiting.into_call(), vec![message]),
        FirstStep::Silence => stream(edge, session, waiting.into_call(), Vec::new()),
        FirstStep::End => whole(None),
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
    let mut waiting = UndecidedCall::new(edge, call, accept);
    let mut answers = Vec::new();
    let event = loop {
        match poll_fn(|cx| waiting.poll_step(cx)).await {
            FirstStep::Answer(answer) => answers.push(answer),
            FirstStep::Event(message) => break Some(message),
            FirstStep::Silence => break None,
            FirstStep::End => {
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
    stream(edge, session, waiting.into_call(), before)
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
struct UndecidedCall<'e> {
    call: Option<Call>,
    tasks: &'e TaskTracker,
    /// The time that the call may stay silent; `None` if the client reads no events.
    json_timeout: Option<Duration>,
    timers: &'e Arc<Timers>,
    silence: Option<Timer>,
}

enum FirstStep {
    Event(Bytes),
    Answer(Answer),
    Silence,
    End,
}

impl<'e> UndecidedCall<'e> {
    fn new(edge: &'e Edge, mut call: Call, accept: Accept) -> UndecidedCall<'e> {
        let json_timeout = match accept {
            Accept { events: false, .. } => {
                call.close_events();
                None
            }
            // A client that accepts only events gets its stream at once.
            Accept { json: false, .. } => Some(Duration::ZERO),
            Accept { .. } => Some(edge.settings.keep_alive),
        };
        UndecidedCall {
            call: Some(call),
            tasks: &edge.tasks,
            json_timeout,
            timers: &edge.keep_alive_timers,
            silence: None,
        }
    }

    /// Polls for the next step of the call or the end of its silence limit.
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<FirstStep> {
        if self.json_timeout == Some(Duration::ZERO) {
            return Poll::Ready(FirstStep::Silence);
        }
        let Some(call) = &mut self.call else {
            return Poll::Ready(FirstStep::End);
        };
        if let Poll::Ready(step) = call.poll_step(cx) {
            // A call that is over needs no task to finish it.
            if call.is_over() {
                self.call = None;
            }
            return Poll::Ready(match step {
                Some(Step::Event(message)) => FirstStep::Event(message),
                Some(Step::Answer(answer)) => FirstStep::Answer(answer),
                None => FirstStep::End,
            });
        }
        let Some(json_timeout) = self.json_timeout else {
            return Poll::Pending;
        };
        let silence = self
            .silence
            .get_or_insert_with(|| self.timers.sleep(json_timeout));
        Pin::new(silence).poll(cx).map(|()| FirstStep::Silence)
    }

    /// Returns the call, to be continued as a stream.
    fn into_call(mut self) -> Call {
        self.call.take().expect("the call is not over")
    }
}

impl Drop for UndecidedCall<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.tasks.spawn(call.run_detached());
        }
    }
}
