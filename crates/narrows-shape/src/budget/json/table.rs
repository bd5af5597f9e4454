//! Writes TOON with a marker in place of each cut.
//!
//! A marker among the rows of a table would end the table format. A stand-in row with the same
//! fields therefore replaces the cut while the text is written, and the marker then replaces the
//! line of that row. The row count in the table header is the count of the original.

use super::plan::{self, CutKind};
use super::tree::NodeKind;
use super::{JsonDraft, render};
use crate::json::string_end;
use crate::toon;

/// Returns the text as TOON, or `None` if the markers cannot be placed.
pub(super) fn as_toon(draft: &JsonDraft<'_>) -> Option<String> {
    let markers: Vec<String> = draft.gaps().iter().map(|gap| gap.short()).collect();
    let mut next = markers.iter();
    let text = draft.noted.text.as_str();
    let data = render(draft.noted, draft.cuts, |cut| {
        let marker = next.next()?;
        Some(match cut.what {
            CutKind::Children {
                kind: NodeKind::Array,
                ..
            } => stand_in(&text[cut.span.clone()], marker),
            _ => plan::in_json(&cut.what, marker),
        })
    });
    let mut lines: Vec<String> = toon::encode(&data)
        .ok()?
        .split('\n')
        .map(str::to_owned)
        .collect();
    let mut from = 0;
    for (cut, marker) in draft.cuts.iter().zip(&markers) {
        let CutKind::Children {
            kind: NodeKind::Array,
            container,
            total,
            ..
        } = cut.what
        else {
            continue;
        };
        let at = from
            + lines
                .get(from..)?
                .iter()
                .position(|line| stands_for(line, marker))?;
        let indent = lines[at].len() - lines[at].trim_start().len();
        let item = if lines[at].trim_start().starts_with("- ") {
            "- "
        } else {
            ""
        };
        lines[at] = format!("{}{item}{marker}", &lines[at][..indent]);
        let written = rows_written(draft, container, total);
        set_count(&mut lines, at, indent, written, total)?;
        from = at + 1;
    }
    Some(lines.join("\n"))
}

/// Returns a row with the same keys as the cut one and the marker as every value, or the marker as
/// a string if the rows are not objects of scalar values.
fn stand_in(row: &str, marker: &str) -> String {
    // Serialising a string to JSON cannot fail.
    let marker = serde_json::to_string(marker).unwrap_or_default();
    match keys(row) {
        Some(keys) => {
            let members: Vec<String> = keys.iter().map(|key| format!("{key}:{marker}")).collect();
            format!("{{{}}}", members.join(","))
        }
        None => marker,
    }
}

/// Returns the keys of the object at the beginning of a text, if all its values are scalars.
fn keys(row: &str) -> Option<Vec<&str>> {
    let bytes = row.as_bytes();
    let mut keys = Vec::new();
    let mut at = 1;
    if bytes.first() != Some(&b'{') {
        return None;
    }
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = string_end(bytes, at);
                if bytes.get(end) == Some(&b':') {
                    keys.push(row.get(at..end)?);
                }
                at = end;
            }
            b'{' | b'[' => return None,
            b'}' => return (!keys.is_empty()).then_some(keys),
            _ => at += 1,
        }
    }
    None
}

fn stands_for(line: &str, marker: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("- ").unwrap_or(line);
    let line = line.trim_start_matches('"');
    line.strip_prefix(marker).is_some_and(|rest| {
        let rest = rest.trim_start_matches('"');
        rest.is_empty() || rest.starts_with(',')
    })
}

/// Returns the number of rows written for a container of `total` rows, including markers.
fn rows_written(draft: &JsonDraft<'_>, of: usize, total: usize) -> usize {
    let gone = draft.cuts.iter().filter_map(|cut| match cut.what {
        CutKind::Children {
            container,
            first,
            last,
            ..
        } if container == of => Some(last - first),
        _ => None,
    });
    total - gone.sum::<usize>()
}

/// Sets the number of rows in the header of the table that contains a line.
fn set_count(
    lines: &mut [String],
    at: usize,
    indent: usize,
    written: usize,
    total: usize,
) -> Option<()> {
    let is_outside = |line: &&mut String| {
        let depth = line.len() - line.trim_start().len();
        depth < indent || indent == 0
    };
    let head = lines[..at].iter_mut().rev().find(is_outside)?;
    let start = count_start(head)?;
    let end = start + head[start..].find(']')?;
    let count: usize = head[start..end].parse().ok()?;
    if count == written {
        head.replace_range(start..end, &total.to_string());
    }
    // An earlier marker of the same table may have set the count already.
    (count == written || count == total).then_some(())
}

/// Returns the position after the first bracket outside strings.
fn count_start(head: &str) -> Option<usize> {
    let bytes = head.as_bytes();
    let mut at = 0;
    loop {
        match bytes.get(at)? {
            b'[' => return Some(at + 1),
            b'"' => at = string_end(bytes, at),
            _ => at += 1,
        }
    }
}
