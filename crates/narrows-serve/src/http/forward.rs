//! The plain JSON-RPC route to one server: each `POST /api/mcp-gateway/{server}/rpc` carries one
//! object and returns one.
//!
//! The route is not an MCP endpoint: it has no sessions, forwards any JSON object, and uses the
//! error codes of [`ForwardRefusal`].

use http::header::{ALLOW, CONNECTION, HeaderValue};
use http::{Method, Response, StatusCode};
use hyper::body::Incoming;
use narrows_gateway::Principal;
use narrows_gateway::{PlainRequest, Reply};
use narrows_upstream::memory::ClientMemory;
use narrows_upstream::offload;
use narrows_wire::{Id, encode_error};

use super::Edge;
use super::body::{self, Body};
use super::head::Head;
use super::{answer, entry, guard};
use crate::error::{ForwardRefusal, Refused};

const METHODS: &str = "POST, OPTIONS";

/// Answers a request that has no body to read; `None` for a POST.
pub(super) fn enter(server: &str, method: &Method, head: &Head<'_>) -> Option<Response<Body>> {
    match *method {
        Method::POST => None,
        Method::OPTIONS => Some(guard::preflight(head, METHODS)),
        _ => {
            let mut answer = refused(server, None, &ForwardRefusal::Edge(Refused::Method));
            let allow = HeaderValue::from_static(METHODS);
            answer.headers_mut().insert(ALLOW, allow);
            Some(answer)
        }
    }
}

/// Forwards a request. `marks` holds the gateway marks to pass on, if the request came from a
/// gateway.
pub(super) async fn post(
    edge: &Edge,
    (principal, marks): (Principal, Option<HeaderValue>),
    server: &str,
    request: Incoming,
    memory: &ClientMemory,
) -> Response<Body> {
    let mut permit = None;
    let read = body::read(request, edge.body_limits(memory), || {
        permit = entry::permit(edge, &principal)?;
        Ok(())
    });
    let request = match read.await {
        Ok(body) => {
            let read = offload::run(body.len(), move || PlainRequest::read(body)).await;
            read.map_err(Refused::Message)
        }
        Err(refused) => Err(refused),
    };
    let request = match request {
        Ok(request) => request.charged_to(memory.clone()).marked(marks),
        Err(error) => return refused(server, None, &ForwardRefusal::Edge(error)),
    };
    let id = request.id().cloned();
    let (gateway, name) = (edge.gateway.clone(), server.to_owned());
    let forwarded = offload::polled(Box::pin(async move {
        offload::large(request.body_len()).await;
        gateway.forward(&principal, &name, &request, permit).await
    }));
    match (forwarded.await, id.as_ref()) {
        (Ok(Reply::Message { status, body }), _) => {
            answer::charged_to(answer::message(status, body), memory)
        }
        (Ok(Reply::Result(result)), Some(id)) => {
            let answer = answer::json(StatusCode::OK, Body::result(id, result));
            answer::charged_to(answer, memory)
        }
        (Ok(Reply::Error(error)), id) => answer::message(StatusCode::OK, encode_error(id, &error)),
        // Only requests with an id get a result.
        (Ok(Reply::Accepted | Reply::Result(_)), _) => answer::empty(StatusCode::ACCEPTED),
        (Err(error), id) => refused(server, id, &ForwardRefusal::Gateway(error)),
    }
}

pub(super) fn refused(server: &str, id: Option<&Id>, refusal: &ForwardRefusal) -> Response<Body> {
    let mut answer = answer::message(refusal.status(), refusal.encode(server, id));
    let headers = answer.headers_mut();
    answer::explain(headers, refusal.challenge(), refusal.retry_after());
    if matches!(refusal, ForwardRefusal::Edge(refused) if refused.leaves_body()) {
        headers.insert(CONNECTION, answer::CLOSE);
    }
    answer
}
