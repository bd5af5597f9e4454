//! Reads the structure of a document: headings, fenced blocks, front matter.
//!
//! Supports Markdown, and the headings of reStructuredText and HTML. This is not a parser: each
//! line is classified on its own and by its neighbours.

use super::{Lines, Span};

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    Blank,
    /// A heading with a level from 1 to 6.
    Heading(u8),
    /// The line under or over a heading that marks it as one.
    Underline,
    /// A line of a fenced block, including the fences.
    Fenced,
    /// The first line of a list item.
    Item,
    Text,
}

/// The structure of a document by lines.
pub(crate) struct Structure {
    pub(crate) kinds: Vec<LineKind>,
    /// Fenced blocks, which are useful only as a whole; in order and disjoint.
    pub(super) fences: Vec<Span>,
    /// Lines inside fenced blocks that a simpler reader takes for headings.
    pub(super) doubtful_headings: Vec<usize>,
    pub(super) front_matter: Option<Span>,
}

/// The maximum number of lines of front matter. Anything longer is something else.
const FRONT_MATTER_LINES: usize = 40;

/// If two readings of the fences disagree, their blocks are joined so that both stay whole, up to
/// this many lines.
const JOINED_LINES: usize = 200;

pub(crate) fn read(lines: &Lines<'_>) -> Structure {
    let marks = marks(lines);
    let strict = strict_fences(&marks);
    let plain = plain_fences(&marks);
    let mut kinds = vec![LineKind::Text; lines.len()];
    for fence in &strict {
        kinds[fence.clone()].fill(LineKind::Fenced);
    }
    let mut doubtful_headings = Vec::new();
    let mut next_plain = plain.iter().peekable();
    for (at, line) in lines.iter().enumerate() {
        while next_plain.next_if(|fence| fence.end <= at).is_some() {}
        if kinds[at] == LineKind::Fenced {
            let is_inside = next_plain.peek().is_some_and(|fence| fence.contains(&at));
            if !is_inside && heading_level(line).is_some() {
                doubtful_headings.push(at);
            }
        } else if is_blank(line) {
            kinds[at] = LineKind::Blank;
        } else if let Some(level) = heading_level(line) {
            kinds[at] = LineKind::Heading(level);
        } else if let Some(level) = underline_level(line)
            && let Some(over) = at.checked_sub(1)
            && is_underlined(lines, &kinds, over)
        {
            kinds[over] = LineKind::Heading(level);
            kinds[at] = LineKind::Underline;
            if over > 0 && lines.line(over - 1).trim_end() == line.trim_end() {
                kinds[over - 1] = LineKind::Underline;
            }
        } else if is_item(line) {
            kinds[at] = LineKind::Item;
        }
    }
    Structure {
        fences: joined(strict, plain),
        front_matter: front_matter(lines),
        kinds,
        doubtful_headings,
    }
}

/// Returns `true` if a line consists of white space only.
pub(super) fn is_blank(line: &str) -> bool {
    trim_start(line).is_empty()
}

/// Trims white space in its widest definition, which includes the ASCII separators.
fn trim_start(line: &str) -> &str {
    line.trim_start_matches(|letter: char| {
        letter.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&letter)
    })
}

/// Returns the level of a heading that is recognisable without an underline: `## Title`, `<h2>`.
fn heading_level(line: &str) -> Option<u8> {
    let text = line.trim_start_matches(' ');
    if line.len() - text.len() > 3 {
        return None;
    }
    if let Some(tag) = text.strip_prefix("<h").or(text.strip_prefix("<H")) {
        let mut letters = tag.chars();
        let level = letters.next().and_then(|digit| digit.to_digit(10));
        let ends = letters.next().is_some_and(|it| it == '>' || it == ' ');
        return level
            .filter(|level| ends && (1..=6).contains(level))
            .map(|level| level as u8);
    }
    let title = text.trim_start_matches('#');
    let level = text.len() - title.len();
    let is_apart = trim_start(title).len() < title.len() && !is_blank(title);
    ((1..=6).contains(&level) && is_apart).then_some(level as u8)
}

/// Returns `true` if a line begins with a bullet or a number.
fn is_item(line: &str) -> bool {
    let text = line.trim_start();
    let number = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let behind = match text.len() - number.len() {
        0 => text.strip_prefix(['-', '*', '+']),
        _ => number.strip_prefix(['.', ')']),
    };
    behind.is_some_and(|behind| behind.starts_with([' ', '\t']))
}

/// Returns the heading level that a line of one repeated character gives to the line above it.
fn underline_level(line: &str) -> Option<u8> {
    let line = line.trim_end();
    let &sign = line.as_bytes().first()?;
    let level = match sign {
        b'=' => 1,
        b'-' => 2,
        b'^' | b'"' | b'*' | b'+' | b'#' => 3,
        _ => return None,
    };
    (line.len() >= 3 && line.bytes().all(|byte| byte == sign)).then_some(level)
}

/// Returns `true` if the line above an underline is a title. A title is a single line of text. The
/// underline must be at least as long as the title, except for the characters that Markdown accepts
/// at any length.
fn is_underlined(lines: &Lines<'_>, kinds: &[LineKind], over: usize) -> bool {
    let title = lines.line(over).trim_end();
    let under = lines.line(over + 1).trim_end();
    let stands_alone = over == 0
        || !matches!(kinds[over - 1], LineKind::Text | LineKind::Item)
        || lines.line(over - 1).trim_end() == under;
    let is_markdown = under.starts_with(['=', '-']);
    let begins_otherwise = title.starts_with(['|', '>', '-', '*', '+', ' ', '\t', '<']);
    kinds[over] == LineKind::Text
        && stands_alone
        && !begins_otherwise
        && underline_level(title).is_none()
        && (is_markdown || under.len() >= title.chars().count())
}

/// A line that may open or close a fenced block.
struct Mark {
    line: usize,
    sign: u8,
    length: usize,
    /// Set if the line contains only the fence, so that it may close a block.
    is_bare: bool,
    /// Set if the rest of the line is allowed after an opening fence.
    may_open: bool,
}

impl Mark {
    fn closes(&self, first: &Mark) -> bool {
        self.is_bare && self.sign == first.sign && self.length >= first.length
    }
}

fn marks(lines: &Lines<'_>) -> Vec<Mark> {
    let mark = |(at, line): (usize, &str)| {
        let text = trim_start(line);
        if !(text.starts_with("```") || text.starts_with("~~~")) {
            return None;
        }
        let sign = text.as_bytes()[0];
        let rest = text.trim_start_matches(sign as char);
        Some(Mark {
            line: at,
            sign,
            length: text.len() - rest.len(),
            is_bare: is_blank(rest),
            may_open: sign == b'~' || !rest.contains('`'),
        })
    };
    lines.iter().enumerate().filter_map(mark).collect()
}

/// Returns the fenced blocks as CommonMark defines them, but at any indentation: a block ends at a
/// bare fence of the same kind that is at least as long. A fence that is never closed opens no
/// block.
fn strict_fences(marks: &[Mark]) -> Vec<Span> {
    let mut fences = Vec::new();
    let mut open: Option<&Mark> = None;
    for mark in marks {
        match open {
            None if mark.may_open => open = Some(mark),
            Some(first) if mark.closes(first) => {
                fences.push(first.line..mark.line + 1);
                open = None;
            }
            _ => {}
        }
    }
    fences
}

/// Returns the fenced blocks as the simplest readers see them: fences alternately open and close.
fn plain_fences(marks: &[Mark]) -> Vec<Span> {
    let pairs = marks.chunks_exact(2);
    pairs.map(|pair| pair[0].line..pair[1].line + 1).collect()
}

/// Joins the blocks of both readings so that each is whole. If a stray fence shifts the plain
/// reading over a long stretch, the strict reading applies.
fn joined(strict: Vec<Span>, plain: Vec<Span>) -> Vec<Span> {
    if strict == plain {
        return strict;
    }
    let mut all: Vec<(Span, bool)> = Vec::with_capacity(strict.len() + plain.len());
    all.extend(strict.into_iter().map(|fence| (fence, true)));
    all.extend(plain.into_iter().map(|fence| (fence, false)));
    all.sort_by_key(|(fence, _)| fence.start);
    let mut fences = Vec::new();
    let mut begin = 0;
    while begin < all.len() {
        let mut whole = all[begin].0.clone();
        let mut end = begin + 1;
        while end < all.len() && all[end].0.start < whole.end {
            whole.end = whole.end.max(all[end].0.end);
            end += 1;
        }
        let parts = &all[begin..end];
        let is_agreed = parts.iter().all(|(fence, _)| *fence == whole) && parts.len() > 1;
        if is_agreed || whole.len() <= JOINED_LINES {
            fences.push(whole);
        } else {
            let strict = parts.iter().filter(|(_, is_strict)| *is_strict);
            fences.extend(strict.map(|(fence, _)| fence.clone()));
        }
        begin = end;
    }
    fences
}

fn front_matter(lines: &Lines<'_>) -> Option<Span> {
    let first = lines.iter().next()?.trim_end();
    let ends: &[&str] = match first {
        "---" => &["---", "..."],
        "+++" => &["+++"],
        _ => return None,
    };
    let mut rest = lines.iter().take(FRONT_MATTER_LINES).enumerate().skip(1);
    let last = rest.find(|(_, line)| ends.contains(&line.trim_end()))?.0;
    Some(0..last + 1)
}

#[cfg(test)]
mod tests;
