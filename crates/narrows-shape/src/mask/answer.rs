//! Masking one answer of JSON-RPC, piece by piece as it arrives.

use super::{Mask, mask};
use crate::NotJson;

/// Masks the `result` of an answer, or its `error.data` where there is no
/// result. Everything else stays as it came.
pub struct AnswerMask {
    limits: Mask,
    whole: Vec<u8>,
}

/// An answer after masking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskedAnswer {
    pub body: Vec<u8>,
    /// Whether it is an object with a `result` or an `error`.
    pub is_answer: bool,
    pub cut_strings: usize,
    pub cut_chars: usize,
}

impl AnswerMask {
    pub fn new(limits: Mask) -> AnswerMask {
        AnswerMask {
            limits,
            whole: Vec::new(),
        }
    }

    /// Takes the next piece. An error is final: what came is no JSON.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), NotJson> {
        self.whole.extend_from_slice(piece);
        Ok(())
    }

    /// The whole answer, once its last piece was taken.
    pub fn finish(self) -> Result<MaskedAnswer, NotJson> {
        let masked = mask(&self.whole, &self.limits)?;
        let (cut_strings, cut_chars) = (masked.cut_strings, masked.cut_chars);
        Ok(MaskedAnswer {
            is_answer: masked.text.trim_start().starts_with('{'),
            body: masked.text.into_owned().into_bytes(),
            cut_strings,
            cut_chars,
        })
    }
}
