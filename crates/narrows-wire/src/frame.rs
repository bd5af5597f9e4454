//! Framing of messages on a byte stream: one JSON text per line (the MCP default), or
//! `Content-Length` blocks as in LSP.

mod header;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use header::Header;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    Newline,
    ContentLength,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A frame was skipped. Reading can continue.
    #[error("the message is larger than {max} bytes")]
    TooLarge { max: usize },
    /// The stream is unusable from here on.
    #[error("broken frame: {0}")]
    Broken(&'static str),
}

/// Splits a byte stream into frames. Write bytes into `buffer()` or call `push`, then read the
/// frames with `next`.
pub struct FrameDecoder {
    buffer: BytesMut,
    max: usize,
    state: State,
    /// The number of buffered bytes already searched for a line feed.
    searched: usize,
}

/// The meaning of the next bytes.
enum State {
    /// The start of the stream, where a byte order mark is allowed.
    Start(Option<Framing>),
    /// The framing is not known yet.
    Detect,
    Line,
    /// The rest of a line that was reported as too large.
    LineSkipped,
    Header(Header),
    Body(usize),
    /// The rest of a body that was reported as too large.
    BodySkipped(u64),
    Broken(&'static str),
}

/// The result of one decoding step: a frame, a new state to continue with, or the need for more
/// bytes.
enum Step {
    Frame(Bytes),
    Again,
    Starved,
}

impl FrameDecoder {
    /// Creates a decoder that detects the framing from the first bytes other than white space: a
    /// header block starts with `Content-`, anything else is a line.
    pub fn detect(max_bytes: usize) -> FrameDecoder {
        FrameDecoder::starting(None, max_bytes)
    }

    pub fn new(framing: Framing, max_bytes: usize) -> FrameDecoder {
        FrameDecoder::starting(Some(framing), max_bytes)
    }

    fn starting(framing: Option<Framing>, max: usize) -> FrameDecoder {
        FrameDecoder {
            buffer: BytesMut::new(),
            max,
            state: State::Start(framing),
            searched: 0,
        }
    }

    /// Returns the framing, once it is known.
    pub fn framing(&self) -> Option<Framing> {
        match self.state {
            State::Start(framing) => framing,
            State::Detect => None,
            State::Line | State::LineSkipped => Some(Framing::Newline),
            State::Header(_) | State::Body(_) | State::BodySkipped(_) | State::Broken(_) => {
                Some(Framing::ContentLength)
            }
        }
    }

    /// Returns the buffer to read into (`AsyncReadExt::read_buf`).
    pub fn buffer(&mut self) -> &mut BytesMut {
        // Release the memory of a large message instead of holding it for the lifetime of the
        // stream.
        if self.buffer.is_empty() && self.buffer.capacity() > KEPT {
            self.buffer = BytesMut::new();
        }
        // A reader fills the spare capacity. A full `BytesMut` would grow by only 64 bytes, so a
        // large message would take a thousand reads.
        if self.buffer.capacity() - self.buffer.len() < ROOM_MIN {
            self.buffer.reserve(ROOM);
        }
        &mut self.buffer
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer().extend_from_slice(bytes);
    }

    /// Returns the next complete frame, or `None` if more bytes are needed. Empty lines are
    /// skipped.
    #[expect(
        clippy::should_implement_trait,
        reason = "`None` means that more bytes are needed, not that the stream has ended"
    )]
    pub fn next(&mut self) -> Result<Option<Bytes>, FrameError> {
        loop {
            let step = match &self.state {
                State::Start(framing) => self.start(*framing),
                State::Detect => self.detect_framing(),
                State::Line => self.line()?,
                State::LineSkipped => self.skip_line(),
                State::Header(_) => self.header()?,
                State::Body(length) => self.body(*length),
                State::BodySkipped(left) => self.skip_body(*left),
                State::Broken(reason) => return Err(FrameError::Broken(reason)),
            };
            match step {
                Step::Frame(frame) => return Ok(Some(frame)),
                Step::Again => {}
                Step::Starved => return Ok(None),
            }
        }
    }

    /// Ends the stream. With newline framing, the remaining bytes count as the last line.
    pub fn finish(&mut self) -> Result<Option<Bytes>, FrameError> {
        if let Some(frame) = self.next()? {
            return Ok(Some(frame));
        }
        match &self.state {
            State::Start(None | Some(Framing::Newline)) | State::Detect | State::Line => {
                let rest = self.buffer.split();
                self.searched = 0;
                self.state = State::Line;
                self.checked_line(rest)
            }
            State::LineSkipped | State::BodySkipped(_) => Ok(None),
            State::Header(header) if header.is_empty() && self.buffer.is_empty() => Ok(None),
            State::Start(Some(Framing::ContentLength)) if self.buffer.is_empty() => Ok(None),
            _ => Err(self.broken("the stream ends inside a frame")),
        }
    }

    /// Skips a byte order mark, once enough bytes have arrived to recognise it.
    fn start(&mut self, framing: Option<Framing>) -> Step {
        let seen = self.buffer.len().min(BOM.len());
        if self.buffer[..seen] == BOM[..seen] {
            if seen < BOM.len() {
                return Step::Starved;
            }
            self.buffer.advance(BOM.len());
        }
        self.state = match framing {
            None => State::Detect,
            Some(Framing::Newline) => State::Line,
            Some(Framing::ContentLength) => State::Header(Header::default()),
        };
        Step::Again
    }

    fn detect_framing(&mut self) -> Step {
        let space = self
            .buffer
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        self.buffer.advance(space);
        let seen = self.buffer.len().min(HEADER_START.len());
        self.state = if !self.buffer[..seen].eq_ignore_ascii_case(&HEADER_START[..seen]) {
            State::Line
        } else if seen < HEADER_START.len() {
            return Step::Starved;
        } else {
            State::Header(Header::default())
        };
        Step::Again
    }

    fn line(&mut self) -> Result<Step, FrameError> {
        if let Some(line) = self.take_line() {
            return Ok(self.checked_line(line)?.map_or(Step::Again, Step::Frame));
        }
        // A trailing carriage return may be part of the line break.
        let mut length = self.buffer.len();
        if length > 0 && self.buffer[length - 1] == b'\r' {
            length -= 1;
        }
        if length <= self.max {
            return Ok(Step::Starved);
        }
        self.state = State::LineSkipped;
        self.drop_buffer();
        Err(FrameError::TooLarge { max: self.max })
    }

    /// Returns a line as a frame; `None` if it is blank. The line has no line feed.
    fn checked_line(&self, mut line: BytesMut) -> Result<Option<Bytes>, FrameError> {
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        if line.len() > self.max {
            return Err(FrameError::TooLarge { max: self.max });
        }
        Ok((!is_blank(&line)).then(|| line.freeze()))
    }

    fn skip_line(&mut self) -> Step {
        if self.take_line().is_some() {
            self.state = State::Line;
            return Step::Again;
        }
        self.drop_buffer();
        Step::Starved
    }

    fn header(&mut self) -> Result<Step, FrameError> {
        let line = self.take_line();
        let State::Header(header) = &mut self.state else {
            unreachable!("called in this state only");
        };
        let Some(line) = line else {
            return match header.has_room_for(self.buffer.len()) {
                true => Ok(Step::Starved),
                false => Err(self.broken(header::TOO_LONG)),
            };
        };
        match header.line(&line) {
            Ok(None) => Ok(Step::Again),
            Ok(Some(length)) if length > self.max as u64 => {
                self.state = State::BodySkipped(length);
                Err(FrameError::TooLarge { max: self.max })
            }
            Ok(Some(length)) => {
                self.state = State::Body(length as usize);
                Ok(Step::Again)
            }
            Err(reason) => Err(self.broken(reason)),
        }
    }

    fn body(&mut self, length: usize) -> Step {
        if self.buffer.len() < length {
            return Step::Starved;
        }
        self.state = State::Header(Header::default());
        let body = self.buffer.split_to(length);
        if is_blank(&body) {
            Step::Again
        } else {
            Step::Frame(body.freeze())
        }
    }

    fn skip_body(&mut self, left: u64) -> Step {
        let here = self.buffer.len() as u64;
        if left > here {
            self.state = State::BodySkipped(left - here);
            self.drop_buffer();
            return Step::Starved;
        }
        self.buffer.advance(left as usize);
        self.state = State::Header(Header::default());
        Step::Again
    }

    /// Returns the next line without its line feed, if it is complete.
    fn take_line(&mut self) -> Option<BytesMut> {
        match memchr::memchr(b'\n', &self.buffer[self.searched..]) {
            Some(found) => {
                let mut line = self.buffer.split_to(self.searched + found + 1);
                line.truncate(line.len() - 1);
                self.searched = 0;
                Some(line)
            }
            None => {
                self.searched = self.buffer.len();
                None
            }
        }
    }

    fn broken(&mut self, reason: &'static str) -> FrameError {
        self.state = State::Broken(reason);
        self.drop_buffer();
        FrameError::Broken(reason)
    }

    fn drop_buffer(&mut self) {
        self.buffer.clear();
        self.searched = 0;
    }
}

/// Writes one frame. On a newline-framed stream, raw line breaks become spaces. In JSON they can
/// occur only between tokens.
pub fn encode(framing: Framing, message: &[u8], into: &mut BytesMut) {
    match framing {
        Framing::Newline => {
            into.reserve(message.len() + 1);
            let start = into.len();
            into.put_slice(message);
            // A lone carriage return does not end a line here, but readers with universal newlines
            // treat it as a line break.
            for found in memchr::memchr2_iter(b'\n', b'\r', message) {
                into[start + found] = b' ';
            }
            into.put_u8(b'\n');
        }
        Framing::ContentLength => {
            into.put_slice(format!("Content-Length: {}\r\n\r\n", message.len()).as_bytes());
            into.put_slice(message);
        }
    }
}

const BOM: &[u8] = b"\xEF\xBB\xBF";
const HEADER_START: &[u8] = b"content-";
const ROOM: usize = 16 * 1024;
const ROOM_MIN: usize = 2 * 1024;
const KEPT: usize = 1024 * 1024;

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests;
