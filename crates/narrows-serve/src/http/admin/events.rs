//! The event stream of the gateway, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::header::{CONTENT_TYPE, HeaderValue};
use narrows_gateway::feed::Happening;
use narrows_wire::sse;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use super::Office;
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
    params(ask::Events),
    responses(
        (status = 200, description = "A stream that stays open until the gateway stops", body = String, content_type = "text/event-stream"),
        Always
    )
)]
pub(super) async fn get_events(
    State(office): State<Arc<Office>>,
    Params(asked): Params<ask::Events>,
) -> Result<Response, Refusal> {
    let place = office.listeners.clone().try_acquire_owned();
    let place = place.map_err(|_| Refusal::TooManyListeners)?;
    let keep_alive = office.edge.settings.keep_alive;
    let mut beat = interval_at(Instant::now() + keep_alive, keep_alive);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let watch = Watch {
        happenings: office.gateway().listen(),
        calls: asked.calls.then(|| office.gateway().listen_to_calls()),
        beat,
        stop: office.edge.stop.clone(),
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
struct Watch {
    happenings: Receiver<Arc<Happening>>,
    /// `None` if the client did not ask for call events.
    calls: Option<Receiver<Arc<Happening>>>,
    beat: Interval,
    stop: CancellationToken,
    _place: OwnedSemaphorePermit,
}

impl Watch {
    /// Returns the next bytes to write; `None` at the end of the stream.
    async fn next(&mut self) -> Option<Bytes> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            heard = self.happenings.recv() => taken(heard, &mut self.happenings),
            Some((heard, calls)) = next_call(&mut self.calls) => taken(heard, calls),
            _ = self.beat.tick() => Some(Bytes::from_static(sse::COMMENT)),
        }
    }
}

type Heard = Result<Arc<Happening>, RecvError>;

/// Returns `None` if the client did not ask for call events.
async fn next_call(
    calls: &mut Option<Receiver<Arc<Happening>>>,
) -> Option<(Heard, &mut Receiver<Arc<Happening>>)> {
    let calls = calls.as_mut()?;
    Some((calls.recv().await, calls))
}

/// Encodes one event and all further events that are ready. A write for each event would cost more
/// than encoding it.
fn taken(heard: Heard, more: &mut Receiver<Arc<Happening>>) -> Option<Bytes> {
    let first = match heard {
        Ok(happening) => happening,
        Err(RecvError::Lagged(count)) => return Some(missed(count)),
        Err(RecvError::Closed) => return None,
    };
    let mut bytes = BytesMut::new();
    tell(&first, &mut bytes);
    while bytes.len() < AT_ONCE {
        match more.try_recv() {
            Ok(next) => tell(&next, &mut bytes),
            Err(TryRecvError::Lagged(count)) => bytes.extend_from_slice(&missed(count)),
            Err(TryRecvError::Empty | TryRecvError::Closed) => break,
        }
    }
    Some(bytes.freeze())
}

#[cfg(test)]
fn told(happening: &Happening) -> Bytes {
    let mut bytes = BytesMut::new();
    tell(happening, &mut bytes);
    bytes.freeze()
}

fn tell(happening: &Happening, bytes: &mut BytesMut) {
    let data = serde_json::to_vec(happening).unwrap_or_default();
    event(happening.name(), data, bytes);
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
