//! Reads an HTTP response: a JSON body or a stream of events.

use std::sync::Arc;
use std::time::Duration;

use ::http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use ::http::{HeaderName, HeaderValue, Response, StatusCode};
use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use narrows_wire::modern::{HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION};
use narrows_wire::sse::{Event, SseDecoder};
use narrows_wire::{Message, Raw};
use tokio::time::timeout;

use super::SESSION_ID;
use super::client::{ConnectionPool, PooledConnection};
use super::error::{HttpError, Refused, is_html, summary};
use crate::failure::supported_revisions;
use crate::memory::{MemoryPermit, MemoryShare, SMALL, WAIT_ABOVE};

/// The maximum number of bytes read of a body that is not a result.
const MAX_EXPLANATION: usize = 64 * 1024;

/// The time limit for reading the rest of a body that is not needed.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) struct HttpResponse {
    response: Response<Incoming>,
    pooled: PooledConnection,
    /// The reason why a redirect was not followed, if the response is one.
    pub(super) misdirected: Option<HttpError>,
}

/// The phase of a link in which a request was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestPhase {
    /// The first request of the link.
    Opening,
    /// A request in a session, which may have expired.
    InSession,
    /// A request without a session.
    Stateless,
}

/// The kind of a body, according to its content type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    Json,
    Events,
    Other,
}

impl HttpResponse {
    pub(super) fn new(response: Response<Incoming>, pooled: PooledConnection) -> Self {
        HttpResponse {
            response,
            pooled,
            misdirected: None,
        }
    }

    /// Converts a redirect that was not followed into an error.
    pub(crate) fn on_site(self) -> Result<HttpResponse, HttpError> {
        match self.misdirected {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// Takes the reason why a redirect was not followed, if the response is one.
    pub(crate) fn take_misdirected(&mut self) -> Option<HttpError> {
        self.misdirected.take()
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub(crate) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    pub(crate) fn session_id(&self) -> Option<HeaderValue> {
        self.response.headers().get(SESSION_ID).cloned()
    }

    pub(crate) fn content(&self) -> BodyKind {
        let Some(kind) = self.response.headers().get(CONTENT_TYPE) else {
            return BodyKind::Other;
        };
        let is = |name: &[u8]| {
            let start = kind.as_bytes().get(..name.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        if is(b"application/json") {
            BodyKind::Json
        } else if is(b"text/event-stream") {
            BodyKind::Events
        } else {
            BodyKind::Other
        }
    }

    /// Reads the whole body and returns the connection to the pool.
    pub(crate) async fn body(
        mut self,
        pool: &ConnectionPool,
        max: usize,
        memory: Option<&Arc<MemoryShare>>,
    ) -> Result<Bytes, HttpError> {
        let body = collect(self.response.body_mut(), max, memory).await?;
        pool.release(self.pooled);
        Ok(body)
    }

    /// Returns a reader that yields the body in pieces.
    pub(crate) fn pieces(self, max: usize) -> Result<BodyPieces, HttpError> {
        let body = self.response.into_body();
        if body.size_hint().lower() > max as u64 {
            return Err(HttpError::TooLarge(max));
        }
        Ok(BodyPieces {
            body,
            pooled: self.pooled,
            read: 0,
            max,
        })
    }

    /// Discards the body. Reads it to its end if that comes soon, so that the connection can be
    /// reused.
    pub(crate) async fn discard(self, pool: &ConnectionPool) {
        if self.content() != BodyKind::Events {
            let _ = timeout(DISCARD_TIMEOUT, self.body(pool, MAX_EXPLANATION, None)).await;
        }
    }

    /// Returns a reader for the events of the body. If `memory` is set, reading pauses while there
    /// is no room.
    pub(crate) fn events(self, max: usize, memory: Option<&Arc<MemoryShare>>) -> Events {
        Events {
            body: self.response.into_body(),
            pooled: self.pooled,
            decoder: SseDecoder::new(max),
            max,
            memory: memory.map(MemoryShare::permit),
        }
    }

    /// Converts a response with an error status into an error.
    pub(crate) async fn refusal(
        self,
        pool: &ConnectionPool,
        secrets: &[String],
        moment: RequestPhase,
    ) -> HttpError {
        let status = self.status();
        let kind = self.header(&CONTENT_TYPE).map(str::to_owned);
        let challenge = self.header(&WWW_AUTHENTICATE);
        let challenge = challenge
            .and_then(|value| value.split([' ', ',']).next())
            .filter(|scheme| !scheme.is_empty() && scheme.len() <= 20)
            .map(str::to_owned);
        // The status is sufficient if the body cannot be read.
        let body = self
            .body(pool, MAX_EXPLANATION, None)
            .await
            .unwrap_or_default();
        let html = is_html(kind.as_deref(), &body);
        let error = error_object(&body);
        let message = error
            .as_ref()
            .and_then(|(_, error)| error.member("message"));
        let message = message.as_ref().and_then(Raw::as_text);
        let explanation = message.as_ref().map_or(&body[..], |text| text.as_bytes());
        let refused = Refused {
            status,
            challenge,
            summary: summary(explanation, secrets),
            html,
        };
        if moment == RequestPhase::InSession && is_session_gone(status, &body) {
            return HttpError::SessionGone(refused);
        }
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return HttpError::Refused(refused);
        }
        match error {
            // A gateway in front of an older transport does not parse requests, so its errors have
            // no id.
            // Nor do those of servers that reject a request by its headers alone.
            Some((_, error)) if supported_revisions(&error).is_some() || is_modern(&error) => {
                HttpError::Answered(error)
            }
            Some((named, error)) if named || moment != RequestPhase::Opening => {
                HttpError::Answered(error)
            }
            _ => HttpError::Refused(refused),
        }
    }
}

/// A body of at most `max` bytes, one piece at a time.
pub(crate) struct BodyPieces {
    body: Incoming,
    pooled: PooledConnection,
    read: usize,
    max: usize,
}

impl BodyPieces {
    /// Returns the announced length of the body, or 0 if it is unknown.
    pub(crate) fn announced(&self) -> usize {
        usize::try_from(self.body.size_hint().lower()).unwrap_or(0)
    }

    /// Returns the next piece, or `None` when the body is complete.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, HttpError> {
        loop {
            let Some(frame) = self.body.frame().await else {
                return Ok(None);
            };
            let Ok(piece) = frame.map_err(broken_within)?.into_data() else {
                continue;
            };
            self.read = self.read.saturating_add(piece.len());
            if self.read > self.max {
                return Err(HttpError::TooLarge(self.max));
            }
            return Ok(Some(piece));
        }
    }

    /// Returns the number of bytes read so far.
    pub(crate) fn read(&self) -> usize {
        self.read
    }

    /// Returns the connection to the pool. Called after the last piece.
    pub(crate) fn finish(self, pool: &ConnectionPool) {
        pool.release(self.pooled);
    }
}

/// The events of a stream, one at a time.
pub(crate) struct Events {
    body: Incoming,
    pooled: PooledConnection,
    decoder: SseDecoder,
    max: usize,
    /// The charge for an event that has not been read completely.
    memory: Option<MemoryPermit>,
}

impl Events {
    /// Returns the next event, or `None` when the server has ended the stream properly.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, HttpError> {
        loop {
            match self.decoder.next() {
                Ok(Some(event)) => return Ok(Some(self.charged(event))),
                Ok(None) => {}
                Err(_) => return Err(HttpError::TooLarge(self.max)),
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.make_room(data.len()).await;
                        self.decoder.push(&data);
                    }
                }
                Some(Err(_)) => {
                    return Err(HttpError::Broken(
                        "the stream broke before the answer".to_owned(),
                    ));
                }
                None => return Ok(None),
            }
        }
    }

    /// Waits for memory if the current event is large.
    async fn make_room(&mut self, bytes: usize) {
        if let Some(permit) = &mut self.memory {
            let held = self.decoder.buffered() + bytes;
            if held > WAIT_ABOVE && held > permit.bytes() {
                // Grows in larger steps, so that not every piece of data needs a request for
                // memory.
                let step = (held - permit.bytes()).max(permit.bytes() / 2);
                permit.grow(step.min(self.max)).await;
            }
        }
    }

    /// Attaches the charge for its data to an event.
    fn charged(&mut self, mut event: Event) -> Event {
        if let Some(permit) = &mut self.memory
            && event.data.len() >= SMALL
        {
            let own = permit.split(event.data.len());
            permit.shrink_to(self.decoder.buffered());
            event.data = own.attach(event.data);
        }
        event
    }

    /// Reads the stream to its end, so that the connection can be reused. The server closes the
    /// stream right after the response, usually a moment after the response has been read.
    pub(crate) fn finish(mut self, pool: &Arc<ConnectionPool>) {
        if self.body.is_end_stream() || matches!(self.body.frame().now_or_never(), Some(None)) {
            return pool.release(self.pooled);
        }
        let pool = pool.clone();
        tokio::spawn(async move {
            let rest = collect(&mut self.body, MAX_EXPLANATION, None);
            if let Ok(Ok(_)) = timeout(DISCARD_TIMEOUT, rest).await {
                pool.release(self.pooled);
            }
        });
    }
}

/// Reads the body in one piece. A small body is usually a single frame and is not copied. If
/// `memory` is set, the body is charged, and reading pauses while there is no room.
async fn collect(
    body: &mut Incoming,
    max: usize,
    memory: Option<&Arc<MemoryShare>>,
) -> Result<Bytes, HttpError> {
    let announced = body.size_hint().exact();
    if announced.is_some_and(|length| length > max as u64) {
        return Err(HttpError::TooLarge(max));
    }
    let mut permit = memory.map(MemoryShare::permit);
    // If the length is known, all of it is charged at once. Otherwise half-read responses could
    // wait for each other's memory.
    if let (Some(permit), Some(length)) = (&mut permit, announced)
        && length as usize >= WAIT_ABOVE
    {
        permit.grow(length as usize).await;
    }
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(broken_within)?.into_data() else {
            continue;
        };
        let held = first.len().max(rest.len()) + data.len();
        if held > max {
            return Err(HttpError::TooLarge(max));
        }
        if let Some(permit) = &mut permit
            && held > permit.bytes().max(WAIT_ABOVE)
        {
            // The amount by which the buffer grows.
            let step = held.saturating_mul(2).min(max) - permit.bytes();
            permit.grow(step).await;
        }
        if first.is_empty() && rest.is_empty() {
            first = data;
        } else {
            if rest.is_empty() {
                let length =
                    announced.map_or(2 * (first.len() + data.len()), |length| length as usize);
                rest.reserve(length);
                rest.extend_from_slice(&std::mem::take(&mut first));
            }
            rest.extend_from_slice(&data);
        }
        if body.is_end_stream() {
            break;
        }
    }
    let whole = match rest.is_empty() {
        true => first,
        false => rest.freeze(),
    };
    Ok(match permit {
        Some(mut permit) if whole.len() >= SMALL => permit.split(whole.len()).attach(whole),
        _ => whole,
    })
}

fn broken_within(_: hyper::Error) -> HttpError {
    HttpError::Broken("the connection broke during the answer".to_owned())
}

/// Returns the error of a JSON-RPC response, and true if it has the id of a request.
fn error_object(body: &Bytes) -> Option<(bool, Raw)> {
    match narrows_wire::decode(body.clone()).ok()? {
        narrows_wire::Incoming::Single(Message::Response(response)) => {
            Some((response.id.is_some(), response.body.err()?))
        }
        _ => None,
    }
}

/// Returns true for the errors that only servers of MCP 2026-07-28 send.
fn is_modern(error: &Raw) -> bool {
    let code = error.member("code").and_then(|code| code.as_i64());
    matches!(
        code,
        Some(HEADER_MISMATCH | MISSING_CLIENT_CAPABILITY | UNSUPPORTED_VERSION)
    )
}

/// Returns true if the session has expired. The specification requires 404. The examples of the
/// official TypeScript SDK, and the many servers derived from them, return 400 with an error about
/// the session that has no id.
fn is_session_gone(status: StatusCode, body: &Bytes) -> bool {
    match (status, error_object(body)) {
        // An error with an id shows that the server has processed the request.
        (_, Some((true, _))) => false,
        (StatusCode::NOT_FOUND, _) => true,
        (StatusCode::BAD_REQUEST, Some((false, error))) => {
            let message = error.member("message");
            let message = message.as_ref().and_then(Raw::as_text).unwrap_or_default();
            message.to_ascii_lowercase().contains("session")
        }
        _ => false,
    }
}
