//! Memory accounting and time limits for WebSocket messages that are still arriving.
//!
//! The library yields only complete messages. Until a message is complete, [`Intake`] counts its
//! bytes as they are read; [`Arriving`] is the other end, where complete messages are returned.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use narrows_upstream::memory::{MemoryPermit, MemoryShare, SMALL};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep_until};
use tokio_tungstenite::tungstenite::Message;

use super::body::Pace;

/// The number of bytes of a message that are neither charged nor timed.
const UNCOUNTED: usize = 16 * 1024;

/// The minimum size of a frame header.
const HEADER: usize = 6;

pub(super) struct Intake<S> {
    io: S,
    state: Arc<Mutex<IntakeState>>,
}

pub(super) struct Arriving {
    state: Arc<Mutex<IntakeState>>,
    timer: Option<Pin<Box<Sleep>>>,
}

/// A message arrived too slowly.
pub(super) struct TooSlow;

struct IntakeState {
    permit: MemoryPermit,
    memory: Arc<MemoryShare>,
    /// The bytes received of the incomplete message.
    partial: usize,
    grace: Duration,
    /// `None` while no message is arriving.
    pace: Option<Pace>,
    is_full: bool,
}

impl<S> Intake<S> {
    pub(super) fn new(io: S, memory: &Arc<MemoryShare>, grace: Duration) -> (Intake<S>, Arriving) {
        let state = Arc::new(Mutex::new(IntakeState {
            permit: memory.permit(),
            memory: memory.clone(),
            partial: 0,
            grace,
            pace: None,
            is_full: false,
        }));
        let arriving = Arriving {
            state: state.clone(),
            timer: None,
        };
        (Intake { io, state }, arriving)
    }
}

impl IntakeState {
    /// Counts received bytes. Returns false if there is no memory for them.
    fn received(&mut self, bytes: usize) -> bool {
        // Bytes after a refusal are ignored.
        if self.is_full {
            return true;
        }
        self.partial += bytes;
        if self.partial <= UNCOUNTED {
            return true;
        }
        let grace = self.grace;
        let pace = self.pace.get_or_insert_with(|| Pace::begun(grace));
        pace.received(bytes);
        let missing = self.partial.saturating_sub(self.permit.bytes());
        self.is_full = missing > 0 && self.permit.try_grow(missing).is_err();
        if self.is_full {
            drop(self.is_whole());
        }
        !self.is_full
    }

    fn is_whole(&mut self) -> MemoryPermit {
        self.partial = 0;
        self.pace = None;
        std::mem::replace(&mut self.permit, self.memory.permit())
    }
}

impl Arriving {
    /// Waits for `next` while the incomplete message keeps its pace.
    pub(super) async fn within_time<T>(
        &mut self,
        next: impl Future<Output = T> + Unpin,
    ) -> Result<T, TooSlow> {
        let mut next = next;
        std::future::poll_fn(|cx| {
            if let Poll::Ready(next) = Pin::new(&mut next).poll(cx) {
                return Poll::Ready(Ok(next));
            }
            self.poll_late(cx).map(Err)
        })
        .await
    }

    fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<TooSlow> {
        let deadline = self.state.lock().pace.as_mut().map(Pace::deadline);
        let Some(deadline) = deadline else {
            self.timer = None;
            return Poll::Pending;
        };
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if timer.deadline() != deadline {
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(cx).map(|()| TooSlow)
    }

    /// Attaches the charge for a complete message to it.
    pub(super) fn message(&self, message: Bytes) -> Bytes {
        let permit = self.state.lock().is_whole();
        match message.len() {
            0..SMALL => message,
            bytes => permit.resized(bytes).attach(message),
        }
    }

    /// Subtracts the bytes of a control frame, which can arrive in the middle of a message.
    pub(super) fn passed(&self, message: &Message) {
        let mut state = self.state.lock();
        state.partial = state.partial.saturating_sub(message.len() + HEADER);
    }

    /// Returns true if reading ended because memory ran out.
    pub(super) fn is_full(&self) -> bool {
        self.state.lock().is_full
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Intake<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buffer))?;
        let read = buffer.filled().len() - before;
        Poll::Ready(match self.state.lock().received(read) {
            true => Ok(()),
            false => Err(io::ErrorKind::OutOfMemory.into()),
        })
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Intake<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

// The lock is not poisoned on panic; a panic while it is held can only leave bytes uncounted.
