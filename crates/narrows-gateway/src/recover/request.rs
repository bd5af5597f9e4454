//! What `recover_text` is asked, read from its arguments.

use narrows_wire::{Kind, Raw, token};

use super::NAME;
use crate::builtin::Arguments;

/// Ranges in one call; more are a mistake.
const MAX_RANGES: usize = 1_000;
const MAX_QUERY: usize = 1_000;
const CONTEXT: u64 = 2;
const MAX_CONTEXT: u64 = 100;

pub(super) struct Request {
    pub(super) receipt: String,
    pub(super) wanted: Wanted,
    pub(super) include_line_numbers: bool,
    /// Where in the selected text to begin, in bytes.
    pub(super) offset: usize,
    /// All of it but the cursor, to be asked again for the next page.
    pub(super) arguments: Raw,
}

/// Which part of the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Whole,
    /// First and last line, as they were given.
    Ranges(Vec<(i64, i64)>),
    /// First and last character.
    Chars(i64, i64),
    /// So many first and so many last lines.
    Ends {
        head: usize,
        tail: usize,
    },
    Query {
        text: String,
        context: usize,
    },
}

const KNOWN: [&str; 10] = [
    "prune_id",
    "ranges",
    "start_char",
    "end_char",
    "head",
    "tail",
    "query",
    "context",
    "include_line_numbers",
    "cursor",
];

impl Request {
    pub(super) fn read(arguments: Option<Raw>) -> Result<Request, String> {
        let raw = without_nothing(arguments.unwrap_or_else(Raw::empty_object));
        let given = Arguments::read(NAME, Some(raw.clone()), &KNOWN)?;
        let receipt = given.text("prune_id")?;
        // A cursor carries the question it continues.
        let (raw, offset) = match given.optional_text("cursor")? {
            None => (raw, 0),
            Some(cursor) => {
                let (offset, of) = token::parse_part_cursor(&cursor)
                    .map_err(|_| "The cursor is not one of ours".to_owned())?;
                if of
                    .member("prune_id")
                    .as_ref()
                    .and_then(Raw::as_text)
                    .as_deref()
                    != Some(&receipt)
                {
                    return Err("The cursor is of another prune_id".to_owned());
                }
                (of, offset)
            }
        };
        let asked = Arguments::read(NAME, Some(raw.clone()), &KNOWN)?;
        Ok(Request {
            receipt,
            wanted: wanted(&asked, &raw)?,
            include_line_numbers: asked
                .optional_flag("include_line_numbers")?
                .unwrap_or(false),
            offset,
            arguments: compact(&raw.without_member("cursor")),
        })
    }
}

/// Some clients write down every argument there is: `null` is nothing, and so
/// are no ranges where another way is given.
fn without_nothing(arguments: Raw) -> Raw {
    let names = |arguments: &Raw, is_nothing: fn(&Raw) -> bool| -> Vec<String> {
        let nothing = arguments.members().filter(|(_, value)| is_nothing(value));
        nothing.map(|(name, _)| name.into_owned()).collect()
    };
    let mut left = arguments;
    for name in names(&left, |value| value.as_bytes() == b"null") {
        left = left.without_member(&name);
    }
    let other = ["start_char", "end_char", "head", "tail", "query"];
    if other.iter().any(|name| left.member(name).is_some())
        && (left.member("ranges")).is_some_and(|ranges| ranges.elements().next().is_none())
    {
        left = left.without_member("ranges");
    }
    left
}

/// Without white space, as it goes into cursors.
fn compact(arguments: &Raw) -> Raw {
    let value = arguments.decode::<serde_json::Value>();
    value.map_or_else(|_| arguments.clone(), |value| Raw::from_serialize(&value))
}

fn wanted(asked: &Arguments<'_>, raw: &Raw) -> Result<Wanted, String> {
    let has = |name: &str| raw.member(name).is_some();
    let ways = [
        has("ranges"),
        has("start_char") || has("end_char"),
        has("head") || has("tail"),
        has("query"),
    ];
    if ways.iter().filter(|way| **way).count() > 1 {
        return Err(
            "Give one of ranges, start_char/end_char, head/tail and query, not several".to_owned(),
        );
    }
    if has("ranges") {
        return ranges(raw).map(Wanted::Ranges);
    }
    if ways[1] {
        let start = if has("start_char") {
            asked.whole("start_char")?
        } else {
            1
        };
        let end = if has("end_char") {
            asked.whole("end_char")?
        } else {
            i64::MAX
        };
        return Ok(Wanted::Chars(start, end));
    }
    if ways[2] {
        let lines = |name| match has(name) {
            true => asked.at_least(name, 1),
            false => Ok(0),
        };
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        return Ok(Wanted::Ends {
            head: count(lines("head")?),
            tail: count(lines("tail")?),
        });
    }
    if has("query") {
        let text = asked.text("query")?;
        if text.trim().is_empty() || text.chars().count() > MAX_QUERY {
            return Err(format!(
                "Argument 'query' must have 1 to {MAX_QUERY} characters"
            ));
        }
        let context = asked.number("context", 0..=MAX_CONTEXT, CONTEXT)?;
        return Ok(Wanted::Query {
            text,
            context: context as usize,
        });
    }
    Ok(Wanted::Whole)
}

/// As the schema says; models also write `"201-5012"`, which are the words of a
/// marker, or `[201, 5012]`, alone or in an array.
fn ranges(raw: &Raw) -> Result<Vec<(i64, i64)>, String> {
    let given = raw.member("ranges").unwrap_or_else(Raw::empty_object);
    let entries: Vec<Raw> = match given.kind() {
        Kind::Array if !is_pair(&given) => given.elements().take(MAX_RANGES + 1).collect(),
        _ => vec![given],
    };
    let mut ranges = Vec::new();
    for entry in entries {
        match entry.as_text() {
            Some(text) => ranges.extend(written(&text)?),
            None if entry.kind() == Kind::Array => {
                let ends: Vec<i64> = entry
                    .elements()
                    .take(3)
                    .filter_map(|end| end.as_i64())
                    .collect();
                let [start, end] = ends[..] else {
                    return Err(no_range());
                };
                ranges.push((start, end));
            }
            None if entry.kind() == Kind::Object => {
                let range = Arguments::read(NAME, Some(entry), &["start_line", "end_line"])?;
                ranges.push((range.whole("start_line")?, range.whole("end_line")?));
            }
            None => return Err(no_range()),
        }
        if ranges.len() > MAX_RANGES {
            return Err(format!(
                "Argument 'ranges' must have at most {MAX_RANGES} entries"
            ));
        }
    }
    Ok(ranges)
}

/// Two numbers, which are one range.
fn is_pair(raw: &Raw) -> bool {
    let mut ends = raw.elements();
    let is_number = |end: Option<Raw>| end.is_some_and(|end| end.kind() == Kind::Number);
    is_number(ends.next()) && is_number(ends.next()) && ends.next().is_none()
}

/// `201-5012`, `7`, or several of them.
fn written(text: &str) -> Result<Vec<(i64, i64)>, String> {
    let read = |part: &str| {
        let (start, end) = part.split_once('-').unwrap_or((part, part));
        let start = start.trim().parse().ok()?;
        Some((start, end.trim().parse().ok()?))
    };
    let ranges: Option<Vec<_>> = text.split(',').take(MAX_RANGES + 1).map(read).collect();
    ranges.ok_or_else(no_range)
}

fn no_range() -> String {
    "Argument 'ranges' must be an array of {\"start_line\", \"end_line\"}".to_owned()
}
