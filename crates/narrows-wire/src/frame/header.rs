//! The header block of a `Content-Length` frame.

/// The part of a header block read so far.
#[derive(Default)]
pub(super) struct Header {
    /// The number of bytes read so far, including line breaks.
    read: usize,
    length: Option<u64>,
}

/// The maximum size of a header block. Real ones are far smaller.
const MAX: usize = 16 * 1024;
pub(super) const TOO_LONG: &str = "a header block of more than 16 KiB";

impl Header {
    /// Reads one line without its line feed. Returns the length of the body at the end of the
    /// block.
    pub(super) fn line(&mut self, line: &[u8]) -> Result<Option<u64>, &'static str> {
        let length = line.len() + 1;
        if !self.has_room_for(length) {
            return Err(TOO_LONG);
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return match self.length {
                // Blank lines between frames are harmless.
                None if self.is_empty() => Ok(None),
                None => Err("a header block without Content-Length"),
                length => Ok(length),
            };
        }
        self.read += length;
        let colon = memchr::memchr(b':', line).ok_or("a header line without a colon")?;
        if line[..colon]
            .trim_ascii()
            .eq_ignore_ascii_case(b"content-length")
        {
            let length = number(line[colon + 1..].trim_ascii()).ok_or("invalid Content-Length")?;
            // Different lengths would make the end of the frame ambiguous.
            if self
                .length
                .replace(length)
                .is_some_and(|before| before != length)
            {
                return Err("conflicting Content-Length headers");
            }
        }
        Ok(None)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.read == 0
    }

    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        self.read + bytes <= MAX
    }
}

/// Accepts only digits: the standard parser would also accept a sign.
fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}
