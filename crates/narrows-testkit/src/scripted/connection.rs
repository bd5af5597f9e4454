//! The connection of a request, as a script can control it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::reply::hung_up;

/// A handle to control the connection of a request.
#[derive(Debug, Clone, Default)]
pub(super) struct Connection(Arc<Behaviour>);

#[derive(Debug, Default)]
struct Behaviour {
    piece: AtomicUsize,
    broken: AtomicBool,
}

impl Connection {
    /// Limits every write to `size` bytes from now on; 0 means no limit.
    pub(super) fn write_in_pieces_of(&self, size: usize) {
        self.0.piece.store(size, Ordering::Relaxed);
    }

    /// Closes the connection as soon as pending output is written.
    pub(super) fn break_off(&self) {
        self.0.broken.store(true, Ordering::Relaxed);
    }
}

/// The stream of a connection. It splits writes below the framing, at positions where no library
/// would.
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

    /// Called when all output is written, both by hyper and by this server.
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
