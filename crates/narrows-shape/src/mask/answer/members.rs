//! Selects the strings of a response to mask: those in its `result` or, if it has none, those in
//! the `data` of its `error`.

use std::ops::Range;

use narrows_json::blocks::code_unit;

/// The members of a response that have been read so far.
#[derive(Default)]
pub(super) struct Members {
    has_result: bool,
    has_error: bool,
    /// The last key at the top level of the response.
    member: AnswerMember,
    /// Set if the last key of an error was `data`.
    at_data: bool,
    /// The start of the current error data in the output.
    data_start: Option<usize>,
    /// The spans of error data. The data is kept unmasked until the end of the response, because it
    /// is not masked if a result follows.
    data: Vec<Range<usize>>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum AnswerMember {
    #[default]
    Other,
    Result,
    Error,
}

impl Members {
    /// The deepest keys that matter here.
    pub(super) const MAX_KEY_DEPTH: usize = 2;

    /// Records a key in its escaped form.
    pub(super) fn key(&mut self, depth: usize, key: &[u8]) {
        if depth > 1 {
            self.at_data = self.member == AnswerMember::Error && means(key, b"data");
            return;
        }
        self.member = AnswerMember::Other;
        if means(key, b"result") {
            self.member = AnswerMember::Result;
            self.has_result = true;
            self.data.clear();
        } else if means(key, b"error") {
            self.member = AnswerMember::Error;
            self.has_error = true;
        }
    }

    /// Returns `true` if strings at the current position are to be masked.
    pub(super) fn in_result(&self) -> bool {
        self.member == AnswerMember::Result
    }

    /// Records that the value of the last key begins after `place`.
    pub(super) fn value_begins(&mut self, depth: usize, place: usize) {
        if depth > 1 && self.at_data && !self.has_result {
            self.data_start = Some(place);
        }
    }

    /// Records that a value has ended before `place`. Error data is recorded only if it is long
    /// enough for a string with more than `max` characters.
    pub(super) fn value_ended(&mut self, depth: usize, place: usize, max: usize) {
        if depth > 1
            && let Some(start) = self.data_start.take()
            && place - start > max
        {
            self.data.push(start..place);
        }
    }

    pub(super) fn is_answer(&self) -> bool {
        self.has_result || self.has_error
    }

    /// Returns the spans of the complete output that still have to be masked.
    pub(super) fn unmasked(self) -> Vec<Range<usize>> {
        self.data
    }
}

/// Returns `true` if a key equals `word` after its escapes are decoded.
fn means(key: &[u8], word: &[u8]) -> bool {
    let mut rest = key;
    for letter in word {
        // Only `\u` escapes can stand for letters.
        let (meant, length) = match rest {
            [b'\\', b'u', ..] => (code_unit(rest, 2), 6),
            [byte, ..] => (Some(u32::from(*byte)), 1),
            [] => return false,
        };
        if meant != Some(u32::from(*letter)) {
            return false;
        }
        rest = &rest[length..];
    }
    rest.is_empty()
}
