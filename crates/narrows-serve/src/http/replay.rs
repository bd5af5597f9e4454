//! A resumption buffer: the latest messages of one stream, by number.
//!
//! The buffer is bounded by count and by bytes, and drops the oldest messages first. It uses
//! neither sockets nor clocks.

use std::collections::VecDeque;

use bytes::Bytes;

#[cfg(test)]
mod tests;

#[derive(Debug)]
pub(super) struct Replay {
    /// The number of the first event in `events`.
    first: u64,
    events: VecDeque<Bytes>,
    bytes: usize,
    bounds: Bounds,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) events: usize,
    pub(super) bytes: usize,
}

impl Replay {
    pub(super) fn new(bounds: Bounds) -> Replay {
        Replay {
            first: 1,
            events: VecDeque::new(),
            bytes: 0,
            bounds,
        }
    }

    /// Appends a message. The newest message always stays, however large, because readers of the
    /// stream read it from the buffer.
    pub(super) fn push(&mut self, message: Bytes) {
        self.bytes += message.len();
        self.events.push_back(message);
        while self.events.len() > 1
            && (self.events.len() > self.bounds.events || self.bytes > self.bounds.bytes)
        {
            if let Some(oldest) = self.events.pop_front() {
                self.bytes -= oldest.len();
                self.first += 1;
            }
        }
    }

    /// Returns the first kept message with a number of at least `from`.
    pub(super) fn read(&self, from: u64) -> Option<(u64, Bytes)> {
        let number = from.max(self.first);
        let at = usize::try_from(number - self.first).ok()?;
        self.events.get(at).map(|message| (number, message.clone()))
    }

    /// Returns the number of the newest message; 0 before the first.
    pub(super) fn last(&self) -> u64 {
        self.first + self.events.len() as u64 - 1
    }

    /// Drops all messages, as if they were too old.
    pub(super) fn clear(&mut self) {
        self.first += self.events.len() as u64;
        self.events.clear();
        self.bytes = 0;
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
