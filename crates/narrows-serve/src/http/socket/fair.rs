//! A TCP stream that yields to other connections.
//!
//! If a client sends faster than its bytes are read, reads never wait, and its task would occupy a
//! thread for megabytes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The number of bytes read before yielding.
const TURN: usize = 32 * 1024;

pub(super) struct FairStream {
    stream: TcpStream,
    /// The number of bytes read since the last yield.
    read: usize,
}

impl FairStream {
    pub(super) fn new(stream: TcpStream) -> FairStream {
        FairStream { stream, read: 0 }
    }
}

impl AsyncRead for FairStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.read >= TURN {
            self.read = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let stream = Pin::new(&mut self.stream);
        let polled = if buffer.remaining() > TURN {
            let mut part = ReadBuf::new(buffer.initialize_unfilled_to(TURN));
            let polled = stream.poll_read(cx, &mut part);
            let read = part.filled().len();
            buffer.advance(read);
            polled
        } else {
            stream.poll_read(cx, buffer)
        };
        match polled {
            Poll::Pending => self.read = 0,
            Poll::Ready(_) => self.read += buffer.filled().len() - before,
        }
        polled
    }
}

impl AsyncWrite for FairStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn fast_sender_yields_the_thread() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        // Fills the socket with more than one turn of data before the first read.
        let mut sent = 0;
        while sent < 2 * TURN {
            sent += client.write(&[0; 16 * 1024]).await.unwrap();
        }
        let mut stream = FairStream::new(accepted);
        let mut read = 0;
        let ended = poll_fn(|cx| {
            let mut space = vec![0; 2 * TURN];
            loop {
                let mut buffer = ReadBuf::new(&mut space);
                match Pin::new(&mut stream).poll_read(cx, &mut buffer) {
                    Poll::Ready(Ok(())) => read += buffer.filled().len(),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => return Poll::Ready(Ok(())),
                }
            }
        });
        ended.await.unwrap();
        assert!((1..2 * TURN).contains(&read), "{read} bytes in one turn");
    }
}
