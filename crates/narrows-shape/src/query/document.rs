//! Searches for words in one JSON document. The answer consists of whole rows of the array that
//! contains the words, because a single line of an indented document says little.

use super::error::Refused;
use super::json::{is_valid, value_end};
use super::pattern::Pattern;
use super::rows;
use super::text::matching;
use super::{Answer, LONG_LINE, Query, QueryLimits, QueryRange, RowQuery, table};
use crate::prune::Lines;

/// The maximum number of arrays of a document that are searched.
const MAX_ARRAYS: usize = 16;

/// Answers a query with rows. Returns `None` if the text is not one JSON document, or if lines are
/// the better answer because no row matches or the rows are too long.
///
/// In an indented document, ranges refer to lines, so that every part of it can be recovered
/// unchanged. In a document on one long line, ranges refer to rows.
pub(super) fn apply<'a>(
    query: &Query,
    text: &'a str,
    limits: &QueryLimits<'_>,
) -> Result<Option<Answer<'a>>, Refused> {
    let document = text.trim_start_matches('\u{feff}').trim();
    if !document.starts_with(['[', '{']) {
        return Ok(None);
    }
    let is_one_line = !document.contains('\n');
    let pattern = query.pattern.as_ref();
    let by_rows = match (is_one_line, &query.part) {
        (true, QueryRange::Ranges(_) | QueryRange::Ends(..)) => document.len() > LONG_LINE,
        (true, QueryRange::Whole) => document.len() > LONG_LINE && pattern.is_some(),
        (false, QueryRange::Whole) => pattern.is_some(),
        (false, _) | (true, QueryRange::Chars(..)) => false,
    };
    if !by_rows || is_valid(document).is_err() {
        return Ok(None);
    }
    // Without words, only the main rows are relevant.
    let count = if pattern.is_some() { MAX_ARRAYS } else { 1 };
    for (at, path) in rows::arrays(document, count) {
        let rows = rows::of_array(document, at, Some(path.to_string()));
        let has_objects = rows.rows.iter().any(|row| row.text.starts_with('{'));
        if !is_one_line && !has_objects {
            continue;
        }
        let is_table = is_one_line && rows.rows.len() > 1;
        if pattern.is_none() && !is_table {
            return Ok(None);
        }
        let mut answer = table::apply(query, &RowQuery::default(), text, &rows, limits.deadline)?;
        if answer.matched == Some(0) {
            continue;
        }
        if !is_table && has_long_rows(&answer) {
            return Ok(None);
        }
        if let Some(pattern) = pattern.filter(|_| !is_one_line) {
            let array = at..value_end(document.as_bytes(), at);
            let place = text.len() - text.trim_start_matches('\u{feff}').trim_start().len();
            let array = place + array.start..place + array.end;
            answer.notes.extend(outside(pattern, text, array, limits)?);
        }
        return Ok(Some(answer));
    }
    Ok(None)
}

/// Returns `true` if the rows of an answer are longer than lines may be. A row is one line of the
/// answer, or several short ones if it is shown as its lines.
fn has_long_rows(answer: &Answer<'_>) -> bool {
    let lines = answer.body.lines().count();
    answer.body.len() > LONG_LINE * lines
}

/// Returns a note about matching lines outside the array.
fn outside(
    pattern: &Pattern,
    text: &str,
    array: std::ops::Range<usize>,
    limits: &QueryLimits<'_>,
) -> Result<Option<String>, Refused> {
    let lines = Lines::new(text);
    let line_of = |byte: usize| memchr::memchr_iter(b'\n', &text.as_bytes()[..byte]).count();
    let (first, last) = (line_of(array.start), line_of(array.end));
    let ranges = [0..first, (last + 1).min(lines.len())..lines.len()];
    let found = matching(pattern, &lines, &ranges, limits.deadline)?;
    Ok(found.first().map(|first| match found.len() {
        1 => format!("line {} outside the array matches too", first + 1),
        count => format!(
            "{count} lines outside the array match too, the first is line {}",
            first + 1
        ),
    }))
}
