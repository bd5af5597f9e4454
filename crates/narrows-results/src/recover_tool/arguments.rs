//! Lenient parsing of the arguments of `recover_text`. Models use other names, write numbers as
//! strings, and write lists in many forms. Unambiguous arguments are accepted; others are refused
//! with the corrected call.

use narrows_shape::query::{Invalid, Query, Request};
use narrows_wire::{Kind, Raw};
use serde_json::{Map, Value};

use super::argument_error::ArgumentError;
use super::convert::{self, Arguments};
use super::ranges;

/// The limits of `max_chars`.
const MIN_CHARS: u64 = 500;
const MAX_CHARS: u64 = 200_000;

/// The names of all arguments.
pub(super) const NAMES: [&str; 21] = [
    "prune_id",
    "query",
    "context",
    "ranges",
    "head",
    "tail",
    "start_char",
    "end_char",
    "count_only",
    "limit",
    "where",
    "select",
    "sort",
    "group_by",
    "aggregate",
    "rows",
    "diff_with",
    "include_line_numbers",
    "max_chars",
    "cursor",
    "expression",
];

/// Aliases of the arguments, in lower case and without `_` and `-`. `expression` is a query that
/// consists of a regular expression without slashes.
const ALIASES: [(&str, &str); 58] = [
    ("id", "prune_id"),
    ("receipt", "prune_id"),
    ("receiptid", "prune_id"),
    ("pattern", "query"),
    ("search", "query"),
    ("grep", "query"),
    ("q", "query"),
    ("words", "query"),
    ("text", "query"),
    ("find", "query"),
    ("regex", "expression"),
    ("regexp", "expression"),
    ("contextlines", "context"),
    ("around", "context"),
    ("lines", "ranges"),
    ("range", "ranges"),
    ("linerange", "ranges"),
    ("lineranges", "ranges"),
    ("line", "ranges"),
    ("first", "head"),
    ("headlines", "head"),
    ("last", "tail"),
    ("taillines", "tail"),
    ("charstart", "start_char"),
    ("startchars", "start_char"),
    ("charend", "end_char"),
    ("endchars", "end_char"),
    ("count", "count_only"),
    ("onlycount", "count_only"),
    ("max", "limit"),
    ("maxresults", "limit"),
    ("maxmatches", "limit"),
    ("maxrows", "limit"),
    ("maxlines", "limit"),
    ("top", "limit"),
    ("filter", "where"),
    ("condition", "where"),
    ("fields", "select"),
    ("columns", "select"),
    ("orderby", "sort"),
    ("sortby", "sort"),
    ("group", "group_by"),
    ("aggregates", "aggregate"),
    ("aggregation", "aggregate"),
    ("agg", "aggregate"),
    ("path", "rows"),
    ("rowspath", "rows"),
    ("rowpath", "rows"),
    ("jsonpath", "rows"),
    ("diff", "diff_with"),
    ("compare", "diff_with"),
    ("comparewith", "diff_with"),
    ("linenumbers", "include_line_numbers"),
    ("numbers", "include_line_numbers"),
    ("maxcharacters", "max_chars"),
    ("maxlength", "max_chars"),
    ("nextcursor", "cursor"),
    ("page", "cursor"),
];

/// Arguments for the ends of a range, which some models use instead of `ranges`.
const ENDS: [(&str, &str); 6] = [
    ("startline", "start"),
    ("start", "start"),
    ("from", "start"),
    ("endline", "end"),
    ("end", "end"),
    ("to", "end"),
];

/// Parses the arguments and returns them under their canonical names. Empty values are omitted.
pub(super) fn canonical(raw: Option<&Raw>) -> Result<Arguments, ArgumentError> {
    let Some(raw) = raw else {
        return Ok(Map::new());
    };
    // Some clients send the object as a string.
    let inner = raw
        .as_text()
        .map(|text| Raw::parse(text.into_owned().into()));
    let raw = match inner {
        Some(Ok(inner)) => inner,
        _ => raw.clone(),
    };
    if raw.kind() != Kind::Object {
        return Err("The arguments must be an object".to_owned().into());
    }
    let mut given = Map::new();
    let mut ends: Map<String, Value> = Map::new();
    for (name, value) in raw.members() {
        let value: Value = value
            .decode()
            .map_err(|_| format!("Argument '{name}' contains half of a surrogate pair"))?;
        if is_nothing(&value) {
            continue;
        }
        let folded = fold(&name);
        if let Some((_, end)) = ENDS.iter().find(|(other, _)| *other == folded) {
            ends.insert((*end).to_owned(), value);
            continue;
        }
        let Some(known) = known(&folded) else {
            return Err(unknown(&name, &raw));
        };
        // In many interfaces, 0 means no limit.
        if matches!(known, "limit" | "max_chars") && convert::whole(&value) == Some(0) {
            continue;
        }
        if given.insert(known.to_owned(), value).is_some() {
            return Err(format!("Argument '{known}' is given twice").into());
        }
    }
    if !ends.is_empty() {
        if given.contains_key("ranges") {
            return Err("Set the lines only once, in 'ranges'".to_owned().into());
        }
        given.insert("ranges".to_owned(), Value::Object(ends));
    }
    read_marker(&mut given)?;
    Ok(given)
}

/// Converts ranges copied from markers, which say `rows 5-9` for arrays and `chars 5-9` inside a
/// line.
fn read_marker(given: &mut Arguments) -> Result<(), ArgumentError> {
    let Some(Value::String(text)) = given.get("ranges") else {
        return Ok(());
    };
    let text = text.trim().to_owned();
    if text.starts_with("rows") {
        given.entry("rows").or_insert(Value::Bool(true));
    } else if let Some(chars) = text.strip_prefix("chars") {
        let range = ranges::read(&Value::String(chars.to_owned()))?;
        let [(start, end)] = range[..] else {
            return Err("Only one range of characters is allowed per call"
                .to_owned()
                .into());
        };
        given.remove("ranges");
        given.insert("start_char".to_owned(), start.into());
        given.insert("end_char".to_owned(), end.into());
    }
    Ok(())
}

/// Returns true for `null` and blank strings, which some clients send for every unused argument.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        _ => false,
    }
}

fn fold(name: &str) -> String {
    let letters = name
        .chars()
        .filter(|letter| !matches!(letter, '_' | '-' | ' '));
    letters.flat_map(char::to_lowercase).take(40).collect()
}

fn known(folded: &str) -> Option<&'static str> {
    let own = NAMES.iter().find(|name| fold(name) == folded);
    let other = ALIASES.iter().find(|(other, _)| *other == folded);
    own.copied().or_else(|| other.map(|(_, name)| *name))
}

/// Refuses an unknown name and suggests the call with the most similar known name.
fn unknown(name: &str, raw: &Raw) -> ArgumentError {
    let takes = NAMES[..NAMES.len() - 1].join(", ");
    let name: String = name.chars().take(60).collect();
    let others = ALIASES.iter().map(|(other, _)| *other);
    let near = nearest(&name, NAMES.into_iter().chain(others));
    let near = near.and_then(|near| known(&fold(near)));
    let corrected = near.and_then(|near| {
        let arguments: Map<String, Value> = raw.decode().ok()?;
        let renamed = arguments
            .into_iter()
            .map(|(other, value)| match other == name {
                true => (near.to_owned(), value),
                false => (other, value),
            });
        Some(Value::Object(renamed.collect()))
    });
    let hint = near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
    let end = if hint.is_empty() { "." } else { "" };
    ArgumentError {
        message: format!("Unknown argument '{name}'{hint}{end} Known arguments: {takes}"),
        corrected,
        is_condition: false,
    }
}

/// Returns the name most similar to `wanted`, if any is similar enough.
fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let scored = names.map(|name| (strsim::jaro_winkler(wanted, name), name));
    let scored = scored.filter(|(score, _)| *score > 0.7);
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)));
    best.map(|(_, name)| name)
}

/// Validated arguments, independent of the text that they apply to.
#[derive(Debug, Clone)]
pub(super) struct RecoverQuery {
    pub(super) query: Query,
    /// The maximum number of characters of the answer.
    pub(super) max_chars: Option<usize>,
    /// The receipt of the text to compare with.
    pub(super) diff_with: Option<String>,
    /// The arguments, as repeated in a cursor.
    pub(super) arguments: Arguments,
}

impl RecoverQuery {
    /// Validates canonical arguments without receipt and cursor.
    pub(super) fn check(given: Arguments) -> Result<RecoverQuery, ArgumentError> {
        let request = request(&given)?;
        let max_chars = convert::number(&given, "max_chars")?;
        let mut arguments = given;
        let query = request
            .check()
            .map_err(|error| invalid(error, &arguments))?;
        let diff_with = convert::text(&arguments, "diff_with")?;
        arguments.remove("max_chars");
        Ok(RecoverQuery {
            query,
            max_chars: max_chars.map(|chars| chars.clamp(MIN_CHARS, MAX_CHARS) as usize),
            diff_with,
            arguments,
        })
    }
}

fn request(given: &Arguments) -> Result<Request, ArgumentError> {
    let number = |name| convert::number(given, name);
    let signed = |name| number(name).map(|n| n.map(|n| i64::try_from(n).unwrap_or(i64::MAX)));
    let count = |name| number(name).map(|n| n.map(|n| usize::try_from(n).unwrap_or(usize::MAX)));
    // An empty list of ranges is ignored if another argument selects a part.
    let others = ["start_char", "end_char", "head", "tail", "query", "where"];
    let is_empty = |value: &&Value| value.as_array().is_some_and(Vec::is_empty);
    let has_others = others.iter().any(|name| given.contains_key(*name));
    let ranges = given.get("ranges");
    let ranges = ranges.filter(|ranges| !(has_others && is_empty(ranges)));
    Ok(Request {
        ranges: ranges.map(ranges::read).transpose()?,
        head: count("head")?,
        tail: count("tail")?,
        start_char: signed("start_char")?,
        end_char: signed("end_char")?,
        query: convert::query(given)?,
        context: count("context")?.unwrap_or(0),
        count_only: convert::flag(given, "count_only")?.unwrap_or(false),
        limit: count("limit")?,
        numbers: convert::flag(given, "include_line_numbers")?,
        rows: convert::rows(given)?,
        condition: convert::condition(given)?,
        select: convert::list(given, "select")?,
        sort: convert::list(given, "sort")?,
        aggregate: convert::aggregate(given)?,
        group_by: convert::list(given, "group_by")?,
        diff: given.contains_key("diff_with"),
    })
}

fn invalid(error: Invalid, given: &Arguments) -> ArgumentError {
    ArgumentError {
        message: error.to_string(),
        corrected: corrected(&error, given).map(Value::Object),
        is_condition: error.argument == "where",
    }
}

/// Returns the arguments with the invalid one as it was probably meant, or without those that
/// conflict with it.
fn corrected(error: &Invalid, given: &Arguments) -> Option<Arguments> {
    let mut corrected = given.clone();
    if let Some(text) = &error.corrected {
        corrected.insert(error.argument.to_owned(), text.as_str().into());
        return Some(corrected);
    }
    match error.argument {
        "start_char" => corrected.retain(|name, _| !matches!(&**name, "start_char" | "end_char")),
        "ranges" => corrected.retain(|name, _| !matches!(&**name, "head" | "tail")),
        "diff_with" => corrected.retain(|name, _| {
            matches!(
                &**name,
                "diff_with" | "query" | "context" | "limit" | "count_only"
            )
        }),
        _ => {}
    }
    (corrected.len() < given.len()).then_some(corrected)
}
