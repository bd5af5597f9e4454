//! The stdio edge: one client on a pair of byte streams.
//!
//! The first byte received determines the framing, and answers use the same framing. Module
//! `duplex` handles the messages.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use narrows_gateway::{Entrypoint, Gateway};
use narrows_upstream::chain::Recursion;
use narrows_wire::frame::{self, FrameDecoder, FrameError, Framing};
use narrows_wire::{Incoming, Message, decode};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::duplex::{Duplex, DuplexClient, DuplexSettings, Input, Source, run_both};
use crate::error::Refused;

/// The buffer space reserved for each read.
const READ: usize = 16 * 1024;

/// The maximum number of messages in one write, if they are ready together.
const GATHER: usize = 64;

/// Write buffers that have grown beyond this size are freed.
const KEEP_BUFFER: usize = 1024 * 1024;

/// The largest message that [`refuse`] reads.
const REFUSED_BYTES: usize = 1024 * 1024;

/// The settings of the stdio edge.
#[derive(Debug, Clone)]
pub struct StdioSettings {
    /// The maximum length of a message in bytes.
    pub max_message_bytes: usize,
    /// The maximum number of requests in flight; further ones are refused.
    pub max_calls: usize,
    /// The maximum number of messages waiting to be written.
    pub queue: usize,
    /// The time limit for writing the last answers.
    pub grace: Duration,
    /// Ends the session after pending requests have been answered.
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

/// Serves one client until its input ends, it requests `shutdown`, it stops reading the output, or
/// [`StdioSettings::stop`] is cancelled. Then its calls are cancelled and its session is closed.
pub async fn stdio(
    gateway: Gateway,
    endpoint: &str,
    input: impl AsyncRead + Unpin + Send,
    output: impl AsyncWrite + Unpin + Send,
    settings: StdioSettings,
) -> io::Result<()> {
    let framing = Arc::new(OnceLock::new());
    let mut frames = StdioFrames {
        input,
        decoder: FrameDecoder::detect(settings.max_message_bytes),
        framing: framing.clone(),
        ended: None,
    };
    let duplex = DuplexSettings {
        max_calls: settings.max_calls,
        queue: settings.queue,
        grace: settings.grace,
        // The process that started the gateway has no time limit.
        hello_within: None,
    };
    let (outgoing, written) = mpsc::channel(settings.queue.max(1));
    let entrypoint = Entrypoint::Endpoint(endpoint);
    let stop = settings.stop.clone();
    let memory = gateway.memory();
    let running = Duplex::new(
        gateway,
        entrypoint,
        DuplexClient::Local,
        memory,
        duplex,
        outgoing,
        stop,
    );
    let running = running.run(&mut frames);
    let writing = write(output, written, &framing);
    let (_, written) = run_both(running, writing, settings.grace).await;
    match (frames.ended, written.unwrap_or(Ok(()))) {
        (Some(Err(error)), _) => Err(error),
        // The client closed its end of the pipe, which is a normal way to disconnect.
        (_, Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        (_, written) => written,
    }
}

/// Answers the first request with the error that explains why this gateway refuses to serve.
/// Returns after the answer, at the end of the input, or after `limit`.
pub async fn refuse(
    recursion: Recursion,
    mut input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    limit: Duration,
) -> io::Result<()> {
    let answering = async {
        let mut decoder = FrameDecoder::detect(REFUSED_BYTES);
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

struct StdioFrames<R> {
    input: R,
    decoder: FrameDecoder,
    /// Shared with the writer, and set when the framing is detected.
    framing: Arc<OnceLock<Framing>>,
    ended: Option<io::Result<()>>,
}

impl<R: AsyncRead + Unpin + Send> Source for &mut StdioFrames<R> {
    // Cancel-safe: all bytes read so far are in the decoder.
    async fn next(&mut self) -> Option<Input> {
        loop {
            // Checked first: a broken stream would fail on every read.
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

impl<R> StdioFrames<R> {
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

/// Writes outgoing messages, several at once if they are ready together.
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
            // Writing early limits the memory for copies of large messages.
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
