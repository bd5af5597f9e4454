//! Encoding and decoding of server-sent events.
//!
//! Decoding follows the event stream format of the HTML standard, except that `data` keeps its
//! bytes: invalid UTF-8 is not replaced here, but rejected when the data is read as JSON.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// The maximum length of an event id. Longer ids are ignored.
const MAX_ID: usize = 4 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// The event type, or `None` for the default type `message`.
    pub event: Option<Box<str>>,
    pub data: Bytes,
    /// The last event id in effect after this event.
    pub id: Option<Box<str>>,
    /// The reconnection time in milliseconds, if the event set one.
    pub retry: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the event is larger than {max} bytes")]
pub struct TooLarge {
    pub max: usize,
}

pub struct SseDecoder {
    buffer: BytesMut,
    max: usize,
    /// The number of buffered bytes already searched for a line break.
    searched: usize,
    /// True until the first bytes were checked for a byte order mark.
    at_start: bool,
    /// True if the last line ended in a carriage return. A line feed right after it belongs to the
    /// same line break.
    after_cr: bool,
    /// True while the bytes up to the next line break are discarded.
    skips_line: bool,
    pending: Pending,
    last_id: Option<Box<str>>,
}

/// The event that is being read.
#[derive(Default)]
struct Pending {
    event: Option<Box<str>>,
    data: Data,
    /// The new event id. It takes effect at the end of the event. An empty id resets the last one.
    id: Option<Box<str>>,
    retry: Option<u64>,
    too_large: bool,
}

/// The data of an event. A single line, the usual case, stays a slice of the buffer.
#[derive(Default)]
enum Data {
    #[default]
    None,
    Line(Bytes),
    Lines(BytesMut),
}

impl SseDecoder {
    pub fn new(max_bytes: usize) -> SseDecoder {
        SseDecoder {
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

    /// Returns the number of bytes held for incomplete events.
    pub fn buffered(&self) -> usize {
        let data = match &self.pending.data {
            Data::None => 0,
            Data::Line(line) => line.len(),
            Data::Lines(lines) => lines.len(),
        };
        self.buffer.len() + data
    }

    /// Returns the next complete event. Lines end with LF, CR or CRLF, even if a CRLF is split
    /// between two pushes. Comments and a leading BOM are skipped. An event with `id` or `retry`
    /// but no data is returned with empty data, because it changes the position to resume from.
    #[expect(
        clippy::should_implement_trait,
        reason = "`None` means that more bytes are needed, not that the stream has ended"
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

    /// Skips a byte order mark. Returns false if more bytes are needed to recognise it.
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

    /// Returns the next complete line without its line break.
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

    /// Discards the parts of an incomplete line that are not needed, so that a single line cannot
    /// exhaust the memory.
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

    /// Ends an event. Returns `None` if it had no data, id or retry time.
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
            // The standard dispatches no event here, so the event type is dropped.
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

    /// Returns the maximum line length. `data: ` is the longest prefix of a data line, so the data
    /// of a longer line exceeds the limit.
    fn line_max(&self) -> usize {
        self.max.saturating_add(b"data: ".len())
    }

    fn drop_buffer(&mut self) {
        self.buffer.clear();
        self.searched = 0;
    }
}

/// The data would exceed the limit.
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

/// Writes an event. Data with line breaks is split into several `data:` lines.
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

/// Writes an event up to its data and returns the data, so that large data need not be copied. The
/// caller writes the data and [`DATA_END`]. Returns `None` and writes nothing if the data has line
/// breaks and needs several `data:` lines.
pub fn encode_around(event: &Event, into: &mut BytesMut) -> Option<Bytes> {
    if memchr::memchr2(b'\n', b'\r', &event.data).is_some() {
        return None;
    }
    encode_head(event, into);
    into.put_slice(b"data: ");
    Some(event.data.clone())
}

/// The end of the data and of its event.
pub const DATA_END: &[u8] = b"\n\n";

fn encode_head(event: &Event, into: &mut BytesMut) {
    if let Some(name) = &event.event {
        field("event", name, into);
    }
    // Readers ignore an id that contains NUL, as the standard requires.
    if let Some(id) = event.id.as_deref().filter(|id| !id.contains('\0')) {
        field("id", id, into);
    }
    if let Some(retry) = event.retry {
        field("retry", &retry.to_string(), into);
    }
}

/// A comment that keeps the connection alive.
pub const COMMENT: &[u8] = b":\n\n";

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Writes a field on one line. A value with line breaks is omitted, because the rest of it would be
/// read as further fields.
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

/// Returns true if an id is accepted. Long ones are not, because every event carries a copy of the
/// last id and clients send it back in a header.
fn is_id(value: &[u8]) -> bool {
    value.len() <= MAX_ID && !value.contains(&0)
}

fn lossy(value: &[u8]) -> Box<str> {
    String::from_utf8_lossy(value).into()
}

/// Parses a `retry` value. Values with anything but digits are ignored.
fn number(value: &[u8]) -> Option<u64> {
    if !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
