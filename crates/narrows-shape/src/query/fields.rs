//! Collects the fields of rows, to suggest corrections for misspelt ones.

use std::collections::HashSet;

use super::json::{Json, tree};
use super::path::{Path, Step};
use super::rows::{self, Row};

/// Limits on the rows and bytes that are read, and on the fields found.
const MAX_ROWS: usize = 1_000;
const MAX_BYTES: usize = 512 * 1024;
const MAX_FIELDS: usize = 60;

/// The deepest level of nested objects whose fields are included.
const MAX_DEPTH: usize = 3;

/// Returns the fields of a text's rows in order of appearance, or nothing if it has no rows. `rows`
/// is the path of their array.
pub fn fields(text: &str, rows: Option<&str>) -> Vec<String> {
    let path = super::rows_path(rows.unwrap_or("").trim()).ok().flatten();
    match rows::find(text, path.as_ref()) {
        Ok(rows) => of_rows(&rows.rows),
        Err(_) => Vec::new(),
    }
}

pub(super) fn of_rows(rows: &[Row<'_>]) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut fields = Vec::new();
    let mut bytes = 0;
    for row in rows.iter().take(MAX_ROWS) {
        bytes += row.text.len();
        if bytes > MAX_BYTES && row.number > 1 {
            break;
        }
        collect(&tree(row.text), &mut Path::default(), &mut |path| {
            if seen.insert(path.clone()) {
                fields.push(path);
            }
            fields.len() < MAX_FIELDS
        });
    }
    fields
}

/// Calls `add` with every field until it returns `false`.
fn collect(value: &Json<'_>, path: &mut Path, add: &mut dyn FnMut(String) -> bool) -> bool {
    let Json::Object(members) = value else {
        return true;
    };
    for (key, value) in members {
        path.steps.push(Step::Key(key.clone().into_owned()));
        let goes_on =
            add(path.to_string()) && (path.steps.len() >= MAX_DEPTH || collect(value, path, add));
        path.steps.pop();
        if !goes_on {
            return false;
        }
    }
    true
}

/// Returns up to three names in `known` that are most similar to `wanted`, the best first.
pub fn nearest<'k>(wanted: &str, known: &'k [String]) -> Vec<&'k str> {
    let folded = |name: &str| -> String {
        let letters = name.chars().filter(|letter| letter.is_alphanumeric());
        letters.flat_map(char::to_lowercase).take(100).collect()
    };
    let wanted = folded(wanted);
    let likeness = |name: &str| {
        let last = name.rsplit('.').next().unwrap_or(name);
        let whole = strsim::jaro_winkler(&wanted, &folded(name));
        whole.max(strsim::jaro_winkler(&wanted, &folded(last)))
    };
    let mut scored: Vec<(f64, &str)> = known
        .iter()
        .map(|name| (likeness(name), name.as_str()))
        .filter(|(score, _)| *score > 0.75)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}
