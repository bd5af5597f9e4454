//! WebSockets on either side of the gateway: bounds, signs of life of the peer,
//! and the writing of messages, one per text frame.

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

/// The name by which MCP goes among WebSocket's subprotocols.
pub const SUBPROTOCOL: &str = "mcp";

/// Messages that are framed before anything is written.
const BATCH: usize = 64;

/// Framed messages are written once they are this long.
const FLUSH_ABOVE: usize = 256 * 1024;

/// The library would take 128 KiB for each connection, used or not.
const READ_BUFFER: usize = 16 * 1024;

/// The number of pings that the peer may leave unanswered before it counts as gone.
const MISSED: u32 = 3;

/// Bytes of pongs that it may leave unread.
const MAX_PONGS: usize = 64 * 1024;

pub fn config(max_message_bytes: usize) -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER)
        .max_message_size(Some(max_message_bytes))
        .max_frame_size(Some(max_message_bytes))
}

/// The bytes under a WebSocket, and what they tell of the other end: whether
/// it speaks, and whether it listens.
///
/// Frames would tell less. Half a frame is a sign of life too, of a peer whose
/// pong has to wait until the other half is out.
pub struct Line<S> {
    io: S,
    signs: Arc<Signs>,
}

/// The activity on a line since it was last read.
#[derive(Debug, Default)]
pub struct Signs {
    heard: AtomicBool,
    taken: AtomicUsize,
}

/// Pongs that may still wait to be written. The library answers pings by
/// itself, and would keep the answers to a peer that asks on without reading
/// until there is no more memory.
#[derive(Debug, Default)]
pub struct Pongs(usize);

impl<S> Line<S> {
    pub fn new(io: S) -> (Line<S>, Arc<Signs>) {
        let signs = Arc::new(Signs::default());
        let line = Line {
            io,
            signs: signs.clone(),
        };
        (line, signs)
    }
}

impl Signs {
    /// Returns true if anything came.
    fn heard(&self) -> bool {
        self.heard.swap(false, Ordering::Relaxed)
    }

    /// The number of bytes that the peer, or the system on its behalf, has taken.
    fn taken(&self) -> usize {
        self.taken.swap(0, Ordering::Relaxed)
    }
}

impl Pongs {
    /// Takes note of a ping; false if too many of its like are unanswered.
    pub fn owe(&mut self, payload: &Bytes, signs: &Signs) -> bool {
        self.0 = self.0.saturating_sub(signs.taken()) + payload.len() + 2;
        self.0 <= MAX_PONGS
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Line<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.io).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.signs.heard.store(true, Ordering::Relaxed);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Line<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, bytes);
        if let Poll::Ready(Ok(count)) = written {
            self.signs.taken.fetch_add(count, Ordering::Relaxed);
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

/// The end of the writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// There is nothing more to write.
    All,
    /// The other end gave no sign of life, though it was asked for one.
    Unheard,
}

/// Writes what comes, several messages at once if they are there, and asks a
/// silent peer for a sign of life. A peer that is still busy with what was
/// written to it before has not been asked, and owes none.
///
/// Ends when nobody can send any more, or is `closing`; what was queued before
/// is still written: it may be a cancellation. The queue is closed when it
/// returns, by which its senders learn of the end.
///
/// The library copies messages into a buffer of its own, which is charged to
/// `memory` until it is written.
pub async fn write<S: AsyncRead + AsyncWrite + Unpin>(
    sink: &mut SplitSink<WebSocketStream<Line<S>>, Message>,
    queue: &mut mpsc::Receiver<Bytes>,
    signs: &Signs,
    keep_alive: Duration,
    closing: CancellationToken,
    memory: Option<&Arc<MemoryShare>>,
) -> Result<Written, Error> {
    let written = write_queue(sink, queue, signs, keep_alive, closing, memory).await;
    queue.close();
    written
}

async fn write_queue<S: AsyncRead + AsyncWrite + Unpin>(
    sink: &mut SplitSink<WebSocketStream<Line<S>>, Message>,
    queue: &mut mpsc::Receiver<Bytes>,
    signs: &Signs,
    keep_alive: Duration,
    closing: CancellationToken,
    memory: Option<&Arc<MemoryShare>>,
) -> Result<Written, Error> {
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
                    return Ok(Written::All);
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
                silent = if signs.heard() { 0 } else { silent + 1 };
                if silent == MISSED {
                    return Ok(Written::Unheard);
                }
                sink.send(Message::Ping(Bytes::new())).await?;
            }
        }
    }
}
