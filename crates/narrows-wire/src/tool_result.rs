//! Results of `tools/call` that the gateway writes itself.

use serde::Serialize;

use crate::Raw;

/// A result that is one JSON object, as text and as `structuredContent`.
pub fn structured(answer: &Raw) -> Raw {
    let text = Raw::string(answer.as_str());
    let whole = format!(
        r#"{{"content":[{{"type":"text","text":{}}}],"structuredContent":{}}}"#,
        text.as_str(),
        answer.as_str()
    );
    Raw::parse(whole.into()).expect("put together from JSON")
}

/// A result of one text.
pub fn text(text: &str) -> Raw {
    Raw::from_serialize(&ToolResult {
        content: [Text { kind: "text", text }],
        is_error: false,
    })
}

/// A result that reports an error, so that a model can correct the call.
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
