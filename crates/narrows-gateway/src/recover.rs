//! Getting back what was cut: the gateway's own tool `recover_text`, and the
//! resource `narrows://receipt/{id}{?start,end}`.
//!
//! The tool takes all that the pruner's takes, and more ways to say which part
//! is wanted. Its answers are never shaped; what is longer than the budget
//! comes in pages.

mod request;
mod resource;
mod selection;
#[cfg(test)]
mod tests;

use narrows_shape::prune::Lines;
use narrows_wire::{Raw, token};
use serde::Serialize;
use serde_json::json;

use self::request::Request;
pub(crate) use self::resource::{TEMPLATE, is_receipt, read};
use self::selection::Part;
use crate::builtin::{error_result, tool_result};
use crate::recovery::{Owner, Store};

/// The tool as it is called where nothing else has this name.
pub const NAME: &str = "recover_text";

/// The same where a server has a tool of this name.
pub(crate) const OTHER_NAME: &str = "narrows_recover_text";

/// Names for it, without end: the first that nothing else has is taken.
pub(crate) fn names() -> impl Iterator<Item = String> {
    let others = (1..).map(|at| match at {
        1 => OTHER_NAME.to_owned(),
        at => format!("{OTHER_NAME}_{at}"),
    });
    std::iter::once(NAME.to_owned()).chain(others)
}

/// The tool as it is listed under `name`.
pub(crate) fn tool(name: &str) -> Raw {
    Raw::from_static(TOOL).with_member("name", &Raw::string(name))
}

const TOOL: &str = r#"{"name":"recover_text","title":"Recover cut text","description":"Gives back what ⟦narrows: … cut …⟧ stands for in an earlier result. Take prune_id from that marker and, at most one way to say which part: ranges of lines, start_char/end_char, head/tail, or query to search; without any the whole text from its start. Long answers come in pages: repeat with cursor = next_cursor.","inputSchema":{"type":"object","properties":{"prune_id":{"type":"string"},"ranges":{"type":"array","description":"Lines, counted from 1","items":{"type":"object","properties":{"start_line":{"type":"integer","minimum":1},"end_line":{"type":"integer","minimum":1}},"required":["start_line","end_line"],"additionalProperties":false}},"start_char":{"type":"integer","minimum":1,"description":"First character, counted from 1"},"end_char":{"type":"integer","minimum":1},"head":{"type":"integer","minimum":1,"description":"So many first lines"},"tail":{"type":"integer","minimum":1,"description":"So many last lines"},"query":{"type":"string","description":"Lines that hold this text, or its words"},"context":{"type":"integer","minimum":0,"maximum":100,"description":"Lines around each match (2)"},"include_line_numbers":{"type":"boolean"},"cursor":{"type":"string"}},"required":["prune_id"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}}"#;

/// Answers one call of the tool. Whatever is wrong is a result that says so:
/// models read those, and can do better.
pub(crate) fn call(
    store: &dyn Store,
    owner: &Owner,
    max_chars: usize,
    arguments: Option<Raw>,
) -> Raw {
    let wrong = |message: String| failure("invalid_params", message, json!({}));
    let request = match Request::read(arguments) {
        Ok(request) => request,
        Err(message) => return wrong(message),
    };
    if request.arguments.len() > max_chars / 4 {
        return wrong("This is too much to ask at once; ask for fewer ranges".to_owned());
    }
    let Some(text) = store.fetch(owner, &request.receipt) else {
        return not_found(&request.receipt);
    };
    let lines = Lines::new(&text);
    let selected = match selection::select(&lines, &request.wanted, request.include_line_numbers) {
        Ok(selected) => selected,
        Err(wrong) => return failure(wrong.code(), wrong.to_string(), wrong.data()),
    };
    let mut answer = Answer {
        raw_text: "",
        metadata: Metadata {
            prune_id: &request.receipt,
            ranges: &selected.parts,
            more_ranges: 0,
            line_numbering: "original",
            total_lines: lines.len(),
            total_chars: text.chars().count(),
            ends_with_newline: lines.ends_with_newline(),
            matches: selected.matches,
            // The longest there can be, to know how much room is left.
            next_cursor: Some(token::part_cursor(usize::MAX, &request.arguments)),
        },
    };
    answer.metadata.tell_fewer_ranges(max_chars / 4);
    let room = max_chars.saturating_sub(Raw::from_serialize(&answer).len());
    let Some(page) = page(&selected.text, request.offset, room) else {
        return wrong("The cursor is not one of ours".to_owned());
    };
    answer.metadata.next_cursor =
        (page.end < selected.text.len()).then(|| token::part_cursor(page.end, &request.arguments));
    answer.raw_text = &selected.text[page];
    tool_result(&Raw::from_serialize(&answer))
}

/// The same for what is unknown, expired and another's.
fn not_found(receipt: &str) -> Raw {
    let message = "Nothing is kept under this prune_id, or not any more; call the tool again \
        that gave the text";
    let data = json!({ "prune_id": receipt.chars().take(100).collect::<String>() });
    failure("prune_id_not_found", message.to_owned(), data)
}

fn failure(code: &str, message: String, data: serde_json::Value) -> Raw {
    let mut said = json!({ "code": code });
    if let (Some(said), Some(data)) = (said.as_object_mut(), data.as_object()) {
        said.extend(data.clone());
        said.insert("message".into(), message.into());
    }
    error_result(&said.to_string())
}

/// The bytes of the selected text that take `room` characters, from `offset` on;
/// `None` if nothing can begin there. A page ends with a line where that does
/// not leave it half empty.
fn page(text: &str, offset: usize, room: usize) -> Option<std::ops::Range<usize>> {
    let rest = text.get(offset..)?;
    let mut room = room.max(1);
    let mut end = rest.len();
    let mut line_end = None;
    for (at, letter) in rest.char_indices() {
        let size = written(letter);
        if size > room && at > 0 {
            end = line_end.filter(|&line_end| line_end > at / 2).unwrap_or(at);
            break;
        }
        room = room.saturating_sub(size);
        if letter == '\n' {
            line_end = Some(at + 1);
        }
    }
    Some(offset..offset + end)
}

/// The characters that one takes in the JSON of an answer.
fn written(letter: char) -> usize {
    match letter {
        '\n' | '\r' | '\t' | '"' | '\\' | '\u{8}' | '\u{c}' => 2,
        '\0'..' ' => 6,
        _ => 1,
    }
}

/// As the pruner's tool answers, and some more.
#[derive(Serialize)]
struct Answer<'a> {
    raw_text: &'a str,
    metadata: Metadata<'a>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    prune_id: &'a str,
    /// What was asked for, as far as it is in the text.
    ranges: &'a [Part],
    /// How many are not among them.
    #[serde(skip_serializing_if = "is_zero")]
    more_ranges: usize,
    line_numbering: &'static str,
    total_lines: usize,
    total_chars: usize,
    ends_with_newline: bool,
    /// How often the query was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl Metadata<'_> {
    /// So many matches that telling where they are would take more than `room`
    /// are not told one by one.
    fn tell_fewer_ranges(&mut self, room: usize) {
        let mut left = room;
        let told = self.ranges.iter().take_while(|part| {
            let size = Raw::from_serialize(part).len() + 1;
            let fits = size <= left;
            left = left.saturating_sub(size);
            fits
        });
        let told = told.count();
        self.more_ranges = self.ranges.len() - told;
        self.ranges = &self.ranges[..told];
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}
