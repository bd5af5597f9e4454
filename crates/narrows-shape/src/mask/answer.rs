//! Masking one answer of JSON-RPC, piece by piece as it arrives.
//!
//! What belongs to one text is here: that its bytes are UTF-8, where in the
//! whole answer it stands, and the few bytes at the end of a piece that cannot
//! be judged before the next one. `grammar` goes on where it stopped in the
//! piece before, `members` knows which strings are to be masked, and `output`
//! is the one buffer that all of it goes to.

mod grammar;
mod members;
mod output;

use super::Mask;
use super::scan::{BEFORE, EDGE, Engine, Fault, Then};
use crate::NotJson;
use grammar::Grammar;

/// Masks the `result` of an answer, or its `error.data` where there is no
/// result. Everything else stays as it came.
///
/// The answer is masked while it arrives, so that its end is not waited for
/// with work to do, and is never held whole beside its masked form: besides
/// that there are a few hundred bytes, and of a string that is being cut as
/// much as its tail may need. Only the data of an error is kept as it came
/// until the end, because a result may follow it.
pub struct AnswerMask {
    grammar: Grammar,
    /// The end of the last piece, as far as it is not judged.
    held: Vec<u8>,
    /// How many bytes of the text that comes next, the held ones first, are
    /// known to be UTF-8.
    checked: usize,
    /// Where the text that comes next begins.
    begin: Place,
    failed: Option<NotJson>,
}

/// An answer after masking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskedAnswer {
    /// The JSON text, which is UTF-8.
    pub body: Vec<u8>,
    /// Whether it is an object with a `result` or an `error`.
    pub is_answer: bool,
    /// How many strings were cut.
    pub cut_strings: usize,
    /// How many characters are no longer there, markers not counted.
    pub cut_chars: usize,
}

impl AnswerMask {
    pub fn new(limits: Mask) -> AnswerMask {
        AnswerMask::on(Engine::best(), limits)
    }

    fn on(engine: Engine, limits: Mask) -> AnswerMask {
        AnswerMask {
            grammar: Grammar::new(engine, limits),
            held: Vec::new(),
            checked: 0,
            begin: Place::default(),
            failed: None,
        }
    }

    /// Makes room for an answer of so many bytes, if its length is known: growing
    /// step by step would hold two buffers of its size for a moment. Room that is
    /// never written to takes no memory.
    pub fn reserve(&mut self, bytes: usize) {
        self.grammar.output.reserve(bytes);
    }

    /// Takes the next piece, which may begin and end anywhere. An error is
    /// final: what came is no JSON, and every later piece gets the same answer.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), NotJson> {
        let mut piece = piece;
        if !self.held.is_empty() {
            // What is held ends in the first few bytes of the piece; only those
            // are copied to it.
            let mut text = std::mem::take(&mut self.held);
            let held = text.len();
            text.extend_from_slice(&piece[..piece.len().min(JOINED)]);
            let read = self.read(&text, Then::More)?;
            let Some(of_piece) = read.checked_sub(held) else {
                // The piece is so short that it is held as well.
                text.drain(..read);
                self.held = text;
                return Ok(());
            };
            piece = &piece[of_piece..];
            text.clear();
            self.held = text;
        }
        let read = self.read(piece, Then::More)?;
        self.held.extend_from_slice(&piece[read..]);
        Ok(())
    }

    /// The whole answer, once its last piece was taken.
    pub fn finish(mut self) -> Result<MaskedAnswer, NotJson> {
        let text = std::mem::take(&mut self.held);
        self.read(&text, Then::End)?;
        Ok(self.grammar.finish())
    }

    /// Reads a text as far as it can be judged, which is all of it but for less
    /// than [`MOST_HELD`] bytes; says how far.
    fn read(&mut self, text: &[u8], then: Then) -> Result<usize, NotJson> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let utf8 = Utf8::check(text, self.checked, then);
        // Nothing follows a byte that is wrong. A text that has one may have
        // stopped being JSON before that.
        let then_in_grammar = match utf8.wrong {
            true => Then::End,
            false => then,
        };
        let read = match self.grammar.read(&text[..utf8.valid], then_in_grammar) {
            Err(fault) if !utf8.wrong || fault.offset < utf8.valid || fault.offset == BEFORE => {
                Err(fault)
            }
            _ if utf8.wrong => Err(Box::new(Fault {
                offset: utf8.valid,
                what: "bytes that are not UTF-8",
            })),
            read => read,
        };
        match read {
            Ok(read) => {
                self.begin = self.begin.after(&text[..read]);
                self.checked = utf8.valid - read;
                Ok(read)
            }
            Err(fault) => {
                let Place {
                    offset,
                    line,
                    column,
                } = match fault.offset {
                    BEFORE => self.begin.before(),
                    offset => self.begin.after(&text[..offset]),
                };
                let error = NotJson {
                    offset,
                    line,
                    column,
                    what: fault.what.into(),
                };
                self.failed = Some(error.clone());
                Err(error)
            }
        }
    }
}

/// Less is held of a piece than the edge of a string and the beginning of a
/// character; the longest word is shorter.
const MOST_HELD: usize = EDGE + 4;

/// So much is joined to what is held that it is judged to its end at once.
const JOINED: usize = 2 * MOST_HELD;

/// A place in the answer, as [`NotJson`] tells it.
#[derive(Clone, Copy)]
struct Place {
    offset: usize,
    line: usize,
    column: usize,
}

impl Default for Place {
    fn default() -> Place {
        Place {
            offset: 0,
            line: 1,
            column: 1,
        }
    }
}

impl Place {
    /// The place of the backslash that stands just before.
    fn before(self) -> Place {
        Place {
            offset: self.offset - 1,
            column: self.column - 1,
            ..self
        }
    }

    /// The place behind a text that begins here.
    fn after(self, text: &[u8]) -> Place {
        let (column, line_start) = match memchr::memrchr(b'\n', text) {
            None => (self.column, 0),
            Some(lf) => (1, lf + 1),
        };
        Place {
            offset: self.offset + text.len(),
            line: self.line + memchr::memchr_iter(b'\n', &text[..line_start]).count(),
            column: column + chars(&text[line_start..]),
        }
    }
}

/// How many characters begin in a text. All of an answer is counted so, and
/// sums of one byte are what vectors are fastest with.
fn chars(text: &[u8]) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    let begins = |byte: &u8| u8::from(*byte as i8 >= -64);
    text.chunks(255)
        .map(|some| usize::from(some.iter().map(begins).sum::<u8>()))
        .sum()
}

struct Utf8 {
    /// So many bytes are UTF-8.
    valid: usize,
    /// Whether what follows them is wrong, and not only unfinished.
    wrong: bool,
}

impl Utf8 {
    fn check(text: &[u8], checked: usize, then: Then) -> Utf8 {
        let unchecked = text.get(checked..).unwrap_or_default();
        let (whole, unfinished) = unchecked.split_at(unchecked.len() - unfinished(unchecked));
        match simdutf8::basic::from_utf8(whole) {
            Ok(_) => Utf8 {
                valid: text.len() - unfinished.len(),
                wrong: then == Then::End && !unfinished.is_empty(),
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

#[cfg(test)]
mod tests;
