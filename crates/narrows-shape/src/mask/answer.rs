//! Masking one answer of JSON-RPC, piece by piece as it arrives.
//!
//! `narrows-json` reads the text in chunks. `strings` goes on where the piece
//! before ended, `members` knows which strings are to be masked, and `output` is
//! the one buffer that all of it goes to.

mod members;
mod output;
mod strings;

use narrows_json::blocks::Engine;
use narrows_json::{ChunkParser, LocatedError};

use super::{Mask, reason};
use crate::NotJson;
use strings::AnswerStrings;

/// Masks the `result` of an answer, or its `error.data` where there is no
/// result. Everything else stays as it came.
///
/// The answer is masked while it arrives, so that its end is not waited for
/// with work to do, and is never held whole beside its masked form: besides
/// that there are a few hundred bytes, and of a string that is being cut as
/// much as its tail may need. Only the data of an error is kept as it came
/// until the end, because a result may follow it.
pub struct AnswerMask {
    parser: ChunkParser<AnswerStrings>,
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
            parser: ChunkParser::new(AnswerStrings::new(engine, limits)),
        }
    }

    /// Makes room for an answer of so many bytes, if its length is known: growing
    /// step by step would hold two buffers of its size for a moment. Room that is
    /// never written to takes no memory.
    pub fn reserve(&mut self, bytes: usize) {
        self.parser.visitor_mut().output.reserve(bytes);
    }

    /// Takes the next piece, which may begin and end anywhere. An error is
    /// final: what came is no JSON, and every later piece gets the same answer.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), NotJson> {
        self.parser.push(piece).map_err(not_json)
    }

    /// The whole answer, once its last piece was taken.
    pub fn finish(self) -> Result<MaskedAnswer, NotJson> {
        self.parser
            .finish()
            .map(AnswerStrings::finish)
            .map_err(not_json)
    }
}

#[cold]
fn not_json(error: LocatedError) -> NotJson {
    NotJson {
        offset: error.place.offset,
        line: error.place.line,
        column: error.place.column,
        what: reason::text(error.reason).into(),
    }
}

#[cfg(test)]
mod tests;
