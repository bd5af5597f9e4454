//! A socket with a time limit for clients that do not read.
//!
//! While a client does not read, its response cannot be written. After one second without progress,
//! the call behind the response continues in a task. After the write timeout, the connection is
//! closed; a stream on it can be resumed.

mod fair;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use super::current::Current;
use super::readers::Stall;
use fair::FairStream;

/// A client that reads at all takes some bytes within this time.
const STALL_CHECK_AFTER: Duration = Duration::from_secs(1);

/// The time in which a refused client can stop sending.
const LINGER: Duration = Duration::from_secs(2);

/// The buffer size for discarded input.
const WASTE: usize = 8 * 1024;

pub(super) struct Socket {
    io: TokioIo<FairStream>,
    write_timeout: Duration,
    current: Arc<Current>,
    /// Set while the peer does not read; absent in normal operation.
    stalled: Option<Stalled>,
    /// Running while a refused client may still be sending.
    lingering: Option<Pin<Box<Sleep>>>,
}

struct Stalled {
    timer: Pin<Box<Sleep>>,
    since: Instant,
    /// True if the call behind the response continues in a task.
    handed_over: bool,
    stall: Stall,
}

impl Socket {
    pub(super) fn new(socket: TcpStream, write_timeout: Duration, current: Arc<Current>) -> Socket {
        Socket {
            io: TokioIo::new(FairStream::new(socket)),
            write_timeout,
            current,
            stalled: None,
            lingering: None,
        }
    }

    /// Reads and discards the input of a refused client for a while. Closing a connection with
    /// unread input would reset it and discard the refusal.
    fn drain(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut waste = [0; WASTE];
        loop {
            let mut waste = ReadBuf::new(&mut waste);
            match Pin::new(self.io.inner_mut()).poll_read(cx, &mut waste) {
                Poll::Ready(Ok(())) if !waste.filled().is_empty() => {}
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => {
                    return match &mut self.lingering {
                        Some(timer) => timer.as_mut().poll(cx),
                        None => Poll::Ready(()),
                    };
                }
            }
        }
    }

    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Stalled {
            timer: Box::pin(sleep(STALL_CHECK_AFTER.min(self.write_timeout))),
            since: Instant::now(),
            handed_over: false,
            stall: (self.current.readers).enter(self.current.memory(), cx.waker()),
        });
        if stalled.stall.is_closed() {
            self.current.evict();
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        while stalled.timer.as_mut().poll(cx).is_ready() {
            if stalled.handed_over {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.current.stalled();
            stalled.handed_over = true;
            stalled
                .timer
                .as_mut()
                .reset(stalled.since + self.write_timeout);
        }
        Poll::Pending
    }
}

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl Write for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, slices);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    // Flushing and closing a socket never block.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingering.is_none() {
            ready!(Pin::new(&mut self.io).poll_shutdown(cx))?;
            if !self.current.lingers() {
                return Poll::Ready(Ok(()));
            }
            self.lingering = Some(Box::pin(sleep(LINGER)));
        }
        self.drain(cx).map(Ok)
    }
}
