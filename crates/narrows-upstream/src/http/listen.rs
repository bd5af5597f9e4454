//! The stream that the gateway opens with GET for notifications and server requests outside any
//! call. Servers need not support it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use ::http::StatusCode;
use narrows_wire::sse::Event;

use super::HttpLink;
use super::endpoint::{Endpoint, Session};
use super::incoming::handle_frame;
use crate::web::{BodyKind, HttpError, HttpResponse};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The lower limit for the server's `retry` value.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

/// The position in a stream from which it can be resumed.
#[derive(Default)]
pub(super) struct StreamPosition {
    pub(super) last_event_id: Option<Box<str>>,
    /// The time that the server asks a client to wait before reconnecting.
    pub(super) retry: Option<Duration>,
}

impl StreamPosition {
    pub(super) fn moved_by(&mut self, event: &Event) {
        if event.id.is_some() {
            self.last_event_id.clone_from(&event.id);
        }
        if let Some(retry) = event.retry {
            self.retry = Some(Duration::from_millis(retry).clamp(SHORTEST_PAUSE, LONGEST_PAUSE));
        }
    }
}

/// Returns true if an event contains a message. False if it only carries an id, or has an event
/// type that MCP does not define.
pub(super) fn is_message(event: &Event) -> bool {
    !event.data.is_empty() && event.event.as_deref().is_none_or(|kind| kind == "message")
}

/// The result of an attempt to open the stream.
enum ListenOutcome {
    /// The stream was open. `has_events` is true if any event arrived.
    Listened {
        has_events: bool,
    },
    /// The attempt failed for a reason that may be temporary.
    Failed,
    SessionGone,
    /// The server does not support this stream.
    None,
}

/// Listens until the session or the link ends, or the server turns out not to support the stream.
pub(super) async fn listen(link: Weak<HttpLink>, endpoint: Arc<Endpoint>, session: Arc<Session>) {
    let mut place = StreamPosition::default();
    let mut opened = false;
    let mut pause = FIRST_PAUSE;
    loop {
        let wait = match try_listen(&link, &endpoint, &session, &mut place).await {
            ListenOutcome::Listened { has_events } => {
                opened = true;
                if has_events {
                    pause = FIRST_PAUSE;
                }
                place.retry.unwrap_or(pause)
            }
            ListenOutcome::Failed => pause,
            // A server that does not support the stream may also return 404.
            ListenOutcome::SessionGone if opened => {
                if let Some(link) = link.upgrade() {
                    // The new session starts its own listener, which replaces this one.
                    let _ = link.reopen(session.serial).await;
                }
                pause
            }
            ListenOutcome::SessionGone | ListenOutcome::None => return,
        };
        // The random delay keeps clients that lost a server together from reconnecting at the same
        // time.
        tokio::time::sleep(wait.mul_f64(1.0 + fastrand::f64() / 4.0)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn try_listen(
    link: &Weak<HttpLink>,
    endpoint: &Arc<Endpoint>,
    session: &Session,
    place: &mut StreamPosition,
) -> ListenOutcome {
    let answer = match endpoint.get(session, place.last_event_id.as_deref()).await {
        Ok(answer) => answer,
        Err(HttpError::Unreachable { .. } | HttpError::Broken(_)) => return ListenOutcome::Failed,
        Err(_) => return ListenOutcome::None,
    };
    match answer.status() {
        StatusCode::NOT_FOUND if session.id.is_some() => ListenOutcome::SessionGone,
        StatusCode::NOT_IMPLEMENTED => ListenOutcome::None,
        StatusCode::TOO_MANY_REQUESTS => ListenOutcome::Failed,
        status if status.is_server_error() => ListenOutcome::Failed,
        status if status.is_success() && answer.content() == BodyKind::Events => {
            ListenOutcome::Listened {
                has_events: follow(link, answer, endpoint, place).await,
            }
        }
        _ => {
            answer.discard(&endpoint.address.pool).await;
            ListenOutcome::None
        }
    }
}

/// Reads the stream to its end. Returns true if any event arrived.
async fn follow(
    link: &Weak<HttpLink>,
    answer: HttpResponse,
    endpoint: &Endpoint,
    place: &mut StreamPosition,
) -> bool {
    let mut events = answer.events(endpoint.max_message_bytes, None);
    let mut heard = false;
    loop {
        let event = match events.next().await {
            Ok(Some(event)) => event,
            Err(HttpError::TooLarge(max)) => {
                tracing::warn!(
                    url = endpoint.shown(),
                    "skipped a message of more than {max} bytes"
                );
                continue;
            }
            Ok(None) | Err(_) => return heard,
        };
        heard = true;
        place.moved_by(&event);
        let Some(link) = link.upgrade() else {
            return heard;
        };
        if is_message(&event)
            && let Err(error) = handle_frame(&link, None, event.data).await
        {
            link.violations.report(&link.server, &error);
        }
    }
}
