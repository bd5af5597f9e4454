//! Reads the stderr of a server. Each line is logged, and the last lines are kept to explain why
//! the server exited.
//!
//! Stderr is read continuously, because a full pipe would block the server. A server that writes
//! without end costs one copy of its output.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::Level;

use parking_lot::Mutex;

use crate::secrets::Secrets;
use crate::subreaper::NOT_STARTED;

/// The log target of the lines.
const TARGET: &str = "narrows::stderr";
/// The number of lines kept.
const KEPT: usize = 20;
/// The maximum length of a line in bytes. Longer lines are cut.
const LINE_MAX: usize = 4 * 1024;
/// The maximum number of line digests remembered from failed attempts.
const MAX_DIGESTS: usize = 2_000;
/// The maximum number of lines logged per window.
const LOGGED: u32 = 100;
const WINDOW: Duration = Duration::from_secs(1);

/// The last lines, shared between the reader and the code that reports them.
#[derive(Clone, Default)]
pub(super) struct StderrTail {
    lines: Arc<Mutex<VecDeque<Vec<u8>>>>,
    /// The errno with which the subreaper failed to start the server.
    not_started: Arc<OnceLock<i32>>,
    complete: CancellationToken,
}

impl StderrTail {
    pub(super) fn lines(&self) -> Vec<String> {
        let lines = self.lines.lock();
        lines.iter().map(|line| printable(line)).collect()
    }

    pub(super) fn not_started(&self) -> Option<i32> {
        self.not_started.get().copied()
    }

    /// Waits until all of stderr has been read.
    pub(super) async fn complete(&self) {
        self.complete.cancelled().await;
    }

    fn push(&self, line: &[u8]) {
        let mut lines = self.lines.lock();
        // The buffer of the oldest line is reused for the newest.
        let mut kept = if lines.len() < KEPT {
            Vec::new()
        } else {
            lines.pop_front().unwrap_or_default()
        };
        kept.clear();
        kept.extend_from_slice(line);
        lines.push_back(kept);
    }
}

/// The stderr of successive processes of one server. A server that fails to start writes the same
/// lines each time, so lines of earlier attempts are not logged again until the server is
/// connected.
#[derive(Default)]
pub(crate) struct StderrHistory(Mutex<HistoryState>);

#[derive(Default)]
struct HistoryState {
    tail: StderrTail,
    /// Digests of the lines of earlier attempts.
    before: HashSet<u64>,
    /// Digests of the lines of the current attempt.
    now: HashSet<u64>,
    connected: bool,
}

impl StderrHistory {
    /// Starts the history of the next process.
    pub(super) fn begin(&self) -> StderrTail {
        let mut attempts = self.0.lock();
        let now = std::mem::take(&mut attempts.now);
        attempts.before.extend(now);
        attempts.connected = false;
        attempts.tail = StderrTail::default();
        attempts.tail.clone()
    }

    /// Marks the process as connected. From now on, all its lines are logged.
    pub(crate) fn mark_connected(&self) {
        self.0.lock().connected = true;
    }

    /// Forgets earlier attempts, because the server has been up for a while and its next failure is
    /// a new one.
    pub(crate) fn forget(&self) {
        let mut attempts = self.0.lock();
        attempts.before.clear();
        attempts.now.clear();
    }

    /// Returns the last lines of the current process.
    pub(crate) fn lines(&self) -> Vec<String> {
        let tail = self.0.lock().tail.clone();
        tail.lines()
    }

    fn is_new(&self, line: &str) -> bool {
        let mut attempts = self.0.lock();
        if attempts.connected {
            return true;
        }
        let digest = digest(line);
        if attempts.now.len() + attempts.before.len() < MAX_DIGESTS {
            attempts.now.insert(digest);
        }
        !attempts.before.contains(&digest)
    }
}

/// Returns a digest that is equal for lines that differ only in numbers, such as times and process
/// ids.
fn digest(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut in_number = false;
    for byte in line.bytes() {
        let is_digit = byte.is_ascii_digit();
        if !(is_digit && in_number) {
            hasher.write_u8(if is_digit { b'0' } else { byte });
        }
        in_number = is_digit;
    }
    hasher.finish()
}

/// Reads stderr to its end.
pub(super) fn read(
    stderr: impl AsyncRead + Unpin,
    server: Arc<str>,
    secrets: Secrets,
    tail: StderrTail,
    history: Option<Arc<StderrHistory>>,
) -> impl Future<Output = ()> {
    // The guard marks the tail as complete on every exit, even if reading never began, so that no
    // caller waits forever.
    let complete = tail.complete.clone().drop_guard();
    async move {
        read_lines(stderr, server, secrets, tail, history).await;
        drop(complete);
    }
}

async fn read_lines(
    mut stderr: impl AsyncRead + Unpin,
    server: Arc<str>,
    secrets: Secrets,
    tail: StderrTail,
    history: Option<Arc<StderrHistory>>,
) {
    let mut lines = LineSplitter::default();
    let mut log = StderrLog {
        server,
        secrets,
        history,
        window: Instant::now(),
        logged: 0,
        dropped: 0,
    };
    let each = |line: &[u8], log: &mut StderrLog| {
        let number = line.strip_prefix(NOT_STARTED.as_bytes());
        let number = number.and_then(|number| std::str::from_utf8(number).ok()?.parse().ok());
        if let Some(number) = number {
            let _ = tail.not_started.set(number);
            return;
        }
        tail.push(line);
        log.line(line);
    };
    let mut buffer = BytesMut::with_capacity(16 * 1024);
    loop {
        let read = stderr.read_buf(&mut buffer);
        let read = match log.due() {
            None => read.await,
            Some(due) => match timeout_at(due, read).await {
                Ok(read) => read,
                Err(_) => {
                    log.summarise();
                    continue;
                }
            },
        };
        if !read.is_ok_and(|count| count > 0) {
            break;
        }
        lines.feed(&buffer, |line| each(line, &mut log));
        buffer.clear();
    }
    lines.finish(|line| each(line, &mut log));
    log.summarise();
}

/// Splits the input into lines, cutting long ones and dropping empty ones.
#[derive(Default)]
struct LineSplitter {
    /// The beginning of an unfinished line, up to the limit.
    begun: Vec<u8>,
}

impl LineSplitter {
    fn feed(&mut self, mut bytes: &[u8], mut each: impl FnMut(&[u8])) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            bytes = rest.strip_prefix(b"\n").unwrap_or(rest);
            if self.begun.is_empty() {
                emit(line, &mut each);
            } else {
                self.append(line);
                self.finish(&mut each);
            }
        }
        self.append(bytes);
    }

    fn append(&mut self, bytes: &[u8]) {
        // One byte more than the limit shows that the line was longer.
        let room = (LINE_MAX + 1)
            .saturating_sub(self.begun.len())
            .min(bytes.len());
        self.begun.extend_from_slice(&bytes[..room]);
    }

    fn finish(&mut self, mut each: impl FnMut(&[u8])) {
        emit(&self.begun, &mut each);
        self.begun.clear();
    }
}

fn emit(line: &[u8], each: &mut impl FnMut(&[u8])) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() > LINE_MAX {
        each(&[&line[..LINE_MAX], "…".as_bytes()].concat());
    } else if !line.is_empty() {
        each(line);
    }
}

/// The log of one server, which is limited to a number of lines per second.
struct StderrLog {
    server: Arc<str>,
    secrets: Secrets,
    history: Option<Arc<StderrHistory>>,
    window: Instant,
    logged: u32,
    dropped: u64,
}

impl StderrLog {
    fn line(&mut self, line: &[u8]) {
        if !tracing::enabled!(target: TARGET, Level::INFO) {
            return;
        }
        let line = printable(line);
        if self
            .history
            .as_ref()
            .is_some_and(|history| !history.is_new(&line))
        {
            return;
        }
        if self.logged >= LOGGED {
            if self.window.elapsed() < WINDOW {
                self.dropped += 1;
                return;
            }
            self.summarise();
        }
        if self.logged == 0 {
            self.window = Instant::now();
        }
        self.logged += 1;
        let line = self.secrets.redact(line);
        tracing::info!(target: TARGET, server = %self.server, "{line}");
    }

    /// Returns the time at which to report dropped lines, if there are any.
    fn due(&self) -> Option<Instant> {
        (self.dropped > 0).then(|| self.window + WINDOW)
    }

    fn summarise(&mut self) {
        if self.dropped > 0 {
            tracing::info!(target: TARGET, server = %self.server, "{} lines dropped", self.dropped);
        }
        self.logged = 0;
        self.dropped = 0;
    }
}

/// Removes terminal control sequences, so that a server cannot colour the gateway's log.
fn printable(line: &[u8]) -> String {
    let text: Cow<'_, str> = String::from_utf8_lossy(line);
    let mut printed = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            // A control sequence: ESC, bracket, parameters, and one final character.
            '\x1b' => {
                if characters.next() == Some('[') {
                    characters.by_ref().find(|end| matches!(end, '@'..='~'));
                }
            }
            '\t' => printed.push('\t'),
            character if character.is_control() => {}
            character => printed.push(character),
        }
    }
    printed
}

#[cfg(test)]
mod tests;
