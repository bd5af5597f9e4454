//! A request to a server, and the client call that it belongs to.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use narrows_wire::Raw;

use crate::exchange::{Asks, Cancel, Event, EventSink, Notice};
use crate::memory::ClientMemory;

/// One request to send to an upstream.
pub struct Outgoing<'a> {
    pub method: &'a str,
    pub params: Option<Raw>,
    /// A value inside `params` and its replacement (the upstream's own name or URI).
    pub rename: Option<(Raw, Raw)>,
    /// The client's progress token, as a slice of `params`. It is replaced by one that is unique on
    /// the link, and restored in the notifications that arrive.
    pub progress_token: Option<Raw>,
    /// The client call that the request belongs to. `None` for the gateway's own requests.
    pub origin: Option<Origin>,
    pub timeout: Duration,
}

impl<'a> Outgoing<'a> {
    /// Creates a request that the gateway itself sends.
    pub fn own(method: &'a str, params: Option<Raw>, timeout: Duration) -> Self {
        Outgoing {
            method,
            params,
            rename: None,
            progress_token: None,
            origin: None,
            timeout,
        }
    }

    /// Charges the encoded message to the client until it is written, because it is a copy of the
    /// params that the call keeps.
    pub fn charged(&self, message: Bytes) -> Bytes {
        let origin = self.origin.as_ref();
        match origin.and_then(|origin| origin.memory.as_ref()) {
            Some(memory) => memory.requests.hold(message),
            None => message,
        }
    }

    /// Returns the params with the upstream's own name, and with `token` as the progress token.
    pub fn params_with_token(&self, token: u64) -> Option<Raw> {
        let params = self.params.as_ref()?;
        if self.rename.is_none() && self.progress_token.is_none() {
            return Some(params.clone());
        }
        let mut edit = params.edit();
        if let Some((place, with)) = &self.rename {
            edit = edit.replace(place, with.clone());
        }
        if let Some(place) = &self.progress_token {
            edit = edit.replace(place, Raw::number(token));
        }
        Some(edit.finish())
    }
}

/// The client call behind a request, which receives its notifications and server requests.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The session's serial number, which distinguishes the owners of calls.
    pub session: u64,
    pub sink: EventSink,
    pub asks: Asks,
    /// The memory shares of the client.
    pub memory: Option<ClientMemory>,
    /// The reason to send to the server if the call is dropped early.
    pub cancel: Arc<Cancel>,
}

impl Origin {
    /// Sends a notification to the client of the call.
    pub fn notice(&self, notice: Notice) {
        match &self.memory {
            Some(memory) => self.sink.send_notice(notice, &memory.responses),
            None => self.sink.send(Event::Notice(notice)),
        };
    }
}
