//! Compares two texts by lines.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;
use std::time::Instant;

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use super::error::Refused;
use super::pace::Pace;
use super::pattern::Pattern;
use super::{Answer, LONG_LINE, MAX_BYTES, Query, QueryLimits, Unit};
use crate::prune::Lines;

/// The characters shown on either side of the difference between two long lines.
const AROUND: usize = 100;

/// Compares the lines of `text` with those of `other`, the earlier text. Lines only in `other` are
/// written with `-`, lines only in `text` with `+`. Context lines have the numbers of `text`.
pub(super) fn apply(
    query: &Query,
    text: &str,
    other: &str,
    limits: &QueryLimits<'_>,
) -> Result<Answer<'static>, Refused> {
    let (old, new) = (Lines::new(other), Lines::new(text));
    let changes = changes(&old, &new, limits.diff_until);
    let gave_up = limits
        .diff_until
        .is_some_and(|until| Instant::now() >= until);
    let mut writer = Writer {
        query,
        old,
        new,
        text: String::new(),
        items: 0,
        removed: 0,
        added: 0,
        done: 0,
        pace: Pace::new(limits.deadline),
    };
    for (at, change) in changes.iter().enumerate() {
        let next = changes
            .get(at + 1)
            .map_or(usize::MAX, |next| next.new.start);
        writer.write(change, next)?;
    }
    let mut notes = Vec::new();
    let line_note = query.pattern.as_ref().and_then(Pattern::line_note);
    notes.extend(line_note.map(str::to_owned));
    let count = writer.removed + writer.added;
    if !query.count_only && writer.items < count {
        notes.push(format!("the first {} shown", writer.items));
    }
    if gave_up {
        notes.push(
            "the comparison took too long and was stopped: the lines shown differ, but not all \
             of these changes may be necessary"
                .to_owned(),
        );
    }
    if count == 0 && query.pattern.is_none() && text != other {
        notes.push("the final newline differs".to_owned());
    }
    Ok(Answer {
        summary: format!(
            "{} only in diff_with (-), {} only here (+)",
            counted(writer.removed),
            writer.added
        ),
        notes,
        body: Cow::Owned(writer.text),
        unit: Unit::Lines,
        total: writer.new.len(),
        matched: Some(count),
        spans: Vec::new(),
    })
}

fn counted(lines: usize) -> String {
    match lines {
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    }
}

/// Lines of the old text and the lines of the new text that replace them.
#[derive(Debug, Clone)]
struct Change {
    old: Range<usize>,
    new: Range<usize>,
}

/// Returns the changes between two texts. The common beginning and end are skipped first, so that a
/// single change in a long text is found at once. The rest is compared by numbers that identify
/// lines.
fn changes(old: &Lines<'_>, new: &Lines<'_>, until: Option<Instant>) -> Vec<Change> {
    let same = |(a, b): &(&str, &str)| a == b;
    let start = old.iter().zip(new.iter()).take_while(same).count();
    let shorter = old.len().min(new.len());
    let end = (start..shorter)
        .take_while(|at| {
            let back = at - start + 1;
            old.line(old.len() - back) == new.line(new.len() - back)
        })
        .count();
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut number = |line| {
        let next = numbers.len() as u32;
        *numbers.entry(line).or_insert(next)
    };
    let a: Vec<u32> = (start..old.len() - end)
        .map(|at| number(old.line(at)))
        .collect();
    let b: Vec<u32> = (start..new.len() - end)
        .map(|at| number(new.line(at)))
        .collect();
    let shifted = |at: usize, length: usize| start + at..start + at + length;
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &a, &b, until);
    ops.iter()
        .filter(|op| !matches!(op, DiffOp::Equal { .. }))
        .map(|op| {
            let (old, new) = (op.old_range(), op.new_range());
            Change {
                old: shifted(old.start, old.len()),
                new: shifted(new.start, new.len()),
            }
        })
        .collect()
}

struct Writer<'q, 'a, 'b> {
    query: &'q Query,
    old: Lines<'a>,
    new: Lines<'b>,
    text: String,
    /// The number of changed lines that were written.
    items: usize,
    removed: usize,
    added: usize,
    /// The number of lines of the new text that are finished.
    done: usize,
    pace: Pace<'q>,
}

impl Writer<'_, '_, '_> {
    /// Writes a change. `next` is the new line at which the next change begins.
    fn write(&mut self, change: &Change, next: usize) -> Result<(), Refused> {
        let context = self.query.context;
        let before = change.new.start.saturating_sub(context).max(self.done)..change.new.start;
        let written = self.items;
        let place = self.text.len();
        if context > 0 && place > 0 && before.start > self.done {
            self.text.push_str("\n⋯");
        }
        for at in before {
            self.line(' ', at + 1, self.new.line(at))?;
        }
        let is_pair = change.old.len() == change.new.len();
        for at in change.old.clone() {
            let twin = is_pair.then(|| self.new.line(change.new.start + at - change.old.start));
            self.changed('-', at, self.old.line(at), twin)?;
        }
        for at in change.new.clone() {
            let twin = is_pair.then(|| self.old.line(change.old.start + at - change.new.start));
            self.changed('+', at, self.new.line(at), twin)?;
        }
        if self.items == written {
            // No line of the change matched, so its context is not needed either.
            self.text.truncate(place);
            return Ok(());
        }
        let after = change.new.end..(change.new.end + context).min(next).min(self.new.len());
        self.done = after.end;
        for at in after {
            self.line(' ', at + 1, self.new.line(at))?;
        }
        Ok(())
    }

    fn changed(
        &mut self,
        sign: char,
        at: usize,
        line: &str,
        twin: Option<&str>,
    ) -> Result<(), Refused> {
        self.pace.spend(line.len())?;
        let pattern = self.query.pattern.as_ref();
        if pattern.is_some_and(|pattern| !pattern.is_match(line, self.pace.deadline)) {
            return Ok(());
        }
        match sign {
            '-' => self.removed += 1,
            _ => self.added += 1,
        }
        let is_full = self.query.limit.is_some_and(|limit| self.items >= limit);
        if self.query.count_only || is_full {
            return Ok(());
        }
        self.items += 1;
        match twin.filter(|_| line.len() > LONG_LINE) {
            Some(twin) => {
                let part = difference(line, twin);
                let first = line[..part.start].chars().count() + 1;
                let last = first + line[part.clone()].chars().count();
                let text = format!("⟦from its char {first} to {}⟧ {}", last - 1, &line[part]);
                self.line(sign, at + 1, &text)
            }
            None => self.line(sign, at + 1, line),
        }
    }

    fn line(&mut self, sign: char, number: usize, line: &str) -> Result<(), Refused> {
        if self.text.len() + line.len() > MAX_BYTES {
            return Err(Refused::TooMuch);
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        match self.query.numbers.unwrap_or(true) {
            true => write!(self.text, "{sign}{number}│ {line}"),
            false => write!(self.text, "{sign}{line}"),
        }
        .expect("writing to a String cannot fail");
        Ok(())
    }
}

/// Returns the part of a line between the beginning and the end that it shares with another, with
/// some characters around it.
fn difference(line: &str, other: &str) -> Range<usize> {
    let (a, b) = (line.as_bytes(), other.as_bytes());
    let same = |(a, b): &(&u8, &u8)| a == b;
    let start = a.iter().zip(b).take_while(same).count();
    let rest = a.len().min(b.len()) - start;
    let ends = a.iter().rev().zip(b.iter().rev());
    let end = ends.take(rest).take_while(same).count();
    let from = line.floor_char_boundary(start.saturating_sub(AROUND));
    let to = line.ceil_char_boundary((line.len() - end + AROUND).min(line.len()));
    from..to
}
