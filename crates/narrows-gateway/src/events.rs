//! The events of a call, for the log (founding document 002).
//!
//! An event is a `tracing` event with the target `narrows::event`, its name in
//! `event` and JSON text in `payload`. Nothing is made when nobody listens, and
//! a body is never parsed: arguments are copied up to a limit, with the values
//! of secret-looking members left out; of results only the size is told.

use narrows_wire::Raw;
use tracing::Level;

/// Arguments are cut here.
const MAX_BYTES: usize = 2_000;

/// One request through all of its events.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tag {
    pub(crate) session: u64,
    pub(crate) request: u64,
}

impl std::fmt::Display for Tag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.session, self.request)
    }
}

/// Usual steps of a call.
pub(crate) fn step(
    name: &'static str,
    tag: Tag,
    members: impl FnOnce() -> Vec<(&'static str, Raw)>,
) {
    if tracing::enabled!(target: "narrows::event", Level::DEBUG) {
        let payload = payload(tag, members());
        tracing::debug!(target: "narrows::event", event = name, payload = payload.as_str());
    }
}

/// What was done to a result, which is told unless nobody wants to hear anything.
pub(crate) fn audit(
    name: &'static str,
    tag: Tag,
    members: impl FnOnce() -> Vec<(&'static str, Raw)>,
) {
    if tracing::enabled!(target: "narrows::event", Level::INFO) {
        let payload = payload(tag, members());
        tracing::info!(target: "narrows::event", event = name, payload = payload.as_str());
    }
}

/// Steps that somebody should look at.
pub(crate) fn trouble(
    name: &'static str,
    tag: Tag,
    members: impl FnOnce() -> Vec<(&'static str, Raw)>,
) {
    if tracing::enabled!(target: "narrows::event", Level::WARN) {
        let payload = payload(tag, members());
        tracing::warn!(target: "narrows::event", event = name, payload = payload.as_str());
    }
}

fn payload(tag: Tag, members: Vec<(&'static str, Raw)>) -> Raw {
    let start = Raw::empty_object().with_member("request_id", &Raw::string(&tag.to_string()));
    members.into_iter().fold(start, |payload, (name, value)| {
        payload.with_member(name, &value)
    })
}

/// JSON as far as the log may show it: whole if it is short enough, else its
/// beginning as text.
pub(crate) fn shown(raw: &Raw) -> Raw {
    let (text, whole) = redact(raw.as_bytes(), MAX_BYTES);
    if whole {
        return Raw::parse(text.into()).expect("values of valid JSON were replaced by values");
    }
    Raw::string(&format!(
        "{}… ({} bytes)",
        String::from_utf8_lossy(&text),
        raw.len()
    ))
}

/// A text of ours, which may hold what a peer sent.
pub(crate) fn cut(text: &str) -> Raw {
    match text.char_indices().nth(MAX_BYTES / 4) {
        Some((end, _)) => Raw::string(&format!("{}…", &text[..end])),
        None => Raw::string(text),
    }
}

/// Copies up to `max` bytes, with `"***"` in place of the values of
/// secret-looking members. False if it was cut.
fn redact(json: &[u8], max: usize) -> (Vec<u8>, bool) {
    let mut out = Vec::with_capacity(json.len().min(max));
    let mut at = 0;
    while at < json.len() {
        if out.len() >= max {
            return (out, false);
        }
        if json[at] != b'"' {
            out.push(json[at]);
            at += 1;
            continue;
        }
        let end = string_end(json, at);
        let text = &json[at..end];
        out.extend_from_slice(&text[..text.len().min(max.saturating_sub(out.len()))]);
        at = end;
        let colon = at
            + json[at..]
                .iter()
                .take_while(|byte| byte.is_ascii_whitespace())
                .count();
        if json.get(colon) == Some(&b':') && looks_secret(text) {
            out.extend_from_slice(b":\"***\"");
            let value = colon + 1;
            let value = value
                + json[value..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_whitespace())
                    .count();
            at = value_end(json, value);
        }
    }
    (out, true)
}

/// The end of the string that begins at `at`.
fn string_end(json: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while end < json.len() {
        match json[end] {
            b'\\' => end += 2,
            b'"' => return end + 1,
            _ => end += 1,
        }
    }
    json.len()
}

fn value_end(json: &[u8], at: usize) -> usize {
    let mut depth = 0usize;
    let mut end = at;
    while end < json.len() {
        match json[end] {
            b'"' => {
                end = string_end(json, end);
                if depth == 0 {
                    return end;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return if depth == 1 { end + 1 } else { end },
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => return end,
            _ => {}
        }
        end += 1;
    }
    json.len()
}

pub(crate) fn looks_secret(key: &[u8]) -> bool {
    let key = key.to_ascii_lowercase();
    let has = |word: &str| key.windows(word.len()).any(|part| part == word.as_bytes());
    [
        "token",
        "secret",
        "password",
        "passwd",
        "key",
        "authorization",
        "credential",
        "cookie",
    ]
    .into_iter()
    .any(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, expected: &str) {
        let raw = Raw::parse(input.to_owned().into()).expect("a test's JSON");
        assert_eq!(shown(&raw).as_str(), expected);
    }

    #[test]
    fn secret_values_are_left_out_at_any_depth() {
        check(
            r#"{"path":"a","api_key":"s3cret","in":[{"Authorization" : "Bearer x","n":1}],"token":{"deep":["s"]},"password":7}"#,
            r#"{"path":"a","api_key":"***","in":[{"Authorization":"***","n":1}],"token":"***","password":"***"}"#,
        );
    }

    #[test]
    fn words_in_values_hide_nothing() {
        check(
            r#"{"q":"token","a":"key\": \"x"}"#,
            r#"{"q":"token","a":"key\": \"x"}"#,
        );
    }

    #[test]
    fn a_long_text_is_cut_and_still_hides_secrets() {
        let raw =
            Raw::parse(format!(r#"{{"secret":"hidden","text":"{}"}}"#, "x".repeat(5_000)).into())
                .expect("JSON");
        let shown = shown(&raw);
        assert!(
            shown.len() < 2_200
                && shown.as_str().contains("***")
                && !shown.as_str().contains("hidden")
        );
    }
}
