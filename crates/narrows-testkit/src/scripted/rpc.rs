//! The scripted server over plain JSON-RPC: a POST for every message, a body for every answer.
//! Other output is dropped, because this transport cannot carry it.

use std::sync::Arc;

use http::StatusCode;
use serde_json::Value;
use tokio::sync::mpsc;

use super::reply::{Answer, hung_up, status, whole};
use super::server::{Output, ScriptedServer};

pub(super) async fn post(server: &Arc<ScriptedServer>, text: &str) -> Answer {
    let message: Value = serde_json::from_str(text).unwrap_or_default();
    let (out, mut outputs) = mpsc::unbounded_channel();
    server.handle(text, &out);
    drop(out);
    if message["method"].is_null() || message.get("id").is_none() {
        return Ok(status(
            server.script.rpc.accepted,
            Vec::new(),
            String::new(),
        ));
    }
    while let Some(output) = outputs.recv().await {
        match output {
            Output::Answer(answer) => {
                return Ok(whole(StatusCode::OK, "application/json", answer));
            }
            Output::Status {
                code,
                headers,
                body,
            } => return Ok(status(code, headers, body)),
            Output::HangUp => break,
            _ => {}
        }
    }
    Err(hung_up())
}
