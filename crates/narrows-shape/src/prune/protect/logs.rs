//! Protects errors in logs and the lines around them.

use crate::prune::Lines;
use crate::prune::failures::{self, LogSeverity};

/// The number of stack trace lines kept with the error above them.
const TRACE_LINES: usize = 30;

/// The largest share of error lines, as 1/n, at which their context is protected. If errors are
/// more frequent, their context is most of the log. The decision is then left to the engine, which
/// prefers that context anyway.
const RARE: usize = 4;

/// Protects errors, the traces that follow them and, unless errors are frequent in this log, one
/// line before and one line after.
pub(super) fn protect(lines: &Lines<'_>, protected: &mut [bool]) {
    let is_error = |&(_, line): &(usize, &str)| failures::severity(line) == LogSeverity::Error;
    let errors = lines.iter().enumerate().filter(is_error);
    let errors: Vec<usize> = errors.map(|(at, _)| at).collect();
    let are_rare = errors.len() * RARE <= lines.len();
    // The end of the previous error's trace, so that no line is checked twice.
    let mut behind = 0;
    for &error in &errors {
        if error >= behind {
            behind = end_of_trace(lines, error);
            protected[error..behind].fill(true);
        }
        if are_rare {
            let end = (behind.max(error + 1) + 1).min(lines.len());
            protected[error.saturating_sub(1)..=error].fill(true);
            protected[end - 1] = true;
        }
    }
}

/// Returns the position after the lines that continue an error: lines with deeper indentation, and
/// the causes that Java prints between them.
fn end_of_trace(lines: &Lines<'_>, error: usize) -> usize {
    let depth = indent(lines.line(error));
    let limit = lines.len().min(error + 1 + TRACE_LINES);
    let continues = |&at: &usize| {
        let line = lines.line(at);
        indent(line) > depth || line.trim_start().starts_with("Caused by:")
    };
    (error + 1..limit)
        .take_while(continues)
        .last()
        .map_or(error + 1, |last| last + 1)
}

/// Returns the indentation of a line; 0 for a blank line.
fn indent(line: &str) -> usize {
    match line.bytes().position(|byte| byte != b' ' && byte != b'\t') {
        Some(b) if !line[b..].trim_end().is_empty() => b,
        _ => 0,
    }
}
