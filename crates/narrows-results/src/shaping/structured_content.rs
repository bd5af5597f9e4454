//! The two halves of a tool result: `content` and `structuredContent`, which often contain the same
//! data.
//!
//! Clients pass one half or the other to their models, so a budget on only one of them is
//! ineffective. A result that is cut or searched has only `content`. Data that was only in
//! `structuredContent` is moved there.

use narrows_wire::{Kind, Raw};
use serde_json::Value;

use super::ResultKind;
use super::blocks::{self, Block, BlockKind};
use crate::settings::Binary;

/// Returns the result with all of its data in `content`.
pub fn content_alone(result: &Raw) -> Raw {
    let Some(structured) = blocks::structured(result) else {
        return result.without_member("structuredContent");
    };
    if repeats(result, &structured) {
        return result.without_member("structuredContent");
    }
    let mut items = blocks::items(result, ResultKind::Tool);
    items.push(blocks::text_item(
        structured.as_str(),
        None,
        ResultKind::Tool,
    ));
    let items: Vec<&str> = items.iter().map(Raw::as_str).collect();
    let items = Raw::parse(format!("[{}]", items.join(",")).into());
    let items = items.expect("an array of values");
    result
        .without_member("structuredContent")
        .with_member("content", &items)
}

/// Returns the result without `structuredContent` if `content` has the same data.
pub fn without_repetition(result: &Raw) -> Option<Raw> {
    let structured = blocks::structured(result)?;
    repeats(result, &structured).then(|| result.without_member("structuredContent"))
}

/// Returns the text that is the only member of an object. Many servers repeat a single text in this
/// form.
pub fn only_text(structured: &Raw) -> Option<String> {
    let mut members = structured.members();
    let (_, value) = members.next()?;
    let is_only = members.next().is_none();
    let text = value.as_text().filter(|_| is_only)?;
    Some(text.into_owned())
}

/// Returns true if a text of the result has the same data as this structured content, or if the
/// structured content is empty.
fn repeats(result: &Raw, structured: &Raw) -> bool {
    if structured.kind() == Kind::Object && structured.members().next().is_none() {
        return true;
    }
    let blocks = blocks::find(result, ResultKind::Tool, Binary::Keep);
    let is_text = |block: &&Block| matches!(block.kind, BlockKind::Text { .. });
    let texts: Vec<&Block> = blocks.iter().filter(is_text).collect();
    if is_list_of(&texts, structured) {
        return true;
    }
    let only = only_text(structured);
    texts.iter().any(|block| {
        let Some(text) = block.place.as_text() else {
            return false;
        };
        let is_json = matches!(
            text.trim_start().as_bytes().first(),
            Some(b'{' | b'[' | b'"')
        );
        only.as_deref() == Some(&*text) || (is_json && is_same(&text, structured.as_str()))
    })
}

/// Returns true if the texts are the elements of the only list in an object. Some SDKs return lists
/// in this form.
fn is_list_of(texts: &[&Block], structured: &Raw) -> bool {
    let mut members = structured.members();
    let (Some((_, list)), None) = (members.next(), members.next()) else {
        return false;
    };
    if texts.len() < 2 || list.kind() != Kind::Array {
        return false;
    }
    let mut elements = list.elements();
    let all = texts.iter().all(|block| {
        let (Some(text), Some(element)) = (block.place.as_text(), elements.next()) else {
            return false;
        };
        match element.as_text() {
            Some(own) => own == text,
            None => is_same(&text, element.as_str()),
        }
    });
    all && elements.next().is_none()
}

/// Returns true if two JSON texts have the same value. They usually differ only in white space, so
/// both are parsed only if more than that differs.
fn is_same(one: &str, other: &str) -> bool {
    if tokens(one.as_bytes()).eq(tokens(other.as_bytes())) {
        return true;
    }
    let (longer, shorter) = (one.len().max(other.len()), one.len().min(other.len()));
    // White space and escapes never change the length this much.
    if longer > shorter.saturating_mul(8) {
        return false;
    }
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    let (Some(one), Some(other)) = (read(one), read(other)) else {
        return false;
    };
    // Servers that return a list wrap it, because `structuredContent` must be an object.
    one == other || other.get("result") == Some(&one)
}

/// Iterates over the bytes of a JSON text without the white space between its tokens.
fn tokens(json: &[u8]) -> impl Iterator<Item = u8> {
    let (mut in_string, mut escaped) = (false, false);
    json.iter().copied().filter(move |&byte| {
        if !in_string {
            in_string = byte == b'"';
            return !byte.is_ascii_whitespace();
        }
        in_string = byte != b'"' || escaped;
        escaped = byte == b'\\' && !escaped;
        true
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Raw {
        Raw::parse(json.to_owned().into()).expect("a test's JSON")
    }

    #[track_caller]
    fn check(result: &str, alone: &str, repeats: bool) {
        let result = raw(result);
        assert_eq!(content_alone(&result).as_str(), alone);
        assert_eq!(without_repetition(&result).is_some(), repeats);
    }

    #[test]
    fn structured_content_that_repeats_content_is_removed() {
        let text = r#"{"content":[{"type":"text","text":"long"}]}"#;
        for structured in [r#"{"content":"long"}"#, r#"{"result":"long"}"#, "{}"] {
            let content = text.strip_suffix('}').expect("an object");
            let result = format!(r#"{content},"structuredContent":{structured}}}"#);
            check(&result, text, true);
        }
        let json = r#"{"content":[{"type":"text","text":"[ {\"a\": 1.0} ]"}]}"#;
        let content = json.strip_suffix('}').expect("an object");
        let result = format!(r#"{content},"structuredContent":{{"result":[{{"a":1.0}}]}}}}"#);
        check(&result, json, true);
    }

    #[test]
    fn text_per_element_is_equal_to_a_list() {
        let content =
            r#"{"content":[{"type":"text","text":"{ \"a\": 1 }"},{"type":"text","text":"x"}]"#;
        let whole = format!("{content}}}");
        for (list, repeats) in [
            (r#"[{"a":1},"x"]"#, true),
            (r#"[{"a":1},"x",2]"#, false),
            (r#"[{"a":1}]"#, false),
            (r#"[{"a":2},"x"]"#, false),
        ] {
            let result = raw(&format!(
                r#"{content},"structuredContent":{{"result":{list}}}}}"#
            ));
            assert_eq!(without_repetition(&result).is_some(), repeats, "{list}");
            assert_eq!(content_alone(&result).as_str() == whole, repeats, "{list}");
        }
    }

    #[test]
    fn structured_only_data_is_added_as_text() {
        check(
            r#"{"content":[{"type":"text","text":"2 rows"}],"structuredContent":{"rows":[1,2]}}"#,
            r#"{"content":[{"type":"text","text":"2 rows"},{"type":"text","text":"{\"rows\":[1,2]}"}]}"#,
            false,
        );
        check(
            r#"{"structuredContent":{"rows":[1,2]},"isError":false}"#,
            r#"{"isError":false,"content":[{"type":"text","text":"{\"rows\":[1,2]}"}]}"#,
            false,
        );
    }

    #[test]
    fn result_without_structured_content_is_unchanged() {
        let result = r#"{"content":[{"type":"text","text":"x"}],"structuredContent":null}"#;
        check(result, r#"{"content":[{"type":"text","text":"x"}]}"#, false);
        let plain = r#"{ "content": [ {"type":"text","text":"x"} ] }"#;
        check(plain, plain, false);
    }
}
