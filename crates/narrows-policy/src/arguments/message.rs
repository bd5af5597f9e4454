//! Formats names, locations and values for error messages, with limited lengths.

use std::io;

use serde_json::Value;

/// The maximum number of characters of a name or value in a message.
const MAX_CHARS: usize = 80;

/// The maximum number of characters of a location.
const MAX_POINTER: usize = 400;

/// The maximum number of allowed values in a message.
const MAX_OPTIONS: usize = 10;

/// Returns the text, cut to the maximum length.
pub(super) fn cut(text: &str) -> String {
    cut_to(text, MAX_CHARS)
}

/// Returns a JSON pointer, cut to a maximum length, because peers choose its names.
pub(super) fn pointer(pointer: &str) -> String {
    cut_to(pointer, MAX_POINTER)
}

/// Returns the location as the subject of a sentence: `'filters/0/kind'`.
pub(super) fn place(pointer: &str) -> String {
    match pointer.strip_prefix('/') {
        Some(path) => format!("'{}'", cut(&path.replace("~1", "/").replace("~0", "~"))),
        None => "The arguments".into(),
    }
}

/// Returns the pointer to a member of the value at `pointer`.
pub(super) fn member(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Returns a value as JSON, cut to the maximum length. Writing stops at the limit, so that large
/// values are not rendered completely.
pub(super) fn value(value: &Value) -> String {
    let mut start = Start(Vec::new());
    let is_whole = serde_json::to_writer(&mut start, value).is_ok();
    let text = String::from_utf8_lossy(&start.0);
    match is_whole {
        true => cut(&text),
        false => text
            .chars()
            .take(MAX_CHARS - 3)
            .chain("...".chars())
            .collect(),
    }
}

/// Returns the first values in the form `"a", "b", "c"`.
pub(super) fn options<'v>(options: impl IntoIterator<Item = &'v Value>) -> String {
    let mut all = options.into_iter();
    let shown: Vec<String> = all.by_ref().take(MAX_OPTIONS).map(value).collect();
    match all.count() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Returns a number with its noun: `1 item`, `5 items`.
pub(super) fn count(n: u64, thing: &str) -> String {
    match n {
        1 => format!("1 {thing}"),
        _ => format!("{n} {thing}s"),
    }
}

/// A writer that keeps the start of a text and fails once it is full.
struct Start(Vec<u8>);

impl io::Write for Start {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A UTF-8 character has at most four bytes.
        let room = (MAX_CHARS * 4).saturating_sub(self.0.len());
        let taken = bytes.len().min(room);
        self.0.extend(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn cut_to(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most - 3).chain("...".chars()).collect(),
    }
}
