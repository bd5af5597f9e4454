//! A duplex channel of raw messages. Stdio, WebSocket, HTTP+SSE and the built-in servers each
//! provide one, so that the code above is the same for all of them.

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
    /// Messages to the server, unframed. The transport's own task writes them, in batches if
    /// possible.
    pub outgoing: mpsc::Sender<Bytes>,
    /// Messages from the server. `Ended` is the last item; after it, the stream stays
    /// pending or ends.
    pub incoming: BoxStream<'static, ChannelEvent>,
    /// Closes the connection gracefully and waits until its resources are released. Dropping the
    /// closer instead closes the connection immediately, without waiting.
    pub closer: Closer,
}

pub enum ChannelEvent {
    /// One frame, which may not be valid JSON.
    Message(Bytes),
    /// The transport skipped a message that was larger than this number of bytes.
    TooLarge(usize),
    /// The request with this id was not accepted. Unless `certain` is true, the server may still be
    /// working on it.
    Unsent {
        id: u64,
        error: LinkError,
        certain: bool,
    },
    Ended(Failure),
}

pub(crate) type Closer = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send + Sync>;

/// Returns a closer for the task that writes to the server. The closer cancels `closing`, and
/// aborts the task if it has not ended within the time `within`.
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
