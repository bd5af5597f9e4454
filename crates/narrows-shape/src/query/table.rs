//! Filters, groups, aggregates, sorts, limits and writes rows.

mod groups;

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

use self::groups::RowGroups;
use super::aggregate::{Key, write_member};
use super::condition::Mismatch;
use super::error::Refused;
use super::fields;
use super::json::{Json, compact, tree};
use super::list::SortKey;
use super::pace::Pace;
use super::path::Path;
use super::pattern::Pattern;
use super::rows::{Row, Rows};
use super::span::{describe, merged, resolve, spans};
use super::text::write_lines;
use super::{Answer, LONG_LINE, MAX_BYTES, Query, QueryRange, RowQuery, Unit};
use crate::prune::{Deadline, Lines};

/// The maximum number of fields listed in a note about an unknown field.
const FIELDS_NAMED: usize = 20;

/// Answers a query by rows. `text` is the text that contains the rows.
pub(super) fn apply(
    query: &Query,
    row_query: &RowQuery,
    text: &str,
    rows: &Rows<'_>,
    deadline: &Deadline<'_>,
) -> Result<Answer<'static>, Refused> {
    let mut table = Table {
        query,
        row_query,
        text,
        rows,
        unknown: unknown_at_first(row_query),
        mismatched: 0,
        first_mismatch: None,
        notes: Vec::new(),
        pace: Pace::new(deadline),
    };
    table.answer()
}

struct Table<'q, 'a> {
    query: &'q Query,
    row_query: &'q RowQuery,
    text: &'q str,
    rows: &'q Rows<'a>,
    /// Fields that no row has had so far, with the argument that names them.
    unknown: Vec<(&'static str, &'q Path)>,
    /// The number of rows in which different types were compared.
    mismatched: usize,
    first_mismatch: Option<(String, &'static str)>,
    notes: Vec<String>,
    pace: Pace<'q>,
}

/// A matching row with its sort keys.
struct MatchedRow<'a> {
    row: Row<'a>,
    keys: Vec<Key>,
}

impl<'a> Table<'_, 'a> {
    fn answer(&mut self) -> Result<Answer<'static>, Refused> {
        let ranges = self.ranges()?;
        let base: Vec<Row<'a>> = self.in_ranges(&ranges);
        let is_searched = self.query.pattern.is_some() || self.row_query.condition.is_some();
        let mut pattern = self.query.pattern.clone();
        let mut groups = RowGroups::new(self.row_query);
        let mut found = self.filter(&base, pattern.as_ref(), &mut groups)?;
        if found.is_empty()
            && let Some(expression) = pattern.as_ref().and_then(Pattern::as_expression)
        {
            pattern = Some(expression);
            self.mismatched = 0;
            groups = RowGroups::new(self.row_query);
            found = self.filter(&base, pattern.as_ref(), &mut groups)?;
            if !found.is_empty() {
                let note = "query read as a regular expression";
                self.notes.push(note.to_owned());
            }
        }
        let count = self.rows.rows.len();
        let mut summary = match is_searched {
            true => format!("{} of {} rows match", found.len(), base.len()),
            false => describe("rows", &ranges, count),
        };
        if is_searched && base.len() < count {
            let _ = write!(summary, " in {}", describe("rows", &ranges, count));
        }
        if self.query.count_only && !is_searched {
            summary = format!("{} rows", base.len());
        }
        self.note_rows(&base);
        let body = match (self.query.count_only, self.row_query.aggregate.is_empty()) {
            (true, true) => String::new(),
            (true, false) => {
                self.notes.push(format!("{} groups", groups.len()));
                String::new()
            }
            (false, true) => self.write_rows(found.as_mut_slice())?,
            (false, false) => {
                let body = groups.write(self.query.limit, &mut self.notes);
                self.notes.extend(groups.notes());
                body
            }
        };
        Ok(Answer {
            summary,
            notes: std::mem::take(&mut self.notes),
            body: Cow::Owned(body),
            unit: Unit::Rows,
            total: count,
            matched: is_searched.then_some(found.len()),
            spans: spans(&ranges),
        })
    }

    /// Returns the ranges of row numbers. The numbers of JSON Lines may have gaps.
    fn ranges(&self) -> Result<Vec<Range<usize>>, Refused> {
        let rows = &self.rows.rows;
        let max_row = match self.query.part {
            QueryRange::Ranges(_) => rows.last().map_or(0, |row| row.number),
            _ => rows.len(),
        };
        let ranges = resolve(&self.query.part, max_row).ok_or(Refused::RowRange { max_row })?;
        let is_searched = self.query.pattern.is_some() || self.row_query.condition.is_some();
        Ok(match is_searched || !self.row_query.aggregate.is_empty() {
            true => merged(ranges),
            false => ranges,
        })
    }

    fn in_ranges(&self, ranges: &[Range<usize>]) -> Vec<Row<'a>> {
        let rows = &self.rows.rows;
        let by_number = matches!(self.query.part, QueryRange::Ranges(_));
        let mut base = Vec::new();
        for range in ranges {
            let range = match by_number {
                true => {
                    let before = |end: usize| rows.partition_point(|row| row.number <= end);
                    before(range.start)..before(range.end)
                }
                false => range.clone(),
            };
            base.extend_from_slice(&rows[range]);
        }
        base
    }

    fn filter(
        &mut self,
        base: &[Row<'a>],
        pattern: Option<&Pattern>,
        groups: &mut RowGroups<'_, 'a>,
    ) -> Result<Vec<MatchedRow<'a>>, Refused> {
        let mut found = Vec::new();
        let aggregates = !self.row_query.aggregate.is_empty();
        let sorts = !self.row_query.sort.is_empty() && !aggregates;
        for row in base {
            self.pace.spend(row.text.len())?;
            if !self.unknown.is_empty() {
                let value = tree(row.text);
                self.unknown.retain(|(_, path)| path.of(&value).is_none());
            }
            if pattern.is_some_and(|pattern| !matches(pattern, row, self.pace.deadline)) {
                continue;
            }
            let condition = self.row_query.condition.as_ref();
            if condition.is_none() && !aggregates && !sorts {
                found.push(MatchedRow {
                    row: *row,
                    keys: Vec::new(),
                });
                continue;
            }
            let value = tree(row.text);
            if let Some(condition) = condition {
                let mut mismatch = Mismatch::default();
                let holds = condition.holds(&value, &mut mismatch, self.pace.deadline);
                if let Some(first) = mismatch.first {
                    self.mismatched += 1;
                    self.first_mismatch.get_or_insert(first);
                }
                if !holds {
                    continue;
                }
            }
            if aggregates {
                groups.add(*row, &value)?;
            }
            let keys = match sorts {
                true => self.keys(&value),
                false => Vec::new(),
            };
            found.push(MatchedRow { row: *row, keys });
        }
        self.pace.deadline.check()?;
        Ok(found)
    }

    fn keys(&self, value: &Json<'_>) -> Vec<Key> {
        let field = |key: &SortKey| key.column.field()?.of(value);
        let keys = self.row_query.sort.iter();
        keys.map(|key| field(key).map_or(Key::Null, Key::of))
            .collect()
    }

    /// Adds notes about the rows that were read.
    fn note_rows(&mut self, base: &[Row<'_>]) {
        if let Some(path) = &self.rows.path {
            self.notes.push(format!("array: {path}"));
        }
        if self.rows.skipped > 0 {
            let skipped = self.rows.skipped;
            self.notes
                .push(format!("lines that are not JSON: {skipped}"));
        }
        let is_unknown = |name: &str| {
            self.unknown
                .iter()
                .any(|(_, path)| path.to_string() == name)
        };
        if let Some((path, found)) = &self.first_mismatch
            && !is_unknown(path)
        {
            let rows = match self.mismatched {
                1 => "1 row".to_owned(),
                count => format!("{count} rows"),
            };
            let note = format!("different types compared in {rows} (first: {path} is {found})");
            self.notes.push(note);
        }
        if !base.is_empty() && !self.unknown.is_empty() {
            let known = fields::of_rows(&self.rows.rows);
            for (argument, path) in std::mem::take(&mut self.unknown) {
                self.notes
                    .push(unknown_field(argument, &path.to_string(), &known));
            }
        }
    }

    /// Returns the original lines of the rows with their context, because a client that edits a
    /// file needs its exact text. Returns `None` if the rows share lines or have another order.
    fn write_as_lines(&mut self, found: &[MatchedRow<'a>]) -> Result<Option<String>, Refused> {
        let row_query = self.row_query;
        if !row_query.sort.is_empty() || !row_query.select.is_empty() {
            return Ok(None);
        }
        let lines = Lines::new(self.text);
        let mut wanted: Vec<usize> = Vec::new();
        for MatchedRow { row, .. } in found {
            self.pace.spend(row.text.len())?;
            let Some(first) = self.place_of(row.text) else {
                return Ok(None);
            };
            let span = lines.at_byte(first)..lines.at_byte(first + row.text.len() - 1) + 1;
            let shares_a_line = !row.text.contains('\n') && {
                let line = lines.line(span.start);
                let (before, behind) = line.split_at(first - lines.start(span.start));
                let behind = behind[row.text.len()..].trim();
                let before = before.trim_start_matches('\u{feff}').trim();
                !before.is_empty() || !matches!(behind, "" | ",")
            };
            if shares_a_line || span.clone().any(|at| lines.line(at).len() > LONG_LINE) {
                return Ok(None);
            }
            let done = wanted.last().map_or(0, |last| last + 1);
            wanted.extend(span.start.max(done)..span.end);
        }
        write_lines(self.query, &lines, &wanted, self.pace.deadline).map(Some)
    }

    /// Returns the position of a row, which is a slice of the text.
    fn place_of(&self, row: &str) -> Option<usize> {
        let text = self.text.as_ptr() as usize;
        let first = (row.as_ptr() as usize).checked_sub(text)?;
        (first + row.len() <= self.text.len()).then_some(first)
    }

    fn write_rows(&mut self, found: &mut [MatchedRow<'a>]) -> Result<String, Refused> {
        let sort = &self.row_query.sort;
        found.sort_by(|a, b| compare(sort, &a.keys, &b.keys));
        let limit = self.query.limit.unwrap_or(usize::MAX);
        if found.len() > limit {
            self.notes.push(format!("the first {limit} shown"));
        }
        if self.query.context > 0 {
            if let Some(body) = self.write_as_lines(&found[..found.len().min(limit)])? {
                self.notes.push("shown as lines".to_owned());
                return Ok(body);
            }
            self.notes.push("context applies only to lines".to_owned());
        }
        let mut body = String::new();
        for MatchedRow { row, .. } in found.iter().take(limit) {
            self.pace.spend(row.text.len())?;
            if !body.is_empty() {
                body.push('\n');
            }
            if self.query.numbers.unwrap_or(true) {
                write!(body, "{}│ ", row.number).expect("writing to a String cannot fail");
            }
            match self.row_query.select.is_empty() {
                true => body.push_str(&compact(row.text)),
                false => self.write_selected(&tree(row.text), &mut body),
            }
            if body.len() > MAX_BYTES {
                return Err(Refused::TooMuch);
            }
        }
        Ok(body)
    }

    fn write_selected(&self, value: &Json<'_>, body: &mut String) {
        body.push('{');
        for column in &self.row_query.select {
            let mut json = String::new();
            let field = column.field().and_then(|path| path.of(value));
            field.unwrap_or(&Json::Null).write(&mut json);
            write_member(&column.name(), &json, body);
        }
        body.push('}');
    }
}

fn compare(sort: &[SortKey], a: &[Key], b: &[Key]) -> std::cmp::Ordering {
    let keys = sort.iter().zip(a.iter().zip(b));
    let orders = keys.map(|(sort, (a, b))| a.sorted(b, sort.descending));
    let mut different = orders.filter(|order| order.is_ne());
    different.next().unwrap_or(std::cmp::Ordering::Equal)
}

/// Returns `true` if a row matches. Words are searched in the JSON of the row and, if it contains
/// escapes, in its decoded strings. A row of several lines is also searched in its compact form.
fn matches(pattern: &Pattern, row: &Row<'_>, deadline: &Deadline<'_>) -> bool {
    if pattern.has_json_signs
        && row.text.contains('\n')
        && pattern.is_match(&compact(row.text), deadline)
    {
        return true;
    }
    if !row.text.contains('\\') {
        return pattern.is_match(row.text, deadline);
    }
    let mut text = row.text.to_owned();
    add_strings(&tree(row.text), &mut text);
    pattern.is_match(&text, deadline)
}

fn add_strings(value: &Json<'_>, into: &mut String) {
    match value {
        Json::Text(text) => {
            into.push('\n');
            into.push_str(text);
        }
        Json::Array(elements) => elements.iter().for_each(|value| add_strings(value, into)),
        Json::Object(members) => members
            .iter()
            .for_each(|(_, value)| add_strings(value, into)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// Returns all fields that a query names. Fields found in a row are removed later.
fn unknown_at_first(query: &RowQuery) -> Vec<(&'static str, &Path)> {
    let mut paths = Vec::new();
    if let Some(condition) = &query.condition {
        condition.collect_paths(&mut paths);
    }
    let mut named: Vec<(&'static str, &Path)> =
        paths.into_iter().map(|path| ("where", path)).collect();
    named.extend(query.group_by.iter().map(|path| ("group_by", path)));
    let aggregated = query.aggregate.iter().filter_map(|one| one.path.as_ref());
    named.extend(aggregated.map(|path| ("aggregate", path)));
    // With an aggregation, `sort` and `select` name its columns.
    if query.aggregate.is_empty() {
        let sorted = query.sort.iter().filter_map(|key| key.column.field());
        named.extend(sorted.map(|path| ("sort", path)));
        let selected = query.select.iter().filter_map(|column| column.field());
        named.extend(selected.map(|path| ("select", path)));
    }
    let mut once: Vec<(&'static str, &Path)> = Vec::new();
    for one in named {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}

/// Returns a note about a field that no row has.
pub(super) fn unknown_field(argument: &str, name: &str, known: &[String]) -> String {
    let near = fields::nearest(name, known);
    let hint = match near.is_empty() {
        false => format!("did you mean {}?", near.join(", ")),
        true => {
            let more = if known.len() > FIELDS_NAMED {
                ", …"
            } else {
                ""
            };
            let named: Vec<&str> = known
                .iter()
                .take(FIELDS_NAMED)
                .map(|n| n.as_str())
                .collect();
            format!("fields: {}{more}", named.join(", "))
        }
    };
    format!("no row has '{name}' ({argument}); {hint}")
}
