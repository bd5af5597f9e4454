//! Which strings of an answer are masked: those in its `result`, and if it has
//! none, those in the `data` of its `error`.

use std::ops::Range;

use narrows_json::blocks::code_unit;

/// The members of an answer that were met so far.
#[derive(Default)]
pub(super) struct Members {
    has_result: bool,
    has_error: bool,
    /// The last key of the answer itself.
    member: Member,
    /// Whether the last key of an error was `data`.
    at_data: bool,
    /// Where in the output the data begins that is being read.
    data_start: Option<usize>,
    /// Where data of errors stands. It is left as it came until the end of the
    /// answer, because a result may follow, and then it is not masked.
    data: Vec<Range<usize>>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Member {
    #[default]
    Other,
    Result,
    Error,
}

impl Members {
    /// Keys that are nested deeper than this say nothing here.
    pub(super) const DEEPEST: usize = 2;

    /// Takes a key as it is written.
    pub(super) fn key(&mut self, depth: usize, key: &[u8]) {
        if depth > 1 {
            self.at_data = self.member == Member::Error && means(key, b"data");
            return;
        }
        self.member = Member::Other;
        if means(key, b"result") {
            self.member = Member::Result;
            self.has_result = true;
            self.data.clear();
        } else if means(key, b"error") {
            self.member = Member::Error;
            self.has_error = true;
        }
    }

    /// Whether strings are to be masked where the last key led.
    pub(super) fn in_result(&self) -> bool {
        self.member == Member::Result
    }

    /// The value of the last key begins after this place.
    pub(super) fn value_begins(&mut self, depth: usize, place: usize) {
        if depth > 1 && self.at_data && !self.has_result {
            self.data_start = Some(place);
        }
    }

    /// A value has ended before this place. Of data, it is only noted if it is
    /// so long that a string in it may have more than `max` characters.
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

    /// What of the output is still to be masked, once all of it is there.
    pub(super) fn unmasked(self) -> Vec<Range<usize>> {
        self.data
    }
}

/// Whether a key means this word, some letters of which may be escaped.
fn means(key: &[u8], word: &[u8]) -> bool {
    let mut rest = key;
    for letter in word {
        // Of the escapes only those by number stand for letters.
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
