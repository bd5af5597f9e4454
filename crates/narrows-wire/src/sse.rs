//! Server-sent events, both ways.
//!
//! Reading follows the event stream format of the HTML standard, except that
//! `data` keeps its bytes: what is not UTF-8 is refused where the data is
//! read as JSON, not replaced here.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Longer event ids are left out.
const MAX_ID: usize = 4 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// The event's type; `message` if the stream named none.
    pub event: Option<Box<str>>,
    pub data: Bytes,
    /// The last event id in force after this event.
    pub id: Option<Box<str>>,
    /// A reconnection time in milliseconds, if this event carried one.
    pub retry: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an event of more than {max} bytes")]
pub struct TooLarge {
    pub max: usize,
}

pub struct Decoder {
    buffer: BytesMut,
    max: usize,
    /// How much of the buffer holds no line break: it is not searched again.
    searched: usize,
    /// Whether a byte order mark may still come.
    at_start: bool,
    /// Whether the last line ended in a carriage return, so that a line feed
    /// right after it belongs to the same line break.
    after_cr: bool,
    /// Whether the bytes up to the next line break are dropped.
    skips_line: bool,
    pending: Pending,
    last_id: Option<Box<str>>,
}

/// The event that is being read.
#[derive(Default)]
struct Pending {
    event: Option<Box<str>>,
    data: Data,
    /// An id takes effect at the end of its event; the empty one is none.
    id: Option<Box<str>>,
    retry: Option<u64>,
    too_large: bool,
}

/// The usual single line stays the slice of the buffer that it is.
#[derive(Default)]
enum Data {
    #[default]
    None,
    Line(Bytes),
    Lines(BytesMut),
}

impl Decoder {
    pub fn new(max_bytes: usize) -> Decoder {
        Decoder {
            buffer: BytesMut::new(),
            max: max_bytes,
            searched: 0,
            at_start: true,
            after_cr: false,
            skips_line: false,
            pending: Pending::default(),
            last_id: None,
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The bytes that are held for an event that is not whole yet.
    pub fn buffered(&self) -> usize {
        let data = match &self.pending.data {
            Data::None => 0,
            Data::Line(line) => line.len(),
            Data::Lines(lines) => lines.len(),
        };
        self.buffer.len() + data
    }

    /// The next whole event. LF, CR and CRLF end lines, also when cut between
    /// two pushes; comments are dropped; a leading BOM is dropped. An event with an `id` or `retry` but
    /// without data is given out too (with empty data): it moves the place to resume from.
    #[expect(
        clippy::should_implement_trait,
        reason = "the end of what is there now is not the end of the stream, as it is for iterators"
    )]
    pub fn next(&mut self) -> Result<Option<Event>, TooLarge> {
        if self.at_start && !self.drop_bom() {
            return Ok(None);
        }
        while let Some(line) = self.take_line() {
            if std::mem::take(&mut self.skips_line) {
                continue;
            }
            if line.is_empty() {
                if let Some(event) = self.dispatch() {
                    return Ok(Some(event));
                }
            } else if !is_comment(&line) && self.field(line.freeze()).is_err() {
                return Err(self.too_large());
            }
        }
        self.starve()
    }

    /// Whether the start of the stream is over.
    fn drop_bom(&mut self) -> bool {
        let seen = self.buffer.len().min(BOM.len());
        if self.buffer[..seen] == BOM[..seen] {
            if seen < BOM.len() {
                return false;
            }
            self.buffer.advance(BOM.len());
        }
        self.at_start = false;
        true
    }

    /// The next whole line without its line break.
    fn take_line(&mut self) -> Option<BytesMut> {
        if self.after_cr && !self.buffer.is_empty() {
            self.after_cr = false;
            if self.buffer[0] == b'\n' {
                self.buffer.advance(1);
            }
        }
        let Some(found) = memchr::memchr2(b'\n', b'\r', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            return None;
        };
        let mut line = self.buffer.split_to(self.searched + found + 1);
        self.searched = 0;
        self.after_cr = line.last() == Some(&b'\r');
        line.truncate(line.len() - 1);
        Some(line)
    }

    /// No whole line is there. What of the next one need not be kept is
    /// dropped now, so that no line can fill the memory.
    fn starve(&mut self) -> Result<Option<Event>, TooLarge> {
        let long = self.buffer.len() > self.line_max();
        if !self.skips_line && (is_comment(&self.buffer) || long) {
            self.skips_line = true;
            if !is_comment(&self.buffer) && !self.pending.too_large {
                self.drop_buffer();
                return Err(self.too_large());
            }
        }
        if self.skips_line {
            self.drop_buffer();
        }
        Ok(None)
    }

    fn field(&mut self, line: Bytes) -> Result<(), OverMax> {
        if line.len() > self.line_max() {
            return if self.pending.too_large {
                Ok(())
            } else {
                Err(OverMax)
            };
        }
        let colon = memchr::memchr(b':', &line).unwrap_or(line.len());
        let mut start = line.len().min(colon + 1);
        if line.get(start) == Some(&b' ') {
            start += 1;
        }
        match &line[..colon] {
            b"data" if !self.pending.too_large => {
                return self.pending.data.add(line.slice(start..), self.max);
            }
            b"event" => self.pending.event = Some(lossy(&line[start..])),
            b"id" if is_id(&line[start..]) => self.pending.id = Some(lossy(&line[start..])),
            b"retry" => self.pending.retry = number(&line[start..]).or(self.pending.retry),
            _ => {}
        }
        Ok(())
    }

    /// The end of an event. Without data, id or retry there was none.
    fn dispatch(&mut self) -> Option<Event> {
        let pending = std::mem::take(&mut self.pending);
        let moves = pending.id.is_some() || pending.retry.is_some();
        if let Some(id) = pending.id {
            self.last_id = (!id.is_empty()).then_some(id);
        }
        if pending.too_large {
            return None;
        }
        let (event, data) = match pending.data {
            Data::Line(data) => (pending.event, data),
            Data::Lines(data) => (pending.event, data.freeze()),
            // The standard fires nothing here, so nothing of that type is told.
            Data::None if moves => (None, Bytes::new()),
            Data::None => return None,
        };
        Some(Event {
            event: event.filter(|event| !event.is_empty()),
            data,
            id: self.last_id.clone(),
            retry: pending.retry,
        })
    }

    fn too_large(&mut self) -> TooLarge {
        self.pending.too_large = true;
        self.pending.data = Data::None;
        TooLarge { max: self.max }
    }

    /// A line longer than this holds too much in any case: the longest field
    /// name that carries data is `data: `.
    fn line_max(&self) -> usize {
        self.max.saturating_add(b"data: ".len())
    }

    fn drop_buffer(&mut self) {
        self.buffer.clear();
        self.searched = 0;
    }
}

/// The data would grow past the limit.
struct OverMax;

impl Data {
    fn add(&mut self, line: Bytes, max: usize) -> Result<(), OverMax> {
        let before = match self {
            Data::None => 0,
            Data::Line(first) => first.len() + 1,
            Data::Lines(lines) => lines.len() + 1,
        };
        if before + line.len() > max {
            return Err(OverMax);
        }
        match self {
            Data::None => *self = Data::Line(line),
            Data::Line(first) => {
                let mut lines = BytesMut::with_capacity(2 * (before + line.len()));
                lines.put_slice(first);
                lines.put_u8(b'\n');
                lines.put_slice(&line);
                *self = Data::Lines(lines);
            }
            Data::Lines(lines) => {
                lines.put_u8(b'\n');
                lines.put_slice(&line);
            }
        }
        Ok(())
    }
}

/// Writes an event; data with line breaks is split into several `data:` lines.
pub fn encode(event: &Event, into: &mut BytesMut) {
    into.reserve(event.data.len() + 64);
    encode_head(event, into);
    let mut rest = &event.data[..];
    loop {
        let end = memchr::memchr2(b'\n', b'\r', rest);
        into.put_slice(b"data: ");
        into.put_slice(&rest[..end.unwrap_or(rest.len())]);
        into.put_u8(b'\n');
        let Some(end) = end else { break };
        let length = if rest[end..].starts_with(b"\r\n") {
            2
        } else {
            1
        };
        rest = &rest[end + length..];
    }
    into.put_u8(b'\n');
}

/// Writes an event up to its data and gives the data back, to be followed by
/// [`DATA_END`]: so large data need not be copied. `None`, with nothing
/// written, if the data has line breaks and takes several `data:` lines.
pub fn encode_around(event: &Event, into: &mut BytesMut) -> Option<Bytes> {
    if memchr::memchr2(b'\n', b'\r', &event.data).is_some() {
        return None;
    }
    encode_head(event, into);
    into.put_slice(b"data: ");
    Some(event.data.clone())
}

/// The end of the data of an event, and of the event.
pub const DATA_END: &[u8] = b"\n\n";

fn encode_head(event: &Event, into: &mut BytesMut) {
    if let Some(name) = &event.event {
        field("event", name, into);
    }
    // A reader ignores an id with a NUL in it, as the standard says.
    if let Some(id) = event.id.as_deref().filter(|id| !id.contains('\0')) {
        field("id", id, into);
    }
    if let Some(retry) = event.retry {
        field("retry", &retry.to_string(), into);
    }
}

/// A comment, to keep a connection alive.
pub const COMMENT: &[u8] = b":\n\n";

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// A field of one line. A value that no line can carry is left out: written
/// as it is, it would begin fields of its own.
fn field(name: &str, value: &str, into: &mut BytesMut) {
    if value.contains(['\n', '\r']) {
        return;
    }
    into.put_slice(name.as_bytes());
    into.put_slice(b": ");
    into.put_slice(value.as_bytes());
    into.put_u8(b'\n');
}

fn is_comment(line: &[u8]) -> bool {
    line.first() == Some(&b':')
}

/// Each event carries a copy of the last id, which comes back in a header: a
/// long one is none.
fn is_id(value: &[u8]) -> bool {
    value.len() <= MAX_ID && !value.contains(&0)
}

fn lossy(value: &[u8]) -> Box<str> {
    String::from_utf8_lossy(value).into()
}

/// Digits alone; any other `retry` is to be ignored.
fn number(value: &[u8]) -> Option<u64> {
    if !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
