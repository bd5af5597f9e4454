//! Errors in logs and what stands beside them.

use crate::prune::Lines;
use crate::prune::trouble::{self, Sign};

/// So many lines of a stack trace stay with the error above them.
const TRACE_LINES: usize = 30;

/// Where more than one line of so many is an error, the context of errors is most
/// of the log: there it is left to the engine, which prefers it.
const RARE: usize = 4;

/// Protects errors, the traces that follow them, and, unless errors are the rule
/// in this log, one line before and one behind.
pub(super) fn protect(lines: &Lines<'_>, protected: &mut [bool]) {
    let is_error = |&(_, line): &(usize, &str)| trouble::sign(line) == Sign::Error;
    let errors = lines.iter().enumerate().filter(is_error);
    let errors: Vec<usize> = errors.map(|(at, _)| at).collect();
    let are_rare = errors.len() * RARE <= lines.len();
    // Where the trace of the error before ends: no line is looked at twice.
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

/// Behind the lines that continue an error: those that are indented deeper, and
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

/// How deep a line is indented; a blank one not at all.
fn indent(line: &str) -> usize {
    match line.bytes().position(|byte| byte != b' ' && byte != b'\t') {
        Some(b) if !line[b..].trim_end().is_empty() => b,
        _ => 0,
    }
}
