//! Failed calls to `exec` as results. The text is JSON with the error, the server and tool, and
//! whether the tool may have run.

use narrows_wire::{Kind, Raw};

use crate::error::Error;
use crate::target::Target;
use narrows_upstream::Error as UpstreamError;
use narrows_wire::tool_result;

/// Returns the result for a call that its server did not complete. Returns `None` for errors that
/// the server did not cause, which remain JSON-RPC errors.
///
/// `was_sent` is true if the server may have received the call.
pub(crate) fn call_failure(error: &Error, target: &Target, was_sent: bool) -> Option<Raw> {
    let Error::Upstream(error) = error else {
        return None;
    };
    let message = match error {
        UpstreamError::Answered(answered) => message_of(answered),
        error => error.to_string(),
    };
    let mut said = Raw::empty_object()
        .with_member("error", &Raw::string(&message))
        .with_member("code", &Raw::string(error.as_str()))
        .with_member("server_name", &Raw::string(&target.upstream.settings.id))
        .with_member("tool_name", &target.name);
    match error {
        // The server itself reported the error, so `may_have_run` is left out.
        UpstreamError::Answered(answered) => {
            let [code, data] = answered.pick(["code", "data"]).unwrap_or_default();
            if let Some(code) = code.filter(|code| code.kind() == Kind::Number) {
                said = said.with_member("rpc_code", &code);
            }
            if let Some(data) = data.filter(|data| data.kind() != Kind::Null) {
                said = said.with_member("data", &data);
            }
        }
        _ => {
            let may_have_run = Raw::from_static(if was_sent { "true" } else { "false" });
            said = said.with_member("may_have_run", &may_have_run);
        }
    }
    if let UpstreamError::Down {
        next_try: Some(pause),
        ..
    } = error
    {
        let millis = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        said = said.with_member("retry_after_ms", &Raw::number(millis.saturating_add(1)));
    }
    Some(tool_result::error(said.as_str()))
}

/// Returns the message of an error object, or a default text.
fn message_of(error: &Raw) -> String {
    let message = error.member("message");
    match message.as_ref().and_then(Raw::as_text) {
        Some(message) if !message.is_empty() => message.into_owned(),
        _ => "The server returned an error without a message".to_owned(),
    }
}
