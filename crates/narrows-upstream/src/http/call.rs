//! One call over HTTP. Sends the request and reads the response, resumes a stream that was cut,
//! repeats the request if the session has expired, and cancels it if the caller stops waiting.

use std::sync::Arc;
use std::time::Duration;

use ::http::StatusCode;
use ::http::header::CONTENT_TYPE;
use bytes::Bytes;
use narrows_wire::{Raw, encode_notification};

use super::HttpLink;
use super::endpoint::Session;
use super::incoming::{Call, handle_frame};
use super::listen::{StreamPosition, is_message};
use crate::failure::LinkError;
use crate::memory::MemoryShare;
use crate::request::Outgoing;
use crate::web::{BodyKind, Events, HttpError, HttpResponse, is_html};

/// The maximum number of attempts in a row to resume a stream.
const RESUMPTIONS: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Sends a request and waits for its response. The caller sets the time limit.
pub(super) async fn call(
    link: &Arc<HttpLink>,
    call: &Call<'_>,
    message: Bytes,
) -> Result<Raw, LinkError> {
    let endpoint = &link.endpoint;
    let mut open = OpenCall {
        link,
        call: call.outgoing,
        id: call.id,
        sent: false,
        lost: false,
        done: false,
    };
    let mut session = endpoint.session();
    let mut reopened = false;
    loop {
        let outcome = match endpoint
            .post_with(&session, call.headers, message.clone(), &mut open.sent)
            .await
        {
            Ok(answer) => read_answer(link, call, &session, answer).await,
            Err(error) => Err(error),
        };
        match outcome {
            Err(HttpError::SessionGone(_)) if !reopened => {
                reopened = true;
                open.sent = false;
                session = Box::pin(link.reopen(session.serial)).await?;
            }
            Err(HttpError::Broken(what)) => {
                // In MCP a lost connection does not cancel a call, so the server is notified that
                // the call has ended.
                open.lost = true;
                let error = HttpError::Broken(what).into_link_error(endpoint.shown());
                return Err(match error {
                    LinkError::Closed { failure, .. } if !open.sent => LinkError::unsent(failure),
                    error => error,
                });
            }
            outcome => {
                open.done = true;
                return outcome.map_err(|error| error.into_link_error(endpoint.shown()));
            }
        }
    }
}

/// Reads the response to `call`, either JSON or an event stream.
pub(super) async fn read_answer(
    link: &Arc<HttpLink>,
    call: &Call<'_>,
    session: &Session,
    answer: HttpResponse,
) -> Result<Raw, HttpError> {
    let status = answer.status();
    // The content type is only used in error messages.
    let kind = match answer.content() {
        BodyKind::Events => return Box::pin(read_events(link, call, session, answer)).await,
        BodyKind::Json => None,
        BodyKind::Other => Some(answer.header(&CONTENT_TYPE).unwrap_or("untyped").to_owned()),
    };
    let body = answer
        .body(
            &link.endpoint.address.pool,
            link.endpoint.max_message_bytes,
            call.memory(),
        )
        .await?;
    if body.is_empty() {
        return Err(HttpError::Invalid(format!(
            "HTTP {status} without an answer"
        )));
    }
    match handle_frame(link, Some(call), body.clone()).await {
        Ok(Some(answer)) => answer.map_err(HttpError::Answered),
        Ok(None) => Err(HttpError::Invalid(
            "it does not belong to the request".to_owned(),
        )),
        Err(_) if is_html(kind.as_deref(), &body) => {
            Err(HttpError::NotMcp("it answers with a web page".to_owned()))
        }
        Err(error) => Err(HttpError::Invalid(match kind {
            Some(kind) => format!("{error} ({})", kind.chars().take(60).collect::<String>()),
            None => error.to_string(),
        })),
    }
}

async fn read_events(
    link: &Arc<HttpLink>,
    call: &Call<'_>,
    session: &Session,
    answer: HttpResponse,
) -> Result<Raw, HttpError> {
    let mut place = StreamPosition::default();
    let memory = call.memory();
    let mut events = answer.events(link.endpoint.max_message_bytes, memory);
    let mut tries = 0;
    loop {
        let followed = follow(link, call, &mut events, &mut place, &mut tries).await;
        let is_resumable = place.last_event_id.is_some() && link.has_get();
        match followed {
            Ok(Some(answer)) => {
                events.finish(&link.endpoint.address.pool);
                return answer.map_err(HttpError::Answered);
            }
            Ok(None) if !is_resumable => {
                return Err(HttpError::Invalid(
                    "its stream ended without the answer".to_owned(),
                ));
            }
            Err(HttpError::Broken(what)) if !is_resumable => {
                return Err(HttpError::Broken(what));
            }
            Ok(None) | Err(HttpError::Broken(_)) => {}
            Err(error) => return Err(error),
        }
        events = resume(link, session, memory, &place, &mut tries).await?;
    }
}

/// Reads events until the response arrives or the stream ends.
async fn follow(
    link: &Arc<HttpLink>,
    call: &Call<'_>,
    events: &mut Events,
    place: &mut StreamPosition,
    tries: &mut u32,
) -> Result<Option<Result<Raw, Raw>>, HttpError> {
    loop {
        // The stream belongs to this call alone, so the server may be made to wait for the client.
        if let Some(origin) = call.origin() {
            origin.sink.room().await;
        }
        let Some(event) = events.next().await? else {
            return Ok(None);
        };
        *tries = 0;
        place.moved_by(&event);
        if event.event.as_deref() == Some("endpoint") {
            let detail = "it answers with an HTTP+SSE stream";
            return Err(HttpError::NotMcp(detail.to_owned()));
        }
        if !is_message(&event) {
            continue;
        }
        match handle_frame(link, Some(call), event.data).await {
            Ok(None) => {}
            Ok(answer) => return Ok(answer),
            Err(error) => link.violations.report(&link.server, &error),
        }
    }
}

/// Resumes a stream that was cut (MCP 2025-11-25, transports, resumability: a server may close it
/// on purpose and let the client poll).
async fn resume(
    link: &HttpLink,
    session: &Session,
    memory: Option<&Arc<MemoryShare>>,
    place: &StreamPosition,
    tries: &mut u32,
) -> Result<Events, HttpError> {
    let endpoint = &link.endpoint;
    loop {
        if *tries == RESUMPTIONS {
            let detail =
                format!("its stream broke and could not be resumed in {RESUMPTIONS} attempts");
            return Err(HttpError::Broken(detail));
        }
        *tries += 1;
        tokio::time::sleep(place.retry.unwrap_or(FIRST_PAUSE)).await;
        match endpoint.get(session, place.last_event_id.as_deref()).await {
            Ok(answer) if answer.status().is_success() && answer.content() == BodyKind::Events => {
                return Ok(answer.events(endpoint.max_message_bytes, memory));
            }
            Ok(answer) => match answer.status() {
                StatusCode::TOO_MANY_REQUESTS => {}
                status if status.is_server_error() => {}
                status => {
                    let detail = format!(
                        "its stream broke, and it refused to resume the stream (HTTP {status})"
                    );
                    return Err(HttpError::Broken(detail));
                }
            },
            Err(HttpError::Unreachable { .. } | HttpError::Broken(_)) => {}
            Err(error) => return Err(error),
        }
    }
}

/// A pending request. Dropping it early cancels the request at the server.
struct OpenCall<'a> {
    link: &'a HttpLink,
    call: &'a Outgoing<'a>,
    id: u64,
    /// True if the server may have received the request.
    sent: bool,
    /// True if the connection was lost before the response was complete.
    lost: bool,
    /// True if the response has arrived, or can certainly not arrive.
    done: bool,
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        // MCP, lifecycle: `initialize` must not be cancelled.
        if self.done || !self.sent || self.call.method == "initialize" {
            return;
        }
        // In the modern era, closing the connection of the response cancels the request.
        if !self.link.has_get() {
            return;
        }
        let reason = match &self.call.origin {
            _ if self.lost => "connection lost",
            Some(origin) => origin.cancel.reason(),
            None => "timeout",
        };
        let params = Raw::empty_object()
            .with_member("requestId", &Raw::number(self.id))
            .with_member("reason", &Raw::string(reason));
        self.link.outbox.put(encode_notification(
            "notifications/cancelled",
            Some(&params),
        ));
    }
}
