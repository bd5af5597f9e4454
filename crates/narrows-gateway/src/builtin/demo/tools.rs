//! The tools of the demo server, one function each.

use std::sync::atomic::Ordering;
use std::time::Duration;

use narrows_wire::Raw;
use serde_json::json;

use super::{Demo, DemoLogLevel, README, samples};
use crate::builtin::arguments::Arguments;
use crate::builtin::{BuiltinCall, RpcError};
use narrows_upstream::offload;
use narrows_wire::tool_result;

/// The approximate size in bytes of a sample log line and of a sample table row.
const LINE: u64 = 80;
const ROW: u64 = 140;

/// The text for the model, or a text that says what was wrong with the call.
type ToolText = Result<String, String>;

pub(super) async fn call(demo: &Demo, call: &BuiltinCall) -> Result<Raw, RpcError> {
    let name = call.text("name")?;
    let read = |known: &[&str]| Arguments::read(&name, call.member("arguments"), known);
    let said = match &*name {
        "echo" => read(&["text"]).and_then(|arguments| arguments.text("text")),
        "sample_log" => match read(&["lines"]).and_then(|arguments| lines(&arguments)) {
            Ok(lines) => return Ok(sample(lines * LINE, move || samples::log(lines)).await),
            Err(wrong) => Err(wrong),
        },
        "sample_table" => match read(&["rows"]).and_then(|arguments| rows(&arguments)) {
            Ok(rows) => return Ok(sample(rows * ROW, move || samples::table(rows)).await),
            Err(wrong) => Err(wrong),
        },
        "count" => match read(&["steps", "delay_ms"]) {
            Ok(arguments) => count(demo, call, arguments).await,
            Err(wrong) => Err(wrong),
        },
        "ask_name" => match read(&[]) {
            Ok(_) => ask_name(call).await,
            Err(wrong) => Err(wrong),
        },
        "touch_readme" => match read(&[]) {
            Ok(_) => Ok(touch_readme(demo, call).await),
            Err(wrong) => Err(wrong),
        },
        _ => return Err(RpcError::params(format!("Unknown tool: {name}"))),
    };
    Ok(match said {
        Ok(text) => tool_result::text(&text),
        Err(wrong) => tool_result::error(&wrong),
    })
}

fn lines(arguments: &Arguments<'_>) -> Result<u64, String> {
    arguments.number("lines", 1..=100_000, 5_000)
}

fn rows(arguments: &Arguments<'_>) -> Result<u64, String> {
    arguments.number("rows", samples::ROWS, 1_000)
}

/// Generates a sample of about `bytes` bytes, off the async threads if it is large.
async fn sample(bytes: u64, make: impl FnOnce() -> String + Send + 'static) -> Raw {
    offload::run(bytes as usize, move || tool_result::text(&make())).await
}

async fn count(demo: &Demo, call: &BuiltinCall, arguments: Arguments<'_>) -> ToolText {
    let steps = arguments.number("steps", 1..=1_000, 5)?;
    let delay = Duration::from_millis(arguments.number("delay_ms", 0..=10_000, 200)?);
    let token = call.progress_token();
    for step in 1..=steps {
        tokio::time::sleep(delay).await;
        if let Some(token) = &token {
            let params = json!({
                // The token is a string or a number and is returned unchanged.
                "progressToken": token.decode::<serde_json::Value>().unwrap_or_default(),
                "progress": step,
                "total": steps,
                "message": format!("Step {step} of {steps}"),
            });
            call.peer.notify("notifications/progress", &params).await;
        }
        demo.log(
            call,
            DemoLogLevel::Info,
            json!({ "step": step, "of": steps }),
        )
        .await;
    }
    Ok(format!("Counted to {steps}"))
}

async fn ask_name(call: &BuiltinCall) -> ToolText {
    if !call.peer.supports_forms() {
        return Err("The user cannot be asked: this client does not support elicitation".into());
    }
    let form = json!({
        "message": "What is your name?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "name": { "type": "string", "title": "Name", "description": "How to greet you", "minLength": 1 },
            },
            "required": ["name"],
        },
    });
    let answer = call.peer.ask("elicitation/create", &form).await;
    let answer = answer.map_err(|error| {
        let message = error.member("message");
        let message = message.as_ref().and_then(Raw::as_text).unwrap_or_default();
        format!("The user could not be asked: {message}")
    })?;
    let action = answer.member("action");
    let name = answer
        .member("content")
        .and_then(|content| content.member("name"));
    match (
        action.as_ref().and_then(Raw::as_text).as_deref(),
        name.as_ref().and_then(Raw::as_text),
    ) {
        (Some("accept"), Some(name)) => Ok(format!("Hello, {name}!")),
        (Some("accept"), None) => Err("The answer contains no name".into()),
        (Some("decline"), _) => Ok("The user declined to give a name.".into()),
        (Some("cancel"), _) => Ok("The user closed the form without an answer.".into()),
        _ => Err("The answer is not a valid elicitation/create result".into()),
    }
}

async fn touch_readme(demo: &Demo, call: &BuiltinCall) -> String {
    let touched = demo.readme_touched.fetch_add(1, Ordering::Relaxed) + 1;
    if demo.readme_subscribed.load(Ordering::Relaxed) {
        call.peer
            .notify("notifications/resources/updated", &json!({ "uri": README }))
            .await;
    }
    format!("Touched {README}, {touched} times so far")
}
