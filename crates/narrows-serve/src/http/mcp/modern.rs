//! Requests of modern clients (MCP 2026-07-28): each POST is complete in itself.
//!
//! The headers repeat parts of the body, and are compared with it before the request starts. As for
//! legacy clients, the first step of the request decides the format of the response. A client that
//! disconnects cancels its request.

mod check;

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use http::{Response, StatusCode};
use narrows_gateway::{ClientPermit, Error, ModernExchange, ModernRequest, ModernStep, Principal};
use narrows_upstream::offload;
use narrows_wire::{Id, Incoming, Message, Raw, Request, Revision, encode_error, modern};

pub(super) use self::check::ModernHead;
use super::refusal::PostRefusal;
use crate::error::{self, Refused};
use crate::http::Edge;
use crate::http::answer;
use crate::http::body::Body;
use crate::http::head::Accept;
use crate::http::modern_events::ModernEvents;
use crate::http::routes::Target;

/// A POST that has been read.
pub(super) struct Arrived {
    pub(super) head: ModernHead,
    pub(super) message: Incoming,
    /// The length of the body.
    pub(super) bytes: usize,
    /// The client's permit, if it was acquired before the body was read.
    pub(super) permit: Option<ClientPermit>,
    pub(super) accept: Accept,
}

/// Returns the refusal of a request that has the form of this revision but no header with the
/// version.
pub(super) fn without_header(request: &Request) -> Option<Refused> {
    let params = request.params.as_ref();
    if params.map_or(0, Raw::len) >= offload::LARGE {
        return None;
    }
    modern::request_version(params)?;
    let reason = "the MCP-Protocol-Version header is missing";
    Some(Refused::HeaderMismatch(reason.to_owned()))
}

/// Answers a POST of a modern client.
pub(super) async fn post(
    edge: &Edge,
    target: &Target<'_>,
    principal: Principal,
    arrived: Arrived,
) -> Result<Response<Body>, PostRefusal> {
    let request = match arrived.message {
        Incoming::Single(Message::Request(request)) => request,
        // The revision has no notification that clients send over HTTP.
        Incoming::Single(Message::Notification(_)) => {
            return Ok(answer::empty(StatusCode::ACCEPTED));
        }
        Incoming::Single(Message::Response(_)) | Incoming::Batch(_) => {
            return Err(Refused::NoRequest.into());
        }
    };
    let Request { id, method, params } = request;
    let refuse = |why| PostRefusal::of(&id, why);
    let (head, accept) = (arrived.head, arrived.accept);
    let (head, request) = offload::run(arrived.bytes, move || {
        let meta = head.check(&method, params.as_ref());
        let request = meta.map(|meta| ModernRequest {
            meta,
            method,
            params,
        });
        (head, request)
    })
    .await;
    let request = request.map_err(refuse)?;
    if &*request.method == "subscriptions/listen" {
        return listen(edge, target, &principal, request, &id, accept).await;
    }
    let tool = tool_call(&request);
    let gateway = &edge.gateway;
    let exchange = gateway.exchange(target.entrypoint(), &principal, request, arrived.permit);
    let mut exchange = match exchange.await {
        Some(Ok(exchange)) => exchange,
        Some(Err(failure)) => return Ok(failed(&id, &failure)),
        None => return Err(refuse(Refused::UnknownEndpoint)),
    };
    if let Some((name, arguments)) = tool {
        let headers = exchange.param_headers(&name);
        head.check_params(&headers, arguments.as_ref())
            .map_err(refuse)?;
    }
    Ok(answered(
        edge,
        &id,
        exchange_first(edge, &mut exchange, accept).await,
        exchange,
    ))
}

/// The first step of a request, which decides the format of the response.
enum FirstStep {
    Step(Option<ModernStep>),
    Silence,
}

async fn exchange_first(edge: &Edge, exchange: &mut ModernExchange, accept: Accept) -> FirstStep {
    let json_timeout = match accept {
        Accept { events: false, .. } => {
            exchange.close_events();
            None
        }
        // A client that accepts only events gets its stream at once.
        Accept { json: false, .. } => Some(Duration::ZERO),
        Accept { .. } => Some(edge.settings.keep_alive),
    };
    let mut silence = None;
    poll_fn(|cx| {
        if json_timeout == Some(Duration::ZERO) {
            return Poll::Ready(FirstStep::Silence);
        }
        loop {
            match exchange.poll_step(cx) {
                // Without a stream, there is no place for notifications.
                Poll::Ready(Some(ModernStep::Event(_))) if json_timeout.is_none() => {}
                Poll::Ready(step) => return Poll::Ready(FirstStep::Step(step)),
                Poll::Pending => break,
            }
        }
        let Some(json_timeout) = json_timeout else {
            return Poll::Pending;
        };
        let silence = silence.get_or_insert_with(|| edge.keep_alive_timers.sleep(json_timeout));
        Pin::new(silence).poll(cx).map(|()| FirstStep::Silence)
    })
    .await
}

fn answered(edge: &Edge, id: &Id, first: FirstStep, exchange: ModernExchange) -> Response<Body> {
    let before = match first {
        FirstStep::Step(Some(ModernStep::Answer(Ok(result)))) => {
            let answer = answer::json(StatusCode::OK, Body::result(id, result));
            return answer::charged_to(answer, exchange.memory());
        }
        FirstStep::Step(Some(ModernStep::Answer(Err(failure)))) => return failed(id, &failure),
        FirstStep::Step(None) => return answer::empty(StatusCode::ACCEPTED),
        FirstStep::Step(Some(ModernStep::Event(message))) => Some(message),
        FirstStep::Silence => None,
    };
    let keep_alive = edge.settings.keep_alive;
    let events = ModernEvents::of_exchange(exchange, id.clone(), before, keep_alive);
    answer::events(Body::Modern(Box::new(events)))
}

/// Opens a stream of notifications.
async fn listen(
    edge: &Edge,
    target: &Target<'_>,
    principal: &Principal,
    request: ModernRequest,
    id: &Id,
    accept: Accept,
) -> Result<Response<Body>, PostRefusal> {
    if !accept.events {
        return Err(PostRefusal::of(id, Refused::NotAcceptable));
    }
    let gateway = &edge.gateway;
    let stream = gateway.listen_modern(target.entrypoint(), principal, request, id.clone());
    let stream = match stream.await {
        Some(Ok(stream)) => stream,
        Some(Err(failure)) => return Ok(failed(id, &failure)),
        None => return Err(PostRefusal::of(id, Refused::UnknownEndpoint)),
    };
    let keep_alive = edge.settings.keep_alive;
    let events = ModernEvents::of_listener(stream, id.clone(), edge.stop.clone(), keep_alive);
    Ok(answer::events(Body::Modern(Box::new(events))))
}

fn failed(id: &Id, failure: &Error) -> Response<Body> {
    let body = encode_error(Some(id), &error::core(failure, Revision::V2026_07_28));
    let status = error::modern_status(failure);
    match error::retry_after(failure) {
        Some(after) => answer::limited(status, after, body),
        None => answer::message(status, body),
    }
}

/// Returns the name and the arguments of a tool call.
fn tool_call(request: &ModernRequest) -> Option<(String, Option<Raw>)> {
    let params = request
        .params
        .as_ref()
        .filter(|_| &*request.method == "tools/call")?;
    let [name, arguments] = params.pick(["name", "arguments"]).ok()?;
    Some((name?.as_text()?.into_owned(), arguments))
}
