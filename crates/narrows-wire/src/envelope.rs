//! The JSON-RPC envelope: the few members that every message has. Params, results and errors stay
//! raw JSON.

mod decode;

use bytes::{BufMut, Bytes, BytesMut};

use crate::{Error, Id, Raw};

pub use decode::decode;

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

/// A response. `id` is `None` (`"id": null`) if the peer could not determine which request it
/// answers.
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

/// The decoded content of one frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    Single(Message),
    /// A non-empty batch. Entries are decoded independently: an invalid entry does not affect the
    /// others.
    Batch(Vec<Result<Message, Error>>),
}

pub fn encode_request(id: &Id, method: &str, params: Option<&Raw>) -> Bytes {
    let method = Raw::string(method);
    concat(
        &[
            HEAD,
            b"\"id\":",
            id.as_raw().as_bytes(),
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
    let id = id.as_raw().as_bytes();
    concat(&[HEAD, b"\"id\":", id, RESULT, result.as_bytes()], None)
}

/// Encodes an error response. `error` is the error object. Without an id, the response has
/// `"id":null`.
pub fn encode_error(id: Option<&Id>, error: &Raw) -> Bytes {
    let id = id.map_or(&b"null"[..], |id| id.as_raw().as_bytes());
    concat(
        &[HEAD, b"\"id\":", id, b",\"error\":", error.as_bytes()],
        None,
    )
}

/// Returns the response in three parts, so that a large result need not be copied.
pub fn result_parts(id: &Id, result: Raw) -> [Bytes; 3] {
    let id = id.as_raw().as_bytes();
    let mut head = BytesMut::with_capacity(HEAD.len() + id.len() + RESULT.len() + 5);
    for part in [HEAD, b"\"id\":", id, RESULT] {
        head.put_slice(part);
    }
    [head.freeze(), result.into_bytes(), Bytes::from_static(b"}")]
}

const HEAD: &[u8] = b"{\"jsonrpc\":\"2.0\",";
const RESULT: &[u8] = b",\"result\":";
const PARAMS: &[u8] = b",\"params\":";

/// Joins the parts of a message, the params and the closing brace in one buffer.
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
