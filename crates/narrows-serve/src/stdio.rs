//! The stdio edge: one client on a pair of byte streams.
//!
//! Framing is told apart by the first byte that comes in and answered in kind.
//! What the messages lead to is told in `duplex`.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use narrows_gateway::{Door, Gateway};
use narrows_upstream::chain::Recursion;
use narrows_wire::frame::{self, Decoder, FrameError, Framing};
use narrows_wire::{Incoming, Message, decode};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::duplex::{Duplex, DuplexSettings, Input, Source, Visitor, run_both};
use crate::error::Refused;

/// Room that is made for each read.
const READ: usize = 16 * 1024;

/// Messages that are written together, if they are there together.
const GATHER: usize = 64;

/// A write buffer that has grown beyond this is given back.
const KEEP_BUFFER: usize = 1024 * 1024;

/// The largest message that [`refuse`] reads.
const REFUSED_BYTES: usize = 1024 * 1024;

/// What the stdio edge must be told.
#[derive(Debug, Clone)]
pub struct StdioSettings {
    /// The largest message that is read, in bytes.
    pub max_message_bytes: usize,
    /// Requests that may be in flight; further ones are refused.
    pub max_calls: usize,
    /// Messages that wait to be written.
    pub queue: usize,
    /// How long the last answers may take to be written at the end.
    pub grace: Duration,
    /// Ends the session once what was asked before is answered.
    pub stop: CancellationToken,
}

impl Default for StdioSettings {
    fn default() -> Self {
        StdioSettings {
            max_message_bytes: 16 * 1024 * 1024,
            max_calls: 256,
            queue: 256,
            grace: Duration::from_secs(2),
            stop: CancellationToken::new(),
        }
    }
}

/// Serves one client until its input ends, it asks for `shutdown`, it stops
/// taking our output, or [`StdioSettings::stop`] is cancelled. Its calls are
/// cancelled then and its session is closed.
pub async fn stdio(
    gateway: Gateway,
    endpoint: &str,
    input: impl AsyncRead + Unpin + Send,
    output: impl AsyncWrite + Unpin + Send,
    settings: StdioSettings,
) -> io::Result<()> {
    let framing = Arc::new(OnceLock::new());
    let mut frames = Frames {
        input,
        decoder: Decoder::detect(settings.max_message_bytes),
        framing: framing.clone(),
        ended: None,
    };
    let duplex = DuplexSettings {
        max_calls: settings.max_calls,
        queue: settings.queue,
        grace: settings.grace,
        // Whoever started us may take its time.
        hello_within: None,
    };
    let (outgoing, written) = mpsc::channel(settings.queue.max(1));
    let door = Door::Endpoint(endpoint);
    let stop = settings.stop.clone();
    let memory = gateway.memory();
    let running = Duplex::new(gateway, door, Visitor::Host, memory, duplex, outgoing, stop);
    let running = running.run(&mut frames);
    let writing = write(output, written, &framing);
    let (_, written) = run_both(running, writing, settings.grace).await;
    match (frames.ended, written.unwrap_or(Ok(()))) {
        (Some(Err(error)), _) => Err(error),
        // Nobody reads us any more, which is one of the ways a client leaves.
        (_, Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        (_, written) => written,
    }
}

/// Answers the first request with the reason why this gateway must not serve,
/// and returns. Returns without it when the input ends or `limit` has passed.
pub async fn refuse(
    recursion: Recursion,
    mut input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    limit: Duration,
) -> io::Result<()> {
    let answering = async {
        let mut decoder = Decoder::detect(REFUSED_BYTES);
        loop {
            let id = match decoder.next() {
                Ok(None) => {
                    if input.read_buf(decoder.buffer()).await? == 0 {
                        return Ok(());
                    }
                    continue;
                }
                Ok(Some(message)) => match decode(message) {
                    Ok(Incoming::Single(Message::Request(request))) => request.id,
                    _ => continue,
                },
                Err(FrameError::TooLarge { .. }) => continue,
                Err(FrameError::Broken(_)) => return Ok(()),
            };
            let framing = decoder.framing().unwrap_or(Framing::Newline);
            let mut answer = BytesMut::new();
            let message = Refused::Recursive(recursion).encode(Some(&id));
            frame::encode(framing, &message, &mut answer);
            output.write_all(&answer).await?;
            return output.flush().await;
        }
    };
    tokio::time::timeout(limit, answering)
        .await
        .unwrap_or(Ok(()))
}

struct Frames<R> {
    input: R,
    decoder: Decoder,
    /// Told to the writer as soon as it is known.
    framing: Arc<OnceLock<Framing>>,
    ended: Option<io::Result<()>>,
}

impl<R: AsyncRead + Unpin + Send> Source for &mut Frames<R> {
    // Cancel-safe: whatever has been read is in the decoder.
    async fn next(&mut self) -> Option<Input> {
        loop {
            // First: a broken stream would be found broken again and again.
            if self.ended.is_some() {
                return None;
            }
            if let Some(input) = self.take() {
                return Some(input);
            }
            let buffer = self.decoder.buffer();
            if buffer.capacity() - buffer.len() < READ / 4 {
                buffer.reserve(READ);
            }
            match self.input.read_buf(buffer).await {
                Ok(0) => {
                    self.ended = Some(Ok(()));
                    return match self.decoder.finish() {
                        Ok(last) => last.map(Input::Frame),
                        Err(error) => Some(unreadable(error)),
                    };
                }
                Ok(_) => {}
                Err(error) => self.ended = Some(Err(error)),
            }
        }
    }
}

impl<R> Frames<R> {
    fn take(&mut self) -> Option<Input> {
        let taken = self.decoder.next();
        if let Some(framing) = self.decoder.framing() {
            self.framing.get_or_init(|| framing);
        }
        match taken {
            Ok(frame) => frame.map(Input::Frame),
            Err(error) => {
                if matches!(error, FrameError::Broken(_)) {
                    self.ended = Some(Ok(()));
                }
                Some(unreadable(error))
            }
        }
    }
}

fn unreadable(error: FrameError) -> Input {
    match error {
        FrameError::TooLarge { max } => Input::TooLarge { max },
        FrameError::Broken(reason) => Input::Broken(reason),
    }
}

/// Writes what comes, several messages at once if they are there.
async fn write(
    mut output: impl AsyncWrite + Unpin + Send,
    mut outgoing: mpsc::Receiver<Bytes>,
    framing: &OnceLock<Framing>,
) -> io::Result<()> {
    let mut messages = Vec::with_capacity(GATHER);
    let mut buffer = BytesMut::new();
    while outgoing.recv_many(&mut messages, GATHER).await > 0 {
        let framing = framing.get().copied().unwrap_or(Framing::Newline);
        for message in messages.drain(..) {
            frame::encode(framing, &message, &mut buffer);
            // Many large messages are not held twice.
            if buffer.len() > KEEP_BUFFER {
                output.write_all(&buffer).await?;
                buffer = BytesMut::new();
            }
        }
        output.write_all(&buffer).await?;
        output.flush().await?;
        buffer.clear();
    }
    Ok(())
}
