//! Finds the rows of a text: JSON Lines, a top-level array, the largest array of objects, or the
//! array at a given path.

use super::error::Refused;
use super::json::{self, decode, elements, is_valid, space, value_end};
use super::path::{Path, Step};
use crate::error::NotJson;
use crate::json::string_end;

pub(super) struct Rows<'a> {
    pub(super) rows: Vec<Row<'a>>,
    /// The path of the array, unless it is the whole text.
    pub(super) path: Option<String>,
    /// The number of lines among JSON Lines that are not JSON.
    pub(super) skipped: usize,
}

/// One row in its original notation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    /// The row number, counted from 1. For JSON Lines, this is the line number.
    pub(super) number: usize,
    pub(super) text: &'a str,
}

/// Finds the rows of a text, at `path` if one is given.
pub(super) fn find<'a>(text: &'a str, path: Option<&Path>) -> Result<Rows<'a>, Refused> {
    let path = path.filter(|path| !path.steps.is_empty());
    let trimmed = text.trim_start_matches('\u{feff}').trim();
    match (is_valid(trimmed), path) {
        (Ok(()), Some(path)) => at_path(trimmed, path),
        (Ok(()), None) => in_document(trimmed),
        (Err(error), None) => json_lines(text).ok_or_else(|| {
            let why = NotJson::new(&error, trimmed);
            Refused::NoRows(format!("it is neither JSON ({why}) nor JSON Lines"))
        }),
        (Err(_), Some(path)) => {
            let why = format!("it is not one JSON document, so it has no array at '{path}'");
            Err(Refused::NoRows(why))
        }
    }
}

fn in_document(text: &str) -> Result<Rows<'_>, Refused> {
    if text.starts_with('[') {
        return Ok(of_array(text, 0, None));
    }
    match largest_array(text) {
        Some((at, path)) => Ok(of_array(text, at, Some(path.to_string()))),
        None if text.starts_with('{') => Ok(Rows {
            rows: vec![Row { number: 1, text }],
            path: None,
            skipped: 0,
        }),
        None => Err(Refused::NoRows(
            "it contains no array of objects".to_owned(),
        )),
    }
}

fn at_path<'a>(text: &'a str, path: &Path) -> Result<Rows<'a>, Refused> {
    let at = place(text, path);
    match at.filter(|at| text.as_bytes().get(*at) == Some(&b'[')) {
        Some(at) => Ok(of_array(text, at, Some(path.to_string()))),
        None => {
            let hint = match largest_array(text) {
                Some((_, path)) => format!("; its largest array of objects is at '{path}'"),
                None => String::new(),
            };
            let why = format!("there is no array at '{path}'{hint}");
            Err(Refused::NoRows(why))
        }
    }
}

pub(super) fn of_array(text: &str, at: usize, path: Option<String>) -> Rows<'_> {
    let rows = elements(text, at).into_iter().enumerate();
    let rows = rows.map(|(at, text)| Row {
        number: at + 1,
        text,
    });
    Rows {
        rows: rows.collect(),
        path: path.filter(|path| !path.is_empty()),
        skipped: 0,
    }
}

/// Returns the rows of JSON Lines. The first line must be an object, and at least half of the lines
/// must be JSON objects.
fn json_lines(text: &str) -> Option<Rows<'_>> {
    let text = text.trim_start_matches('\u{feff}');
    let lines = text.split('\n').enumerate();
    let lines = lines.map(|(at, line)| (at + 1, line.trim()));
    let mut rows = Vec::new();
    let mut skipped = 0;
    for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
        let is_row = line.starts_with('{') && json::is_valid(line).is_ok();
        match is_row {
            true => rows.push(Row { number, text: line }),
            false if rows.is_empty() => return None,
            false => skipped += 1,
        }
    }
    (!rows.is_empty() && skipped <= rows.len()).then_some(Rows {
        rows,
        path: None,
        skipped,
    })
}

/// Returns the byte offset of the value at a path. Each member is skipped at most once, so this
/// takes linear time for a path of any length.
fn place(text: &str, path: &Path) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = space(bytes, 0);
    for step in &path.steps {
        at = match (step, bytes.get(at)?) {
            (Step::Key(key), b'{') => member(text, at, key)?,
            (Step::Key(key), b'[') => element(text, at, key.parse().ok()?)?,
            (Step::Index(index), b'[') => element(text, at, *index)?,
            _ => return None,
        };
    }
    Some(at)
}

fn member(text: &str, object: usize, name: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = space(bytes, object + 1);
    while bytes.get(at) == Some(&b'"') {
        let end = string_end(bytes, at);
        let key = decode(text.get(at..end)?);
        let value = space(bytes, space(bytes, end) + 1);
        if key == name {
            return Some(value);
        }
        at = next(bytes, value_end(bytes, value));
    }
    None
}

fn element(text: &str, array: usize, index: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = space(bytes, array + 1);
    for _ in 0..index {
        if matches!(bytes.get(at)?, b']') {
            return None;
        }
        at = next(bytes, value_end(bytes, at));
    }
    (*bytes.get(at)? != b']').then_some(at)
}

/// Returns the position after the comma that follows a value.
fn next(bytes: &[u8], end: usize) -> usize {
    let at = space(bytes, end);
    match bytes.get(at) {
        Some(b',') => space(bytes, at + 1),
        _ => at,
    }
}

/// An open object or array during a scan.
struct OpenJson {
    start: usize,
    is_array: bool,
    /// The number of elements of an array so far, and of objects among them.
    elements: usize,
    objects: usize,
    /// The key of the current member.
    key: std::ops::Range<usize>,
}

impl OpenJson {
    /// Returns the path step from here to the current value.
    fn step(&self, text: &str) -> Step {
        match self.is_array {
            true => Step::Index(self.elements - 1),
            false => Step::Key(decode(&text[self.key.clone()]).into_owned()),
        }
    }
}

/// Returns the array with the most objects, or the first of several, with its path.
fn largest_array(text: &str) -> Option<(usize, Path)> {
    largest_arrays(text, 1).pop()
}

/// Finds arrays of objects in a JSON document, with their paths. The array of the main rows comes
/// first, followed by the largest ones.
pub(super) fn arrays(text: &str, count: usize) -> Vec<(usize, Path)> {
    let mut arrays = largest_arrays(text, count);
    if text.starts_with('[') {
        arrays.retain(|(start, _)| *start != 0);
        arrays.insert(0, (0, Path::default()));
        arrays.truncate(count);
    }
    arrays
}

/// Returns the arrays with the most objects, in order of size and then of position.
fn largest_arrays(text: &str, count: usize) -> Vec<(usize, Path)> {
    let mut sizes: Vec<(usize, usize)> = Vec::new();
    scan(text, |_, closed| {
        if closed.objects > 0 {
            sizes.push((closed.objects, closed.start));
        }
        true
    });
    sizes.sort_unstable_by_key(|&(objects, start)| (std::cmp::Reverse(objects), start));
    sizes.truncate(count);
    let mut arrays: Vec<(usize, Path)> = Vec::new();
    let starts = sizes.iter().map(|&(_, start)| start);
    arrays.extend(starts.map(|start| (start, Path::default())));
    let mut left = arrays.len();
    // Paths are built in a second pass, because only these arrays need them.
    scan(text, |parents, closed| {
        let array = arrays.iter_mut().find(|(start, _)| *start == closed.start);
        if let Some((_, path)) = array {
            path.steps = parents.iter().map(|parent| parent.step(text)).collect();
            left -= 1;
        }
        left > 0
    });
    arrays
}

/// Calls `closed` at the end of every array, with its enclosing objects and arrays, until it
/// returns `false`.
fn scan(text: &str, mut closed: impl FnMut(&[OpenJson], &OpenJson) -> bool) {
    let bytes = text.as_bytes();
    let mut open: Vec<OpenJson> = Vec::new();
    let mut at = space(bytes, 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'}' | b']' => {
                let Some(last) = open.pop() else { return };
                if last.is_array && !closed(&open, &last) {
                    return;
                }
                at = space(bytes, at + 1);
                continue;
            }
            b',' | b':' => {
                at = space(bytes, at + 1);
                continue;
            }
            _ => {}
        }
        let is_key = byte == b'"' && open.last().is_some_and(|last| !last.is_array);
        if is_key {
            let end = string_end(bytes, at);
            // A string in an object is a key if a colon follows it.
            let behind = space(bytes, end);
            if bytes.get(behind) == Some(&b':')
                && let Some(last) = open.last_mut()
            {
                last.key = at..end;
                at = space(bytes, behind + 1);
            } else {
                at = behind;
            }
            continue;
        }
        if let Some(last) = open.last_mut() {
            last.elements += 1;
            last.objects += usize::from(byte == b'{');
        }
        match byte {
            b'{' | b'[' => {
                open.push(OpenJson {
                    start: at,
                    is_array: byte == b'[',
                    elements: 0,
                    objects: 0,
                    key: 0..0,
                });
                at = space(bytes, at + 1);
            }
            _ => at = space(bytes, value_end(bytes, at)),
        }
    }
}
