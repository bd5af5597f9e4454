//! Characters: how many there are, and between which of them a text may be cut.

use std::ops::Range;

use memchr::memchr_iter;

use super::Place;

pub(super) fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Counts characters and lines on the way through a text, so that any number of
/// ascending places costs one pass.
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

    /// A span as characters. Spans come in order.
    pub(super) fn chars(&mut self, span: &Range<usize>) -> Place {
        self.go(span.start);
        let first = self.chars + 1;
        self.go(span.end);
        let last = self.chars;
        Place::Chars { first, last }
    }

    /// A span as lines: it begins where a line does and ends where one does.
    pub(super) fn lines(&mut self, span: &Range<usize>) -> Place {
        self.go(span.start);
        let first = self.lines + 1;
        self.go(span.end);
        let last = self.lines + 1;
        Place::Lines { first, last }
    }

    fn go(&mut self, to: usize) {
        let passed = self.text.get(self.at..to).unwrap_or_default();
        self.chars += chars(passed);
        self.lines += memchr_iter(b'\n', passed.as_bytes()).count();
        self.at += passed.len();
    }
}

/// Where the middle begins and ends if `head` and `tail` characters of a text
/// are to stay, or a few less: what belongs to one sign is not taken apart.
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

/// Signs of more characters than this are taken apart all the same.
const LONGEST_SIGN: usize = 32;

/// The beginning of the sign that `at` is within.
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

/// The end of the sign that `at` is within.
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

/// CR and LF, a letter and its accents, an emoji and what changes it: the common
/// ones, by their blocks.
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
