//! Decoding of a frame into messages in one pass over its bytes.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use narrows_json::{Scanner, text};

use super::{Incoming, Message, Notification, Request, Response};
use crate::id::ID_MAX;
use crate::{Error, Id, JsonError, Kind, Raw};

/// The maximum length of a method name. Methods are looked up in tables, and legitimate names are
/// far shorter.
const METHOD_MAX: usize = 1024;
/// The maximum number of entries in a batch, which limits the number of responses to it.
const BATCH_MAX: usize = 1000;

/// Decodes one frame: a message, or a batch of messages. The whole text is validated once, and all
/// values are slices of it.
pub fn decode(frame: Bytes) -> Result<Incoming, Error> {
    let mut scanner = Scanner::new(&frame);
    scanner.space();
    if scanner.take(b'{') {
        let fields = Fields::read(&frame, &mut scanner)?;
        scanner.end()?;
        return fields.message(&frame).map(Incoming::Single);
    }
    if scanner.take(b'[') {
        return batch(&frame, scanner);
    }
    scanner.value()?;
    scanner.end()?;
    Err(invalid("neither an object nor a batch"))
}

/// Decodes the entries of a batch whose opening bracket was just read. A syntax error anywhere
/// makes the whole text invalid, so no entry is returned before the end.
fn batch(frame: &Bytes, mut scanner: Scanner<'_>) -> Result<Incoming, Error> {
    let mut entries = Vec::new();
    let mut count = 0;
    while scanner.next_element(count == 0)? {
        count += 1;
        let entry = if scanner.take(b'{') {
            Fields::read(frame, &mut scanner)?.message(frame)
        } else {
            scanner.value()?;
            Err(invalid("a batch entry is not an object"))
        };
        if count <= BATCH_MAX {
            entries.push(entry);
        }
    }
    scanner.end()?;
    match count {
        0 => Err(invalid("an empty batch")),
        1..=BATCH_MAX => Ok(Incoming::Batch(entries)),
        _ => Err(invalid("a batch of more than 1,000 entries")),
    }
}

/// The ranges of the members that JSON-RPC defines.
#[derive(Default)]
struct Fields {
    jsonrpc: Field,
    id: Field,
    method: Field,
    params: Field,
    result: Field,
    error: Field,
}

#[derive(Default)]
enum Field {
    #[default]
    Absent,
    At(Range<usize>),
    Twice,
}

impl Fields {
    /// Reads an object whose opening brace was just read.
    fn read(frame: &Bytes, scanner: &mut Scanner<'_>) -> Result<Fields, JsonError> {
        let mut fields = Fields::default();
        let mut first = true;
        while let Some(key) = scanner.next_key(first)? {
            first = false;
            let place = scanner.value()?;
            let key = &frame[key];
            let field = match fields.named(key) {
                None if text::has_escape(key) => fields.named(text::decode(key).as_bytes()),
                field => field,
            };
            if let Some(field) = field {
                *field = match field {
                    Field::Absent => Field::At(place),
                    Field::At(_) | Field::Twice => Field::Twice,
                };
            }
        }
        Ok(fields)
    }

    fn named(&mut self, key: &[u8]) -> Option<&mut Field> {
        Some(match key {
            b"jsonrpc" => &mut self.jsonrpc,
            b"id" => &mut self.id,
            b"method" => &mut self.method,
            b"params" => &mut self.params,
            b"result" => &mut self.result,
            b"error" => &mut self.error,
            _ => return None,
        })
    }

    /// Builds the message. The id is read first, so that later errors can include it.
    fn message(self, frame: &Bytes) -> Result<Message, Error> {
        let (mut id, has_id_member) = self.read_id(frame).map_err(invalid)?;
        self.classify(frame, &mut id, has_id_member)
            .map_err(|reason| Error::Invalid {
                id: id.take(),
                reason,
            })
    }

    /// Returns the id, if present and not null, and whether the message has an `id` member.
    fn read_id(&self, frame: &Bytes) -> Result<(Option<Id>, bool), &'static str> {
        let Some(found) = self.id.get(frame)? else {
            return Ok((None, false));
        };
        match found.kind() {
            Kind::Null => Ok((None, true)),
            Kind::String | Kind::Number if found.len() > ID_MAX => Err("the id is too long"),
            Kind::String | Kind::Number => Ok((Id::from_raw(found), true)),
            _ => Err("the id is neither a string nor a number"),
        }
    }

    /// Builds the message and moves the id into it. On an error, the id stays in `id`. If only
    /// `has_id_member` is set, the id is null.
    fn classify(
        &self,
        frame: &Bytes,
        id: &mut Option<Id>,
        has_id_member: bool,
    ) -> Result<Message, &'static str> {
        let version = self
            .jsonrpc
            .place()?
            .ok_or("the jsonrpc member is missing")?;
        if string_at(frame, version).as_deref() != Some("2.0") {
            return Err("jsonrpc is not \"2.0\"");
        }
        let result = self.result.get(frame)?;
        let error = self.error.get(frame)?;
        let params = self
            .params
            .get(frame)?
            .filter(|params| params.kind() != Kind::Null);
        let Some(method) = self.method.place()? else {
            return response(id, result, error).map(Message::Response);
        };
        if result.is_some() || error.is_some() {
            return Err("both a request and a response");
        }
        let method = string_at(frame, method).ok_or("the method is not a string")?;
        if method.len() > METHOD_MAX {
            return Err("the method is too long");
        }
        if params
            .as_ref()
            .is_some_and(|raw| !matches!(raw.kind(), Kind::Object | Kind::Array))
        {
            return Err("params are neither an object nor an array");
        }
        let method = method.into();
        match id.take() {
            Some(id) => Ok(Message::Request(Request { id, method, params })),
            None if has_id_member => Err("the id of a request is null"),
            None => Ok(Message::Notification(Notification { method, params })),
        }
    }
}

impl Field {
    fn place(&self) -> Result<Option<Range<usize>>, &'static str> {
        match self {
            Field::Absent => Ok(None),
            Field::At(place) => Ok(Some(place.clone())),
            Field::Twice => Err("a member occurs twice"),
        }
    }

    fn get(&self, frame: &Bytes) -> Result<Option<Raw>, &'static str> {
        let place = self.place()?;
        Ok(place.map(|place| Raw::from_checked(frame.slice(place))))
    }
}

/// Returns the decoded string at a range of a validated frame; `None` for any other kind. Because
/// the string is read only once, no slice with its own reference count is created.
fn string_at(frame: &[u8], place: Range<usize>) -> Option<Cow<'_, str>> {
    match &frame[place] {
        [b'"', inner @ .., b'"'] => Some(text::decode(inner)),
        _ => None,
    }
}

fn response(
    id: &mut Option<Id>,
    result: Option<Raw>,
    error: Option<Raw>,
) -> Result<Response, &'static str> {
    let body = match (result, error) {
        (Some(_), Some(_)) => return Err("both a result and an error"),
        (None, None) => return Err("neither a method nor a result nor an error"),
        (Some(_), None) if id.is_none() => return Err("a result without an id"),
        (Some(result), None) => Ok(result),
        (None, Some(error)) if error.kind() != Kind::Object => {
            return Err("the error is not an object");
        }
        (None, Some(error)) => Err(error),
    };
    Ok(Response {
        id: id.take(),
        body,
    })
}

fn invalid(reason: &'static str) -> Error {
    Error::Invalid { id: None, reason }
}
