//! Masks one JSON-RPC response piece by piece as it arrives.
//!
//! `narrows-json` reads the text in chunks. `strings` continues strings across pieces, `members`
//! selects the strings to mask, and `output` is the single buffer for the result.

mod members;
mod output;
mod strings;

use narrows_json::blocks::Engine;
use narrows_json::{ChunkParser, LocatedError};

use super::{Mask, reason};
use crate::NotJson;
use strings::AnswerStrings;

/// Masks the `result` of a response, or its `error.data` if it has no result. Everything else stays
/// unchanged.
///
/// Masking takes place while the response arrives. Little work is therefore left at its end, and
/// the original is never held in full beside its masked form. Apart from the output, the mask holds
/// a few hundred bytes and, of a string that is being cut, as much as its tail may need. Only the
/// data of an error is kept unmasked until the end, because a result may follow it.
pub struct AnswerMask {
    parser: ChunkParser<AnswerStrings>,
}

/// A response after masking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskedAnswer {
    /// The JSON text, which is UTF-8.
    pub body: Vec<u8>,
    /// Set if the text is an object with a `result` or an `error`.
    pub is_answer: bool,
    /// The number of strings that were cut.
    pub cut_strings: usize,
    /// The number of characters that were removed, markers not counted.
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

    /// Reserves room for a response of known length, because a buffer that grows briefly needs
    /// twice its size. Room that is never written to takes no memory.
    pub fn reserve(&mut self, bytes: usize) {
        self.parser.visitor_mut().output.reserve(bytes);
    }

    /// Reads the next piece, which may begin and end anywhere. An error is final: the input is not
    /// JSON, and every later call returns the same error.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), NotJson> {
        self.parser.push(piece).map_err(not_json)
    }

    /// Returns the whole response after the last piece.
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
