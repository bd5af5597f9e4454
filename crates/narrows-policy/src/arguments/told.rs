//! How names, places and values are told back: never longer than it helps.

use std::io;

use serde_json::Value;

/// The most characters of a name or a value in a message.
const MAX_CHARS: usize = 80;

/// The most characters of a place beside a message.
const MAX_POINTER: usize = 400;

/// The most values that are offered for a choice.
const MAX_OPTIONS: usize = 10;

/// The text, or as much of it as helps.
pub(super) fn cut(text: &str) -> String {
    cut_to(text, MAX_CHARS)
}

/// A JSON pointer that a peer's names cannot make endless.
pub(super) fn pointer(pointer: &str) -> String {
    cut_to(pointer, MAX_POINTER)
}

/// The place as the subject of a sentence: `'filters/0/kind'`.
pub(super) fn place(pointer: &str) -> String {
    match pointer.strip_prefix('/') {
        Some(path) => format!("'{}'", cut(&path.replace("~1", "/").replace("~0", "~"))),
        None => "The arguments".into(),
    }
}

/// The pointer to a member of what `pointer` points to.
pub(super) fn member(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// A value as JSON, cut. Large ones are not rendered whole only to be cut.
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

/// `"a", "b", "c"`, the first few of many.
pub(super) fn options<'v>(options: impl IntoIterator<Item = &'v Value>) -> String {
    let mut all = options.into_iter();
    let shown: Vec<String> = all.by_ref().take(MAX_OPTIONS).map(value).collect();
    match all.count() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// `1 item`, `5 items`
pub(super) fn count(n: u64, thing: &str) -> String {
    match n {
        1 => format!("1 {thing}"),
        _ => format!("{n} {thing}s"),
    }
}

/// Takes the start of a text and fails when there is more.
struct Start(Vec<u8>);

impl io::Write for Start {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Four bytes at most make a character.
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
