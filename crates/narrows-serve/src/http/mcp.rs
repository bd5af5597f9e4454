//! Streamable HTTP at one MCP endpoint: POST, GET and DELETE.
//!
//! What the message of a POST leads to is told in `post`; here are the rules
//! that hold for every method, and the two short methods.

use std::sync::Arc;

use http::header::{ALLOW, HeaderValue};
use http::{Method, Response, StatusCode};
use narrows_gateway::Principal;
use narrows_wire::{Revision, token};

use super::Edge;
use super::answer;
use super::body::Body;
use super::events::Events;
use super::guard;
use super::head::{Accept, Head};
use super::sessions::HttpSession;
use super::target::Target;
use crate::error::Refused;

mod post;

pub(super) use self::post::post;

const METHODS: &str = "GET, POST, DELETE, OPTIONS";

/// Where the head of a request leads.
pub(super) enum Entered {
    Answer(Response<Body>),
    /// On to its body, which [`post()`] reads.
    Post(Entry),
}

/// What the headers of a POST have to say.
pub(super) struct Entry {
    accept: Accept,
    found: Found,
    principal: Principal,
}

/// Applies the rules that need no body.
pub(super) fn enter(
    edge: &Edge,
    target: &Target<'_>,
    principal: Principal,
    method: &Method,
    head: &Head<'_>,
) -> Entered {
    let answer = match *method {
        Method::POST => match check_post(head) {
            // Whether there is a session is looked up now, while the headers
            // are there, but said later, under the id of the request.
            Ok(accept) => {
                return Entered::Post(Entry {
                    accept,
                    found: Found::read(edge, target, &principal, head),
                    principal,
                });
            }
            Err(refused) => Err(refused),
        },
        Method::GET => get(edge, target, &principal, head),
        Method::DELETE => delete(edge, target, &principal, head),
        Method::OPTIONS => Ok(guard::preflight(head, METHODS)),
        _ => Err(Refused::Method),
    };
    Entered::Answer(answer.unwrap_or_else(|refused| {
        let mut answer = answer::refused(None, &refused);
        if refused == Refused::Method {
            answer
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static(METHODS));
        }
        answer
    }))
}

fn check_post(head: &Head<'_>) -> Result<Accept, Refused> {
    if !head.is_json() {
        return Err(Refused::ContentType);
    }
    if !head.accept.any() {
        return Err(Refused::NotAcceptable);
    }
    check_version(head)?;
    Ok(head.accept)
}

/// What the `mcp-session-id` header, or its absence, says.
enum Found {
    Session(Arc<HttpSession>),
    Nothing(Refused),
}

impl Found {
    fn read(edge: &Edge, target: &Target<'_>, principal: &Principal, head: &Head<'_>) -> Found {
        let missing = match head.session.map(|value| value.to_str()) {
            Some(Ok(id)) => match edge.sessions.find(id, target, principal) {
                Some(session) => return Found::Session(session),
                None => Refused::UnknownSession,
            },
            Some(Err(_)) => Refused::UnknownSession,
            None => Refused::NoSession,
        };
        // At a door that is not there, the client's mistake is another one.
        Found::Nothing(match edge.gateway.has_door(target.door()) {
            true => missing,
            false => Refused::UnknownEndpoint,
        })
    }

    /// Returns true if the client has not answered a request of a server yet.
    fn owes_an_answer(&self) -> bool {
        match self {
            Found::Session(session) => session.session.owes_an_answer(),
            Found::Nothing(_) => false,
        }
    }

    fn session(self) -> Result<Arc<HttpSession>, Refused> {
        match self {
            Found::Session(session) => Ok(session),
            Found::Nothing(why) => Err(why),
        }
    }
}

fn check_version(head: &Head<'_>) -> Result<(), Refused> {
    match head.version {
        Some(value) if value.to_str().ok().and_then(Revision::parse).is_none() => {
            Err(Refused::ProtocolVersion)
        }
        _ => Ok(()),
    }
}

/// Opens the session's general stream, or resumes the one that the client's
/// last event came from.
fn get(
    edge: &Edge,
    target: &Target<'_>,
    principal: &Principal,
    head: &Head<'_>,
) -> Result<Response<Body>, Refused> {
    if !head.accept.events {
        return Err(Refused::NotAcceptable);
    }
    check_version(head)?;
    let session = Found::read(edge, target, principal, head).session()?;
    let last = head.last_event_id.and_then(|value| value.to_str().ok());
    let resumed = last
        .and_then(token::parse_event_id)
        .and_then(|(stream, number)| session.resume(stream, number));
    let stay = Some(session.session.stay());
    let keep_alive = edge.settings.keep_alive;
    let events = match resumed {
        Some(reader) => Events::new(reader, keep_alive, stay),
        None => begin(&session, Events::new(session.listen(), keep_alive, stay)),
    };
    Ok(answer::events(Body::Events(Box::new(events))))
}

fn delete(
    edge: &Edge,
    target: &Target<'_>,
    principal: &Principal,
    head: &Head<'_>,
) -> Result<Response<Body>, Refused> {
    check_version(head)?;
    let session = Found::read(edge, target, principal, head).session()?;
    session.session.close();
    edge.sessions.remove(session.session.id());
    Ok(answer::empty(StatusCode::NO_CONTENT))
}

/// A stream that begins, rather than goes on. Clients before 2025-11-25 would
/// try to read the empty event as a message.
fn begin(session: &HttpSession, events: Events) -> Events {
    if session.session.revision() >= Revision::V2025_11_25 {
        events.primed()
    } else {
        events
    }
}
