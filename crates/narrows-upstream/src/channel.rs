//! A duplex channel of raw messages: what stdio, WebSocket, HTTP+SSE and the
//! built-in servers have in common. A transport makes one of these; everything
//! above it is the same for all.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::failure::{Failure, LinkError};

pub struct Channel {
    /// Messages to the server, unframed. The transport's own task writes them, several at once where it can.
    pub outgoing: mpsc::Sender<Bytes>,
    /// Messages from the server. `Ended` is the last item; the stream stays pending or ends after it.
    pub incoming: BoxStream<'static, Arrival>,
    /// Ends the connection in good order and waits until nothing of it is
    /// left. Dropping it instead ends it at once, without waiting.
    pub closer: Closer,
}

pub enum Arrival {
    /// One frame, not yet checked to be JSON.
    Message(Bytes),
    /// A message of more than so many bytes was passed over.
    TooLarge(usize),
    /// The request with this id was not accepted. Unless that is `certain`,
    /// the server may be at work on it nevertheless.
    Unsent {
        id: u64,
        error: LinkError,
        certain: bool,
    },
    Ended(Failure),
}

pub(crate) type Closer = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send + Sync>;

/// Ends the task that writes to the server: it is told by `closing`, and
/// aborted where it has not ended `within` that time.
pub(crate) fn ends_writer(
    writer: JoinHandle<()>,
    closing: CancellationToken,
    within: Duration,
) -> Closer {
    let mut writer = AbortOnDropHandle::new(writer);
    Box::new(move || {
        Box::pin(async move {
            closing.cancel();
            let _ = timeout(within, &mut writer).await;
        })
    })
}
