//! A parser for server-sent events that follows the HTML standard: lines end in LF, CR or both, and
//! an event is complete only after a blank line.

use std::collections::VecDeque;

use serde_json::Value;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    pub event: Option<String>,
    pub id: Option<String>,
    pub retry: Option<u64>,
    pub data: String,
}

impl Event {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {self:?}"))
    }

    /// Returns the MCP message in the event, if there is one.
    pub(super) fn into_message(self) -> Option<String> {
        let named = matches!(self.event.as_deref(), None | Some("message"));
        (named && !self.data.is_empty()).then_some(self.data)
    }

    pub(super) fn all(bytes: &[u8]) -> Vec<Event> {
        let mut decoder = Decoder::default();
        decoder.push(bytes);
        decoder.ready.into()
    }
}

#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The bytes of an incomplete line.
    begun: Vec<u8>,
    /// True after a CR: a following LF belongs to the same line end.
    after_cr: bool,
    event: Event,
    data: Vec<String>,
    ready: VecDeque<Event>,
}

impl Decoder {
    /// Returns the next complete event.
    pub(super) fn next(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let Some(end) = end else {
                return self.begun.extend_from_slice(rest);
            };
            self.begun.extend_from_slice(&rest[..end]);
            self.after_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            let line = std::mem::take(&mut self.begun);
            self.line(String::from_utf8(line).expect("events are text"));
        }
    }

    fn line(&mut self, line: String) {
        if line.is_empty() {
            let mut event = std::mem::take(&mut self.event);
            event.data = std::mem::take(&mut self.data).join("\n");
            // An event that consists only of comments is skipped.
            if event != Event::default() {
                self.ready.push_back(event);
            }
            return;
        }
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => self.event.event = Some(value.to_owned()),
            "id" => self.event.id = Some(value.to_owned()),
            "retry" => self.event.retry = value.parse().ok(),
            "data" => self.data.push(value.to_owned()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
