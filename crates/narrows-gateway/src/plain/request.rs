//! One object of plain JSON-RPC as a client sent it, read no further than is
//! needed to answer it under its id and to ask whether it is allowed.

use bytes::Bytes;
use http::HeaderValue;
use narrows_wire::{Id, ItemKind, Kind, Raw};

use crate::call::picked;
use crate::case_variants;
use crate::error::Error;
use narrows_upstream::memory::ClientMemory;

/// One JSON object for one server. It need not be JSON-RPC: what a server of
/// plain JSON-RPC makes of it is that server's affair.
#[derive(Debug, Clone)]
pub struct PlainRequest {
    body: Bytes,
    id: Option<Id>,
    has_id: bool,
    method: Option<Raw>,
    params: Option<Raw>,
    memory: Option<ClientMemory>,
    /// The header with the marks of gateways that it is sent on with, where it
    /// came from one.
    marks: Option<HeaderValue>,
}

impl PlainRequest {
    /// Checks that `body` is one JSON object. An object that names its method
    /// or its params twice is refused: the server might read the one that was
    /// not looked at here, and so get around what is allowed.
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
            // An id that is named twice cannot be read, but it is there.
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

    /// With the `narrows-gateway` header that a server of plain JSON-RPC gets.
    #[must_use]
    pub fn marked(mut self, marks: Option<HeaderValue>) -> PlainRequest {
        self.marks = marks;
        self
    }

    pub(crate) fn marks(&self) -> Option<&HeaderValue> {
        self.marks.as_ref()
    }

    /// With where its answer is counted until it is written.
    #[must_use]
    pub fn charged_to(mut self, memory: ClientMemory) -> PlainRequest {
        self.memory = Some(memory);
        self
    }

    pub(crate) fn memory(&self) -> Option<&ClientMemory> {
        self.memory.as_ref()
    }

    /// The id to answer under, where there is one that can be read.
    pub fn id(&self) -> Option<&Id> {
        self.id.as_ref()
    }

    /// Returns true if nobody waits for an answer.
    pub(crate) fn is_notification(&self) -> bool {
        !self.has_id
    }

    /// As it came, byte for byte.
    pub(crate) fn body(&self) -> &Bytes {
        &self.body
    }

    /// The bytes of the body.
    pub fn body_len(&self) -> usize {
        self.body.len()
    }

    pub(crate) fn method(&self) -> Option<&Raw> {
        self.method.as_ref()
    }

    pub(crate) fn params(&self) -> Option<&Raw> {
        self.params.as_ref()
    }

    /// Refuses what somebody who does not mind case could read as another
    /// request than the one that is judged.
    pub(crate) fn refuse_case_variants(&self) -> Result<(), Error> {
        let body = Raw::parse(self.body.clone());
        let body = body.map_err(|error| Error::BadParams(error.to_string()))?;
        case_variants::refuse(&body, &["method", "params"])?;
        match &self.params {
            Some(params) => case_variants::refuse_in_params(params, &["name", "uri", "ref"]),
            None => Ok(()),
        }
    }

    /// The thing that it wants to use, if presets have a say in it: its kind,
    /// and the server's own name or URI of it.
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
