//! Plain JSON-RPC to one server: one object to
//! `POST /api/mcp-gateway/{server}/rpc`, one object back.
//!
//! No endpoint of MCP: there are no sessions here, any JSON object may be
//! forwarded, and errors have the codes of [`ForwardRefusal`].

use http::header::{ALLOW, HeaderValue};
use http::{Method, Response, StatusCode};
use hyper::body::Incoming;
use narrows_gateway::exchange::Principal;
use narrows_gateway::{PlainRequest, Reply};
use narrows_wire::{Id, encode_error};

use super::Edge;
use super::body::{self, Body};
use super::head::Head;
use super::{answer, guard};
use crate::error::{ForwardRefusal, Refused};

const METHODS: &str = "POST, OPTIONS";

/// What needs no body to be answered; `None` for a POST.
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

pub(super) async fn post(
    edge: &Edge,
    principal: &Principal,
    server: &str,
    request: Incoming,
) -> Response<Body> {
    let settings = &edge.settings;
    let read = body::read(request, settings.max_message_bytes, settings.body_timeout).await;
    let request = read.and_then(|body| PlainRequest::read(body).map_err(Refused::Message));
    let request = match request {
        Ok(request) => request,
        Err(error) => return refused(server, None, &ForwardRefusal::Edge(error)),
    };
    let forwarded = edge.gateway.forward(principal, server, &request).await;
    match (forwarded, request.id()) {
        (Ok(Reply::Message { status, body }), _) => answer::message(status, body),
        (Ok(Reply::Result(result)), Some(id)) => {
            answer::json(StatusCode::OK, Body::result(id, result))
        }
        (Ok(Reply::Error(error)), id) => answer::message(StatusCode::OK, encode_error(id, &error)),
        // Only what has an id is answered with a result.
        (Ok(Reply::Accepted | Reply::Result(_)), _) => answer::empty(StatusCode::ACCEPTED),
        (Err(error), id) => refused(server, id, &ForwardRefusal::Gateway(error)),
    }
}

pub(super) fn refused(server: &str, id: Option<&Id>, refusal: &ForwardRefusal) -> Response<Body> {
    let mut answer = answer::message(refusal.status(), refusal.encode(server, id));
    let headers = answer.headers_mut();
    answer::explain(headers, refusal.challenge(), refusal.retry_after());
    answer
}
