//! Request and response bodies.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use narrows_upstream::memory::{MemoryFull, MemoryShare, SMALL};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::channel::Channel;
use super::events::Events;
use super::modern_events::ModernEvents;
use crate::error::Refused;

/// Responses below this length use one buffer: copying a few kilobytes costs less than writing
/// several pieces.
const COPY_BELOW: usize = 8 * 1024;

/// The body of a response.
#[derive(Default)]
pub(super) enum Body {
    #[default]
    Empty,
    Whole(Bytes),
    /// A response with a large result, which is not copied.
    Parts(std::array::IntoIter<Bytes, 3>),
    Events(Box<Events>),
    /// The stream of a modern request.
    Modern(Box<ModernEvents>),
    /// The stream of a client on HTTP+SSE.
    Channel(Box<Channel>),
    /// A response of the admin API.
    Admin(axum::body::Body),
}

impl Body {
    pub(super) fn empty() -> Body {
        Body::Empty
    }

    pub(super) fn whole(bytes: Bytes) -> Body {
        if bytes.is_empty() {
            Body::Empty
        } else {
            Body::Whole(bytes)
        }
    }

    /// Returns true if the bytes are charged to the client until it reads them.
    pub(super) fn is_large(&self) -> bool {
        match self {
            Body::Whole(bytes) => bytes.len() >= SMALL,
            Body::Parts(_) => true,
            _ => false,
        }
    }

    /// Encodes a response that carries `result`.
    pub(super) fn result(id: &narrows_wire::Id, result: narrows_wire::Raw) -> Body {
        if result.len() < COPY_BELOW {
            Body::Whole(narrows_wire::encode_result(id, &result))
        } else {
            Body::Parts(narrows_wire::result_parts(id, result).into_iter())
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match &mut *self {
            Body::Empty => Poll::Ready(None),
            Body::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                *self = Body::Empty;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Body::Parts(parts) => Poll::Ready(parts.next().map(|part| Ok(Frame::data(part)))),
            Body::Events(events) => events
                .poll_bytes(cx)
                .map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes)))),
            Body::Modern(events) => events
                .poll_bytes(cx)
                .map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes)))),
            Body::Channel(channel) => channel
                .poll_bytes(cx)
                .map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes)))),
            Body::Admin(answer) => Pin::new(answer).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Empty => true,
            Body::Whole(_) | Body::Events(_) | Body::Modern(_) | Body::Channel(_) => false,
            Body::Parts(parts) => parts.as_slice().is_empty(),
            Body::Admin(answer) => answer.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Empty => SizeHint::with_exact(0),
            Body::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Body::Parts(parts) => {
                SizeHint::with_exact(parts.as_slice().iter().map(|part| part.len() as u64).sum())
            }
            Body::Events(_) | Body::Modern(_) | Body::Channel(_) => SizeHint::default(),
            Body::Admin(answer) => answer.size_hint(),
        }
    }
}

/// The minimum rate of a body in bytes per second, once it has fallen behind.
const RATE: u64 = 16 * 1024;

/// Bodies up to this length are read without calling `admit`, because they arrive together with
/// their heads.
const UNASKED: usize = 64 * 1024;

/// Above this length, memory for the announced length is reserved at once, to avoid repeated
/// copying.
const RESERVE_ABOVE: usize = 1024 * 1024;

/// Limits of a request body.
pub(super) struct BodyLimits<'a> {
    pub(super) max: usize,
    /// The longest time that a body may lag behind [`RATE`].
    pub(super) grace: Duration,
    /// The memory share that the bytes are charged to.
    pub(super) memory: &'a Arc<MemoryShare>,
    /// Cancels the wait for the rest of a body when the gateway shuts down.
    pub(super) stop: &'a CancellationToken,
}

/// Reads a whole request body. `admit` is called before a large body is read further.
///
/// The bytes of a body are charged to `memory` as they arrive, until the last slice of the body is
/// dropped. The announced length is only compared with the limit, so that a client that announces
/// much and sends little takes no memory from others.
pub(super) async fn read(
    mut body: impl http_body::Body<Data = Bytes> + Unpin,
    limits: BodyLimits<'_>,
    admit: impl FnOnce() -> Result<(), Refused>,
) -> Result<Bytes, Refused> {
    let BodyLimits {
        max,
        grace,
        memory,
        stop,
    } = limits;
    let mut admit = Some(admit);
    let mut ask = |bytes: usize| match admit.take_if(|_| bytes > UNASKED) {
        Some(admit) => admit(),
        None => Ok(()),
    };
    let too_large = Refused::TooLarge { max };
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > max {
        return Err(too_large);
    }
    ask(announced)?;
    if announced >= SMALL {
        memory.check(announced)?;
    }
    let mut pace = Pace::new(grace);
    // A small message arrives together with its head, in one piece, and needs neither a timer nor a
    // copy.
    let Some(first) = next_piece(&mut body, &mut pace, stop).await? else {
        return Ok(Bytes::new());
    };
    if first.len() > max {
        return Err(too_large);
    }
    if body.is_end_stream() && first.len() < SMALL {
        return Ok(first);
    }
    let mut permit = memory.permit();
    if body.is_end_stream() {
        permit.try_grow(first.len())?;
        return Ok(permit.attach(first));
    }
    let mut whole = BytesMut::new();
    let mut next = Some(first);
    while let Some(piece) = next {
        let length = whole.len() + piece.remaining();
        if length > max {
            return Err(too_large);
        }
        ask(length)?;
        if length > whole.capacity() {
            let ends_at = if announced >= length { announced } else { max };
            let wanted = match length >= RESERVE_ABOVE && ends_at == announced {
                true => announced,
                false => length.saturating_mul(2).min(ends_at),
            };
            permit.try_grow(wanted - permit.bytes())?;
            whole.reserve(wanted - whole.len());
        }
        whole.extend_from_slice(&piece);
        drop(piece);
        next = next_piece(&mut body, &mut pace, stop).await?;
    }
    Ok(permit.attach(whole.freeze()))
}

async fn next_piece(
    body: &mut (impl http_body::Body<Data = Bytes> + Unpin),
    pace: &mut Pace,
    stop: &CancellationToken,
) -> Result<Option<Bytes>, Refused> {
    loop {
        let mut frame = body.frame();
        // The timer is created only when the body is not ready at once.
        let ready = std::future::poll_fn(|cx| match Pin::new(&mut frame).poll(cx) {
            Poll::Ready(frame) => Poll::Ready(Some(frame)),
            Poll::Pending => Poll::Ready(None),
        });
        let frame = match ready.await {
            Some(frame) => frame,
            None => tokio::select! {
                waited = tokio::time::timeout_at(pace.deadline(), frame) => {
                    waited.map_err(|_| Refused::TooSlow)?
                }
                () = stop.cancelled() => return Err(Refused::ShuttingDown),
            },
        };
        match frame {
            None => return Ok(None),
            Some(Err(_)) => return Err(Refused::Unreadable),
            Some(Ok(frame)) => {
                if let Ok(piece) = frame.into_data() {
                    pace.received(piece.len());
                    return Ok(Some(piece));
                }
            }
        }
    }
}

/// The deadline for a body that arrives in pieces. Each byte extends the deadline by its share of
/// time at [`RATE`], but never beyond the grace period from now, so that a body that was fast at
/// first may not stall.
pub(super) struct Pace {
    grace: Duration,
    /// `None` until the first wait.
    deadline: Option<Instant>,
}

impl Pace {
    fn new(grace: Duration) -> Pace {
        Pace {
            grace,
            deadline: None,
        }
    }

    /// Creates the pace of a body that is already being waited for.
    pub(super) fn begun(grace: Duration) -> Pace {
        let mut pace = Pace::new(grace);
        pace.deadline();
        pace
    }

    pub(super) fn deadline(&mut self) -> Instant {
        *self
            .deadline
            .get_or_insert_with(|| Instant::now() + self.grace)
    }

    pub(super) fn received(&mut self, bytes: usize) {
        if let Some(deadline) = &mut self.deadline {
            let earned = Duration::from_micros(bytes as u64 * 1_000_000 / RATE);
            *deadline = (*deadline + earned).min(Instant::now() + self.grace);
        }
    }
}

impl From<MemoryFull> for Refused {
    fn from(_: MemoryFull) -> Refused {
        Refused::TooMuchHeld
    }
}
