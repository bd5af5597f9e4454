//! The bytes under a WebSocket, and what they tell of the client: whether it
//! speaks, and whether it listens.
//!
//! Frames would tell less. Half a frame is a sign of life too, of a client
//! whose pong has to wait until the other half is out.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(super) struct Line {
    io: TokioIo<Upgraded>,
    signs: Arc<Signs>,
}

/// What has happened on a line since it was last asked for.
#[derive(Debug, Default)]
pub(super) struct Signs {
    heard: AtomicBool,
    taken: AtomicUsize,
}

impl Signs {
    /// Whether anything came.
    pub(super) fn heard(&self) -> bool {
        self.heard.swap(false, Ordering::Relaxed)
    }

    /// How many bytes the client, or the system on its behalf, has taken.
    pub(super) fn taken(&self) -> usize {
        self.taken.swap(0, Ordering::Relaxed)
    }
}

impl Line {
    pub(super) fn new(upgraded: Upgraded, signs: Arc<Signs>) -> Line {
        Line {
            io: TokioIo::new(upgraded),
            signs,
        }
    }
}

impl AsyncRead for Line {
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

impl AsyncWrite for Line {
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
