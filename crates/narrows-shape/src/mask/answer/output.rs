//! The masked response as it grows.
//!
//! Text is copied late and in long runs. A string that is being cut is copied like everything else.
//! Its middle is removed as soon as it is certain that nothing of it will be kept, or is never
//! copied at all.

use std::io::Write;
use std::ops::Range;

use super::super::string::StringCut;

#[derive(Default)]
pub(super) struct MaskedOutput {
    bytes: Vec<u8>,
    /// Everything before this position of the current text is in `bytes`, as far as it was kept.
    copied: usize,
    /// A buffer for the tail of a string while the marker is written before it.
    tail: Vec<u8>,
    pub(super) cut_strings: usize,
    pub(super) cut_chars: usize,
}

impl MaskedOutput {
    pub(super) fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve_exact(bytes);
    }

    /// Returns the offset from positions in the text to positions in the output, provided that
    /// nothing before them is removed later. The value may wrap.
    pub(super) fn shift(&self) -> usize {
        self.bytes.len().wrapping_sub(self.copied)
    }

    pub(super) fn copy(&mut self, text: &[u8], to: usize) {
        self.bytes.extend_from_slice(&text[self.copied..to]);
        self.copied = to;
    }

    /// Starts the next text. The previous one must have been copied completely.
    pub(super) fn begin_text(&mut self) {
        self.copied = 0;
    }

    /// Removes a span of the output, whether or not it has been copied yet.
    pub(super) fn take_out(&mut self, text: &[u8], middle: Range<usize>) {
        let length = self.bytes.len();
        if middle.end <= length {
            self.bytes.drain(middle);
            return;
        }
        if middle.start > length {
            self.copy(text, self.copied + middle.start - length);
        }
        self.copied += middle.end - self.bytes.len();
        self.bytes.truncate(middle.start);
    }

    /// Cuts the string whose closing quote is the last byte of the output.
    pub(super) fn cut(&mut self, cut: &StringCut) {
        self.tail.clear();
        self.tail.extend_from_slice(&self.bytes[cut.tail_start..]);
        self.bytes.truncate(cut.head_end);
        write!(self.bytes, "{}", cut.marker()).expect("writing to a Vec cannot fail");
        self.bytes.extend_from_slice(&self.tail);
        self.cut_strings += 1;
        self.cut_chars += cut.lost();
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
