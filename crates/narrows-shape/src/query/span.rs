//! Ranges of lines or rows.

use std::ops::Range;

use super::QueryRange;

/// A requested range, counted from 1, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScannedRange {
    pub start: usize,
    pub end: usize,
}

/// The maximum number of ranges that a summary lists individually.
const NAMED: usize = 5;

/// Returns the ranges of a part among `count` lines or rows, counted from 0. Returns `None` if a
/// range does not exist.
pub(super) fn resolve(part: &QueryRange, count: usize) -> Option<Vec<Range<usize>>> {
    match part {
        QueryRange::Whole | QueryRange::Chars(..) => {
            Some(merged(std::iter::once(0..count).collect()))
        }
        QueryRange::Ends(head, tail) => {
            let head = (*head).min(count);
            let tail = count.saturating_sub(*tail).max(head)..count;
            Some(merged(vec![0..head, tail]))
        }
        QueryRange::Ranges(ranges) => {
            let span = |&(start, end): &(i64, i64)| {
                let start = usize::try_from(start).ok().filter(|start| *start >= 1)?;
                let end = usize::try_from(end).ok()?.min(count);
                (start <= end).then_some(start - 1..end)
            };
            ranges.iter().map(span).collect()
        }
    }
}

/// Sorts the ranges and merges those that touch.
pub(super) fn merged(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.sort_by_key(|span| span.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for span in spans.into_iter().filter(|span| !span.is_empty()) {
        match merged.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}

pub(super) fn spans(ranges: &[Range<usize>]) -> Vec<ScannedRange> {
    let span = |range: &Range<usize>| ScannedRange {
        start: range.start + 1,
        end: range.end,
    };
    ranges.iter().map(span).collect()
}

/// Describes ranges: `lines 2-3, 6 of 6` or `line 1 of 6`.
pub(super) fn describe(unit: &str, ranges: &[Range<usize>], total: usize) -> String {
    if ranges.is_empty() {
        return format!("no {unit} of {total}");
    }
    let one = |range: &Range<usize>| match range.len() {
        1 => range.end.to_string(),
        _ => format!("{}-{}", range.start + 1, range.end),
    };
    let named: Vec<String> = ranges.iter().take(NAMED).map(one).collect();
    let more = match ranges.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more ranges"),
    };
    let unit = match ranges {
        [one] if one.len() == 1 => unit.strip_suffix('s').unwrap_or(unit),
        _ => unit,
    };
    format!("{unit} {}{more} of {total}", named.join(", "))
}
