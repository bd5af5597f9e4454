//! Tool results in the format of `exec`: the data as its shortest text, and as JSON in
//! `structuredContent.result`.

use bytes::Bytes;
use narrows_wire::{Kind, Raw};

use super::answer::{self, LONGEST, wrapped};
use super::settings::FacadeSettings;
use narrows_results::settings::Structured;
use narrows_results::shaping::{RECEIPT_META, content_alone, only_text};

/// The kind of a result's `content`.
enum Content {
    Nothing,
    /// A single text: the content item and its text.
    Text(Raw, Raw),
    /// Any other content, which is left unchanged.
    Other,
}

/// The format of results for a client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResultForm {
    /// The maximum number of characters of text.
    pub(crate) room: usize,
    pub(crate) structured: Structured,
    /// True if the client's model reads `structuredContent` when present.
    pub(crate) reads_structured: bool,
}

/// Formats a result for `exec`. A result that was within the budget stays within it. Errors and
/// other results without this format are returned unchanged.
pub(super) fn format_result(result: Raw, settings: &FacadeSettings, form: ResultForm) -> Raw {
    let room = form.room;
    let members = ["content", "structuredContent", "isError", "_meta"];
    let Ok([content, structured, is_error, meta]) = result.pick(members) else {
        return result;
    };
    if result.kind() != Kind::Object || is_error.and_then(|error| error.as_bool()) == Some(true) {
        return result;
    }
    let structured = structured.filter(|structured| structured.kind() != Kind::Null);
    let is_cut = meta.is_some_and(|meta| meta.member(RECEIPT_META).is_some());
    let text = match Content::read(content.as_ref()) {
        Content::Nothing if !is_cut => None,
        Content::Text(item, text) if !is_cut => Some((item, text)),
        // Cut results are already formatted.
        _ => {
            return match structured {
                // If the model reads only texts, several items need no copy of the data.
                Some(_) if !is_cut && form.leaves_out_structured(0) => content_alone(&result),
                Some(data) if !is_cut => form.with_structured(&result, &data),
                _ => result,
            };
        }
    };
    let (item, text) = text.unzip();
    // Some servers repeat their text as the only member of an object. The text is what they mean,
    // and it reads better without quotes.
    if let (Some(structured), Some(text)) = (&structured, &text)
        && only_text(structured).is_some_and(|only| text.as_text().as_deref() == Some(&*only))
    {
        let result = match (data(text), &item) {
            (Some(data), Some(item)) if data.len() <= LONGEST => {
                let written = Raw::string(&answer::text(&data, settings, room));
                let content = answer::array(&[item.with_member("text", &written)]);
                result.with_member("content", &content)
            }
            _ => result,
        };
        return form.with_structured(&result, structured);
    }
    let data = match (&structured, &text) {
        (Some(data), _) => data.clone(),
        (None, None) => Raw::from_static("null"),
        (None, Some(text)) => match data(text) {
            Some(data) => data,
            None => return form.with_structured(&result, text),
        },
    };
    // Very long texts are treated as data but not reformatted.
    if data.len() > LONGEST && item.is_some() {
        return form.with_structured(&result, &data);
    }
    let written = Raw::string(&answer::text(&data, settings, room));
    let item = item.unwrap_or_else(|| Raw::from_static(r#"{"type":"text"}"#));
    let content = answer::array(&[item.with_member("text", &written)]);
    form.with_structured(&result.with_member("content", &content), &data)
}

impl ResultForm {
    /// Adds the data as `structuredContent`, unless the model would read it in place of a shorter
    /// text.
    fn with_structured(self, result: &Raw, data: &Raw) -> Raw {
        match self.leaves_out_structured(data.len()) {
            true => result.without_member("structuredContent"),
            false => result.with_member("structuredContent", &wrapped(data)),
        }
    }

    /// Returns true if data of this size is returned only as text.
    pub(crate) fn leaves_out_structured(self, bytes: usize) -> bool {
        match self.structured {
            Structured::Keep => false,
            Structured::Auto => self.reads_structured || bytes > self.room,
            Structured::Drop => true,
        }
    }
}

impl Content {
    fn read(content: Option<&Raw>) -> Content {
        let Some(content) = content.filter(|content| content.kind() != Kind::Null) else {
            return Content::Nothing;
        };
        if content.kind() != Kind::Array {
            return Content::Other;
        }
        let mut items = content.elements();
        let (item, second) = (items.next(), items.next());
        let Some(item) = item else {
            return Content::Nothing;
        };
        let Ok([kind, text]) = item.pick(["type", "text"]) else {
            return Content::Other;
        };
        let is_text = kind.and_then(|kind| Some(kind.as_text()? == "text")) == Some(true);
        match text.filter(|text| is_text && second.is_none() && text.kind() == Kind::String) {
            Some(text) => Content::Text(item, text),
            None => Content::Other,
        }
    }
}

/// Returns the JSON in a text. Also decodes a JSON string that contains JSON, because some servers
/// serialise twice.
fn data(text: &Raw) -> Option<Raw> {
    let outer = held(text)?;
    match outer.kind() {
        Kind::String => Some(held(&outer).unwrap_or(outer)),
        _ => Some(outer),
    }
}

/// Returns the JSON in a JSON string.
fn held(string: &Raw) -> Option<Raw> {
    let text = string.as_text()?;
    // Most texts are not JSON, and usually the first character shows it.
    let first = text.trim_start().as_bytes().first()?;
    if !matches!(
        first,
        b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n'
    ) {
        return None;
    }
    Raw::parse(Bytes::from(text.into_owned())).ok()
}
