//! The results of tools in the form of `exec`: the data as its shortest text,
//! and as JSON in `structuredContent.result`.

use bytes::Bytes;
use narrows_wire::{Kind, Raw};

use super::answer::{self, LONGEST, wrapped};
use crate::settings::FacadeSettings;
use crate::shaping::{RECEIPT_META, only_text};

/// What a result's `content` is.
enum Content {
    Nothing,
    /// One text: the item, and what is in it.
    Text(Raw, Raw),
    /// Anything else, which passes as it is.
    Other,
}

/// A result in the form of `exec`, within `room` characters of text if it was
/// before. Errors, and what has no such form, pass as they are.
pub(super) fn dress(result: Raw, settings: &FacadeSettings, room: usize) -> Raw {
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
                Some(data) => with_structured(&result, &data),
                None => result,
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
        return with_structured(&result, structured);
    }
    let data = match (&structured, &text) {
        (Some(data), _) => data.clone(),
        (None, None) => Raw::from_static("null"),
        (None, Some(text)) => match data(text) {
            Some(data) => data,
            None => return with_structured(&result, text),
        },
    };
    // Texts beyond all measure are data, and are not written anew.
    if data.len() > LONGEST && item.is_some() {
        return with_structured(&result, &data);
    }
    let written = Raw::string(&answer::text(&data, settings, room));
    let item = item.unwrap_or_else(|| Raw::from_static(r#"{"type":"text"}"#));
    let content = answer::array(&[item.with_member("text", &written)]);
    with_structured(&result.with_member("content", &content), &data)
}

/// An answer of the gateway's own tool in the form of `exec`.
pub(crate) fn wrap(result: Raw) -> Raw {
    match result.member("structuredContent") {
        Some(data) => with_structured(&result, &data),
        None => result,
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

fn with_structured(result: &Raw, data: &Raw) -> Raw {
    result.with_member("structuredContent", &wrapped(data))
}
