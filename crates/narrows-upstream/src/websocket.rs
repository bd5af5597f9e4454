//! WebSockets on both sides of the gateway: limits, detection of dead peers, and writing messages
//! with one text frame each.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::SinkExt;
use futures_util::stream::SplitSink;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};
use tokio_util::sync::CancellationToken;

use crate::memory::{MemoryShare, SMALL};
use crate::offload;

/// The name of the MCP subprotocol.
pub const SUBPROTOCOL: &str = "mcp";

/// The maximum number of messages that are framed for one write.
const BATCH: usize = 64;

/// The number of framed bytes that triggers a write.
const FLUSH_ABOVE: usize = 256 * 1024;

/// The read buffer of each connection in bytes. The library's default is 128 KiB.
const READ_BUFFER: usize = 16 * 1024;

/// The number of intervals of silence after which the peer counts as dead.
const MISSED: u32 = 3;

/// The maximum number of bytes of unread pongs.
const MAX_PONGS: usize = 64 * 1024;

pub fn config(max_message_bytes: usize) -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER)
        .max_message_size(Some(max_message_bytes))
        .max_frame_size(Some(max_message_bytes))
}

/// The byte stream below a WebSocket, which records whether the peer sends and receives data.
///
/// Recording frames would be less reliable: half a frame is also a sign of life, and the peer
/// cannot send its pong before the other half.
pub struct MonitoredIo<S> {
    io: S,
    activity: Arc<PeerActivity>,
}

/// The activity on the byte stream since it was last checked.
#[derive(Debug, Default)]
pub struct PeerActivity {
    heard: AtomicBool,
    taken: AtomicUsize,
}

/// Limits the pongs that wait to be written. The library answers pings automatically, and would
/// otherwise buffer an unlimited number of pongs for a peer that sends pings without reading.
#[derive(Debug, Default)]
pub struct PongBudget(usize);

impl<S> MonitoredIo<S> {
    pub fn new(io: S) -> (MonitoredIo<S>, Arc<PeerActivity>) {
        let activity = Arc::new(PeerActivity::default());
        let line = MonitoredIo {
            io,
            activity: activity.clone(),
        };
        (line, activity)
    }
}

impl PeerActivity {
    /// Returns true if any data has arrived.
    fn heard(&self) -> bool {
        self.heard.swap(false, Ordering::Relaxed)
    }

    /// Returns the number of bytes that the peer, or the operating system for it, has accepted.
    fn taken(&self) -> usize {
        self.taken.swap(0, Ordering::Relaxed)
    }
}

impl PongBudget {
    /// Counts a ping that must be answered. Returns false if too many pongs are unread.
    pub fn add(&mut self, payload: &Bytes, activity: &PeerActivity) -> bool {
        self.0 = self.0.saturating_sub(activity.taken()) + payload.len() + 2;
        self.0 <= MAX_PONGS
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for MonitoredIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.io).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.activity.heard.store(true, Ordering::Relaxed);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MonitoredIo<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, bytes);
        if let Poll::Ready(Ok(count)) = written {
            self.activity.taken.fetch_add(count, Ordering::Relaxed);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// The reason why writing has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteEnd {
    /// The queue was closed, and all messages have been written.
    All,
    /// The peer has not responded to pings.
    PeerSilent,
}

/// Writes queued messages in batches, and pings a silent peer. While earlier messages are still
/// being written, no ping is sent and none counts as missed.
///
/// Ends when all senders have been dropped or `closing` is cancelled. Messages that are already
/// queued are still written, because one may be a cancellation. The queue is closed on return, so
/// that senders notice the end.
///
/// The library copies messages into its own buffer, which is charged to `memory` until it is
/// written.
pub async fn write<S: AsyncRead + AsyncWrite + Unpin>(
    sink: &mut SplitSink<WebSocketStream<MonitoredIo<S>>, Message>,
    queue: &mut mpsc::Receiver<Bytes>,
    activity: &PeerActivity,
    keep_alive: Duration,
    closing: CancellationToken,
    memory: Option<&Arc<MemoryShare>>,
) -> Result<WriteEnd, Error> {
    let written = write_queue(sink, queue, activity, keep_alive, closing, memory).await;
    queue.close();
    written
}

async fn write_queue<S: AsyncRead + AsyncWrite + Unpin>(
    sink: &mut SplitSink<WebSocketStream<MonitoredIo<S>>, Message>,
    queue: &mut mpsc::Receiver<Bytes>,
    activity: &PeerActivity,
    keep_alive: Duration,
    closing: CancellationToken,
    memory: Option<&Arc<MemoryShare>>,
) -> Result<WriteEnd, Error> {
    let mut beat = interval_at(Instant::now() + keep_alive, keep_alive);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut silent = 0;
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        tokio::select! {
            biased;
            () = closing.cancelled(), if !queue.is_closed() => queue.close(),
            count = queue.recv_many(&mut batch, BATCH) => {
                if count == 0 {
                    return Ok(WriteEnd::All);
                }
                let mut buffered = 0;
                let mut permit = memory.map(MemoryShare::permit);
                for message in batch.drain(..) {
                    let bytes = message.len();
                    if let Some(permit) = &mut permit && bytes >= SMALL {
                        permit.force(bytes);
                    }
                    let text = offload::run(bytes, move || Utf8Bytes::try_from(message)).await?;
                    sink.feed(Message::Text(text)).await?;
                    buffered += bytes;
                    if buffered > FLUSH_ABOVE {
                        sink.flush().await?;
                        buffered = 0;
                        permit = memory.map(MemoryShare::permit);
                    }
                }
                sink.flush().await?;
            }
            _ = beat.tick() => {
                silent = if activity.heard() { 0 } else { silent + 1 };
                if silent == MISSED {
                    return Ok(WriteEnd::PeerSilent);
                }
                sink.send(Message::Ping(Bytes::new())).await?;
            }
        }
    }
}
