//! The events of a body, reduced to the fields that MCP uses: event type and data.

use std::collections::VecDeque;
use std::io::BufRead;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::Fault;

pub(super) struct Events {
    body: Incoming,
    decoder: Decoder,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Event {
    pub(super) kind: Vec<u8>,
    pub(super) data: Vec<u8>,
}

impl Events {
    pub(super) fn new(body: Incoming) -> Events {
        Events {
            body,
            decoder: Decoder::default(),
        }
    }

    /// Returns the next event; `None` when the stream has ended.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, Fault> {
        loop {
            if let Some(event) = self.decoder.whole.pop_front() {
                return Ok(Some(event));
            }
            let Some(frame) = self.body.frame().await else {
                return Ok(None);
            };
            if let Ok(bytes) = frame?.into_data() {
                self.decoder.feed(&bytes);
            }
        }
    }

    pub(super) async fn next_message(&mut self) -> Result<Bytes, Fault> {
        loop {
            let event = self.next().await?.ok_or("the stream has ended")?;
            // A resumable stream begins with an event without data.
            if matches!(&event.kind[..], b"" | b"message") && !event.data.is_empty() {
                return Ok(event.data.into());
            }
        }
    }
}

/// A decoder that reads every byte once, because an answer of 100 kB arrives in many pieces.
#[derive(Default)]
struct Decoder {
    /// The bytes received of the current line.
    line: Vec<u8>,
    event: Event,
    whole: VecDeque<Event>,
}

impl Decoder {
    fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let read = bytes.read_until(b'\n', &mut self.line);
            read.expect("reading from memory does not fail");
            if self.line.pop_if(|last| *last == b'\n').is_some() {
                self.line.pop_if(|last| *last == b'\r');
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let (field, value) = match self.line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&self.line[..colon], &self.line[colon + 1..]),
            None => (&self.line[..], &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => self.event.kind = value.to_vec(),
            b"data" => {
                if !self.event.data.is_empty() {
                    self.event.data.push(b'\n');
                }
                self.event.data.extend_from_slice(value);
            }
            b"" if self.line.is_empty() => {
                let event = std::mem::take(&mut self.event);
                if event != Event::default() {
                    self.whole.push_back(event);
                }
            }
            // Ignores comments, ids and retry times.
            _ => {}
        }
        self.line.clear();
    }
}

#[cfg(test)]
mod tests;
