//! The masked answer as it grows.
//!
//! A text is copied late and in long runs. A string that is being cut is
//! copied like everything else, but its middle is taken out again as soon as
//! it is certain that nothing of it will be kept, or never copied at all.

use std::io::Write;
use std::ops::Range;

use super::super::string::Cut;

#[derive(Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    /// What stands before this in the text of now is in `bytes`, as far as it
    /// was kept.
    copied: usize,
    /// The tail of a string while its marker is put before it.
    tail: Vec<u8>,
    pub(super) cut_strings: usize,
    pub(super) cut_chars: usize,
}

impl Output {
    pub(super) fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve_exact(bytes);
    }

    /// What has to be added to a place of the text for its place in the output,
    /// if nothing before it is taken out any more. Wraps.
    pub(super) fn shift(&self) -> usize {
        self.bytes.len().wrapping_sub(self.copied)
    }

    pub(super) fn copy(&mut self, text: &[u8], to: usize) {
        self.bytes.extend_from_slice(&text[self.copied..to]);
        self.copied = to;
    }

    /// All of a text is copied that there was to it; another begins.
    pub(super) fn begin_text(&mut self) {
        self.copied = 0;
    }

    /// Takes out what may be copied or not.
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

    /// Cuts the string that ends, with its quote, where the output ends.
    pub(super) fn cut(&mut self, cut: &Cut) {
        self.tail.clear();
        self.tail.extend_from_slice(&self.bytes[cut.tail_start..]);
        self.bytes.truncate(cut.head_end);
        write!(self.bytes, "{}", cut.marker()).expect("a Vec takes all that is written to it");
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
