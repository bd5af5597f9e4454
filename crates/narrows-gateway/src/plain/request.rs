//! A plain JSON-RPC object. Parsed only as far as needed for its response id and the permission
//! check.

use bytes::Bytes;
use http::HeaderValue;
use narrows_wire::{Id, ItemKind, Kind, Raw};

use crate::call::picked;
use crate::case_variants;
use crate::error::Error;
use narrows_upstream::memory::ClientMemory;

/// A JSON object for one server. It need not be valid JSON-RPC, because only its server interprets
/// it.
#[derive(Debug, Clone)]
pub struct PlainRequest {
    body: Bytes,
    id: Option<Id>,
    has_id: bool,
    method: Option<Raw>,
    params: Option<Raw>,
    memory: Option<ClientMemory>,
    /// The header with gateway marks for the server, if the request came from a gateway.
    marks: Option<HeaderValue>,
}

impl PlainRequest {
    /// Checks that `body` is a JSON object. Refuses an object with two methods or two params,
    /// because the server might read the one that was not checked.
    pub fn read(body: Bytes) -> Result<PlainRequest, narrows_wire::Error> {
        let raw = Raw::parse(body.clone())?;
        let invalid = |reason| narrows_wire::Error::Invalid { id: None, reason };
        if raw.kind() != Kind::Object {
            return Err(invalid("this path takes one JSON object"));
        }
        let twice = |_| invalid("a member occurs twice");
        let (method, params, id, has_id) = match raw.pick(["method", "params", "id"]) {
            Ok([method, params, id]) => {
                let has_id = id.is_some();
                (method, params, id, has_id)
            }
            // A duplicate id cannot be read, but still marks a request.
            Err(_) => {
                let [method, params] = raw.pick(["method", "params"]).map_err(twice)?;
                (method, params, None, true)
            }
        };
        Ok(PlainRequest {
            body,
            id: id.and_then(Id::from_raw),
            has_id,
            method,
            params: params.filter(|params| params.kind() != Kind::Null),
            memory: None,
            marks: None,
        })
    }

    /// Sets the `narrows-gateway` header for the server.
    #[must_use]
    pub fn marked(mut self, marks: Option<HeaderValue>) -> PlainRequest {
        self.marks = marks;
        self
    }

    pub(crate) fn marks(&self) -> Option<&HeaderValue> {
        self.marks.as_ref()
    }

    /// Sets the memory account that is charged for the response until it is written.
    #[must_use]
    pub fn charged_to(mut self, memory: ClientMemory) -> PlainRequest {
        self.memory = Some(memory);
        self
    }

    pub(crate) fn memory(&self) -> Option<&ClientMemory> {
        self.memory.as_ref()
    }

    /// Returns the id for the response, if the request has a valid one.
    pub fn id(&self) -> Option<&Id> {
        self.id.as_ref()
    }

    /// Returns true if the client expects no response.
    pub(crate) fn is_notification(&self) -> bool {
        !self.has_id
    }

    /// Returns the body exactly as received.
    pub(crate) fn body(&self) -> &Bytes {
        &self.body
    }

    /// Returns the size of the body in bytes.
    pub fn body_len(&self) -> usize {
        self.body.len()
    }

    pub(crate) fn method(&self) -> Option<&Raw> {
        self.method.as_ref()
    }

    pub(crate) fn params(&self) -> Option<&Raw> {
        self.params.as_ref()
    }

    /// Refuses case variants of known keys, which a case-insensitive server could read instead of
    /// the keys that were checked.
    pub(crate) fn refuse_case_variants(&self) -> Result<(), Error> {
        let body = Raw::parse(self.body.clone());
        let body = body.map_err(|error| Error::BadParams(error.to_string()))?;
        case_variants::refuse(&body, &["method", "params"])?;
        match &self.params {
            Some(params) => case_variants::refuse_in_params(params, &["name", "uri", "ref"]),
            None => Ok(()),
        }
    }

    /// Returns the item that the request names, if presets apply to it: its kind, and the server's
    /// own name or URI.
    pub(crate) fn subject(&self) -> Result<Option<(ItemKind, Raw)>, Error> {
        let (Some(method), Some(params)) = (&self.method, &self.params) else {
            return Ok(None);
        };
        let (kind, place, member) = match method.as_text().as_deref() {
            Some("tools/call") => (ItemKind::Tool, params.clone(), "name"),
            Some("prompts/get") => (ItemKind::Prompt, params.clone(), "name"),
            Some("resources/read" | "resources/subscribe" | "resources/unsubscribe") => {
                (ItemKind::Resource, params.clone(), "uri")
            }
            Some("completion/complete") => {
                let [reference] = picked(params, ["ref"])?;
                let Some(reference) = reference else {
                    return Ok(None);
                };
                let [kind] = picked(&reference, ["type"])?;
                match kind.as_ref().and_then(Raw::as_text).as_deref() {
                    Some("ref/prompt") => (ItemKind::Prompt, reference, "name"),
                    Some("ref/resource") => (ItemKind::Resource, reference, "uri"),
                    _ => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        let [subject] = picked(&place, [member])?;
        Ok(subject.map(|subject| (kind, subject)))
    }
}

#[cfg(test)]
mod tests;
