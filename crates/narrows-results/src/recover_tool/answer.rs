//! The form of an answer: one line of metadata, then the text of one page.

use std::time::{Duration, Instant};

use narrows_shape::prune::Deadline;
use narrows_shape::query::{Answer, Query, QueryLimits, Refused, page};
use narrows_wire::Raw;
use serde_json::{Value, json};

/// The member of a result's `_meta` with the same metadata for programs.
const META: &str = "narrows/selection";

/// The maximum number of ranges in `_meta`.
const MAX_RANGES: usize = 100;

/// The time limit of a query. `DIFF_TIME` is the part of it for comparing two texts.
pub const QUERY_TIME: Duration = Duration::from_secs(3);
const DIFF_TIME: Duration = Duration::from_secs(1);

/// Applies a query within the time limit.
pub(super) fn apply<'a>(
    query: &Query,
    text: &'a str,
    other: Option<&str>,
) -> Result<Answer<'a>, Refused> {
    let began = Instant::now();
    let passed = || began.elapsed() > QUERY_TIME;
    let limits = QueryLimits {
        deadline: &Deadline::new(&passed),
        diff_until: began.checked_add(DIFF_TIME),
    };
    query.apply(text, other, &limits)
}

/// One page of an answer.
pub(super) struct Page {
    /// The line of metadata and the text.
    pub(super) text: String,
    pub(super) next_cursor: Option<String>,
}

impl Page {
    /// Formats the page that starts at `offset`, in at most `max_chars` characters; `None` if no
    /// page starts there. `cursor` creates the cursor of the page at a given offset.
    pub(super) fn write(
        answer: &Answer<'_>,
        offset: usize,
        max_chars: usize,
        cursor: impl Fn(usize) -> String,
    ) -> Option<Page> {
        let whole = answer.head(None);
        let rest = answer.body.get(offset..)?;
        let fits = whole.chars().count() + 1 + rest.chars().count() <= max_chars;
        if fits {
            return Some(Page {
                text: joined(whole, rest),
                next_cursor: None,
            });
        }
        // Reserve space for the longest possible cursor.
        let longest = answer.head(Some(&cursor(usize::MAX))).chars().count();
        let room = max_chars.saturating_sub(longest + 1);
        let range = page(&answer.body, offset, room)?;
        let next_cursor = (range.end < answer.body.len()).then(|| cursor(range.end));
        Some(Page {
            text: joined(answer.head(next_cursor.as_deref()), &answer.body[range]),
            next_cursor,
        })
    }
}

fn joined(head: String, body: &str) -> String {
    match body.is_empty() {
        true => head,
        false => head + "\n" + body,
    }
}

/// Builds the result of a call. The text is only in `content`, because some models read `content`
/// and others `structuredContent`. The metadata for programs is in `_meta`.
pub(super) fn result(receipt: &str, answer: &Answer<'_>, page: &Page) -> Raw {
    let ranges: Vec<Value> = answer
        .spans
        .iter()
        .take(MAX_RANGES)
        .map(|span| json!([span.start, span.end]))
        .collect();
    let mut facts = json!({
        "prune_id": receipt,
        "unit": answer.unit.as_str(),
        "total": answer.total,
        "ranges": ranges,
    });
    if let Some(matched) = answer.matched {
        facts["matched"] = matched.into();
    }
    if !answer.notes.is_empty() {
        facts["notes"] = json!(answer.notes);
    }
    if let Some(cursor) = &page.next_cursor {
        facts["next_cursor"] = cursor.as_str().into();
    }
    Raw::from_serialize(&json!({
        "content": [{ "type": "text", "text": page.text }],
        "_meta": { META: facts },
    }))
}
