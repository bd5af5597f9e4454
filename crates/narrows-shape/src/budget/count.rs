//! Counts characters and finds the positions at which a text may be cut.

use std::ops::Range;

use memchr::memchr_iter;

use super::CutRange;

pub(super) fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Counts characters and lines during one pass through a text. Positions must be requested in
/// ascending order.
pub(super) struct Counter<'a> {
    text: &'a str,
    at: usize,
    chars: usize,
    lines: usize,
}

impl<'a> Counter<'a> {
    pub(super) fn new(text: &'a str) -> Counter<'a> {
        Counter {
            text,
            at: 0,
            chars: 0,
            lines: 0,
        }
    }

    /// Returns a span as a range of characters. Spans must be requested in ascending order.
    pub(super) fn chars(&mut self, span: &Range<usize>) -> CutRange {
        self.go(span.start);
        let first = self.chars + 1;
        self.go(span.end);
        let last = self.chars;
        CutRange::Chars { first, last }
    }

    /// Returns a span as a range of lines. The span must begin and end at line boundaries.
    pub(super) fn lines(&mut self, span: &Range<usize>) -> CutRange {
        self.go(span.start);
        let first = self.lines + 1;
        self.go(span.end);
        let last = self.lines + 1;
        CutRange::Lines { first, last }
    }

    fn go(&mut self, to: usize) {
        let passed = self.text.get(self.at..to).unwrap_or_default();
        self.chars += chars(passed);
        self.lines += memchr_iter(b'\n', passed.as_bytes()).count();
        self.at += passed.len();
    }
}

/// Returns the part of a text between the first `head` and the last `tail` characters. The head and
/// the tail may be shorter than requested, because grapheme clusters are not split.
pub(super) fn middle(text: &str, head: usize, tail: usize) -> Range<usize> {
    let start = text
        .char_indices()
        .nth(head)
        .map_or(text.len(), |(at, _)| at);
    let end = match tail.checked_sub(1) {
        None => text.len(),
        Some(before) => text
            .char_indices()
            .rev()
            .nth(before)
            .map_or(0, |(at, _)| at),
    };
    let start = back(text, start);
    start..forth(text, end).max(start)
}

/// The maximum number of characters of a grapheme cluster that is kept whole. Longer ones are
/// split.
const LONGEST_SIGN: usize = 32;

/// Returns the start of the grapheme cluster that contains `at`.
fn back(text: &str, at: usize) -> usize {
    let mut place = at;
    for _ in 0..LONGEST_SIGN {
        let (before, behind) = text.split_at(place);
        let (Some(last), Some(next)) = (before.chars().next_back(), behind.chars().next()) else {
            return place;
        };
        if !belong_together(last, next) {
            return place;
        }
        place -= last.len_utf8();
    }
    at
}

/// Returns the end of the grapheme cluster that contains `at`.
fn forth(text: &str, at: usize) -> usize {
    let mut place = at;
    for _ in 0..LONGEST_SIGN {
        let (before, behind) = text.split_at(place);
        let (Some(last), Some(next)) = (before.chars().next_back(), behind.chars().next()) else {
            return place;
        };
        if !belong_together(last, next) {
            return place;
        }
        place += next.len_utf8();
    }
    at
}

/// Returns `true` if two characters belong to one grapheme cluster: CR and LF, a letter and its
/// accents, or an emoji and its modifiers. Covers the common cases by their Unicode blocks.
fn belong_together(last: char, next: char) -> bool {
    const JOINER: char = '\u{200d}';
    let extends = matches!(
        next,
        '\u{300}'..='\u{36f}'
            | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}'
            | '\u{20d0}'..='\u{20ff}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{fe20}'..='\u{fe2f}'
            | '\u{1f3fb}'..='\u{1f3ff}'
            | JOINER
    );
    (last, next) == ('\r', '\n') || last == JOINER || extends && last != '\n'
}
