//! Queries on a text: lines, characters or rows, filtered, counted and aggregated.
//!
//! A [`Request`] holds the arguments as given, [`Request::check`] turns it into a [`Query`] without
//! access to a text, and [`Query::apply`] answers the query for a text. The time is linear in the
//! size of the text and bounded by the deadline. The caller provides the clock.

mod aggregate;
mod condition;
mod decimal;
mod diff;
mod document;
mod error;
mod fields;
mod header;
mod json;
mod lexer;
mod list;
mod pace;
mod page;
mod path;
mod pattern;
mod rows;
mod span;
mod table;
#[cfg(test)]
mod tests;
mod text;

use std::borrow::Cow;
use std::time::Instant;

use self::aggregate::Aggregate;
use self::condition::Condition;
pub use self::error::{Invalid, Refused};
pub use self::fields::{fields, nearest};
use self::lexer::Lexer;
use self::list::SortKey;
pub use self::page::page;
use self::path::Path;
use self::pattern::Pattern;
pub use self::span::ScannedRange;
use crate::prune::Deadline;

/// The largest selection in bytes. Ranges may overlap, and a short request must not produce an
/// unlimited text.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The longest line in bytes that is shown as a whole. In longer lines, only the characters around
/// a match are shown.
const LONG_LINE: usize = 4_000;

/// The maximum number of characters of the head line, not counting a cursor.
const MAX_HEAD: usize = 800;

const MAX_CONTEXT: usize = 100;
const MAX_RANGES: usize = 1_000;

/// The arguments of a query, as given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// The first and last line or row of each range, counted from 1.
    pub ranges: Option<Vec<(i64, i64)>>,
    pub head: Option<usize>,
    pub tail: Option<usize>,
    /// The first and last character, counted from 1.
    pub start_char: Option<i64>,
    pub end_char: Option<i64>,
    /// Words, `"phrases"` and `/expressions/`, all of which must match.
    pub query: Option<String>,
    /// The number of lines to show around each match.
    pub context: usize,
    pub count_only: bool,
    pub limit: Option<usize>,
    /// Numbers before lines or rows. By default, rows, lines found by a search, and several ranges
    /// of lines are numbered.
    pub numbers: Option<bool>,
    /// The path of the array whose elements are the rows. If empty, the rows are located
    /// automatically.
    pub rows: Option<String>,
    /// The `where` argument.
    pub condition: Option<String>,
    pub select: Option<String>,
    pub sort: Option<String>,
    pub aggregate: Option<String>,
    pub group_by: Option<String>,
    /// Compares with an earlier text.
    pub diff: bool,
}

/// A validated query.
#[derive(Debug, Clone)]
pub struct Query {
    part: QueryRange,
    pattern: Option<Pattern>,
    context: usize,
    count_only: bool,
    limit: Option<usize>,
    numbers: Option<bool>,
    kind: QueryKind,
}

/// The lines, rows or characters to read.
#[derive(Debug, Clone)]
enum QueryRange {
    Whole,
    Ranges(Vec<(i64, i64)>),
    /// The number of first and of last lines or rows.
    Ends(usize, usize),
    Chars(i64, i64),
}

#[derive(Debug, Clone)]
enum QueryKind {
    Lines,
    Rows(Box<RowQuery>),
    Diff,
}

/// The part of a query that applies only to rows.
#[derive(Debug, Clone, Default)]
struct RowQuery {
    rows: Option<Path>,
    condition: Option<Condition>,
    select: Vec<list::Column>,
    sort: Vec<SortKey>,
    aggregate: Vec<Aggregate>,
    group_by: Vec<Path>,
}

/// Limits on the time spent on one text.
pub struct QueryLimits<'a> {
    pub deadline: &'a Deadline<'a>,
    /// The time at which the comparison of two texts gives up. The rest is then shown as replaced.
    pub diff_until: Option<Instant>,
}

/// The lines, rows or characters that a query selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<'a> {
    /// A summary of the answer: `3 of 60000 lines match`.
    pub summary: String,
    /// Further notes, each a phrase.
    pub notes: Vec<String>,
    pub body: Cow<'a, str>,
    pub unit: Unit,
    /// The number of lines, rows or characters in the text.
    pub total: usize,
    /// The number of lines or rows that match, if there was a search.
    pub matched: Option<usize>,
    /// The requested ranges, limited to the text.
    pub spans: Vec<ScannedRange>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Lines,
    Rows,
    Chars,
}

impl Unit {
    pub fn as_str(self) -> &'static str {
        match self {
            Unit::Lines => "lines",
            Unit::Rows => "rows",
            Unit::Chars => "chars",
        }
    }
}

impl Answer<'_> {
    /// Returns the line above the body, with the cursor of the next page if there is one.
    pub fn head(&self, next_cursor: Option<&str>) -> String {
        let mut said = self.summary.clone();
        for note in &self.notes {
            said.push_str("; ");
            said.push_str(note);
        }
        // Field names come from the text and may contain control characters; the head must stay on
        // one line.
        let one_line = said.chars().map(|letter| match letter {
            letter if letter.is_control() => ' ',
            letter => letter,
        });
        let mut head = String::from("⟦");
        head.extend(one_line.take(MAX_HEAD));
        if let Some(cursor) = next_cursor {
            head.push_str("; next cursor=");
            head.push_str(cursor);
        }
        head.push('⟧');
        head
    }
}

impl Request {
    /// Validates the arguments. This needs no text, so that a query can be checked before the text
    /// is loaded.
    pub fn check(self) -> Result<Query, Invalid> {
        let part = self.part()?;
        let row_query = self.row_query()?;
        let is_empty = |name: &'static str| Invalid::new(name, "must be at least 1");
        if self.limit == Some(0) {
            return Err(is_empty("limit"));
        }
        if self.context > MAX_CONTEXT {
            let message = format!("must be at most {MAX_CONTEXT}");
            return Err(Invalid::new("context", message));
        }
        let kind = match (self.diff, row_query) {
            (true, Some(_)) => {
                let message = "compares lines; omit the arguments for rows";
                return Err(Invalid::new("diff_with", message));
            }
            (true, None) => QueryKind::Diff,
            (false, Some(rows)) => QueryKind::Rows(Box::new(rows)),
            (false, None) => QueryKind::Lines,
        };
        let combines = matches!(part, QueryRange::Whole);
        if self.diff && !combines {
            let message = "compares whole texts; omit ranges, head, tail, start_char and end_char";
            return Err(Invalid::new("diff_with", message));
        }
        let is_other = self.query.is_some() || matches!(kind, QueryKind::Rows(_));
        if matches!(part, QueryRange::Chars(..)) && (is_other || self.limit.is_some()) {
            let message = "and end_char cannot be combined with other arguments; use ranges to \
                search part of the text";
            return Err(Invalid::new("start_char", message));
        }
        let pattern = self.query.as_deref().map(Pattern::parse).transpose()?;
        Ok(Query {
            part,
            pattern,
            context: self.context,
            count_only: self.count_only,
            limit: self.limit,
            numbers: self.numbers,
            kind,
        })
    }

    fn part(&self) -> Result<QueryRange, Invalid> {
        let is_chars = self.start_char.is_some() || self.end_char.is_some();
        let is_ends = self.head.is_some() || self.tail.is_some();
        let ways = [is_chars, is_ends, self.ranges.is_some()];
        if ways.iter().filter(|way| **way).count() > 1 {
            let message = "conflicts with another argument; use only one of ranges, head/tail and \
                start_char/end_char";
            let argument = if is_chars { "start_char" } else { "ranges" };
            return Err(Invalid::new(argument, message));
        }
        if is_chars {
            let (start, end) = (self.start_char, self.end_char);
            return Ok(QueryRange::Chars(
                start.unwrap_or(1),
                end.unwrap_or(i64::MAX),
            ));
        }
        if is_ends {
            return Ok(QueryRange::Ends(
                self.head.unwrap_or(0),
                self.tail.unwrap_or(0),
            ));
        }
        match &self.ranges {
            Some(ranges) if ranges.len() > MAX_RANGES => {
                let message = format!("must have at most {MAX_RANGES} entries");
                Err(Invalid::new("ranges", message))
            }
            Some(ranges) => Ok(QueryRange::Ranges(ranges.clone())),
            None => Ok(QueryRange::Whole),
        }
    }

    fn row_query(&self) -> Result<Option<RowQuery>, Invalid> {
        let given = [
            &self.rows,
            &self.condition,
            &self.select,
            &self.sort,
            &self.aggregate,
            &self.group_by,
        ];
        if given.iter().all(|argument| argument.is_none()) {
            return Ok(None);
        }
        let text = |argument: &Option<String>| argument.as_deref().unwrap_or("").trim().to_owned();
        let mut query = RowQuery {
            rows: rows_path(&text(&self.rows))?,
            condition: match text(&self.condition).as_str() {
                "" => None,
                text => Some(condition::parse(text)?),
            },
            select: list::columns("select", &text(&self.select))?,
            sort: list::sort(&text(&self.sort))?,
            aggregate: list::aggregates(&text(&self.aggregate))?,
            group_by: list::paths("group_by", &text(&self.group_by))?,
        };
        if !query.group_by.is_empty() && query.aggregate.is_empty() {
            query.aggregate.push(Aggregate::count());
        }
        list::check_columns(&query)?;
        Ok(Some(query))
    }
}

/// Parses the path of the rows. An empty path, `.` and `$` select the rows that are located
/// automatically.
fn rows_path(text: &str) -> Result<Option<Path>, Invalid> {
    if matches!(text, "" | "." | "$" | "[]" | ".[]" | "$[*]") {
        return Ok(None);
    }
    let text = text.trim_end_matches("[*]").trim_end_matches("[]");
    let mut lexer = Lexer::new("rows", text)?;
    let path = Path::parse(&mut lexer)?;
    let next = lexer.next()?;
    match next.token {
        lexer::QueryToken::End => Ok(Some(path)),
        _ => Err(lexer.expected(next.at, "one path, such as data.items")),
    }
}

impl Query {
    /// Answers the query for a text. `other` is the earlier text of `diff_with`.
    pub fn apply<'a>(
        &self,
        text: &'a str,
        other: Option<&str>,
        limits: &QueryLimits<'_>,
    ) -> Result<Answer<'a>, Refused> {
        match &self.kind {
            QueryKind::Diff => diff::apply(self, text, other.unwrap_or(""), limits),
            QueryKind::Rows(query) => {
                let rows = rows::find(text, query.rows.as_ref())?;
                table::apply(self, query, text, &rows, limits.deadline)
            }
            QueryKind::Lines => match document::apply(self, text, limits)? {
                Some(answer) => Ok(answer),
                None => text::apply(self, text, limits.deadline),
            },
        }
    }

    /// Returns the condition as it was parsed.
    #[doc(hidden)]
    pub fn condition(&self) -> Option<String> {
        match &self.kind {
            QueryKind::Rows(rows) => rows.condition.as_ref().map(ToString::to_string),
            _ => None,
        }
    }
}
