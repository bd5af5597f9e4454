//! Tests of the test kit itself: its clients against its server.

mod over_http;
mod over_rpc;
mod over_sse;
mod over_stdio;
mod over_websocket;
mod transport_parity;

use serde_json::{Value, json};

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// Returns the text of a tool result.
#[track_caller]
fn text(answer: &Value) -> &str {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {answer}"))
}
