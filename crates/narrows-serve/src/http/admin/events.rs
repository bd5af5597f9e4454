//! The event stream of the gateway, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::header::{CONTENT_TYPE, HeaderValue};
use narrows_gateway::event_bus::GatewayEvent;
use narrows_wire::sse;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use super::AdminState;
use super::ask;
use super::description::Always;
use super::given::Params;
use super::refusal::Refusal;

#[cfg(test)]
mod tests;

/// Streams events as they happen
///
/// Server-sent events: `server_state`, `session_opened`, `session_closed`, `lists_changed`,
/// `tool_changed`, `settings_changed`, `settings_refused`, `preset_switched` and, with
/// `calls=true`, `call`. The data of each event is a JSON object whose member `event` is the event
/// name. A client that reads too slowly misses events; an event `missed` with `{"count": n}`
/// reports the number.
#[utoipa::path(
    get,
    path = "/events",
    tag = "records",
    params(ask::EventOptions),
    responses(
        (status = 200, description = "A stream that stays open until the gateway stops", body = String, content_type = "text/event-stream"),
        Always
    )
)]
pub(super) async fn get_events(
    State(admin): State<Arc<AdminState>>,
    Params(asked): Params<ask::EventOptions>,
) -> Result<Response, Refusal> {
    let place = admin.listeners.clone().try_acquire_owned();
    let place = place.map_err(|_| Refusal::TooManyListeners)?;
    let keep_alive = admin.edge.settings.keep_alive;
    let mut beat = interval_at(Instant::now() + keep_alive, keep_alive);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let watch = EventClient {
        gateway_events: admin.gateway().listen(),
        calls: asked.calls.then(|| admin.gateway().listen_to_calls()),
        beat,
        stop: admin.edge.stop.clone(),
        _place: place,
    };
    let bytes = stream::unfold(watch, async |mut watch| {
        let bytes = watch.next().await?;
        Some((Ok::<_, Infallible>(bytes), watch))
    });
    let mut answer = Response::new(Body::from_stream(bytes));
    let kind = HeaderValue::from_static("text/event-stream");
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(answer)
}

/// The approximate number of bytes in one write.
const AT_ONCE: usize = 16 * 1024;

/// A client that reads the event stream.
struct EventClient {
    gateway_events: Receiver<Arc<GatewayEvent>>,
    /// `None` if the client did not ask for call events.
    calls: Option<Receiver<Arc<GatewayEvent>>>,
    beat: Interval,
    stop: CancellationToken,
    _place: OwnedSemaphorePermit,
}

impl EventClient {
    /// Returns the next bytes to write; `None` at the end of the stream.
    async fn next(&mut self) -> Option<Bytes> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            received = self.gateway_events.recv() => taken(received, &mut self.gateway_events),
            Some((received, calls)) = next_call(&mut self.calls) => taken(received, calls),
            _ = self.beat.tick() => Some(Bytes::from_static(sse::COMMENT)),
        }
    }
}

type ReceivedEvent = Result<Arc<GatewayEvent>, RecvError>;

/// Returns `None` if the client did not ask for call events.
async fn next_call(
    calls: &mut Option<Receiver<Arc<GatewayEvent>>>,
) -> Option<(ReceivedEvent, &mut Receiver<Arc<GatewayEvent>>)> {
    let calls = calls.as_mut()?;
    Some((calls.recv().await, calls))
}

/// Encodes one event and all further events that are ready. A write for each event would cost more
/// than encoding it.
fn taken(received: ReceivedEvent, more: &mut Receiver<Arc<GatewayEvent>>) -> Option<Bytes> {
    let first = match received {
        Ok(gateway_event) => gateway_event,
        Err(RecvError::Lagged(count)) => return Some(missed(count)),
        Err(RecvError::Closed) => return None,
    };
    let mut bytes = BytesMut::new();
    encode_event(&first, &mut bytes);
    while bytes.len() < AT_ONCE {
        match more.try_recv() {
            Ok(next) => encode_event(&next, &mut bytes),
            Err(TryRecvError::Lagged(count)) => bytes.extend_from_slice(&missed(count)),
            Err(TryRecvError::Empty | TryRecvError::Closed) => break,
        }
    }
    Some(bytes.freeze())
}

#[cfg(test)]
fn encode_one(gateway_event: &GatewayEvent) -> Bytes {
    let mut bytes = BytesMut::new();
    encode_event(gateway_event, &mut bytes);
    bytes.freeze()
}

fn encode_event(gateway_event: &GatewayEvent, bytes: &mut BytesMut) {
    let data = serde_json::to_vec(gateway_event).unwrap_or_default();
    event(gateway_event.name(), data, bytes);
}

fn missed(count: u64) -> Bytes {
    let mut bytes = BytesMut::new();
    let data = format!(r#"{{"count":{count}}}"#);
    event("missed", data.into(), &mut bytes);
    bytes.freeze()
}

fn event(name: &str, data: Vec<u8>, bytes: &mut BytesMut) {
    let event = sse::Event {
        event: Some(name.into()),
        data: data.into(),
        ..sse::Event::default()
    };
    sse::encode(&event, bytes);
}
