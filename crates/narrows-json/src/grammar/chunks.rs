//! A text that arrives in chunks: that its bytes are UTF-8, where each chunk
//! stands in the text, and the few bytes at the end of a chunk that cannot be
//! judged before the next one.

use super::{Parser, Visitor, at_start};
use crate::blocks::{BEFORE, EDGE, Input};
use crate::error::{Error, Reason};
use crate::place::Place;

/// A parser of one JSON text that arrives in chunks, which may begin and end
/// anywhere. Besides what its visitor keeps, it holds less than
/// [`ChunkParser::MOST_HELD`] bytes of the text and one bit per level of depth.
pub struct ChunkParser<V> {
    parser: Parser,
    visitor: V,
    /// The end of the last chunk, as far as it is not judged.
    held: Vec<u8>,
    /// How many bytes of the text that comes next, the held ones first, are
    /// known to be UTF-8.
    checked: usize,
    /// Where the text that comes next begins.
    begin: Place,
    failed: Option<LocatedError>,
}

/// The place and the reason at which a text in chunks stops being JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocatedError {
    pub place: Place,
    pub reason: Reason,
}

impl<V: Visitor> ChunkParser<V> {
    /// Fewer bytes are held than the edge of a string and the beginning of a
    /// character have; the longest word is shorter.
    pub const MOST_HELD: usize = EDGE + 4;

    /// So much is joined to what is held that it is judged to its end at once.
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

    /// The number of bytes that are held.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Reads the next chunk. An error is final: every later chunk gets the same.
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), LocatedError> {
        let mut chunk = chunk;
        if !self.held.is_empty() {
            // What is held ends in the first few bytes of the chunk; only those
            // are copied to it.
            let mut text = std::mem::take(&mut self.held);
            let held = text.len();
            text.extend_from_slice(&chunk[..chunk.len().min(Self::JOINED)]);
            let read = self.read(&text, Input::Partial)?;
            let Some(of_chunk) = read.checked_sub(held) else {
                // The chunk is so short that it is held as well.
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

    /// Ends the text, and returns the visitor if it was one JSON value.
    pub fn finish(mut self) -> Result<V, LocatedError> {
        let text = std::mem::take(&mut self.held);
        self.read(&text, Input::Complete)?;
        Ok(self.visitor)
    }

    /// Reads a text as far as it can be judged, which is all of it but for less
    /// than [`ChunkParser::MOST_HELD`] bytes; returns how far.
    fn read(&mut self, text: &[u8], input: Input) -> Result<usize, LocatedError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let utf8 = Utf8::check(text, self.checked, input);
        // Nothing follows a byte that is wrong. A text that has one may have
        // stopped being JSON before that.
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
    /// So many bytes are UTF-8.
    valid: usize,
    /// The bytes behind them are wrong, and not only unfinished.
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

/// How many bytes at the end of a text begin a character that needs more.
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
