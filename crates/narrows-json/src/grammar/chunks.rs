//! Support for texts that arrive in chunks: checks UTF-8, tracks the position of each chunk, and
//! holds the few bytes at the end of a chunk that cannot be judged before the next one.

use super::{Parser, Visitor, at_start};
use crate::blocks::{BEFORE, EDGE, Input};
use crate::error::{Error, Reason};
use crate::place::Place;

/// A parser of one JSON text that arrives in chunks of any size. In addition to the state of its
/// visitor, it holds less than [`ChunkParser::MOST_HELD`] bytes of the text and one bit per nesting
/// level.
pub struct ChunkParser<V> {
    parser: Parser,
    visitor: V,
    /// The end of the last chunk that could not be judged yet.
    held: Vec<u8>,
    /// The number of bytes of the next text, starting with the held ones, that are known to be
    /// UTF-8.
    checked: usize,
    /// The position at which the next text starts.
    begin: Place,
    failed: Option<LocatedError>,
}

/// A syntax error in a text that arrives in chunks: its position and reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocatedError {
    pub place: Place,
    pub reason: Reason,
}

impl<V: Visitor> ChunkParser<V> {
    /// The upper bound of held bytes: the edge of a string and the start of a character. The
    /// longest literal is shorter.
    pub const MOST_HELD: usize = EDGE + 4;

    /// The number of bytes of the next chunk that are appended to the held ones. This is enough to
    /// judge all held bytes.
    const JOINED: usize = 2 * Self::MOST_HELD;

    pub fn new(visitor: V) -> ChunkParser<V> {
        ChunkParser {
            parser: Parser::default(),
            visitor,
            held: Vec::new(),
            checked: 0,
            begin: Place::default(),
            failed: None,
        }
    }

    pub fn visitor(&self) -> &V {
        &self.visitor
    }

    pub fn visitor_mut(&mut self) -> &mut V {
        &mut self.visitor
    }

    /// Returns the number of held bytes.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Reads the next chunk. An error is final: all later calls return the same error.
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), LocatedError> {
        let mut chunk = chunk;
        if !self.held.is_empty() {
            // The first few bytes of the chunk complete the held token, so only those are copied.
            let mut text = std::mem::take(&mut self.held);
            let held = text.len();
            text.extend_from_slice(&chunk[..chunk.len().min(Self::JOINED)]);
            let read = self.read(&text, Input::Partial)?;
            let Some(of_chunk) = read.checked_sub(held) else {
                // The chunk is too short to complete the token and is held as well.
                text.drain(..read);
                self.held = text;
                return Ok(());
            };
            chunk = &chunk[of_chunk..];
            text.clear();
            self.held = text;
        }
        let read = self.read(chunk, Input::Partial)?;
        self.held.extend_from_slice(&chunk[read..]);
        Ok(())
    }

    /// Ends the text and returns the visitor if the text was one JSON value.
    pub fn finish(mut self) -> Result<V, LocatedError> {
        let text = std::mem::take(&mut self.held);
        self.read(&text, Input::Complete)?;
        Ok(self.visitor)
    }

    /// Reads as much of the text as can be judged and returns the number of bytes read. Fewer than
    /// [`ChunkParser::MOST_HELD`] bytes are left over.
    fn read(&mut self, text: &[u8], input: Input) -> Result<usize, LocatedError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let utf8 = Utf8::check(text, self.checked, input);
        // An invalid byte ends the text. A syntax error before it has priority.
        let input = match utf8.wrong {
            true => Input::Complete,
            false => input,
        };
        let valid = &text[..utf8.valid];
        let read = match self.parser.read(valid, input, &mut self.visitor) {
            Err(error) if !utf8.wrong || error.offset < utf8.valid || error.offset == BEFORE => {
                Err(*error)
            }
            _ if utf8.wrong => Err(Error {
                offset: utf8.valid,
                reason: Reason::NotUtf8,
            }),
            read => read.map_err(|error| *error),
        };
        match read {
            Ok(read) => {
                self.visitor.text_ended(text, read);
                self.begin = self.begin.after(&text[..read]);
                self.checked = utf8.valid - read;
                Ok(read)
            }
            Err(error) => {
                let error = self.located(text, error);
                self.failed = Some(error);
                Err(error)
            }
        }
    }

    #[cold]
    fn located(&self, text: &[u8], error: Error) -> LocatedError {
        let error = match self.begin.offset {
            0 => at_start(error, text),
            _ => error,
        };
        let place = match error.offset {
            BEFORE => self.begin.before(),
            offset => self.begin.after(&text[..offset]),
        };
        LocatedError {
            place,
            reason: error.reason,
        }
    }
}

struct Utf8 {
    /// The number of valid UTF-8 bytes.
    valid: usize,
    /// True if the bytes that follow are invalid, not only incomplete.
    wrong: bool,
}

impl Utf8 {
    fn check(text: &[u8], checked: usize, input: Input) -> Utf8 {
        let unchecked = text.get(checked..).unwrap_or_default();
        let (whole, unfinished) = unchecked.split_at(unchecked.len() - unfinished(unchecked));
        match simdutf8::basic::from_utf8(whole) {
            Ok(_) => Utf8 {
                valid: text.len() - unfinished.len(),
                wrong: input == Input::Complete && !unfinished.is_empty(),
            },
            Err(_) => Utf8 {
                valid: checked
                    + simdutf8::compat::from_utf8(whole)
                        .map_or_else(|error| error.valid_up_to(), str::len),
                wrong: true,
            },
        }
    }
}

/// Returns the number of bytes of an incomplete character at the end of a text.
fn unfinished(text: &[u8]) -> usize {
    for (before, byte) in text.iter().rev().take(3).enumerate() {
        let length = match byte {
            0x80..=0xBF => continue,
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xFF => 4,
            _ => 1,
        };
        let here = before + 1;
        return if length > here { here } else { 0 };
    }
    0
}
