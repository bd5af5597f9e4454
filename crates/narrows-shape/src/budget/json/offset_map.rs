//! JSON without the white space between its tokens, and the mapping to original positions.

use std::ops::Range;

use crate::json::string_end;

/// Iterates over the parts of valid JSON between white space, in order.
pub(super) struct Runs<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Runs<'a> {
    pub(super) fn new(json: &'a str) -> Runs<'a> {
        Runs {
            bytes: json.as_bytes(),
            at: 0,
        }
    }
}

impl Iterator for Runs<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        let rest = self.bytes.get(self.at..)?;
        let start = self.at + rest.iter().position(|byte| !is_space(byte))?;
        let mut at = start;
        while let Some(byte) = self.bytes.get(at) {
            match byte {
                b'"' => at = string_end(self.bytes, at),
                byte if is_space(byte) => break,
                _ => at += 1,
            }
        }
        self.at = at;
        Some(start..at)
    }
}

/// Maps positions in the compact text to the original. Positions must be requested in ascending
/// order.
pub(super) struct OffsetMap<'a> {
    runs: Runs<'a>,
    run: Range<usize>,
    /// The total length of all runs before the current one.
    before: usize,
}

impl<'a> OffsetMap<'a> {
    pub(super) fn new(original: &'a str) -> OffsetMap<'a> {
        OffsetMap {
            runs: Runs::new(original),
            run: 0..0,
            before: 0,
        }
    }

    /// Returns the part of the original from the first to the last byte of a span.
    pub(super) fn original(&mut self, span: &Range<usize>) -> Range<usize> {
        let start = self.byte(span.start);
        start..self.byte(span.end.saturating_sub(1).max(span.start)) + 1
    }

    fn byte(&mut self, at: usize) -> usize {
        while at >= self.before + self.run.len() {
            let Some(next) = self.runs.next() else {
                return self.run.end;
            };
            self.before += self.run.len();
            self.run = next;
        }
        self.run.start + (at - self.before)
    }
}
