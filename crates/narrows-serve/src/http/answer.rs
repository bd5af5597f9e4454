//! Constructors for complete HTTP responses, for MCP and other routes.

use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{Response, StatusCode};
use narrows_upstream::memory::ClientMemory;
use narrows_wire::Id;
use serde_json::Value;

use super::body::Body;
use crate::error::Refused;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// The `Connection` value of a response after which the gateway reads no further request.
pub(super) const CLOSE: HeaderValue = HeaderValue::from_static("close");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache, no-transform");
// Some proxies buffer a stream unless this header disables buffering.
const NO_BUFFERING: (HeaderName, HeaderValue) = (
    HeaderName::from_static("x-accel-buffering"),
    HeaderValue::from_static("no"),
);

pub(super) fn json(status: StatusCode, body: Body) -> Response<Body> {
    json_in(HeaderMap::with_capacity(4), status, body)
}

/// Like [`json`], but reuses a header map: that of the request, emptied. The server takes the map
/// back for the next request, so a connection in use allocates none.
pub(super) fn json_in(mut headers: HeaderMap, status: StatusCode, body: Body) -> Response<Body> {
    headers.insert(CONTENT_TYPE, JSON);
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    *answer.headers_mut() = headers;
    answer
}

/// Returns a response with `body` as an event stream.
pub(super) fn events(body: Body) -> Response<Body> {
    let mut answer = Response::new(body);
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, EVENT_STREAM);
    headers.insert(CACHE_CONTROL, NO_CACHE);
    headers.insert(NO_BUFFERING.0, NO_BUFFERING.1);
    answer
}

pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = status;
    answer
}

pub(super) fn refused(id: Option<&Id>, refused: &Refused) -> Response<Body> {
    let mut answer = json(refused.status(), Body::whole(refused.encode(id)));
    explain(
        answer.headers_mut(),
        refused.challenge(),
        refused.retry_after(),
    );
    if refused.leaves_body() {
        answer.headers_mut().insert(CONNECTION, CLOSE);
    }
    answer
}

/// Returns an error caused by a limit of the client.
pub(super) fn limited(status: StatusCode, after: Duration, message: Bytes) -> Response<Body> {
    let mut answer = json(status, Body::whole(message));
    explain(answer.headers_mut(), None, Some(after));
    answer
}

/// Sets the `WWW-Authenticate` and `Retry-After` headers. `Retry-After` is in whole seconds, so the
/// delay is rounded up.
pub(super) fn explain(
    headers: &mut HeaderMap,
    challenge: Option<HeaderValue>,
    retry_after: Option<Duration>,
) {
    if let Some(challenge) = challenge {
        headers.insert(WWW_AUTHENTICATE, challenge);
    }
    if let Some(after) = retry_after {
        let seconds = after.as_millis().div_ceil(1_000).max(1);
        let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
        headers.insert(RETRY_AFTER, seconds.into());
    }
}

/// Attaches the memory share that the bytes of a large response are charged to.
pub(super) fn charged_to(mut answer: Response<Body>, memory: &ClientMemory) -> Response<Body> {
    if answer.body().is_large() {
        answer.extensions_mut().insert(memory.responses.clone());
    }
    answer
}

pub(super) fn message(status: StatusCode, message: Bytes) -> Response<Body> {
    json(status, Body::whole(message))
}

/// Returns a refusal as plain JSON, for routes that do not use JSON-RPC.
pub(super) fn refused_page(refused: &Refused) -> Response<Body> {
    let error = serde_json::json!({ "error": refused.message() });
    let mut page = page(refused.status(), &error);
    let headers = page.headers_mut();
    explain(headers, refused.challenge(), refused.retry_after());
    page
}

/// Returns a JSON response for a route outside MCP.
pub(super) fn page(status: StatusCode, value: &Value) -> Response<Body> {
    json(status, Body::whole(value.to_string().into()))
}

/// Sets the `Allow` header of a response that refuses a method.
pub(super) fn allow(mut answer: Response<Body>, methods: &'static str) -> Response<Body> {
    let methods = HeaderValue::from_static(methods);
    answer.headers_mut().insert(ALLOW, methods);
    answer
}
