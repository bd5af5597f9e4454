//! A server that runs as a child process and communicates over stdin and stdout.
//!
//! This module creates the [`Channel`]: it starts the child and transports messages in both
//! directions. [`child_process`] supervises the child and ends it, and [`stderr`] reads its stderr.
//! Start reading at [`open`].

mod child_process;
mod spawn;
mod stderr;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream;
use narrows_wire::frame::{self, FrameDecoder, FrameError, Framing};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::channel::{Channel, ChannelEvent};
use crate::failure::{Failure, FailureKind};
use crate::guard::{Guard, LazyGuard};
use crate::process::{self, ProcessTree};
use crate::secrets::Secrets;
use crate::settings::StdioSettings;
use child_process::{ChildProcess, ProcessState};
pub(crate) use stderr::StderrHistory;
use stderr::StderrTail;

/// The maximum number of messages that wait for the child to read them.
const QUEUE: usize = 256;
/// The maximum number of messages that are framed for one write.
const BATCH: usize = 64;
/// The number of framed bytes that triggers a write, so that a queue of large messages is not held
/// in memory twice.
const CHUNK: usize = 256 * 1024;
/// The time that the reader waits for the exit status after the output has ended, and for output
/// after the process has exited. The two may happen in either order.
const EXIT_STATUS_TIMEOUT: Duration = Duration::from_millis(500);

/// Starts the server. `grace` is the total time that closing the channel may take.
///
/// Must be called inside a tokio runtime.
pub(crate) fn open(
    settings: &StdioSettings,
    server: Arc<str>,
    guard: &LazyGuard,
    chain: &str,
    history: Option<&Arc<StderrHistory>>,
    max_message_bytes: usize,
    grace: Duration,
) -> Result<Channel, Failure> {
    // Called before the process is started, so that output of an earlier process is not attributed
    // to it.
    let tail = history.map_or_else(StderrTail::default, |history| history.begin());
    let (guard, subreaper) = (guard.get(), guard.subreaper());
    let mark = guard.map_or_else(process::fresh_mark, Guard::mark);
    let spawned = spawn::spawn(settings, &mark, chain, subreaper)?;
    if let Some(guard) = guard {
        guard.watch(spawned.pid);
    }
    let tree = ProcessTree::of(spawned.pid, mark);

    let closing = CancellationToken::new();
    let (outgoing, queue) = mpsc::channel(QUEUE);
    let (life, watched) = watch::channel(ProcessState::Running);
    let writer = tokio::spawn(write(
        spawned.stdin,
        settings.framing,
        queue,
        closing.clone(),
    ));
    let secrets = Secrets::of_stdio(settings);
    let stderr = tokio::spawn(stderr::read(
        spawned.stderr,
        server,
        secrets,
        tail.clone(),
        history.cloned(),
    ));
    let closer = ChildProcess::new(spawned.child, spawned.pid, tree, guard.cloned())
        .owning(writer, stderr)
        .reporting(life, closing.clone())
        .start(grace);
    let reader = StdioReader {
        stdout: spawned.stdout,
        decoder: FrameDecoder::new(settings.framing, max_message_bytes),
        life: watched,
        closing,
        tail,
        settings: settings.clone(),
        phase: StdioPhase::Reading,
    };
    let incoming = stream::unfold(reader, async |mut reader| {
        Some((reader.next().await?, reader))
    })
    .boxed();
    Ok(Channel {
        outgoing,
        incoming,
        closer,
    })
}

/// Writes the queued messages in batches until the queue or the child ends. A failed write only
/// shows that the child has stopped reading; the reader determines the reason.
async fn write(
    mut stdin: ChildStdin,
    framing: Framing,
    mut queue: mpsc::Receiver<Bytes>,
    closing: CancellationToken,
) {
    let mut batch = Vec::with_capacity(BATCH);
    let mut buffer = BytesMut::new();
    loop {
        let count = tokio::select! {
            biased;
            count = queue.recv_many(&mut batch, BATCH) => count,
            // Messages that are already queued are still written, because one may be a
            // cancellation.
            () = closing.cancelled() => {
                queue.close();
                queue.recv_many(&mut batch, BATCH).await
            }
        };
        if count == 0 {
            return;
        }
        for message in batch.drain(..) {
            frame::encode(framing, &message, &mut buffer);
            if buffer.len() >= CHUNK && !flush(&mut stdin, &mut buffer).await {
                return;
            }
        }
        if !flush(&mut stdin, &mut buffer).await {
            return;
        }
    }
}

async fn flush(stdin: &mut ChildStdin, buffer: &mut BytesMut) -> bool {
    let written = stdin.write_all(buffer).await.is_ok();
    // A large message must not keep its memory allocated for the lifetime of the link.
    if buffer.capacity() > 2 * CHUNK {
        *buffer = BytesMut::new();
    } else {
        buffer.clear();
    }
    written
}

struct StdioReader {
    stdout: ChildStdout,
    decoder: FrameDecoder,
    life: watch::Receiver<ProcessState>,
    closing: CancellationToken,
    tail: StderrTail,
    settings: StdioSettings,
    phase: StdioPhase,
}

enum StdioPhase {
    Reading,
    /// The output has ended, but the decoder may still contain a last line.
    Draining,
    Over,
}

impl StdioReader {
    async fn next(&mut self) -> Option<ChannelEvent> {
        loop {
            let frame = match self.phase {
                StdioPhase::Reading => self.decoder.next(),
                StdioPhase::Draining => self.decoder.finish(),
                StdioPhase::Over => return None,
            };
            match frame {
                Ok(Some(frame)) => return Some(ChannelEvent::Message(frame)),
                Err(FrameError::TooLarge { max }) => return Some(ChannelEvent::TooLarge(max)),
                // An incomplete frame at the end is explained by the end itself.
                Err(FrameError::Broken(_)) if matches!(self.phase, StdioPhase::Draining) => {}
                Err(error @ FrameError::Broken(_)) => {
                    self.phase = StdioPhase::Over;
                    let stderr = self.tail.lines();
                    return Some(ChannelEvent::Ended(Failure {
                        stderr,
                        ..Failure::new(FailureKind::Protocol, error.to_string())
                    }));
                }
                Ok(None) => {}
            }
            if matches!(self.phase, StdioPhase::Draining) {
                self.phase = StdioPhase::Over;
                return Some(ChannelEvent::Ended(self.failure().await));
            }
            if !self.fill().await {
                self.phase = StdioPhase::Draining;
            }
        }
    }

    /// Reads more output. Returns false at the end, which is also reached when the server has
    /// exited but a grandchild holds the output open.
    async fn fill(&mut self) -> bool {
        let read = tokio::select! {
            biased;
            read = self.stdout.read_buf(self.decoder.buffer()) => Some(read),
            _ = self.life.wait_for(ProcessState::is_over) => None,
        };
        let read = match read {
            Some(read) => read,
            None => {
                match timeout(
                    EXIT_STATUS_TIMEOUT,
                    self.stdout.read_buf(self.decoder.buffer()),
                )
                .await
                {
                    Ok(read) => read,
                    Err(_) => return false,
                }
            }
        };
        read.is_ok_and(|count| count > 0)
    }

    async fn failure(&mut self) -> Failure {
        let _ = timeout(
            EXIT_STATUS_TIMEOUT,
            self.life.wait_for(ProcessState::is_over),
        )
        .await;
        if self.closing.is_cancelled() {
            return Failure::new(FailureKind::Closed, "was closed");
        }
        // The reason is in the last lines of stderr, which may not have been read yet.
        let _ = timeout(EXIT_STATUS_TIMEOUT, self.tail.complete()).await;
        if let Some(number) = self.tail.not_started() {
            let error = std::io::Error::from_raw_os_error(number);
            return spawn::explain(&self.settings, &error);
        }
        let detail = describe(*self.life.borrow());
        Failure {
            stderr: self.tail.lines(),
            ..Failure::new(FailureKind::Process, detail)
        }
    }
}

fn describe(life: ProcessState) -> String {
    use std::os::unix::process::ExitStatusExt;

    let status = match life {
        ProcessState::Running => return "closed its output".to_owned(),
        ProcessState::Ended(status) => status,
    };
    let code = status
        .and_then(|status| status.code())
        .map(|code| format!("exited with status {code}"));
    let signal = status
        .and_then(|status| status.signal())
        .map(|signal| format!("was terminated by signal {signal}"));
    code.or(signal).unwrap_or_else(|| "ended".to_owned())
}
