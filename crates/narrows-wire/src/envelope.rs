//! The JSON-RPC envelope: the few members every message has, with params,
//! results and errors left as raw JSON.

mod decode;

use std::hash::{Hash, Hasher};

use bytes::{BufMut, Bytes, BytesMut};

use crate::{Error, Kind, Raw};

pub use decode::decode;

/// Ids are kept for as long as a request is open, methods are looked up: no
/// honest peer needs more for either.
const ID_MAX: usize = 1024;

/// A request id as it was written: a string or a number. Compared by its decoded value for strings and by its text for numbers.
#[derive(Debug, Clone)]
pub struct Id(Raw);

impl Id {
    pub fn number(n: u64) -> Id {
        Id(Raw::number(n))
    }

    pub fn string(text: &str) -> Id {
        Id(Raw::string(text))
    }

    /// An id from a value somewhere in params (`requestId`), if it is one.
    pub fn from_raw(raw: Raw) -> Option<Id> {
        let fits = matches!(raw.kind(), Kind::String | Kind::Number) && raw.len() <= ID_MAX;
        // Copied, not sliced: an id waits in tables for the answer, and a slice
        // would hold on to the whole message it came in.
        fits.then(|| Id(Raw::from_checked(Bytes::copy_from_slice(raw.as_bytes()))))
    }

    pub fn as_raw(&self) -> &Raw {
        &self.0
    }

    pub fn as_u64(&self) -> Option<u64> {
        self.0.as_u64()
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Id) -> bool {
        if self.0 == other.0 {
            return true;
        }
        match (self.0.as_text(), other.0.as_text()) {
            // All lone surrogates decode to U+FFFD. Ids that differ only there
            // are different ids, so such texts count as equal only if they are
            // written alike.
            (Some(one), Some(two)) => one == two && !one.contains(char::REPLACEMENT_CHARACTER),
            _ => false,
        }
    }
}

impl Eq for Id {}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0.as_text() {
            Some(text) => text.hash(state),
            None => self.0.hash(state),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub id: Id,
    pub method: Box<str>,
    pub params: Option<Raw>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    pub method: Box<str>,
    pub params: Option<Raw>,
}

/// `id` is `None` where the peer could not tell which request it answers (`"id": null`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub id: Option<Id>,
    /// The result, or the error object.
    pub body: Result<Raw, Raw>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    Request(Request),
    Notification(Notification),
    Response(Response),
}

/// What one frame holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    Single(Message),
    /// A batch, never empty; each entry stands for itself, so that one bad entry does not spoil the rest.
    Batch(Vec<Result<Message, Error>>),
}

pub fn encode_request(id: &Id, method: &str, params: Option<&Raw>) -> Bytes {
    let method = Raw::string(method);
    concat(
        &[
            HEAD,
            b"\"id\":",
            id.0.as_bytes(),
            b",\"method\":",
            method.as_bytes(),
        ],
        params,
    )
}

pub fn encode_notification(method: &str, params: Option<&Raw>) -> Bytes {
    let method = Raw::string(method);
    concat(&[HEAD, b"\"method\":", method.as_bytes()], params)
}

pub fn encode_result(id: &Id, result: &Raw) -> Bytes {
    let id = id.0.as_bytes();
    concat(&[HEAD, b"\"id\":", id, RESULT, result.as_bytes()], None)
}

/// `error` is the error object; without an id the answer carries `"id":null`.
pub fn encode_error(id: Option<&Id>, error: &Raw) -> Bytes {
    let id = id.map_or(&b"null"[..], |id| id.0.as_bytes());
    concat(
        &[HEAD, b"\"id\":", id, b",\"error\":", error.as_bytes()],
        None,
    )
}

/// The answer in three parts, so that a large result need not be copied.
pub fn result_parts(id: &Id, result: Raw) -> [Bytes; 3] {
    let id = id.0.as_bytes();
    let mut head = BytesMut::with_capacity(HEAD.len() + id.len() + RESULT.len() + 5);
    for part in [HEAD, b"\"id\":", id, RESULT] {
        head.put_slice(part);
    }
    [head.freeze(), result.into_bytes(), Bytes::from_static(b"}")]
}

const HEAD: &[u8] = b"{\"jsonrpc\":\"2.0\",";
const RESULT: &[u8] = b",\"result\":";
const PARAMS: &[u8] = b",\"params\":";

/// The parts of a message in one buffer, with the params and the closing brace.
fn concat(parts: &[&[u8]], params: Option<&Raw>) -> Bytes {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let params_length = params.map_or(0, |params| PARAMS.len() + params.len());
    let mut message = BytesMut::with_capacity(length + params_length + 1);
    for part in parts {
        message.put_slice(part);
    }
    if let Some(params) = params {
        message.put_slice(PARAMS);
        message.put_slice(params.as_bytes());
    }
    message.put_u8(b'}');
    message.freeze()
}

#[cfg(test)]
mod tests;
