//! A request on its way to a server, and the call behind it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use narrows_wire::Raw;

use crate::exchange::{Asks, Cancel, Event, EventSink, Notice};
use crate::memory::ClientMemory;

/// One request to be sent upstream.
pub struct Outgoing<'a> {
    pub method: &'a str,
    pub params: Option<Raw>,
    /// A value inside `params` and what to put in its place (the upstream's own name or URI).
    pub rename: Option<(Raw, Raw)>,
    /// The client's progress token, a slice of `params`. It is replaced by one
    /// that is unique on the link, and put back into the notices that come.
    pub progress_token: Option<Raw>,
    /// The call behind it; none for requests of the gateway's own.
    pub origin: Option<Origin>,
    pub timeout: Duration,
}

impl<'a> Outgoing<'a> {
    /// A request of the gateway's own.
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

    /// Its message, charged to the client until it is written: it is a copy
    /// of the params, which the call keeps.
    pub fn charged(&self, message: Bytes) -> Bytes {
        let origin = self.origin.as_ref();
        match origin.and_then(|origin| origin.memory.as_ref()) {
            Some(memory) => memory.requests.hold(message),
            None => message,
        }
    }

    /// The params as the upstream shall see them, with `token` as progress token.
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

/// The client call behind a request, which receives its notices and questions.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The session's serial number, to tell owners apart.
    pub session: u64,
    pub sink: EventSink,
    pub asks: Asks,
    /// The memory shares of the client.
    pub memory: Option<ClientMemory>,
    /// Says why, when the call is dropped before its end.
    pub cancel: Arc<Cancel>,
}

impl Origin {
    /// Sends a notice to the client of the call.
    pub fn notice(&self, notice: Notice) {
        match &self.memory {
            Some(memory) => self.sink.send_notice(notice, &memory.responses),
            None => self.sink.send(Event::Notice(notice)),
        };
    }
}
