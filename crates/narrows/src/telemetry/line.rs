//! Formats one event as one line, whatever it contains.

use std::fmt::Debug;

use serde_json::{Map, Value};
use tracing::Level;
use tracing::field::{Field, Visit};

use crate::terminal::{Palette, Tone, plain};
use narrows_wire::Timestamp;

/// The fields of an event in order. Its text is `message`.
#[derive(Default)]
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    pub(super) fn text(&self, name: &str) -> String {
        match self.0.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        }
    }

    /// Removes and returns the time of the event, if it has one.
    pub(super) fn take_time(&mut self) -> Option<Timestamp> {
        let at_ms = self.0.shift_remove("at_ms")?;
        at_ms.as_u64().map(Timestamp::at)
    }

    /// Returns the payload of a JSON line for an ordinary event.
    pub(super) fn payload(self, level: &Level, target: &str) -> String {
        let mut payload = Map::new();
        payload.insert("level".into(), level.as_str().to_lowercase().into());
        payload.insert("target".into(), target.into());
        payload.insert("message".into(), self.text("message").into());
        payload.extend(self.0.into_iter().filter(|(name, _)| name != "message"));
        Value::Object(payload).to_string()
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0
            .insert(field.name().into(), format!("{value:?}").into());
    }
}

/// Formats a JSON line. `payload` is JSON text and is inserted unchanged. Any line breaks in it are
/// white space between tokens.
pub(super) fn json(at: Timestamp, event: &str, payload: &str) -> String {
    let payload = if payload.is_empty() { "null" } else { payload };
    let event = Value::from(event);
    let payload = payload.replace(['\n', '\r'], " ");
    format!(
        "{{\"timestamp\":\"{}\",\"event\":{event},\"payload\":{payload}}}\n",
        at.rfc3339()
    )
}

/// Formats a line such as `09:05:07 WARN  message key=value`. The gateway's own events have their
/// name in place of the message.
pub(super) fn human(at: Timestamp, level: &str, palette: Palette, fields: &Fields) -> String {
    let tone = match level {
        "ERROR" => Tone::Bad,
        "WARN" => Tone::Uncertain,
        "INFO" => Tone::Good,
        _ => Tone::Faint,
    };
    let level = palette.paint(tone, &format!("{level:<5}"));
    let mut line = format!("{} {level}", palette.paint(Tone::Faint, &at.time()));
    let head = ["message", "event"]
        .into_iter()
        .find(|name| fields.0.contains_key(*name));
    if let Some(head) = head {
        line.push(' ');
        line.push_str(&plain(&fields.text(head)));
    }
    for (name, value) in fields
        .0
        .iter()
        .filter(|(name, _)| Some(name.as_str()) != head)
    {
        let text = match value {
            // The payload of an event takes the rest of the line, unquoted.
            Value::String(text) if name == "payload" => plain(text).into_owned(),
            // The debug form quotes and escapes the text.
            Value::String(text) if text.contains([' ', '"', '=']) || text.is_empty() => {
                format!("{name}={text:?}")
            }
            Value::String(text) => format!("{name}={}", plain(text)),
            other => format!("{name}={other}"),
        };
        line.push(' ');
        line.push_str(&text);
    }
    line.push('\n');
    line
}
