//! Selects lines and characters of a text, by position or by search.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

use super::error::Refused;
use super::header::Headers;
use super::pace::Pace;
use super::pattern::Pattern;
use super::span::{self, describe, merged, spans};
use super::{Answer, LONG_LINE, MAX_BYTES, Query, QueryRange, Unit};
use crate::prune::{Deadline, Lines};

/// The characters shown on either side of a match in a long line, multiplied by one more than the
/// lines of context.
const AROUND: usize = 200;

pub(super) fn apply<'a>(
    query: &Query,
    text: &'a str,
    deadline: &Deadline<'_>,
) -> Result<Answer<'a>, Refused> {
    if let QueryRange::Chars(start, end) = query.part {
        return chars(text, start, end, query.count_only);
    }
    let lines = Lines::new(text);
    let max_line = lines.len();
    let ranges = span::resolve(&query.part, max_line).ok_or(Refused::Lines { max_line })?;
    match &query.pattern {
        Some(pattern) => search(query, pattern, &lines, merged(ranges), deadline),
        None => by_place(query, &lines, ranges),
    }
}

fn by_place<'a>(
    query: &Query,
    lines: &Lines<'a>,
    ranges: Vec<Range<usize>>,
) -> Result<Answer<'a>, Refused> {
    // Without numbers, a reader cannot see the boundaries between several ranges.
    let numbers = query.numbers.unwrap_or(ranges.len() > 1);
    let shown = limited(ranges, query.limit);
    let is_whole = matches!(query.part, QueryRange::Whole) && query.limit.is_none();
    let mut summary = describe("lines", &shown, lines.len());
    let body = if query.count_only {
        let count: usize = shown.iter().map(Range::len).sum();
        summary = match is_whole {
            true => format!("{count} lines, {} characters", lines.text().chars().count()),
            false => format!("{count} lines: {summary}"),
        };
        Cow::Borrowed("")
    } else if is_whole && !numbers {
        Cow::Borrowed(lines.text())
    } else if let ([one], false) = (&shown[..], numbers) {
        Cow::Borrowed(lines.span(one))
    } else {
        Cow::Owned(joined(lines, &shown, numbers)?)
    };
    Ok(Answer {
        summary,
        notes: Vec::new(),
        body,
        unit: Unit::Lines,
        total: lines.len(),
        matched: None,
        spans: spans(&shown),
    })
}

/// Returns the first `limit` lines of the ranges.
pub(super) fn limited(ranges: Vec<Range<usize>>, limit: Option<usize>) -> Vec<Range<usize>> {
    let mut left = limit.unwrap_or(usize::MAX);
    let mut limited = Vec::new();
    for range in ranges {
        let taken = range.len().min(left);
        if taken == 0 {
            break;
        }
        left -= taken;
        limited.push(range.start..range.start + taken);
    }
    limited
}

fn joined(lines: &Lines<'_>, ranges: &[Range<usize>], numbers: bool) -> Result<String, Refused> {
    let mut text = String::new();
    for (at, range) in ranges.iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        if text.len() + lines.span(range).len() + 12 * range.len() > MAX_BYTES {
            return Err(Refused::TooMuch);
        }
        match numbers {
            true => lines.write_numbered(range.clone(), &mut text),
            false => text.push_str(lines.span(range)),
        }
    }
    Ok(text)
}

fn chars(text: &str, start: i64, end: i64, count_only: bool) -> Result<Answer<'_>, Refused> {
    let total = text.chars().count();
    let refused = Refused::Chars { max_char: total };
    let first = usize::try_from(start).ok().filter(|start| *start >= 1);
    let last = usize::try_from(end).unwrap_or(0).min(total);
    let Some(first) = first.filter(|first| *first <= last) else {
        return Err(refused);
    };
    let from = char_offset(text, first - 1).ok_or(refused)?;
    let length = char_offset(&text[from..], last + 1 - first);
    let to = length.map_or(text.len(), |length| from + length);
    Ok(Answer {
        summary: format!("chars {first}-{last} of {total}"),
        notes: Vec::new(),
        body: Cow::Borrowed(if count_only { "" } else { &text[from..to] }),
        unit: Unit::Chars,
        total,
        matched: None,
        spans: vec![super::ScannedRange {
            start: first,
            end: last,
        }],
    })
}

/// Returns the byte offset of the character at `index`, counted from 0. Whole blocks are counted
/// without being decoded, because each call of a client that reads page by page skips all earlier
/// pages.
fn char_offset(text: &str, index: usize) -> Option<usize> {
    const BLOCK: usize = 4096;
    let (mut from, mut left) = (0, index);
    while from < text.len() {
        let to = text.floor_char_boundary(from + BLOCK);
        let chars = text[from..to].chars().count();
        if left < chars {
            let (offset, _) = text[from..to].char_indices().nth(left)?;
            return Some(from + offset);
        }
        left -= chars;
        from = to;
    }
    None
}

fn search<'a>(
    query: &Query,
    pattern: &Pattern,
    lines: &Lines<'a>,
    ranges: Vec<Range<usize>>,
    deadline: &Deadline<'_>,
) -> Result<Answer<'a>, Refused> {
    let mut notes = Vec::new();
    let mut found = matching(pattern, lines, &ranges, deadline)?;
    let mut pattern = Cow::Borrowed(pattern);
    if found.is_empty()
        && let Some(expression) = pattern.as_expression()
    {
        found = matching(&expression, lines, &ranges, deadline)?;
        if found.is_empty() {
            notes.extend(expression.line_note().map(str::to_owned));
        } else {
            notes.push("query read as a regular expression".to_owned());
            pattern = Cow::Owned(expression);
        }
    }
    notes.extend(pattern.line_note().map(str::to_owned));
    if found.is_empty() {
        notes.extend(counts_of_words(&pattern, lines, &ranges, deadline));
    }
    let searched: usize = ranges.iter().map(Range::len).sum();
    let mut summary = format!("{} of {searched} lines match", found.len());
    if searched < lines.len() {
        let _ = write!(summary, " in {}", describe("lines", &ranges, lines.len()));
    }
    let mut writer = Matches::new(query, lines, deadline);
    writer.pattern = Some(&pattern);
    writer.limit = query.limit;
    if !query.count_only {
        let shown = writer.write(&found)?;
        if shown < found.len() || writer.is_full() {
            notes.push(format!("the first {} shown", writer.items));
        }
    }
    Ok(Answer {
        summary,
        notes,
        body: Cow::Owned(writer.text),
        unit: Unit::Lines,
        total: lines.len(),
        matched: Some(found.len()),
        spans: spans(&ranges),
    })
}

/// Returns a note with the number of lines that contain each word, if no line contains all of them.
/// A client can then decide which words to omit.
fn counts_of_words(
    pattern: &Pattern,
    lines: &Lines<'_>,
    ranges: &[Range<usize>],
    deadline: &Deadline<'_>,
) -> Option<String> {
    let mut counts: Vec<String> = Vec::new();
    for (word, alone) in pattern.words() {
        let found = matching(&alone, lines, ranges, deadline).ok()?;
        counts.push(format!("{word} {}", found.len()));
    }
    (!counts.is_empty()).then(|| format!("each word alone: {}", counts.join(", ")))
}

/// Returns the matching lines, counted from 0.
pub(super) fn matching(
    pattern: &Pattern,
    lines: &Lines<'_>,
    ranges: &[Range<usize>],
    deadline: &Deadline<'_>,
) -> Result<Vec<usize>, Refused> {
    let mut pace = Pace::new(deadline);
    let mut found = Vec::new();
    for at in ranges.iter().cloned().flatten() {
        let line = lines.line(at);
        if pattern.is_match(line, deadline) {
            found.push(at);
        }
        pace.spend(line.len())?;
    }
    Ok(found)
}

/// Writes matching lines with their context, and the characters around each match in long lines.
/// Matches begin with `7│ `, context lines with `8: `, and `⋯` replaces the lines between two
/// blocks.
struct Matches<'q, 'a> {
    query: &'q Query,
    /// The pattern to find in long lines.
    pattern: Option<&'q Pattern>,
    limit: Option<usize>,
    lines: &'q Lines<'a>,
    text: String,
    /// The number of matching lines, and of excerpts from long lines, that were written.
    items: usize,
    /// A byte position and the number of characters before it. Positions come in ascending order,
    /// so that characters are counted once.
    chars: (usize, usize),
    /// The number of lines that are finished.
    done: usize,
    /// The header of the last matching line.
    header: Option<usize>,
    deadline: &'q Deadline<'q>,
}

/// Writes lines, counted from 0, with the context of the query.
pub(super) fn write_lines(
    query: &Query,
    lines: &Lines<'_>,
    wanted: &[usize],
    deadline: &Deadline<'_>,
) -> Result<String, Refused> {
    let mut writer = Matches::new(query, lines, deadline);
    writer.write(wanted)?;
    Ok(writer.text)
}

impl<'q, 'a> Matches<'q, 'a> {
    fn new(query: &'q Query, lines: &'q Lines<'a>, deadline: &'q Deadline<'q>) -> Matches<'q, 'a> {
        Matches {
            query,
            pattern: None,
            limit: None,
            lines,
            text: String::new(),
            items: 0,
            chars: (0, 0),
            done: 0,
            header: None,
            deadline,
        }
    }

    /// Writes the matching lines and returns the number of lines that were written.
    fn write(&mut self, found: &[usize]) -> Result<usize, Refused> {
        let mut headers = Headers::new(self.lines);
        let context = self.query.context;
        for (count, &at) in found.iter().enumerate() {
            if self.is_full() {
                return Ok(count);
            }
            let next = found.get(count + 1).copied().unwrap_or(usize::MAX);
            let first = at.saturating_sub(context).max(self.done.min(at));
            let last = (at + context)
                .min(self.lines.len() - 1)
                .min(next.saturating_sub(1));
            self.write_header(headers.of(at), first)?;
            if self.is_long(at) {
                self.write_gap(at);
                self.write_places(at)?;
                self.done = at + 1;
                continue;
            }
            self.items += 1;
            self.write_gap(first);
            // Long lines are omitted from the context of short ones.
            for line in first..=last {
                if line == at || !self.is_long(line) {
                    self.write_line(line, if line == at { "│ " } else { ": " })?;
                }
            }
            self.done = last + 1;
        }
        Ok(found.len())
    }

    /// Writes the header of a table before its first match, unless the header is already among the
    /// matches or their context.
    fn write_header(&mut self, header: Option<usize>, first: usize) -> Result<(), Refused> {
        let is_known = self.header == header;
        self.header = header;
        let Some(header) = header.filter(|_| !is_known) else {
            return Ok(());
        };
        if header < self.done || header >= first || self.is_long(header) {
            return Ok(());
        }
        self.write_gap(header);
        let is_block = self.query.context > 0;
        self.write_line(header, if is_block { ": " } else { "│ " })?;
        self.done = header + 1;
        Ok(())
    }

    fn write_gap(&mut self, next: usize) {
        if self.query.context > 0 && !self.text.is_empty() && next > self.done {
            self.text.push_str("\n⋯");
        }
    }

    fn is_full(&self) -> bool {
        self.limit.is_some_and(|limit| self.items >= limit)
    }

    fn is_long(&self, at: usize) -> bool {
        self.lines.line(at).len() > LONG_LINE
    }

    fn number(&mut self, at: usize, sign: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        if self.query.numbers.unwrap_or(true) {
            write!(self.text, "{}{sign}", at + 1).expect("writing to a String cannot fail");
        }
    }

    fn write_line(&mut self, at: usize, sign: &str) -> Result<(), Refused> {
        let line = self.lines.line(at);
        if self.text.len() + line.len() > MAX_BYTES {
            return Err(Refused::TooMuch);
        }
        self.number(at, sign);
        self.text.push_str(line);
        Ok(())
    }

    fn write_places(&mut self, at: usize) -> Result<(), Refused> {
        let line = self.lines.line(at);
        let text = self.lines.text();
        let begin = self.lines.start(at);
        let reach = AROUND * (self.query.context + 1);
        let places = self
            .pattern
            .map_or_else(Vec::new, |pattern| pattern.places(line, self.deadline));
        self.deadline.check()?;
        let around = places.into_iter().map(|place| {
            let from = line.floor_char_boundary(place.start.saturating_sub(reach));
            let end = place.end.min(place.start + 2 * reach);
            let to = line.ceil_char_boundary((end + reach).min(line.len()));
            begin + from..begin + to
        });
        for place in merged(around.collect()) {
            if self.is_full() {
                break;
            }
            self.items += 1;
            let (byte, chars) = self.chars;
            let first = chars + text[byte..place.start].chars().count();
            self.chars = (place.start, first);
            let length = text[place.clone()].chars().count();
            self.number(at, "│");
            write!(self.text, "⟦chars {}-{}⟧ ", first + 1, first + length)
                .expect("writing to a String cannot fail");
            self.text.push_str(&text[place]);
        }
        Ok(())
    }
}
