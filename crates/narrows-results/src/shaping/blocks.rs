//! Finds the texts of a result and builds their replacements.

use narrows_shape::prune::SourceType;
use narrows_wire::{Kind, Raw};

use super::ResultKind;
use crate::settings::Binary;

/// A part of a result that counts toward the budget.
pub(super) struct Block {
    /// The index of its item in the list.
    pub(super) item: usize,
    /// The path of its member in the item.
    member: &'static str,
    /// The value itself, a slice of the result.
    pub(super) place: Raw,
    pub(super) kind: BlockKind,
}

pub(super) enum BlockKind {
    Text {
        /// Determined by the MIME type or the file name, if present.
        source: Option<SourceType>,
    },
    /// The base64 data of an image, audio or blob.
    Binary {
        mime: String,
        /// The content item that contains it.
        item: Raw,
    },
}

/// Returns all blocks that count toward the budget, in order.
pub(super) fn find(result: &Raw, form: ResultKind, binary: Binary) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (at, item) in items(result, form).into_iter().enumerate() {
        if let ResultKind::Resource = form {
            blocks.extend(resource(at, &item, &item, ["text", "blob"], binary));
            continue;
        }
        let names = ["type", "text", "data", "mimeType", "resource"];
        let [kind, text, data, mime, inner] = last(&item, names);
        let kind = kind.as_ref().and_then(Raw::as_text);
        match kind.as_deref() {
            Some("text") => blocks.extend(text.filter(is_text).map(|place| Block {
                item: at,
                member: "text",
                place,
                kind: BlockKind::Text { source: None },
            })),
            Some("image" | "audio") if binary == Binary::Note => {
                blocks.extend(data.filter(is_text).map(|place| Block {
                    item: at,
                    member: "data",
                    place,
                    kind: BlockKind::Binary {
                        mime: text_of(mime.as_ref()),
                        item: item.clone(),
                    },
                }));
            }
            Some("resource") => blocks.extend(inner.and_then(|inner| {
                let members = ["resource.text", "resource.blob"];
                resource(at, &item, &inner, members, binary)
            })),
            _ => {}
        }
    }
    blocks
}

impl Block {
    /// Returns the path of the block for users and programs: `content[0].text`.
    pub(super) fn at(&self, form: ResultKind) -> String {
        format!("{}[{}].{}", form.items(), self.item, self.member)
    }
}

/// Returns the array whose items may contain texts.
pub(super) fn list(result: &Raw, form: ResultKind) -> Option<Raw> {
    let [items] = last(result, [form.items()]);
    items.filter(|items| items.kind() == Kind::Array)
}

/// Returns the items of this array.
pub(super) fn items(result: &Raw, form: ResultKind) -> Vec<Raw> {
    let list = list(result, form);
    list.iter().flat_map(|list| list.elements()).collect()
}

pub(super) fn structured(result: &Raw) -> Option<Raw> {
    let [structured] = last(result, ["structuredContent"]);
    structured.filter(|structured| matches!(structured.kind(), Kind::Object | Kind::Array))
}

/// Returns a text item that replaces another item, in the form that the result requires.
pub(super) fn text_item(text: &str, instead_of: Option<&Raw>, form: ResultKind) -> Raw {
    let text = Raw::string(text);
    match form {
        ResultKind::Tool => Raw::from_static(r#"{"type":"text"}"#).with_member("text", &text),
        ResultKind::Resource => {
            let uri = instead_of.and_then(|item| item.member("uri"));
            let uri = uri.unwrap_or_else(|| Raw::from_static(r#""""#));
            Raw::empty_object()
                .with_member("uri", &uri)
                .with_member("mimeType", &Raw::from_static(r#""text/plain""#))
                .with_member("text", &text)
        }
    }
}

/// Returns the text or blob of the resource `inner`, which is `item` or a member of it.
fn resource(
    at: usize,
    item: &Raw,
    inner: &Raw,
    [text_member, blob_member]: [&'static str; 2],
    binary: Binary,
) -> Option<Block> {
    let [text, blob, mime, uri] = last(inner, ["text", "blob", "mimeType", "uri"]);
    let mime = text_of(mime.as_ref());
    if let Some(place) = text.filter(is_text) {
        let named = || SourceType::of_file_name(&text_of(uri.as_ref()));
        return Some(Block {
            item: at,
            member: text_member,
            place,
            kind: BlockKind::Text {
                source: SourceType::of_mime(&mime).or_else(named),
            },
        });
    }
    let place = blob.filter(is_text).filter(|_| binary == Binary::Note)?;
    Some(Block {
        item: at,
        member: blob_member,
        place,
        kind: BlockKind::Binary {
            mime,
            item: item.clone(),
        },
    })
}

/// Returns the members with these names. If a name occurs several times, the last member is
/// returned, because most readers, and so the model, would use that one.
fn last<const N: usize>(raw: &Raw, names: [&str; N]) -> [Option<Raw>; N] {
    let mut found = [const { None }; N];
    for (name, value) in raw.members() {
        if let Some(at) = names.iter().position(|wanted| *wanted == name) {
            found[at] = Some(value);
        }
    }
    found
}

fn is_text(raw: &Raw) -> bool {
    raw.kind() == Kind::String
}

fn text_of(raw: Option<&Raw>) -> String {
    let text = raw.and_then(Raw::as_text).unwrap_or_default();
    // The text becomes part of notes, which have one line and one pair of brackets.
    let fits = |letter: &char| !letter.is_control() && !matches!(letter, '⟦' | '⟧');
    text.chars().filter(fits).take(200).collect()
}
