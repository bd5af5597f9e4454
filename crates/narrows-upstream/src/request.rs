//! A request to a server, and the client call that it belongs to.

use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use http::HeaderMap;
use narrows_wire::{Kind, Raw};

use crate::exchange::{Asks, Cancel, Event, EventSink, Notice};
use crate::memory::ClientMemory;

/// One request to send to an upstream.
#[derive(Clone)]
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

    /// Returns the params as the server receives them: with its own name, with `token` as the
    /// progress token, and with the parts of the modern era.
    pub(crate) fn encoded_params(
        &self,
        token: u64,
        parts: Option<&ModernParts<'_>>,
    ) -> Option<Raw> {
        let Some(parts) = parts else {
            return self.params_with_token(token);
        };
        let params = self.params.as_ref();
        let Some(params) = params.filter(|params| params.kind() == Kind::Object) else {
            return Some(Raw::empty_object().with_member("_meta", parts.meta));
        };
        let mut edit = params.edit();
        if let Some((place, with)) = &self.rename {
            edit = edit.replace(place, with.clone());
        }
        let token = self.progress_token.is_some().then_some(token);
        edit = match params.member("_meta") {
            Some(own) => {
                let meta = merged_meta(parts.meta, &own, token);
                edit.replace(&own, meta)
            }
            None => edit.insert(params, "_meta", parts.meta.clone()),
        };
        let mut params = edit.finish();
        for (name, value) in parts.resumed {
            params = params.with_member(name, value);
        }
        Some(params)
    }
}

/// Returns the members of `gateway`, and those of `own` that `gateway` does not have. The progress
/// token becomes `token`.
fn merged_meta(gateway: &Raw, own: &Raw, token: Option<u64>) -> Raw {
    let mut text = BytesMut::with_capacity(gateway.len() + own.len() + 24);
    let start = gateway.as_bytes();
    text.put_slice(start.strip_suffix(b"}").unwrap_or(start));
    for (key, value) in own.members() {
        if gateway.member(&key).is_some() {
            continue;
        }
        if text.len() > 1 {
            text.put_u8(b',');
        }
        text.put_slice(Raw::string(&key).as_bytes());
        text.put_u8(b':');
        match token.filter(|_| key == "progressToken") {
            Some(token) => text.put_slice(Raw::number(token).as_bytes()),
            None => text.put_slice(value.as_bytes()),
        }
    }
    text.put_u8(b'}');
    Raw::from_checked(text.freeze())
}

/// Returns true for requests that are work, in contrast to health checks and streams of
/// notifications. Only work can explain why a server is silent.
pub(crate) fn is_work(method: &str) -> bool {
    !matches!(method, "ping" | "server/discover" | "subscriptions/listen")
}

/// The parts that requests of the modern era have in addition.
#[derive(Clone, Copy)]
pub(crate) struct ModernParts<'a> {
    /// An object with the members of `_meta` that the gateway sets.
    pub(crate) meta: &'a Raw,
    /// Members of the params that continue an earlier request.
    pub(crate) resumed: &'a [(&'static str, Raw)],
    /// The HTTP headers that repeat parts of the request.
    pub(crate) headers: Option<&'a HeaderMap>,
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

#[cfg(test)]
mod tests;
