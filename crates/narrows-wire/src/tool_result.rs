//! Results of `tools/call` that the gateway writes itself.

use serde::Serialize;

use crate::Raw;

/// Returns a result with one JSON object, both as text and as `structuredContent`.
pub fn structured(answer: &Raw) -> Raw {
    let text = Raw::string(answer.as_str());
    let whole = format!(
        r#"{{"content":[{{"type":"text","text":{}}}],"structuredContent":{}}}"#,
        text.as_str(),
        answer.as_str()
    );
    Raw::parse(whole.into()).expect("put together from JSON")
}

/// Returns a result with one text.
pub fn text(text: &str) -> Raw {
    Raw::from_serialize(&ToolResult {
        content: [Text { kind: "text", text }],
        is_error: false,
    })
}

/// Returns an error result, which a model can read to correct its call.
pub fn error(text: &str) -> Raw {
    Raw::from_serialize(&ToolResult {
        content: [Text { kind: "text", text }],
        is_error: true,
    })
}

#[derive(Serialize)]
struct ToolResult<'a> {
    content: [Text<'a>; 1],
    #[serde(rename = "isError", skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
}

#[derive(Serialize)]
struct Text<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}
