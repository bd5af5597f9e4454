//! Queries on a text: lines, characters or rows, filtered, counted and summed.
//!
//! A [`Request`] holds arguments as they were given, [`Request::check`] makes a
//! [`Query`] of it without knowing any text, and [`Query::apply`] answers it for
//! one. Everything is linear in the text and bounded by the deadline; the clock
//! stays with the caller.

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
pub use self::span::Span;
use crate::prune::Deadline;

/// Bytes that one selection may have. Ranges may overlap, and a short request
/// must not make a text without end.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Longer lines are shown by the characters around a match.
const LONG_LINE: usize = 4_000;

/// Characters of the line about an answer, besides a cursor.
const MAX_HEAD: usize = 800;

const MAX_CONTEXT: usize = 100;
const MAX_RANGES: usize = 1_000;

/// The arguments of a query, as they were given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// First and last line or row, counted from 1.
    pub ranges: Option<Vec<(i64, i64)>>,
    pub head: Option<usize>,
    pub tail: Option<usize>,
    /// First and last character, counted from 1.
    pub start_char: Option<i64>,
    pub end_char: Option<i64>,
    /// Words, `"phrases"` and `/expressions/`, all of which must match.
    pub query: Option<String>,
    /// Lines to show around each match.
    pub context: usize,
    pub count_only: bool,
    pub limit: Option<usize>,
    /// Numbers before lines or rows; by default for rows, for lines that were
    /// searched, and for several ranges of lines.
    pub numbers: Option<bool>,
    /// The path of the array whose elements are the rows. Empty for the rows
    /// that are found without one.
    pub rows: Option<String>,
    /// The `where` argument.
    pub condition: Option<String>,
    pub select: Option<String>,
    pub sort: Option<String>,
    pub aggregate: Option<String>,
    pub group_by: Option<String>,
    /// Compare with an earlier text.
    pub diff: bool,
}

/// A checked query.
#[derive(Debug, Clone)]
pub struct Query {
    part: Part,
    pattern: Option<Pattern>,
    context: usize,
    count_only: bool,
    limit: Option<usize>,
    numbers: Option<bool>,
    kind: Kind,
}

/// The lines or rows that are looked at.
#[derive(Debug, Clone)]
enum Part {
    Whole,
    Ranges(Vec<(i64, i64)>),
    /// So many first and so many last.
    Ends(usize, usize),
    Chars(i64, i64),
}

#[derive(Debug, Clone)]
enum Kind {
    Lines,
    Rows(Box<RowQuery>),
    Diff,
}

/// The part of a query that only rows can answer.
#[derive(Debug, Clone, Default)]
struct RowQuery {
    rows: Option<Path>,
    condition: Option<Condition>,
    select: Vec<list::Column>,
    sort: Vec<SortKey>,
    aggregate: Vec<Aggregate>,
    group_by: Vec<Path>,
}

/// Bounds of the work on one text.
pub struct Limits<'a> {
    pub deadline: &'a Deadline<'a>,
    /// The moment when comparing two texts gives up; the rest is then shown as
    /// replaced.
    pub diff_until: Option<Instant>,
}

/// The lines, rows or characters that a query selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<'a> {
    /// A phrase about the answer: `3 of 60000 lines match`.
    pub summary: String,
    /// Further facts, each a phrase.
    pub notes: Vec<String>,
    pub body: Cow<'a, str>,
    pub unit: Unit,
    /// Lines, rows or characters of the text.
    pub total: usize,
    /// Lines or rows that match, if they were searched.
    pub matched: Option<usize>,
    /// The ranges that were looked at, as far as the text has them.
    pub spans: Vec<Span>,
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
    /// The line above the body, with the cursor of the next page if there is one.
    pub fn head(&self, next_cursor: Option<&str>) -> String {
        let mut said = self.summary.clone();
        for note in &self.notes {
            said.push_str("; ");
            said.push_str(note);
        }
        // Names of fields are the text's, and this is one line.
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
    /// Reads the arguments. No text is needed, so that a query can be checked
    /// before the text is there.
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
                let message = "compares lines; leave out the arguments for rows";
                return Err(Invalid::new("diff_with", message));
            }
            (true, None) => Kind::Diff,
            (false, Some(rows)) => Kind::Rows(Box::new(rows)),
            (false, None) => Kind::Lines,
        };
        let combines = matches!(part, Part::Whole);
        if self.diff && !combines {
            let message = "compares whole texts; leave out ranges, head, tail and characters";
            return Err(Invalid::new("diff_with", message));
        }
        let is_other = self.query.is_some() || matches!(kind, Kind::Rows(_));
        if matches!(part, Part::Chars(..)) && (is_other || self.limit.is_some()) {
            let message = "and end_char combine with no other argument; use ranges to search in \
                a part of the text";
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

    fn part(&self) -> Result<Part, Invalid> {
        let is_chars = self.start_char.is_some() || self.end_char.is_some();
        let is_ends = self.head.is_some() || self.tail.is_some();
        let ways = [is_chars, is_ends, self.ranges.is_some()];
        if ways.iter().filter(|way| **way).count() > 1 {
            let message = "is given beside another of ranges, head/tail and \
                start_char/end_char; give one of them";
            let argument = if is_chars { "start_char" } else { "ranges" };
            return Err(Invalid::new(argument, message));
        }
        if is_chars {
            let (start, end) = (self.start_char, self.end_char);
            return Ok(Part::Chars(start.unwrap_or(1), end.unwrap_or(i64::MAX)));
        }
        if is_ends {
            return Ok(Part::Ends(self.head.unwrap_or(0), self.tail.unwrap_or(0)));
        }
        match &self.ranges {
            Some(ranges) if ranges.len() > MAX_RANGES => {
                let message = format!("must have at most {MAX_RANGES} entries");
                Err(Invalid::new("ranges", message))
            }
            Some(ranges) => Ok(Part::Ranges(ranges.clone())),
            None => Ok(Part::Whole),
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

/// `.`, `$` and nothing are the rows that are found without a path.
fn rows_path(text: &str) -> Result<Option<Path>, Invalid> {
    if matches!(text, "" | "." | "$" | "[]" | ".[]" | "$[*]") {
        return Ok(None);
    }
    let text = text.trim_end_matches("[*]").trim_end_matches("[]");
    let mut lexer = Lexer::new("rows", text)?;
    let path = Path::parse(&mut lexer)?;
    let next = lexer.next()?;
    match next.token {
        lexer::Token::End => Ok(Some(path)),
        _ => Err(lexer.expected(next.at, "one path, such as data.items")),
    }
}

impl Query {
    /// Answers the query for a text. `other` is the earlier text of `diff_with`.
    pub fn apply<'a>(
        &self,
        text: &'a str,
        other: Option<&str>,
        limits: &Limits<'_>,
    ) -> Result<Answer<'a>, Refused> {
        match &self.kind {
            Kind::Diff => diff::apply(self, text, other.unwrap_or(""), limits),
            Kind::Rows(query) => {
                let rows = rows::find(text, query.rows.as_ref())?;
                table::apply(self, query, text, &rows, limits.deadline)
            }
            Kind::Lines => match document::apply(self, text, limits)? {
                Some(answer) => Ok(answer),
                None => text::apply(self, text, limits.deadline),
            },
        }
    }

    /// The condition, as it was understood.
    #[doc(hidden)]
    pub fn condition(&self) -> Option<String> {
        match &self.kind {
            Kind::Rows(rows) => rows.condition.as_ref().map(ToString::to_string),
            _ => None,
        }
    }
}
