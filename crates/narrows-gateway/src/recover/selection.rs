//! The part of a text that is asked for.

use std::borrow::Cow;
use std::ops::Range;

use narrows_shape::prune::Lines;
use serde::Serialize;
use serde_json::{Value, json};

use super::request::Wanted;

/// What ranges may come to together: they may overlap, and a short request
/// must not make a text without end.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Lines that are longer are searched by characters.
const LONG_LINE: usize = 4_000;

/// Characters around a match in such a line, for each line of context.
const AROUND: usize = 200;

/// Matches that are shown; the others are counted.
const MAX_MATCHES: usize = 500;

/// What is asked for, as one text: lines joined by LF, without a final one; the
/// whole and characters just as they are.
pub(super) struct Selected<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) parts: Vec<Part>,
    pub(super) matches: Option<usize>,
}

/// A part of the original, counted from 1, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum Part {
    Lines { start_line: usize, end_line: usize },
    Chars { start_char: usize, end_char: usize },
}

/// What cannot be selected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Wrong {
    #[error("Lines are counted from 1 to {max_line}, and a range ends where it starts or later")]
    Lines { max_line: usize },
    #[error(
        "Characters are counted from 1 to {max_char}, and the last does not come before the first"
    )]
    Chars { max_char: usize },
    #[error("The ranges come to more than 64 MiB together; ask for fewer lines at once")]
    TooMuch,
    #[error(
        "No line holds the text '{0}' or all of its words (it is no pattern); try other words, or head and tail"
    )]
    NoMatch(String),
}

impl Wrong {
    pub(super) fn code(&self) -> &'static str {
        match self {
            Wrong::Lines { .. } | Wrong::Chars { .. } | Wrong::TooMuch => "invalid_range",
            Wrong::NoMatch(_) => "no_match",
        }
    }

    pub(super) fn data(&self) -> Value {
        match self {
            Wrong::Lines { max_line } => json!({ "max_line": max_line }),
            Wrong::Chars { max_char } => json!({ "max_char": max_char }),
            Wrong::TooMuch | Wrong::NoMatch(_) => json!({}),
        }
    }
}

pub(super) fn select<'a>(
    lines: &Lines<'a>,
    wanted: &Wanted,
    numbers: bool,
) -> Result<Selected<'a>, Wrong> {
    match wanted {
        Wanted::Whole if numbers => {
            let all = (!lines.is_empty()).then_some(0..lines.len());
            of_lines(lines, all.into_iter().collect(), true)
        }
        Wanted::Whole => Ok(Selected {
            text: Cow::Borrowed(lines.text()),
            parts: (!lines.is_empty())
                .then_some(Part::Lines {
                    start_line: 1,
                    end_line: lines.len(),
                })
                .into_iter()
                .collect(),
            matches: None,
        }),
        Wanted::Ranges(ranges) => of_lines(lines, spans(lines, ranges)?, numbers),
        Wanted::Ends { head, tail } => {
            let count = lines.len();
            let head = *head.min(&count);
            let tail = count.saturating_sub(*tail).max(head)..count;
            let spans = [0..head, tail].into_iter().filter(|span| !span.is_empty());
            of_lines(lines, merged(spans), numbers)
        }
        Wanted::Chars(start, end) => of_chars(lines.text(), *start, *end),
        Wanted::Query { text, context } => search(lines, text, *context, numbers),
    }
}

fn spans(lines: &Lines<'_>, ranges: &[(i64, i64)]) -> Result<Vec<Range<usize>>, Wrong> {
    let max_line = lines.len();
    let span = |&(start, end): &(i64, i64)| {
        let start = usize::try_from(start).ok().filter(|start| *start >= 1)?;
        let end = usize::try_from(end).ok()?.min(max_line);
        (start <= end).then_some(start - 1..end)
    };
    let spans: Option<Vec<_>> = ranges.iter().map(span).collect();
    spans.ok_or(Wrong::Lines { max_line })
}

fn of_lines<'a>(
    lines: &Lines<'a>,
    spans: Vec<Range<usize>>,
    numbers: bool,
) -> Result<Selected<'a>, Wrong> {
    let part = |span: &Range<usize>| Part::Lines {
        start_line: span.start + 1,
        end_line: span.end,
    };
    let parts = spans.iter().map(part).collect();
    if let ([span], false) = (&spans[..], numbers) {
        return Ok(Selected {
            text: Cow::Borrowed(lines.span(span)),
            parts,
            matches: None,
        });
    }
    let mut text = String::new();
    for (at, span) in spans.into_iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        if text.len() + lines.span(&span).len() + 12 * span.len() > MAX_BYTES {
            return Err(Wrong::TooMuch);
        }
        if numbers {
            lines.write_numbered(span, &mut text);
        } else {
            text.push_str(lines.span(&span));
        }
    }
    Ok(Selected {
        text: Cow::Owned(text),
        parts,
        matches: None,
    })
}

fn of_chars(text: &str, start: i64, end: i64) -> Result<Selected<'_>, Wrong> {
    let wrong = || Wrong::Chars {
        max_char: text.chars().count(),
    };
    let first = usize::try_from(start).ok().filter(|start| *start >= 1);
    let first = first.ok_or_else(wrong)?;
    let last = usize::try_from(end).ok().filter(|last| *last >= first);
    let last = last.ok_or_else(wrong)?;
    let from = char_offset(text, first - 1).ok_or_else(wrong)?;
    let rest = &text[from..];
    let to = char_offset(rest, last - first + 1).map_or(text.len(), |offset| from + offset);
    let length = text[from..to].chars().count();
    Ok(Selected {
        text: Cow::Borrowed(&text[from..to]),
        parts: vec![Part::Chars {
            start_char: first,
            end_char: first + length - 1,
        }],
        matches: None,
    })
}

/// Returns the byte offset of the character with this index, from 0. Counts whole
/// blocks instead of decoding them, because a client that reads a text page by
/// page makes each call skip all earlier pages.
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

/// Lines that hold the query in whatever case, else those that hold all of its
/// words, each with the lines around it; of very long lines the characters
/// around.
fn search<'a>(
    lines: &Lines<'a>,
    query: &str,
    context: usize,
    numbers: bool,
) -> Result<Selected<'a>, Wrong> {
    let whole = query.trim().to_lowercase();
    let words: Vec<String> = whole.split_whitespace().map(str::to_owned).collect();
    let phrase = vec![whole];
    let mut found = find(lines, &phrase);
    if found.count == 0 && words.len() > 1 {
        found = find(lines, &words);
    }
    if found.count == 0 {
        let told = query.trim().chars().take(100).collect();
        return Err(Wrong::NoMatch(told));
    }
    let matches = found.count;
    let (long, short): (Vec<Match>, Vec<Match>) = found.shown.into_iter().partition(|m| m.long);
    let around =
        |m: &Match| m.line.saturating_sub(context)..(m.line + context + 1).min(lines.len());
    // A long line beside a short one is not taken along whole.
    let is_short = |line: &usize| lines.line(*line).len() <= LONG_LINE;
    let near = |m: &Match| {
        let span = around(m);
        let before = (span.start..m.line).rev().take_while(is_short).count();
        let behind = (m.line + 1..span.end).take_while(is_short).count();
        m.line - before..m.line + 1 + behind
    };
    let mut selected = of_lines(lines, merged(short.iter().map(near)), numbers)?;
    selected.matches = Some(matches);
    if !long.is_empty() {
        add_snippets(lines.text(), &long, context, &mut selected);
    }
    Ok(selected)
}

struct Match {
    line: usize,
    /// Where in the text it stands, in bytes.
    place: Range<usize>,
    long: bool,
}

/// Of very many matches only the first are shown.
#[derive(Default)]
struct Matches {
    count: usize,
    shown: Vec<Match>,
}

impl Matches {
    fn add(&mut self, found: impl FnOnce() -> Match) {
        self.count += 1;
        if self.shown.len() < MAX_MATCHES {
            self.shown.push(found());
        }
    }
}

/// Where all of these words stand in one line: the place is that of the first
/// word. Of a long line every occurrence of the first word counts.
fn find(lines: &Lines<'_>, words: &[String]) -> Matches {
    let mut found = Matches::default();
    let Some(first) = words.first() else {
        return found;
    };
    let mut start = 0;
    for (at, line) in lines.iter().enumerate() {
        let begin = start;
        start += line.len() + 1;
        let lower = line.to_lowercase();
        if !words.iter().all(|word| lower.contains(word.as_str())) {
            continue;
        }
        let long = line.len() > LONG_LINE;
        if !long {
            found.add(|| Match {
                line: at,
                place: begin..begin + line.len(),
                long,
            });
            continue;
        }
        let mut original = Original::new(line, &lower);
        for (place, _) in lower.match_indices(first.as_str()) {
            found.add(|| {
                let from = original.place(place);
                let to = original.place(place + first.len());
                Match {
                    line: at,
                    place: begin + from..begin + to,
                    long,
                }
            });
        }
    }
    found
}

/// Where in a line something stands that was found in its lower case, which
/// may be longer or shorter. Places are asked for in their order.
struct Original<'a> {
    line: std::str::CharIndices<'a>,
    /// So much of the lower case is behind.
    passed: usize,
    is_same: bool,
    length: usize,
}

impl<'a> Original<'a> {
    fn new(line: &'a str, lower: &str) -> Original<'a> {
        Original {
            line: line.char_indices(),
            passed: 0,
            is_same: line.is_ascii() && lower.is_ascii(),
            length: line.len(),
        }
    }

    fn place(&mut self, in_lower: usize) -> usize {
        if self.is_same {
            return in_lower;
        }
        while self.passed < in_lower
            && let Some((_, letter)) = self.line.next()
        {
            self.passed += letter.to_lowercase().map(char::len_utf8).sum::<usize>();
        }
        self.line.clone().next().map_or(self.length, |(at, _)| at)
    }
}

/// The characters around each match in a long line, with their places.
fn add_snippets(text: &str, long: &[Match], context: usize, selected: &mut Selected<'_>) {
    let reach = AROUND * (context + 1);
    let around = |m: &Match| {
        let from = text.floor_char_boundary(m.place.start.saturating_sub(reach));
        let to = text.ceil_char_boundary((m.place.end + reach).min(text.len()));
        from..to
    };
    let mut whole = std::mem::take(&mut selected.text).into_owned();
    let mut counted = (0, 0);
    for span in merged(long.iter().map(around)) {
        // Spans come in order, so characters are counted once.
        counted.1 += text[counted.0..span.start].chars().count();
        counted.0 = span.start;
        let length = text[span.clone()].chars().count();
        selected.parts.push(Part::Chars {
            start_char: counted.1 + 1,
            end_char: counted.1 + length,
        });
        if !whole.is_empty() {
            whole.push('\n');
        }
        whole.push_str(&text[span]);
    }
    selected.text = Cow::Owned(whole);
}

/// Spans in order, those that touch as one.
fn merged(spans: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::new();
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}
