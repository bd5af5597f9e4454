//! Bodies: reading a bounded one, and the few kinds that we answer with.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;

use super::events::Events;
use super::sse::Channel;
use crate::error::Refused;

/// Up to here an answer is one buffer: copying a few kilobytes costs less than
/// writing several pieces.
const COPY_BELOW: usize = 8 * 1024;

/// The body of an answer.
#[derive(Default)]
pub(super) enum Body {
    #[default]
    Empty,
    Whole(Bytes),
    /// An answer around a large result, which is not copied.
    Parts(std::array::IntoIter<Bytes, 3>),
    Events(Box<Events>),
    /// The stream of a client on HTTP+SSE.
    Channel(Box<Channel>),
    Page(axum::body::Body),
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

    /// The answer that carries `result`.
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
            Body::Channel(channel) => channel
                .poll_bytes(cx)
                .map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes)))),
            Body::Page(page) => Pin::new(page).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Empty => true,
            Body::Whole(_) | Body::Events(_) | Body::Channel(_) => false,
            Body::Parts(parts) => parts.as_slice().is_empty(),
            Body::Page(page) => page.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Empty => SizeHint::with_exact(0),
            Body::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Body::Parts(parts) => {
                SizeHint::with_exact(parts.as_slice().iter().map(|part| part.len() as u64).sum())
            }
            Body::Events(_) | Body::Channel(_) => SizeHint::default(),
            Body::Page(page) => page.size_hint(),
        }
    }
}

/// Reads a whole request body of at most `max` bytes. `patience` is how long
/// to wait for each further piece of it.
pub(super) async fn read(
    mut body: impl http_body::Body<Data = Bytes> + Unpin,
    max: usize,
    patience: Duration,
) -> Result<Bytes, Refused> {
    let too_large = Refused::TooLarge { max };
    let announced = body.size_hint();
    if announced.lower() > max as u64 {
        return Err(too_large);
    }
    // A small message arrives together with its head, in one piece that needs
    // neither a timer nor a copy.
    let Some(first) = next_piece(&mut body, patience).await? else {
        return Ok(Bytes::new());
    };
    if first.len() > max {
        return Err(too_large);
    }
    if body.is_end_stream() {
        return Ok(first);
    }
    let mut whole = BytesMut::new();
    let mut next = Some(first);
    while let Some(piece) = next {
        if whole.len() + piece.remaining() > max {
            return Err(too_large);
        }
        whole.extend_from_slice(&piece);
        next = next_piece(&mut body, patience).await?;
    }
    Ok(whole.freeze())
}

async fn next_piece(
    body: &mut (impl http_body::Body<Data = Bytes> + Unpin),
    patience: Duration,
) -> Result<Option<Bytes>, Refused> {
    loop {
        let mut frame = body.frame();
        // Only a body that keeps us waiting is worth a timer.
        let ready = std::future::poll_fn(|cx| match Pin::new(&mut frame).poll(cx) {
            Poll::Ready(frame) => Poll::Ready(Some(frame)),
            Poll::Pending => Poll::Ready(None),
        });
        let frame = match ready.await {
            Some(frame) => frame,
            None => tokio::time::timeout(patience, frame)
                .await
                .map_err(|_| Refused::TooSlow)?,
        };
        match frame {
            None => return Ok(None),
            Some(Err(_)) => return Err(Refused::Unreadable),
            Some(Ok(frame)) => {
                if let Ok(piece) = frame.into_data() {
                    return Ok(Some(piece));
                }
            }
        }
    }
}
