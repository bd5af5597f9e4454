//! Repair of malformed results. Valid results are not changed in any byte.

use narrows_wire::{Kind, Raw, Revision};

/// A result, with a flag that tells if it was repaired.
pub struct Repaired {
    pub result: Raw,
    pub changed: bool,
}

impl Repaired {
    fn untouched(result: Raw) -> Self {
        Repaired {
            result,
            changed: false,
        }
    }

    fn changed(result: Raw) -> Self {
        Repaired {
            result,
            changed: true,
        }
    }
}

/// Repairs a result of `tools/call`. Content items without a `type` get the one that their members
/// imply. Anything that is not a tool result becomes one text item with the raw JSON, and the same
/// data as `structuredContent`.
pub fn tool_result(result: Raw) -> Repaired {
    if result.kind() == Kind::Object {
        let [content, task] = result.pick(["content", "task"]).unwrap_or_default();
        // A result with a task handle (MCP 2025-11-25, tasks) is valid without content.
        if content.is_none() && task.is_some_and(|task| task.kind() == Kind::Object) {
            return Repaired::untouched(result);
        }
        if let Some(content) = content.filter(|content| content.kind() == Kind::Array) {
            match missing_types(content.elements()) {
                Some(missing) if missing.is_empty() => return Repaired::untouched(result),
                Some(missing) => return Repaired::changed(add_types(&result, missing)),
                None => {}
            }
        }
    }
    let text = Raw::string(result.as_str());
    let item = Raw::from_static(r#"{"type":"text"}"#).with_member("text", &text);
    let [error, meta, structured] = result
        .pick(["isError", "_meta", "structuredContent"])
        .unwrap_or_default();
    let structured = match (result.kind(), structured) {
        // Keep valid `structuredContent` if only the content is malformed.
        (Kind::Object, Some(structured)) if structured.kind() == Kind::Object => structured,
        (Kind::Object, _) => result,
        _ => Raw::empty_object().with_member("result", &result),
    };
    let mut repaired = Raw::empty_object()
        .with_member("content", &array_of(&item))
        .with_member("structuredContent", &structured);
    // Keep the flag: an error must not become a success.
    for (name, value) in [("isError", error), ("_meta", meta)] {
        if let Some(value) = value {
            repaired = repaired.with_member(name, &value);
        }
    }
    Repaired::changed(repaired)
}

/// Repairs a result of `prompts/get` in the same way.
pub fn prompt_result(result: Raw) -> Repaired {
    let messages = match result.kind() {
        Kind::Object => result
            .member("messages")
            .filter(|messages| messages.kind() == Kind::Array),
        _ => None,
    };
    if let Some(messages) = messages {
        // Every message needs a role and one content item.
        let content = |message: Raw| {
            message
                .member("role")
                .and_then(|_| message.member("content"))
        };
        let contents: Option<Vec<Raw>> = messages.elements().map(content).collect();
        match contents.and_then(|contents| missing_types(contents.into_iter())) {
            Some(missing) if missing.is_empty() => return Repaired::untouched(result),
            Some(missing) => return Repaired::changed(add_types(&result, missing)),
            None => {}
        }
    }
    let item =
        Raw::from_static(r#"{"type":"text"}"#).with_member("text", &Raw::string(result.as_str()));
    let message = Raw::from_static(r#"{"role":"user"}"#).with_member("content", &item);
    Repaired::changed(Raw::empty_object().with_member("messages", &array_of(&message)))
}

/// Converts content types that are newer than the client's revision to text, because a client may
/// refuse a result with an unknown content type.
pub fn for_revision(result: Raw, revision: Revision) -> Raw {
    if revision >= Revision::V2025_06_18 {
        return result;
    }
    let content = result
        .member("content")
        .into_iter()
        .flat_map(|content| content.elements().collect::<Vec<_>>());
    let messages = result
        .member("messages")
        .into_iter()
        .flat_map(|messages| messages.elements().collect::<Vec<_>>());
    let items = content.chain(messages.filter_map(|message| message.member("content")));
    let edit = items.fold(result.edit(), |edit, item| match as_text(&item, revision) {
        Some(text) => edit.replace(&item, text),
        None => edit,
    });
    edit.finish()
}

fn as_text(item: &Raw, revision: Revision) -> Option<Raw> {
    let [kind, uri, name, mime] = item.pick(["type", "uri", "name", "mimeType"]).ok()?;
    let text = |raw: Option<Raw>| {
        raw.and_then(|raw| raw.as_text().map(|text| text.into_owned()))
            .unwrap_or_default()
    };
    let text = match text(kind).as_str() {
        "resource_link" => format!("[{}]({})", text(name), text(uri)),
        "audio" if revision < Revision::V2025_03_26 => format!("[audio, {}]", text(mime)),
        _ => return None,
    };
    Some(Raw::from_static(r#"{"type":"text"}"#).with_member("text", &Raw::string(&text)))
}

/// Returns the items without a `type`, each with the type to add; `None` if the type of an item
/// cannot be determined.
fn missing_types(items: impl Iterator<Item = Raw>) -> Option<Vec<(Raw, &'static str)>> {
    let mut missing = Vec::new();
    for item in items {
        if item.kind() != Kind::Object {
            return None;
        }
        match item.member("type") {
            Some(kind) if kind.kind() == Kind::String => {}
            Some(_) => return None,
            None => {
                let kind = implied_type(&item)?;
                missing.push((item, kind));
            }
        }
    }
    Some(missing)
}

fn implied_type(item: &Raw) -> Option<&'static str> {
    let [text, data, mime, resource, uri, name] = item
        .pick(["text", "data", "mimeType", "resource", "uri", "name"])
        .ok()?;
    let is = |raw: &Option<Raw>, kind| raw.as_ref().is_some_and(|raw| raw.kind() == kind);
    if is(&text, Kind::String) {
        return Some("text");
    }
    if is(&resource, Kind::Object) {
        return Some("resource");
    }
    if is(&data, Kind::String) {
        let mime = mime.as_ref().and_then(Raw::as_text)?;
        return match mime.split('/').next() {
            Some("image") => Some("image"),
            Some("audio") => Some("audio"),
            _ => None,
        };
    }
    (is(&uri, Kind::String) && is(&name, Kind::String)).then_some("resource_link")
}

fn add_types(whole: &Raw, missing: Vec<(Raw, &'static str)>) -> Raw {
    let edit = missing
        .into_iter()
        .fold(whole.edit(), |edit, (item, kind)| {
            edit.insert(&item, "type", Raw::string(kind))
        });
    edit.finish()
}

fn array_of(item: &Raw) -> Raw {
    let mut text = Vec::with_capacity(item.len() + 2);
    text.push(b'[');
    text.extend_from_slice(item.as_bytes());
    text.push(b']');
    Raw::parse(text.into()).expect("brackets around a valid value")
}

#[cfg(test)]
mod tests;
