//! The results of tools in the form of `exec`: the data as its shortest text,
//! and as JSON in `structuredContent.result`.

use bytes::Bytes;
use narrows_wire::{Kind, Raw};

use super::answer::{self, LONGEST, wrapped};
use super::settings::FacadeSettings;
use narrows_results::settings::Structured;
use narrows_results::shaping::{RECEIPT_META, content_alone, only_text};

/// What a result's `content` is.
enum Content {
    Nothing,
    /// One text: the item, and what is in it.
    Text(Raw, Raw),
    /// Anything else, which passes as it is.
    Other,
}

/// The form that a client gets results in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResultForm {
    /// The most characters of text.
    pub(crate) room: usize,
    pub(crate) structured: Structured,
    /// The client's model reads `structuredContent` where there is one.
    pub(crate) reads_structured: bool,
}

/// A result in the form of `exec`, within the room of the form if it was so
/// before. Errors, and what has no such form, pass as they are.
pub(super) fn dress(result: Raw, settings: &FacadeSettings, form: ResultForm) -> Raw {
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
        // What was cut has its form already.
        _ => {
            return match structured {
                // Several items need not say what the data does.
                Some(_) if !is_cut && form.leaves_out_structured(0) => content_alone(&result),
                Some(data) if !is_cut => form.with_structured(&result, &data),
                _ => result,
            };
        }
    };
    let (item, text) = text.unzip();
    // A server that says its text again in an object means the text, and it
    // reads better without the quotes.
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
    // Texts beyond all measure are data, and are not written anew.
    if data.len() > LONGEST && item.is_some() {
        return form.with_structured(&result, &data);
    }
    let written = Raw::string(&answer::text(&data, settings, room));
    let item = item.unwrap_or_else(|| Raw::from_static(r#"{"type":"text"}"#));
    let content = answer::array(&[item.with_member("text", &written)]);
    form.with_structured(&result.with_member("content", &content), &data)
}

impl ResultForm {
    /// Returns the result with its data as `structuredContent` too, unless the
    /// model would read that in place of a shorter text.
    fn with_structured(self, result: &Raw, data: &Raw) -> Raw {
        match self.leaves_out_structured(data.len()) {
            true => result.without_member("structuredContent"),
            false => result.with_member("structuredContent", &wrapped(data)),
        }
    }

    /// Returns true if data of so many bytes is given as text alone.
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

/// What a text holds if it is JSON. A text of JSON inside of that is opened
/// too: servers that serialise twice mean the data.
fn data(text: &Raw) -> Option<Raw> {
    let outer = held(text)?;
    match outer.kind() {
        Kind::String => Some(held(&outer).unwrap_or(outer)),
        _ => Some(outer),
    }
}

/// The JSON in a JSON string.
fn held(string: &Raw) -> Option<Raw> {
    let text = string.as_text()?;
    // Most texts are no JSON, and most of those show it at once.
    let first = text.trim_start().as_bytes().first()?;
    if !matches!(
        first,
        b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n'
    ) {
        return None;
    }
    Raw::parse(Bytes::from(text.into_owned())).ok()
}
