//! The connection that a request came on, and what a script may do to it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::reply::hung_up;

/// What may be done to the connection that a request came on.
#[derive(Debug, Clone, Default)]
pub(super) struct Connection(Arc<Behaviour>);

#[derive(Debug, Default)]
struct Behaviour {
    piece: AtomicUsize,
    broken: AtomicBool,
}

impl Connection {
    /// Writes so many bytes at a time from now on; 0: all at once.
    pub(super) fn write_in_pieces_of(&self, size: usize) {
        self.0.piece.store(size, Ordering::Relaxed);
    }

    /// Breaks it off as soon as all that was said is written.
    pub(super) fn break_off(&self) {
        self.0.broken.store(true, Ordering::Relaxed);
    }
}

/// The stream of a connection. It does its part below any framing, so that cuts
/// fall where no library would make them.
pub(super) struct Wire {
    pub(super) stream: TcpStream,
    pub(super) connection: Connection,
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let bytes = match self.connection.0.piece.load(Ordering::Relaxed) {
            0 => bytes,
            size => &bytes[..size.min(bytes.len())],
        };
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    /// Called when all is written, by hyper as by ourselves.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.connection.0.broken.load(Ordering::Relaxed) {
            return Poll::Ready(Err(hung_up()));
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
