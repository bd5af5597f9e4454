//! Selects the contents of a digest if no goal says what matters: the rare items, and the parts
//! that show the structure of the whole.
//!
//! Each source type has its own module (`logs`, `code`, `docs`, `rows`). The result always has the
//! same form: notes for the beginning of the digest, and parts of the text with the most unusual
//! first. The caller decides how many parts fit; an [`index`] names the positions of the others.

mod chunks;
pub(super) mod code;
mod docs;
mod fields;
pub(super) mod index;
mod logs;
pub(super) mod rows;
mod slots;
mod templates;

use super::FitContext;
use super::keep::Ends;
use crate::prune::{Deadline, Lines, OutOfTime, SourceType, Span};

/// The maximum number of parts that are shown or indexed.
const MOST_PARTS: usize = 3_000;
const LONGEST_LABEL: usize = 28;

/// The contents of a digest, the most important first.
pub(super) struct Findings {
    /// Lines for the beginning of the digest, each in brackets.
    pub(super) notes: Vec<String>,
    /// Summarises the omitted notes if only the given number of them is shown.
    pub(super) more: Option<Box<dyn Fn(usize) -> Option<String>>>,
    /// The maximum number of lines that are shown at each end of the text only for their position,
    /// if the notes already describe such lines.
    pub(super) ends: Ends,
    pub(super) parts: Vec<UnusualRun>,
    /// Lines that show the structure.
    pub(super) structure: Vec<Span>,
    /// The title of the index.
    pub(super) index: &'static str,
    /// The share of the room, as 1/n, that the index may use.
    pub(super) index_share: usize,
}

/// A run of unusual lines that belong together.
pub(super) struct UnusualRun {
    pub(super) span: Span,
    /// A short label for the index.
    pub(super) label: String,
}

/// Collects the findings of a digest.
pub(super) fn find(lines: &Lines<'_>, work: &FitContext<'_>) -> Result<Findings, OutOfTime> {
    let deadline: &Deadline<'_> = work.deadline;
    if let Some(findings) = rows::find_in_lines(lines, deadline)? {
        return Ok(findings);
    }
    let source = work.order.source;
    match source.unwrap_or_else(|| SourceType::guess(None, lines.text())) {
        SourceType::Logs => logs::find(lines, deadline),
        SourceType::Code => code::find(lines, deadline),
        SourceType::Docs => match docs::find(lines, deadline)? {
            Some(findings) => Ok(findings),
            None => logs::find(lines, deadline),
        },
    }
}

/// Finds the unusual lines of a log, the most unusual first.
pub(super) fn rare_lines(
    lines: &Lines<'_>,
    deadline: &Deadline<'_>,
) -> Result<Vec<Span>, OutOfTime> {
    let findings = logs::find(lines, deadline)?;
    Ok(findings.parts.into_iter().map(|part| part.span).collect())
}

/// Sorts by score. Entries with equal scores are spread over the whole text, so that no part of it
/// is preferred.
fn best_first(order: &mut [usize], score: impl Fn(usize) -> f32) {
    let spread = |at: usize| (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    order.sort_unstable_by(|&a, &b| {
        let by_score = score(b).total_cmp(&score(a));
        by_score.then_with(|| spread(a).cmp(&spread(b)))
    });
}

/// Returns a label for an index: short, and without the characters that separate entries.
fn clean(label: &str) -> String {
    let plain = |c: char| match c {
        ',' | '⟦' | '⟧' => ' ',
        c if c.is_control() => ' ',
        c => c,
    };
    let label: String = label
        .trim()
        .chars()
        .take(LONGEST_LABEL)
        .map(plain)
        .collect();
    label.trim_end().to_owned()
}

/// Returns a line that is safe to use inside a marker.
fn clean_line(line: &str) -> String {
    let plain = |c: char| match c {
        '⟦' | '⟧' => ' ',
        c if c.is_control() => ' ',
        c => c,
    };
    line.trim().chars().map(plain).collect()
}

#[cfg(test)]
mod tests;
